//! What the values of git's configuration name: paths in the forms that git knows, and the files that a command runs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::config::agent_settings::{TooLong, scripts_of_text};

/// Where git is installed, for `%(prefix)/` (git-config(1), pathname). The last one is below the home.
const PREFIXES: [&str; 3] = ["/usr", "/usr/local", ".local"];
/// What separates the words of a command. A shell takes most values apart.
const BETWEEN: &[u8] = b"\"'`=;|&()<>!";

/// A relative path, if the value is one. It may begin with `:(optional)`.
pub fn relative(value: &[u8]) -> Option<&Path> {
    let value = required(value);
    (!value.starts_with(b"/") && !value.starts_with(b"~") && !value.starts_with(b"%(prefix)"))
        .then(|| as_path(value))
}

/// The paths that a value of the kind *pathname* may stand for (git-config(1)). `~name` is taken for this user's home: the
/// guarded tree changes no other.
pub fn paths(value: &[u8], base: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let value = required(value);
    let of_home = home.filter(|_| value.starts_with(b"~")).map(|home| {
        let end = value.iter().position(|byte| *byte == b'/').unwrap_or(value.len());
        home.join(as_path(value[end..].strip_prefix(b"/").unwrap_or_default()))
    });
    if let Some(path) = of_home {
        return vec![path];
    }
    let Some(rest) = value.strip_prefix(b"%(prefix)/") else { return vec![base.join(as_path(value))] };
    let prefixes = PREFIXES.iter().map(|prefix| home.unwrap_or(Path::new("/")).join(prefix));
    prefixes.map(|prefix| prefix.join(as_path(rest))).collect()
}

/// The files that the value of a key may run that names a program: each word with a slash, and the value as a whole. A word
/// without a slash is looked for in PATH.
pub fn programs(value: &[u8], top: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let is_between = |byte: &u8| byte.is_ascii_whitespace() || BETWEEN.contains(byte);
    let words = value.split(is_between).flat_map(|word| {
        // `-Fpath` is an option with its value.
        let of_option = word.strip_prefix(b"-").and_then(|rest| rest.get(1..));
        [Some(word), of_option].into_iter().flatten()
    });
    let named = words.chain([value]).filter(|word| word.contains(&b'/'));
    let mut found: Vec<PathBuf> = named.flat_map(|word| paths(word, top, home)).collect();
    found.sort();
    found.dedup();
    found.retain(|path| !path.is_dir());
    found
}

/// The scripts of a value that git runs as a command by itself.
///
/// # Errors
/// The command is too long to be read.
pub fn scripts(value: &[u8], top: &Path, home: &Path) -> Result<Vec<PathBuf>, TooLong> {
    let text = str::from_utf8(value.strip_prefix(b"!").unwrap_or(value));
    text.map_or(Ok(Vec::new()), |text| scripts_of_text(text, home, top))
}

fn required(value: &[u8]) -> &[u8] {
    value.strip_prefix(b":(optional)").unwrap_or(value)
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: &str = "/home/u/app";

    fn program(value: &str) -> Vec<String> {
        let (top, home) = (Path::new(TOP), Path::new("/home/u"));
        let scripts = scripts(value.as_bytes(), top, home).unwrap();
        let found = [programs(value.as_bytes(), top, Some(home)), scripts].concat();
        found.iter().map(|path| path.strip_prefix(TOP).unwrap_or(path).display().to_string()).collect()
    }

    #[test]
    fn paths_are_found_in_each_form_that_git_knows() {
        let of = |value: &[u8]| paths(value, Path::new(TOP), Some(Path::new("/home/u")));
        for (value, expected) in [
            ("hooks", "/home/u/app/hooks"),
            ("/opt/hooks", "/opt/hooks"),
            ("~/hooks", "/home/u/hooks"),
            ("~u/hooks", "/home/u/hooks"),
            ("~", "/home/u/"),
            (":(optional)hooks", "/home/u/app/hooks"),
            (":(optional)~/hooks", "/home/u/hooks"),
        ] {
            assert_eq!(of(value.as_bytes()), [Path::new(expected)], "{value}");
        }
        let prefixes = of(b"%(prefix)/../tmp/x");
        assert!(prefixes.contains(&"/usr/../tmp/x".into()) && prefixes.len() == 3, "{prefixes:?}");
        assert_eq!(of(b"B\xfcro/x"), [Path::new(TOP).join(as_path(b"B\xfcro/x"))]);
        assert_eq!(relative(b":(optional)x/y"), Some(Path::new("x/y")));
        for value in ["/x", "~/x", "~u/x", "%(prefix)/x", ":(optional)/x"] {
            assert_eq!(relative(value.as_bytes()), None, "{value}");
        }
    }

    #[test]
    fn the_files_of_a_command_are_found_in_each_spelling() {
        for (value, expected) in [
            ("tools/f", "tools/f"),
            ("\"my tools/f\"", "my tools/f"),
            ("'/home/u/My Work/f'", "/home/u/My Work/f"),
            ("/home/u/My Work/f", "/home/u/My Work/f"),
            ("$HOME/app/tools/d", "tools/d"),
            ("\"$HOME\"/app/tools/d", "tools/d"),
            ("$PWD/tools/d", "tools/d"),
            ("$(git rev-parse --show-toplevel)/tools/d", "tools/d"),
            ("f(){ cd tools && ./d.sh; }; f", "tools/d.sh"),
            ("sh f.sh", "f.sh"),
            ("python3 d.py", "d.py"),
            ("!sh f.sh", "f.sh"),
            ("ssh -Ftools/cfg", "tools/cfg"),
            ("~/app/tools/d", "tools/d"),
        ] {
            assert!(program(value).contains(&expected.to_owned()), "{value}: {:?}", program(value));
        }
        assert_eq!(program("less -R"), [""; 0]);
        assert_eq!(program("cache --timeout 3600"), [""; 0]);
        assert!(scripts(&[b'x'; 100_000], Path::new(TOP), Path::new("/home/u")).is_err());
    }
}
