//! Finds the command that a wrapper program starts, or reports that it cannot be determined.

use guard_policy::programs::name::program_name;
use guard_policy::programs::starters::{MULTICALL, OPAQUE, is_shell};

use super::name::is_assignment;

/// The most wrappers before a command.
const MAX_WRAPPERS: usize = 4;

/// What one wrapper does with the rest of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrapper<'a> {
    /// Not a wrapper.
    None,
    /// A wrapper that changes more than it shows, or has unknown options.
    Blocked,
    /// A wrapper that only starts this command.
    Starts(&'a [String]),
}

/// A command without its wrappers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unwrapped<'a> {
    /// What runs in the end, or the wrapper that blocks.
    pub(super) argv: &'a [String],
    /// The command that is looked up in the allowlist: `argv`, or the multicall binary that runs it.
    pub(super) listed: &'a [String],
    /// The name of the wrapper that cannot be looked through.
    pub(super) blocked: Option<String>,
}

/// Removes wrappers until a program is left or a wrapper blocks.
pub(super) fn unwrap(argv: &[String]) -> Unwrapped<'_> {
    let (mut current, mut multicall) = (argv, None);
    for depth in 0.. {
        let is_multicall = MULTICALL.contains(&name_of(current).as_str());
        match layer(current) {
            Wrapper::None => break,
            Wrapper::Starts(inner) if depth < MAX_WRAPPERS => {
                if is_multicall {
                    multicall.get_or_insert(current);
                }
                current = inner;
            }
            Wrapper::Starts(_) | Wrapper::Blocked => {
                return Unwrapped { argv: current, listed: current, blocked: Some(name_of(current)) };
            }
        }
    }
    Unwrapped { argv: current, listed: multicall.unwrap_or(current), blocked: None }
}

/// Classifies one wrapper of any kind: dispatching programs, shell builtins, multicall binaries.
fn layer(argv: &[String]) -> Wrapper<'_> {
    match dispatch(argv) {
        Wrapper::None => {}
        known => return known,
    }
    let Some(first) = argv.first() else { return Wrapper::None };
    match first.trim() {
        "command" | "builtin" | "exec" => word(argv).map_or(Wrapper::Blocked, Wrapper::Starts),
        _ if MULTICALL.contains(&program_name(first).as_str()) => multicall(argv),
        _ => Wrapper::None,
    }
}

fn name_of(argv: &[String]) -> String {
    argv.first().map(program_name).unwrap_or_default()
}

/// Looks through a multicall binary only if the applet is a shell: no entry can name any other applet.
fn multicall(argv: &[String]) -> Wrapper<'_> {
    let applet = if argv.get(1).is_some_and(|argument| argument == "--") { 2 } else { 1 };
    match argv.get(applet) {
        Some(name) if is_shell(name) => Wrapper::Starts(&argv[applet..]),
        _ => Wrapper::Blocked,
    }
}

/// Returns what a dispatching program starts.
pub(super) fn dispatch(argv: &[String]) -> Wrapper<'_> {
    let Some(first) = argv.first() else { return Wrapper::None };
    let name = program_name(first);
    let at = match name.as_str() {
        "env" => return env(argv),
        name if OPAQUE.contains(&name) => return Wrapper::Blocked,
        "caffeinate" => CAFFEINATE.command(argv),
        "flock" => FLOCK.command(argv),
        "nice" => NICE.command(argv),
        "nohup" => NOHUP.command(argv),
        "sandbox-exec" => SANDBOX_EXEC.command(argv),
        "stdbuf" => STDBUF.command(argv),
        "time" => TIME.command(argv),
        "timeout" => TIMEOUT.command(argv),
        _ => return Wrapper::None,
    };
    at.map_or(Wrapper::Blocked, |at| Wrapper::Starts(&argv[at..]))
}

/// The options of a wrapper that is looked through. Any other option blocks it.
struct WrapperOptions {
    flags: &'static [&'static str],
    /// Options whose value is the next argument or follows `=`.
    valued: &'static [&'static str],
    /// A test for an option joined with its value: `-n5`, `-5`.
    attached: fn(&str) -> bool,
    /// The number of arguments between the options and the command.
    operands: usize,
}

const fn options(flags: &'static [&'static str], valued: &'static [&'static str]) -> WrapperOptions {
    WrapperOptions { flags, valued, attached: |_| false, operands: 0 }
}

const CAFFEINATE: WrapperOptions = options(&["-d", "-i", "-m", "-s", "-u"], &["-t", "-w"]);
const FLOCK: WrapperOptions = WrapperOptions {
    operands: 1,
    ..options(
        &[
            "-s",
            "--shared",
            "-x",
            "-e",
            "--exclusive",
            "-u",
            "--unlock",
            "-n",
            "--nb",
            "--nonblock",
            "-o",
            "--close",
            "-F",
            "--no-fork",
            "--fcntl",
            "--verbose",
        ],
        &["-w", "--wait", "--timeout", "-E", "--conflict-exit-code"],
    )
};
const NICE: WrapperOptions = WrapperOptions {
    attached: |token| {
        let digits = token.strip_prefix("-n").or_else(|| token.strip_prefix('-')).unwrap_or("");
        !digits.is_empty() && digits.trim_start_matches(['-', '+']).bytes().all(|byte| byte.is_ascii_digit())
    },
    ..options(&[], &["-n", "--adjustment", "--priority"])
};
const NOHUP: WrapperOptions = options(&["--help", "--version"], &[]);
const SANDBOX_EXEC: WrapperOptions = options(&[], &["-f", "-p", "-d"]);
const STDBUF: WrapperOptions = options(&[], &["-i", "--input", "-o", "--output", "-e", "--error"]);
// `-o` is left out because it writes a file.
const TIME: WrapperOptions = options(
    &["-h", "--help", "-l", "-p", "-q", "--quiet", "-v", "--verbose", "-V", "--version"],
    &["-f", "--format"],
);
const TIMEOUT: WrapperOptions = WrapperOptions {
    operands: 1,
    ..options(
        &["--foreground", "--preserve-status", "-v", "--verbose"],
        &["-k", "--kill-after", "-s", "--signal"],
    )
};

impl WrapperOptions {
    fn command(&self, argv: &[String]) -> Option<usize> {
        let mut at = 1;
        while let Some(token) = argv.get(at) {
            let flag = token.split_once('=').map_or(token.as_str(), |(flag, _)| flag);
            if token == "--" {
                at += 1;
                break;
            } else if !token.starts_with('-') || token == "-" {
                break;
            } else if self.valued.contains(&flag) {
                at += if token.contains('=') { 1 } else { 2 };
            } else if self.flags.contains(&token.as_str()) || (self.attached)(token) {
                at += 1;
            } else {
                return None;
            }
        }
        let at = at + self.operands;
        // An option here belongs to the wrapper itself: flock FILE -c CODE.
        argv.get(at).filter(|name| self.operands == 0 || !name.starts_with('-'))?;
        Some(at)
    }
}

/// Looks through `env` only if it changes nothing.
fn env(argv: &[String]) -> Wrapper<'_> {
    let at = match argv.get(1).map(String::as_str) {
        Some("--" | "-") => 2,
        Some(token) if token.starts_with('-') || is_assignment(token) => return Wrapper::Blocked,
        _ => 1,
    };
    if argv.get(at).is_some() { Wrapper::Starts(&argv[at..]) } else { Wrapper::Blocked }
}

/// Returns what `env` starts, whatever it changes. None for `-S` or an unknown option.
pub(super) fn env_command(argv: &[String]) -> Option<&[String]> {
    let mut at = 1;
    while let Some(token) = argv.get(at) {
        let option = token.split_once('=').map_or(token.as_str(), |(name, _)| name);
        match option {
            "--" | "-" => {
                at += 1;
                break;
            }
            "-i" | "--ignore-environment" | "-0" | "--null" => at += 1,
            "-u" | "--unset" | "-C" | "--chdir" => at += if token.contains('=') { 1 } else { 2 },
            _ if is_assignment(token) => at += 1,
            _ if token.starts_with('-') => return None,
            _ => break,
        }
    }
    argv.get(at..).filter(|rest| !rest.is_empty())
}

/// Returns what the shell's builtins `command`, `builtin` and `exec` start.
pub(super) fn word(argv: &[String]) -> Option<&[String]> {
    let is_exec = argv.first()?.trim() == "exec";
    let mut at = 1;
    while let Some(token) = argv.get(at) {
        match token.as_str() {
            "--" => {
                at += 1;
                break;
            }
            "-c" | "-l" | "-cl" | "-lc" if is_exec => at += 1,
            "-a" if is_exec => at += 2,
            // `command -v` starts nothing, `command -p` searches elsewhere.
            token if token.starts_with('-') => return None,
            _ => break,
        }
    }
    argv.get(at..).filter(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use guard_policy::programs::starters::{TRANSPARENT, is_dispatch};

    fn argv(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    fn inner(line: &str) -> Result<String, String> {
        let argv = argv(line);
        let unwrapped = unwrap(&argv);
        unwrapped.blocked.map_or_else(|| Ok(unwrapped.argv.join(" ")), Err)
    }

    #[test]
    fn transparent_wrappers_are_taken_off() {
        for line in [
            "ls -l",
            "env ls -l",
            "env -- ls -l",
            "/usr/bin/env - ls -l",
            "nice ls -l",
            "nice -n 5 ls -l",
            "nice -n5 ls -l",
            "nice -5 ls -l",
            "nice --adjustment=5 -- ls -l",
            "nohup ls -l",
            "timeout 5 ls -l",
            "timeout -k 1 --signal=KILL 5s ls -l",
            "stdbuf -o L ls -l",
            "stdbuf --output=L ls -l",
            "time -p ls -l",
            "flock /tmp/x ls -l",
            "flock -n -w 5 /tmp/x ls -l",
            "exec ls -l",
            "exec -a x ls -l",
            "command ls -l",
            "command -- ls -l",
            "builtin ls -l",
            "nice env nohup timeout 1 ls -l",
        ] {
            assert_eq!(inner(line), Ok("ls -l".to_owned()), "{line}");
        }
    }

    #[test]
    fn others_block() {
        for (line, name) in [
            ("env A=1 ls", "env"),
            ("env -i ls", "env"),
            ("env -S ls", "env"),
            ("env", "env"),
            ("nice", "nice"),
            ("nice -x ls", "nice"),
            ("stdbuf -oL ls", "stdbuf"),
            ("time -o f ls", "time"),
            ("timeout 5", "timeout"),
            ("timeout 5 -c ls", "timeout"),
            ("flock f -c ls", "flock"),
            ("flock -c f ls", "flock"),
            ("flock 9", "flock"),
            ("sudo ls", "sudo"),
            ("command -v ls", "command"),
            ("command -p ls", "command"),
            ("exec", "exec"),
            ("busybox ls", "busybox"),
            ("busybox", "busybox"),
            ("nice sudo ls", "sudo"),
            ("nice nice nice nice nice ls", "nice"),
            ("nice nice nice nice exec ls", "exec"),
            ("bwrap ls", "bwrap"),
        ] {
            assert_eq!(inner(line), Err(name.to_owned()), "{line}");
        }
    }

    #[test]
    fn every_known_wrapper_is_recognised() {
        for name in OPAQUE.iter().chain(&TRANSPARENT) {
            assert_ne!(dispatch(&[(*name).to_owned()]), Wrapper::None, "{name}");
        }
        for name in ["xargs", "find", "bash", "busybox", "ls"] {
            assert!(dispatch(&[name.to_owned()]) == Wrapper::None && !is_dispatch(name), "{name}");
        }
    }

    #[test]
    fn a_multicall_shell_is_listed_by_its_own_name() {
        let argv = argv("nice busybox -- sh -c ls");
        let unwrapped = unwrap(&argv);
        assert_eq!(unwrapped.argv, ["sh", "-c", "ls"]);
        assert_eq!(unwrapped.listed[0], "busybox");
    }
}
