//! Code in the arguments of an interpreter, for `exec.strictInlineEval`.

mod commands;
mod grammar;
mod openclaw;

pub use openclaw::FIND;

use super::interpreters::{applet, is_of};
use super::name::program_name;
pub(super) use grammar::code_option;
use openclaw::{COMMANDS, Cluster, FLAGS, Flags, OPERANDS, Operand};

/// Code or a command in the arguments of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The program's name, in lower case.
    pub program: String,
    /// The option that takes the code: `-c`; `<program>` or `<command>` for an operand.
    pub flag: String,
    /// Whether the argument is code, or a command that is judged when it starts.
    pub kind: Inline,
}

/// What an argument holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inline {
    /// Code in the program's own language.
    Code,
    /// Another program and its arguments: `find -exec`, `xargs`.
    Command,
}

/// Finds code in an argv, by the name in `argv[0]`. Shells, and wrappers that start others, do not count:
/// what they run is judged when it starts.
///
/// The caller chooses `argv[0]`; if the file is known, use [`inline_eval_of`].
pub fn inline_eval<A: AsRef<[u8]>>(argv: &[A]) -> Option<Hit> {
    let (name, arguments) = argv.split_first()?;
    inline_eval_of(name.as_ref(), arguments)
}

/// Finds code in the arguments of the program at a path, whatever its `argv[0]`: `arguments` begin after
/// that.
pub fn inline_eval_of<A: AsRef<[u8]>>(path: &[u8], arguments: &[A]) -> Option<Hit> {
    let (program, arguments) = applet(program_name(path), arguments);
    let arguments: Vec<_> =
        arguments.iter().map(|argument| String::from_utf8_lossy(argument.as_ref())).collect();
    let written: Vec<&str> = arguments.iter().map(|argument| &**argument).collect();
    let arguments: Vec<&str> = written.iter().map(|argument| argument.trim()).collect();
    let hit = |flag: &str, kind| Some(Hit { program: program.clone(), flag: flag.to_owned(), kind });
    if let Some(spec) = FLAGS.iter().find(|spec| is_of(&program, spec.names))
        && let Some(flag) =
            arguments.iter().take_while(|token| **token != "--").find_map(|token| spec.takes_code(token))
    {
        return hit(flag, Inline::Code);
    }
    if is_of(&program, &["deno"]) && runs_text(&arguments) {
        return hit("eval", Inline::Code);
    }
    if let Some(flag) = code_option(&program, &written) {
        return hit(&flag, Inline::Code);
    }
    if is_of(&program, &["find"]) {
        let flag = FIND.iter().find(|flag| arguments.contains(flag))?;
        return hit(flag, Inline::Command);
    }
    if operand(OPERANDS, &program, &arguments) {
        return hit("<program>", Inline::Code);
    }
    if operand(COMMANDS, &program, &arguments) {
        return hit("<command>", Inline::Command);
    }
    None
}

/// Returns whether deno's command, after its general options, takes code.
fn runs_text(arguments: &[&str]) -> bool {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match *word {
            "-L" | "--log-level" => drop(rest.next()),
            option if option.starts_with('-') => {}
            command => return matches!(command, "eval" | "repl"),
        }
    }
    false
}

/// Returns whether a program runs code or commands from its arguments or input: an entry for it allows too
/// much.
#[must_use]
pub fn is_interpreter(token: impl AsRef<[u8]>) -> bool {
    let program = program_name(token);
    let names =
        FLAGS.iter().map(|spec| spec.names).chain(OPERANDS.iter().chain(COMMANDS).map(|spec| spec.names));
    names.chain([&["find"][..]]).any(|names| is_of(&program, names))
}

impl Flags {
    /// Returns the option's name, if the argument is an option that takes code.
    fn takes_code(&self, token: &str) -> Option<&'static str> {
        let is_flag = |flag: &&&str, token: &str| {
            let long =
                || flag.len() > 2 && token.strip_prefix(**flag).is_some_and(|rest| rest.starts_with('='));
            token == **flag || long()
        };
        let lower = token.to_ascii_lowercase();
        let found = self.any_case.iter().find(|flag| is_flag(flag, &lower));
        let found = found.or_else(|| self.exact.iter().find(|flag| is_flag(flag, token)));
        let attached = || {
            let letters = self.any_case.iter().chain(self.exact).filter(|flag| flag.len() == 2);
            let is_other = self.names == ["groovy"] && lower.starts_with("-encoding");
            letters.filter(|_| self.attached && !is_other).find(|flag| token.starts_with(**flag))
        };
        found.or_else(attached).copied().or_else(|| self.cluster.as_ref()?.takes_code(token))
    }
}

impl Cluster {
    fn takes_code(&self, token: &str) -> Option<&'static str> {
        let letters = token.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
        let mut before = '\0';
        for letter in letters.chars() {
            if let Some(at) = self.code.find(letter) {
                return ["-e", "-c", "-E"].into_iter().find(|flag| flag[1..] == self.code[at..=at]);
            }
            // Only -0, -l and -W take digits.
            let is_number = letter.is_ascii_digit() && matches!(before, '0'..='9' | 'l' | 'W');
            if !(self.before.contains(letter) || is_number && self.before.contains('0')) {
                return None;
            }
            before = letter;
        }
        None
    }
}

/// Returns whether there is an operand that the program runs.
fn operand(table: &[Operand], program: &str, arguments: &[&str]) -> bool {
    let Some(spec) = table.iter().find(|spec| is_of(program, spec.names)) else { return false };
    let mut rest = arguments.iter();
    while let Some(token) = rest.next() {
        let from_file = |flag: &&str| token.starts_with(*flag);
        match *token {
            "" => {}
            "--" => return rest.next().is_some_and(|next| !next.is_empty()),
            token if spec.valued.contains(&token) => drop(rest.next()),
            _ if spec.from_file.iter().any(from_file) => return false,
            token if token.starts_with('-') => {}
            _ => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flag(line: &str) -> Option<String> {
        inline_eval(&line.split(' ').collect::<Vec<_>>()).map(|hit| hit.flag)
    }

    #[test]
    fn code_in_arguments_is_found() {
        for (line, expected) in [
            ("python3 -c 1", "-c"),
            ("/usr/bin/python3.12 -c1", "-c"),
            ("python -Bc 1", "-c"),
            ("node -e 1", "-e"),
            ("node --eval=1", "--eval"),
            ("node -p 1", "-p"),
            ("deno eval 1", "eval"),
            ("bun -e 1", "-e"),
            ("ruby -ne 1", "-e"),
            ("ruby -0777ne 1", "-e"),
            ("perl -lane 1", "-e"),
            ("perl -E 1", "-e"),
            ("perl -l012pe 1", "-e"),
            ("php -r 1", "-r"),
            ("php -B 1", "-B"),
            ("lua5.4 -e 1", "-e"),
            ("Rscript -e 1", "-e"),
            ("gdb -ex run", "-ex"),
            ("make -f x", "-f"),
            ("make --eval=x", "--eval"),
            ("find . -exec ls ;", "-exec"),
            ("find -- . -okdir ls ;", "-okdir"),
            ("xargs ls", "<command>"),
            ("xargs -n 1 -I{} ls", "<command>"),
            ("awk 1", "<program>"),
            ("gawk -F : -v a=b 1 f", "<program>"),
            ("awk --source=1", "--source"),
            ("sed s/a/b/", "<program>"),
            ("sed -n -e p", "-e"),
            ("sed -- p", "<program>"),
        ] {
            assert_eq!(flag(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn programs_in_files_are_not() {
        for line in [
            "python3 app.py",
            "python3 app.py",
            "python3 -m http.server",
            "python3 -- -c",
            "node app.js",
            "ruby a.rb",
            "perl -w a.pl",
            "php a.php",
            "find . -name x",
            "xargs",
            "xargs -n 1",
            "awk -f a.awk f",
            "sed -f a.sed f",
            "awk",
            "bash -c ls",
            "env python3 -c 1",
            "r2 -e x",
            "ls -e",
            "",
            "groovy -encoding utf8 a",
        ] {
            assert_eq!(flag(line), None, "{line}");
        }
    }

    #[test]
    fn the_program_name_may_come_from_the_file() {
        assert!(inline_eval_of(b"/usr/bin/python3.12", &["-c", "1"]).is_some());
        assert!(inline_eval(&["innocent", "-c", "1"]).is_none());
        assert!(inline_eval(&[b"python3".to_vec(), b"-c\xff".to_vec()]).is_some());
    }

    #[test]
    fn interpreters_are_known_by_name_and_version() {
        for name in ["python3.12", "node", "/usr/bin/mawk", "find", "xargs", "make", "lua5.4", "ruby-3.1"] {
            assert!(is_interpreter(name), "{name}");
        }
        for name in ["ls", "rg", "r2", "nodeenv", "bash"] {
            assert!(!is_interpreter(name), "{name}");
        }
    }
}
