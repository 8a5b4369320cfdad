//! Finds the files in an interpreter's arguments that it may run: an approval is bound to them too.

use super::inline_eval::{inline_eval_of, is_interpreter};
use super::name::program_name;
use super::reads_programs::reads_programs;
use super::starters::is_shell;

/// The options of an interpreter before its script, from its manual page or `--help`. An option that is not here may
/// take a value or not.
struct InterpreterOptions {
    names: &'static [&'static str],
    /// Letters of options without a value, which may be combined.
    plain: &'static str,
    /// Letters of options that take the rest of the argument, or the next one.
    valued: &'static str,
    /// Letters of options that take the rest of the argument, if there is any.
    attached: &'static str,
    /// Letters after which no script follows.
    fileless: &'static str,
    /// Long options without a value.
    long: &'static [&'static str],
    /// Long options that take the next argument, or what follows `=`.
    long_valued: &'static [&'static str],
}

const OPTIONS: [InterpreterOptions; 7] = [
    // python(1) 3.13
    InterpreterOptions {
        names: &["python", "python2", "python3", "pypy", "pypy3"],
        plain: "bBdEhiIOPqsSuvVx?",
        valued: "WX",
        attached: "",
        fileless: "cm",
        long: &["--help", "--version"],
        long_valued: &["--check-hash-based-pycs"],
    },
    // perlrun(1) 5.40
    InterpreterOptions {
        names: &["perl"],
        plain: "acfnpsStTuUvwWX",
        valued: "I",
        attached: "0CdDFilmMVx",
        fileless: "eE",
        long: &[],
        long_valued: &[],
    },
    // ruby(1) 3.3
    InterpreterOptions {
        names: &["ruby"],
        plain: "aclnpsSvwUyh",
        valued: "CEIr",
        attached: "0FiKTWx",
        fileless: "e",
        long: &["--verbose", "--version", "--yjit", "--jit"],
        long_valued: &["--encoding", "--external-encoding", "--internal-encoding"],
    },
    // node(1) 20: every long option that is not here is one that is not known.
    InterpreterOptions {
        names: &["node", "nodejs"],
        plain: "ci",
        valued: "rC",
        attached: "",
        fileless: "ep",
        long: &[
            "--check",
            "--interactive",
            "--no-warnings",
            "--enable-source-maps",
            "--trace-warnings",
            "--inspect",
        ],
        long_valued: &[
            "--require",
            "--import",
            "--loader",
            "--experimental-loader",
            "--conditions",
            "--title",
        ],
    },
    // bash(1) 5.2, dash(1), ksh(1), zsh(1)
    InterpreterOptions {
        names: &["bash", "sh", "dash", "ash", "ksh", "mksh", "zsh"],
        plain: "abefhiklmnprtuvxBCDEHPTL",
        valued: "oO",
        attached: "",
        fileless: "cs",
        long: &["--norc", "--noprofile", "--posix", "--login", "--restricted", "--verbose", "--noediting"],
        long_valued: &["--rcfile", "--init-file"],
    },
    // php(1) 8.2
    InterpreterOptions {
        names: &["php"],
        plain: "ainqswm",
        valued: "cdtz",
        attached: "",
        fileless: "rBREFS",
        long: &[],
        long_valued: &[],
    },
    // lua(1) 5.4
    InterpreterOptions {
        names: &["lua", "luajit"],
        plain: "ivEW",
        valued: "l",
        attached: "",
        fileless: "e",
        long: &[],
        long_valued: &[],
    },
];

/// The files that a program may run by its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operands {
    /// The index in `argv` of the script, where it is certain.
    pub script: Option<usize>,
    /// What else may be a file that is run: other arguments, and values of options. Empty where the script is certain
    /// and no option loads code.
    pub others: Vec<Vec<u8>>,
}

/// Returns the files that the program at `path` may run. They never allow anything.
pub fn script_operands(path: &[u8], argv: &[Vec<u8>]) -> Operands {
    let arguments = argv.get(1..).unwrap_or_default();
    if !(is_shell(path) || is_interpreter(path) || reads_programs(path, arguments)) {
        return Operands::default();
    }
    let script = script(path, arguments);
    let before = &arguments[..script.unwrap_or(arguments.len())];
    Operands {
        script: script.map(|at| at + 1),
        others: before.iter().flat_map(|word| values(word)).collect(),
    }
}

/// What an argument names if it is a file: itself, or the value that is attached to an option.
fn values(argument: &[u8]) -> Vec<Vec<u8>> {
    let attached = match argument {
        [b'-', b'-', ..] => argument.iter().position(|byte| *byte == b'=').map(|at| &argument[at + 1..]),
        [b'-', _, rest @ ..] => Some(rest),
        _ => Some(argument),
    };
    let named = attached.filter(|value| !value.is_empty());
    named.into_iter().map(<[u8]>::to_vec).collect()
}

/// Returns the position of the script among the arguments, if that is certain.
fn script(path: &[u8], arguments: &[Vec<u8>]) -> Option<usize> {
    if inline_eval_of(path, arguments).is_some() {
        return None;
    }
    let program = program_name(path);
    let stem = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is =
        |options: &&InterpreterOptions| options.names.iter().any(|name| *name == program || *name == stem);
    let options = OPTIONS.iter().find(is)?;
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        match options.step(argument) {
            Step::Options(count) => at += count,
            Step::Script => return Some(at),
            Step::AfterEnd => return (at + 1 < arguments.len()).then_some(at + 1),
            Step::NoScript | Step::Unknown => return None,
        }
    }
    None
}

/// What an argument is to the search for the script.
enum Step {
    /// An option: so many arguments with its value.
    Options(usize),
    Script,
    /// `--`: the script follows.
    AfterEnd,
    /// The program is a module, code, or standard input.
    NoScript,
    Unknown,
}

impl InterpreterOptions {
    fn step(&self, argument: &[u8]) -> Step {
        match argument {
            b"-" => Step::NoScript,
            b"--" => Step::AfterEnd,
            [b'-', b'-', ..] => self.long(argument),
            // A shell switches options off with a plus sign.
            [b'-', letters @ ..] => self.letters(letters),
            [b'+', letters @ ..] if self.valued.contains('O') => self.letters(letters),
            _ => Step::Script,
        }
    }

    fn long(&self, argument: &[u8]) -> Step {
        let is = |names: &[&str], name: &[u8]| names.iter().any(|known| known.as_bytes() == name);
        match argument.iter().position(|byte| *byte == b'=') {
            Some(end) if is(self.long_valued, &argument[..end]) => Step::Options(1),
            None if is(self.long, argument) => Step::Options(1),
            None if is(self.long_valued, argument) => Step::Options(2),
            _ => Step::Unknown,
        }
    }

    fn letters(&self, letters: &[u8]) -> Step {
        for (index, letter) in letters.iter().enumerate() {
            let letter = char::from(*letter);
            if self.fileless.contains(letter) {
                return Step::NoScript;
            }
            if self.attached.contains(letter) {
                return Step::Options(1);
            }
            if self.valued.contains(letter) {
                let is_attached = index + 1 < letters.len();
                return Step::Options(if is_attached { 1 } else { 2 });
            }
            if !self.plain.contains(letter) {
                return Step::Unknown;
            }
        }
        Step::Options(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operands(line: &str) -> (Option<&str>, Vec<String>) {
        let words: Vec<&str> = line.split(' ').collect();
        let argv: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        let Operands { script, others } = script_operands(words[0].as_bytes(), &argv);
        let text = |other: Vec<u8>| String::from_utf8(other).unwrap();
        (script.map(|at| words[at]), others.into_iter().map(text).collect())
    }

    #[test]
    fn the_script_is_what_the_interpreter_takes_for_it() {
        for (line, expected) in [
            ("/usr/bin/python3 tool.py a b", "tool.py"),
            ("/usr/bin/python3.12 -u -W ignore tool.py", "tool.py"),
            ("/usr/bin/python3 -O evil.py good.py", "evil.py"),
            ("/usr/bin/python3 -OO -Xdev evil.py good.py", "evil.py"),
            ("/usr/bin/perl -X evil.pl good.pl", "evil.pl"),
            ("/usr/bin/perl -I good.pl evil.pl", "evil.pl"),
            ("/usr/bin/perl -W -l012 evil.pl good.pl", "evil.pl"),
            ("/usr/bin/node --title good.js evil.js", "evil.js"),
            ("/usr/bin/node --title=good.js evil.js", "evil.js"),
            ("/usr/bin/node --require ./pre.js main.js", "main.js"),
            ("/usr/bin/ruby -r good.rb evil.rb", "evil.rb"),
            ("/usr/bin/php -c good.php evil.php", "evil.php"),
            ("/bin/bash -x -o pipefail build.sh", "build.sh"),
            ("/bin/bash +x -eo pipefail build.sh", "build.sh"),
            ("/usr/bin/perl -- -odd", "-odd"),
            ("/usr/bin/lua5.4 -l mod main.lua", "main.lua"),
        ] {
            assert_eq!(operands(line).0, Some(expected), "{line}");
        }
    }

    #[test]
    fn what_is_not_certain_is_no_script() {
        for line in [
            "/usr/bin/python3",
            "/usr/bin/python3 -m http.server",
            "/usr/bin/python3 -c x tool.py",
            "/usr/bin/python3 - tool.py",
            "/usr/bin/python3 --new-option a.py b.py",
            "/usr/bin/node --new-option a.js b.js",
            "/bin/bash -ec x",
            "/bin/bash -s x",
            "/usr/bin/curl file",
            "/usr/bin/make all",
            "/usr/bin/perl --",
            "/usr/bin/deno run a.ts",
        ] {
            assert_eq!(operands(line).0, None, "{line}");
        }
    }

    #[test]
    fn every_other_file_that_may_run_is_named() {
        for (line, expected) in [
            ("/usr/bin/python3 tool.py data", &[][..]),
            ("/usr/bin/node --require ./pre.js main.js data", &["./pre.js"]),
            ("/usr/bin/node -r./pre.js main.js", &["./pre.js"]),
            ("/usr/bin/node --new=a.js b.js", &["a.js", "b.js"]),
            ("/usr/bin/make -f evil all", &["evil", "all"]),
            ("/usr/bin/awk -fevil data", &["evil", "data"]),
            ("/usr/bin/tclsh evil.tcl", &["evil.tcl"]),
            ("/usr/bin/java -jar evil.jar", &["ar", "evil.jar"]),
            ("/usr/bin/curl file", &[]),
        ] {
            assert_eq!(operands(line).1, expected, "{line}");
        }
    }
}
