//! What the values of git's configuration name: paths in the forms that git knows, and the files that a command runs.

use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::config::agent_settings::{TooLong, commands_of, is_assignment, scripts_of_text, with_directory};

/// Where git is installed, for `%(prefix)/` (git-config(1), pathname). The last one is below the home.
const PREFIXES: [&str; 3] = ["/usr", "/usr/local", ".local"];
/// What separates the words of a command. A shell takes most values apart.
const BETWEEN: &[u8] = b"\"'`=;|&()<>!";
/// The longest command that is read, also with its variables written out.
const MAX_TEXT: usize = 64 << 10;
/// How many variables and how many options of ssh with a command are read.
const MAX_VARIABLES: usize = 16;
const MAX_OPTIONS: usize = 16;
/// The longest word that may name a path (PATH_MAX of limits.h), and how many letters of options may stand before one.
const MAX_PATH: usize = 4096;
const MAX_LETTERS: usize = 32;

/// A relative path, if the value is one. It may begin with `:(optional)`.
pub fn relative(value: &[u8]) -> Option<&Path> {
    let value = required(value);
    (!value.starts_with(b"/") && !value.starts_with(b"~") && !value.starts_with(b"%(prefix)"))
        .then(|| as_path(value))
}

/// The paths that a value of the kind *pathname* may stand for (git-config(1)). `~name` is taken for this user's home: the
/// guarded tree changes no other. A device is left out: `/dev/null` switches something off.
pub fn paths(value: &[u8], base: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let value = required(value);
    let of_home = home.filter(|_| value.starts_with(b"~")).map(|home| {
        let end = value.iter().position(|byte| *byte == b'/').unwrap_or(value.len());
        home.join(as_path(value[end..].strip_prefix(b"/").unwrap_or_default()))
    });
    if let Some(path) = of_home {
        return vec![path];
    }
    let Some(rest) = value.strip_prefix(b"%(prefix)/") else {
        return Some(base.join(as_path(value))).into_iter().filter(|path| !is_device(path)).collect();
    };
    let prefixes = PREFIXES.iter().map(|prefix| home.unwrap_or(Path::new("/")).join(prefix));
    prefixes.map(|prefix| prefix.join(as_path(rest))).collect()
}

/// The files that the value of a key may run that names a program: each word with a slash, and the value as a whole. A word
/// without a slash is looked for in PATH.
pub fn programs(value: &[u8], top: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let words = words(value).filter(|word| word.len() < MAX_PATH);
    let words = words.flat_map(|word| [word].into_iter().chain(of_options(word)));
    let named = words.chain([value]).filter(|word| word.contains(&b'/'));
    let mut found: Vec<PathBuf> = named.flat_map(|word| paths(word, top, home)).collect();
    found.sort();
    found.dedup();
    found.retain(|path| !path.is_dir());
    found
}

/// Whether a path is that of a device, in which nobody can put anything.
pub fn is_device(path: &Path) -> bool {
    path.starts_with("/dev") && path.metadata().is_ok_and(|meta| meta.file_type().is_char_device())
}

fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| byte.is_ascii_whitespace() || BETWEEN.contains(byte))
}

/// What may be the value of a short option in a word: `-Fpath`, or `-qvFpath` with other options before.
fn of_options(word: &[u8]) -> impl Iterator<Item = &[u8]> {
    let letters = word.strip_prefix(b"-").unwrap_or_default();
    let count = letters.iter().take(MAX_LETTERS).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    (1..=count).map(move |at| &letters[at..])
}

/// The command of a URL that git runs (git-remote-ext(1)).
pub fn of_ext(url: &[u8]) -> Option<&[u8]> {
    url.strip_prefix(b"ext::")
}

/// The scripts of a value that git runs as a command by itself, and what else its options, patterns and words name.
///
/// # Errors
/// The command is too long to be read.
pub fn scripts(value: &[u8], top: &Path, home: &Path) -> Result<Vec<PathBuf>, TooLong> {
    if value.len() > MAX_TEXT {
        return Err(TooLong);
    }
    let Ok(text) = str::from_utf8(value.strip_prefix(b"!").unwrap_or(value)) else { return Ok(Vec::new()) };
    let mut found = scripts_of_text(text, home, top)?;
    let expanded = with_variables(text)?;
    if expanded != text {
        found.extend(scripts_of_text(&expanded, home, top)?);
        found.extend(programs(expanded.as_bytes(), top, Some(home)));
    }
    let text = &expanded;
    let lower = text.to_ascii_lowercase();
    let options = SSH_COMMANDS.into_iter().flat_map(|option| lower.match_indices(option));
    for (count, (at, _)) in options.enumerate() {
        if count >= MAX_OPTIONS {
            return Err(TooLong);
        }
        // The option's value is a command: `-o 'ProxyCommand sh p %h'`, `-oProxyCommand=p`.
        let rest = text[at..].trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        found.extend(scripts_of_text(rest.trim_matches([' ', '=', '"', '\'']), home, top)?);
    }
    // Once as a shell has it, and once without quotes: a command may be quoted in another one.
    let commands = commands_of(text).commands;
    let of_shell = commands.iter().flat_map(|command| command.words.iter().chain(&command.inputs));
    let of_shell: Vec<&[u8]> = of_shell.map(String::as_bytes).collect();
    for words in [of_shell, words(text.as_bytes()).collect()] {
        found.extend(named_by_words(&words, top, home));
    }
    found.retain(|path| !is_device(path));
    Ok(found)
}

/// Writes the variables out that the home and the text itself give a value: `D=tools; $D/run`.
fn with_variables(text: &str) -> Result<String, TooLong> {
    let mut text = with_variable(&with_directory(text), "HOME", "~");
    if !text.contains('=') {
        return Ok(text);
    }
    for at in 0.. {
        let words = commands_of(&text).commands.into_iter().flat_map(|command| command.words);
        let Some(assignment) = words.filter(|word| is_assignment(word)).nth(at) else { break };
        let Some((name, value)) = assignment.split_once('=') else { break };
        if at >= MAX_VARIABLES || text.len() + text.matches('$').count() * value.len() > MAX_TEXT {
            return Err(TooLong);
        }
        text = with_variable(&text, name, value);
    }
    Ok(text)
}

fn with_variable(text: &str, name: &str, value: &str) -> String {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let text = text.replace(&format!("${{{name}}}"), value);
    let named = format!("${name}");
    let mut parts = text.split(&named);
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.starts_with(is_of_name) {
            true => replaced.push_str(&named),
            false => replaced.push_str(value),
        }
        replaced.push_str(part);
    }
    replaced
}

/// What options, patterns and `run-parts` name in the words of a command, and files without a slash in their names that are
/// there: an interpreter may run them, whatever stands before it.
fn named_by_words(words: &[&[u8]], top: &Path, home: &Path) -> Vec<PathBuf> {
    let named = |word: &[u8]| paths(word, top, Some(home));
    let words: Vec<&[u8]> = words.iter().copied().filter(|word| !word.is_empty()).collect();
    let (mut found, mut next) = (Vec::new(), None);
    for (at, word) in words.iter().enumerate().rev() {
        // A configuration of ssh(1), or a script of awk(1) and sed(1), but not `[ -f FILE ]`.
        let is_test = at > 0 && matches!(words[at - 1], b"[" | b"[[" | b"test" | b"!");
        let mut options = [b'F', b'f'].into_iter().filter(|_| !is_test);
        if let Some(file) = options.find_map(|option| file_of_option(word, option)) {
            let file = Some(file).filter(|file| !file.is_empty()).or(next);
            found.extend(file.into_iter().flat_map(named).filter(|path| !path.is_dir()));
        }
        if !word.starts_with(b"-") {
            next = Some(*word);
        }
        // Any name in the directory may fit a pattern, or be what the shell puts there.
        if let Some(open) = word.iter().position(|byte| b"*?[$`\x01".contains(byte))
            && let Some(end) = word[..open].iter().rposition(|byte| *byte == b'/')
        {
            let directory = Some(&word[..end]).filter(|word| is_name(word));
            found.extend(directory.into_iter().flat_map(named).filter(|path| !is_shared(path, top, home)));
        }
    }
    let runs_parts = |word: &&&[u8]| word.rsplit(|byte| *byte == b'/').next() == Some(b"run-parts");
    let parts = words.iter().skip_while(|word| !runs_parts(word)).skip(1);
    found.extend(parts.filter(|word| is_name(word)).flat_map(|word| named(word)));
    // The first word is a program, for which the shell looks in PATH. A name with an end is a script, which is found by its
    // interpreter, or data.
    let files = words.iter().skip(1).filter(|word| !word.iter().any(|byte| b"/.".contains(byte)));
    found.extend(files.map(|word| top.join(as_path(word))).filter(|path| path.is_file()));
    found
}

/// Whether many programs write in a directory: around the top or the home, or for temporary files, caches or configurations
/// as a whole.
fn is_shared(directory: &Path, top: &Path, home: &Path) -> bool {
    let temporary = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from).into_iter().chain([env::temp_dir()]);
    let of_home = [".cache", ".config", ".local"].map(|name| home.join(name));
    top.starts_with(directory)
        || home.starts_with(directory)
        || temporary.chain(of_home).any(|shared| shared == directory)
}

/// Options of ssh's whose value is a command, in lower case (ssh_config(5)).
const SSH_COMMANDS: [&str; 3] = ["proxycommand", "localcommand", "knownhostscommand"];

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
            ("ssh -F \"$(git rev-parse --show-toplevel)/cfg\"", "cfg"),
            ("ssh -F `pwd`/cfg", "cfg"),
            ("ssh -F\"$PWD\"/cfg", "cfg"),
            ("ssh -F \"${HOME}/app/cfg\"", "cfg"),
            ("ssh -F 'my cfg'", "my cfg"),
            ("ssh -F my\\ cfg", "my cfg"),
            ("ssh -o 'proxycommand sh p.sh'", "p.sh"),
            ("ssh -oPROXYCOMMAND=tools/p", "tools/p"),
            ("tools/ssh-$(uname -s)", "tools"),
            ("tools/${USER:-bob}", "tools"),
            ("sh tools/`uname -m`/run", "tools"),
            ("D=tools; $D/w", "tools/w"),
            ("D=$PWD/tools E=$D; \"${E}\"/w", "tools/w"),
            ("T=tools; sh $T/fsm", "tools/fsm"),
            ("/srv/tools/run$X", "/srv/tools"),
            ("sh /dev/shm/x", "/dev/shm/x"),
            ("/dev/../srv/tools/d", "/dev/../srv/tools/d"),
            ("/proc/self/cwd/d", "/proc/self/cwd/d"),
        ] {
            assert!(program(value).contains(&expected.to_owned()), "{value}: {:?}", program(value));
        }
        assert_eq!(program("less -R"), [""; 0]);
        assert_eq!(program("cache --timeout 3600"), [""; 0]);
        // What many programs share, and the home as a whole, is the operator's work.
        for (value, shared) in [
            ("ssh -i $HOME/$KEY", "/home/u"),
            ("x ~/.cache/$Y", "/home/u/.cache"),
            ("x > /tmp/y$$", "/tmp"),
            ("x 2>/dev/null", "/dev/null"),
        ] {
            assert!(!program(value).contains(&shared.to_owned()), "{value}");
        }
        // One of these words has more beginnings than memory.
        let letters = format!("-{}/x", "a".repeat(60_000));
        assert!(programs(letters.as_bytes(), Path::new(TOP), None).len() < 2);
        let options = "ssh ".to_owned() + &"-o proxycommand=x ".repeat(1000);
        for long in [options, "x".repeat(100_000), format!("A={}; {}", "a".repeat(1000), "$A ".repeat(1000))]
        {
            assert_eq!(scripts(long.as_bytes(), Path::new(TOP), Path::new("/home/u")), Err(TooLong));
        }
    }

    #[test]
    fn files_that_are_there_are_found_wherever_a_command_has_them() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path();
        std::fs::write(top.join("w"), "").unwrap();
        for value in [
            "flock x sh w",
            "eval \"$(cat w)\"",
            "BASH_ENV=w bash -c true",
            "sh -c '. <(cat w)'",
            "awk --file=w",
        ] {
            assert!(
                scripts(value.as_bytes(), top, Path::new("/none")).unwrap().contains(&top.join("w")),
                "{value}"
            );
        }
        assert_eq!(scripts(b"w", top, Path::new("/none")), Ok(Vec::new()));
    }
}
