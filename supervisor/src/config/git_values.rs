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
    let words = words(value).flat_map(|word| [word].into_iter().chain(of_options(word)));
    let named = words.chain([value]).filter(|word| word.contains(&b'/'));
    let mut found: Vec<PathBuf> = named.flat_map(|word| paths(word, top, home)).collect();
    found.sort();
    found.dedup();
    found.retain(|path| !path.is_dir());
    found
}

fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| byte.is_ascii_whitespace() || BETWEEN.contains(byte))
}

/// What may be the value of a short option in a word: `-Fpath`, or `-qvFpath` with other options before.
fn of_options(word: &[u8]) -> impl Iterator<Item = &[u8]> {
    let letters = word.strip_prefix(b"-").unwrap_or_default();
    let count = letters.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    (1..=count).map(move |at| &letters[at..])
}

/// The command of a URL that git runs (git-remote-ext(1)).
pub fn of_ext(url: &[u8]) -> Option<&[u8]> {
    url.strip_prefix(b"ext::")
}

/// The scripts of a value that git runs as a command by itself, and what else its options and patterns name.
///
/// # Errors
/// The command is too long to be read.
pub fn scripts(value: &[u8], top: &Path, home: &Path) -> Result<Vec<PathBuf>, TooLong> {
    let Ok(text) = str::from_utf8(value.strip_prefix(b"!").unwrap_or(value)) else { return Ok(Vec::new()) };
    let mut found = scripts_of_text(text, home, top)?;
    for (at, _) in SSH_COMMANDS.into_iter().flat_map(|option| text.match_indices(option)) {
        // The option's value is a command: `-o 'ProxyCommand sh p %h'`, `-oProxyCommand=p`.
        let rest = text[at..].trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        found.extend(scripts_of_text(rest.trim_matches([' ', '=', '"', '\'']), home, top)?);
    }
    let words: Vec<&[u8]> = words(value).collect();
    let named = |word: &[u8]| paths(word, top, Some(home));
    let mut next = None;
    for word in words.iter().rev().filter(|word| !word.is_empty()) {
        // A configuration of ssh(1), or a script of awk(1) and sed(1).
        if let Some(file) = [b'F', b'f'].into_iter().find_map(|option| file_of_option(word, option)) {
            let file = Some(file).filter(|file| !file.is_empty()).or(next);
            found.extend(file.into_iter().flat_map(named).filter(|path| !path.is_dir()));
        }
        if !word.starts_with(b"-") {
            next = Some(word);
        }
        // Any name in the directory may fit a pattern.
        if let Some(wildcard) = word.iter().position(|byte| b"*?[".contains(byte))
            && let Some(end) = word[..wildcard].iter().rposition(|byte| *byte == b'/')
        {
            found.extend(Some(&word[..end]).filter(|word| is_name(word)).into_iter().flat_map(named));
        }
    }
    let runs_parts = |word: &&[u8]| word.rsplit(|byte| *byte == b'/').next() == Some(b"run-parts");
    let parts = words.iter().skip_while(|word| !runs_parts(word)).skip(1);
    found.extend(parts.filter(|word| is_name(word)).flat_map(|word| named(word)));
    Ok(found)
}

/// Options of ssh's whose value is a command (ssh_config(5)).
const SSH_COMMANDS: [&str; 3] = ["ProxyCommand", "LocalCommand", "KnownHostsCommand"];

/// Whether a path has a name of its own: it is not only `..` and the like.
fn is_name(path: &[u8]) -> bool {
    path.iter().any(|byte| !b"./".contains(byte))
}

/// What follows a short option in its word; empty if its value is the next word.
fn file_of_option(word: &[u8], option: u8) -> Option<&[u8]> {
    let letters = word.strip_prefix(b"-").filter(|letters| !letters.starts_with(b"-"))?;
    let at = letters.iter().position(|letter| *letter == option)?;
    let is_option = letters[..at].iter().all(u8::is_ascii_alphanumeric);
    is_option.then(|| &letters[at + 1..])
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
            ("ssh -4Ftools/cfg", "tools/cfg"),
            ("ssh -qvFtools/cfg", "tools/cfg"),
            ("ssh -F cfg", "cfg"),
            ("ssh -vFcfg", "cfg"),
            ("ssh -o 'ProxyCommand sh p.sh %h'", "p.sh"),
            ("ssh -oProxyCommand=tools/p", "tools/p"),
            ("awk -f x.awk", "x.awk"),
            ("sed -nfx.sed", "x.sed"),
            ("sh tools/f*", "tools"),
            ("run-parts --regex=x tools", "tools"),
            ("~/app/tools/d", "tools/d"),
        ] {
            assert!(program(value).contains(&expected.to_owned()), "{value}: {:?}", program(value));
        }
        assert_eq!(program("less -R"), [""; 0]);
        assert_eq!(program("cache --timeout 3600"), [""; 0]);
        assert!(scripts(&[b'x'; 100_000], Path::new(TOP), Path::new("/home/u")).is_err());
    }
}
