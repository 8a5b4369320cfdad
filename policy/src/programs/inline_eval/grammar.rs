//! How interpreters really parse their options. OpenClaw's table ([`super::interpreters`]) misses combined
//! letters, abbreviated names, `--` as the value of an option, and modules followed by code.
//!
//! An unknown letter is assumed to take no value: at worst this asks once too often.

/// The options of one family of programs.
struct Grammar {
    names: &'static [&'static str],
    /// Letters whose value is code.
    code: &'static str,
    /// Letters with a value: the rest of the argument, or the next argument.
    valued: &'static str,
    /// Letters whose value is the rest of the argument, which may be empty.
    attached: &'static str,
    /// Long options whose value is code.
    words: &'static [&'static str],
    /// Long options with another value: after `=`, or the next argument.
    valued_words: &'static [&'static str],
    reading: OperandRule,
}

/// How the programs of a family parse long options and operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OperandRule {
    /// The first operand is a script, and the rest are its arguments. Long options are not abbreviated.
    Script,
    /// Options may follow operands, and long options may be abbreviated (GNU).
    Gnu,
}

const fn script(names: &'static [&'static str], code: &'static str, valued: &'static str) -> Grammar {
    Grammar { names, code, valued, attached: "", words: &[], valued_words: &[], reading: OperandRule::Script }
}

const GRAMMARS: &[Grammar] = &[
    Grammar {
        valued_words: &["check-hash-based-pycs"],
        ..script(&["python", "python2", "python3", "pypy", "pypy3"], "c", "WXmQ")
    },
    Grammar { attached: "MmFDVxdiC", ..script(&["perl"], "eE", "I") },
    Grammar {
        attached: "Fix",
        valued_words: &["encoding", "external-encoding", "internal-encoding", "enable", "disable"],
        ..script(&["ruby"], "e", "ICEXr")
    },
    Grammar {
        words: &["run", "process-begin", "process-code", "process-end"],
        valued_words: &["define", "file", "php-ini", "server", "docroot", "process-file", "zend-extension"],
        ..script(&["php"], "rBRE", "dcfFtTzS")
    },
    script(&["julia"], "eE", "HLJCtpOg"),
    script(&["expect"], "c", "bf"),
    Grammar {
        words: &["source"],
        valued_words: &["file", "field-separator", "assign", "include", "load", "exec"],
        reading: OperandRule::Gnu,
        ..script(&["awk", "gawk", "mawk", "nawk"], "e", "fFvilEW")
    },
    Grammar {
        attached: "i",
        words: &["expression"],
        valued_words: &["file", "line-length"],
        reading: OperandRule::Gnu,
        ..script(&["sed", "gsed"], "e", "fl")
    },
    Grammar {
        attached: "O",
        words: &["eval"],
        valued_words: &[
            "directory",
            "include-dir",
            "assume-old",
            "assume-new",
            "what-if",
            "new-file",
            "old-file",
        ],
        reading: OperandRule::Gnu,
        ..script(&["make", "gmake"], "E", "CfIoW")
    },
];

/// The flag of a hit in a make variable.
const VARIABLE: &str = "<variable>";

/// Returns the option that takes code, if the arguments of this program have one.
pub(super) fn code_option(program: &str, arguments: &[&str]) -> Option<String> {
    let grammar = GRAMMARS.iter().find(|grammar| is_of(program, grammar.names));
    grammar.and_then(|grammar| grammar.find(arguments)).or_else(|| {
        let words = || arguments.iter().map(|word| word.trim());
        if is_of(program, &["node", "nodejs", "bun", "deno"]) {
            // A `data:` URL contains the module's text, as for --import.
            let is_text = |word: &str| word.to_ascii_lowercase().starts_with("data:");
            return words()
                .any(|word| is_text(word) || word.split_once('=').is_some_and(|(_, value)| is_text(value)))
                .then(|| "data:".to_owned());
        }
        let is_gdb = is_of(program, &["gdb"]);
        words().filter(|_| is_gdb).find_map(gdb_command)
    })
}

/// Returns whether a program has one of these names, apart from its version and build target:
/// `perl5.36-x86_64-linux-gnu`.
pub(super) fn is_of(program: &str, names: &[&str]) -> bool {
    names.iter().filter_map(|name| program.strip_prefix(name)).any(|rest| {
        let version = rest.strip_prefix('-').unwrap_or(rest);
        let build = version.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        // After the version: the build target, or CPython's letters for the kind of build.
        rest.is_empty()
            || program.len() - rest.len() > 1
                && build.len() < version.len()
                && (build.starts_with('-') || build.trim_start_matches(['d', 'm', 'u', 't']).is_empty())
    })
}

/// Returns gdb's option that takes a command. Its long options begin with one or two dashes and may be
/// abbreviated.
fn gdb_command(word: &str) -> Option<String> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    let name = name.split('=').next().unwrap_or(name);
    let is_short = |whole: &str| name.len() > 1 && whole.starts_with(name);
    let is_command = matches!(name, "ex" | "iex" | "ix")
        || name.len() > 2 && (is_short("eval-command") || is_short("init-eval-command"));
    is_command.then(|| format!("-{name}"))
}

impl Grammar {
    fn find(&self, arguments: &[&str]) -> Option<String> {
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if let Some(word) = argument.strip_prefix("--") {
                let (name, value) = word.split_once('=').map_or((word, None), |(n, v)| (n, Some(v)));
                if word.is_empty() {
                    let has_variable = self.is("make") && rest.any(|argument| is_expanded(argument));
                    return has_variable.then(|| VARIABLE.to_owned());
                }
                if let Some(word) = self.words.iter().find(|word| self.means(name, word)) {
                    return Some(format!("--{word}"));
                }
                if self.valued_words.iter().any(|word| self.means(name, word)) {
                    let value = value.or_else(|| rest.next().copied()).unwrap_or_default();
                    if name == "define" && self.is_code('d', value) {
                        return Some("--define".to_owned());
                    }
                }
            } else if let Some(letters) = argument.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                match self.cluster(letters) {
                    Cluster::Code(letter) => return Some(format!("-{letter}")),
                    Cluster::Wants(letter) => {
                        let value = rest.next().copied().unwrap_or_default();
                        if self.is_code(letter, value) {
                            return Some(format!("-{letter}"));
                        }
                        if letter == 'm' {
                            // The rest are the module's arguments.
                            return None;
                        }
                    }
                    Cluster::Plain => {}
                }
            } else if self.reading == OperandRule::Script {
                return None;
            } else if self.is("make") && is_expanded(argument) {
                return Some(VARIABLE.to_owned());
            }
        }
        None
    }

    fn is(&self, family: &str) -> bool {
        self.names[0] == family
    }

    fn means(&self, name: &str, word: &str) -> bool {
        name == word || self.reading == OperandRule::Gnu && word.starts_with(name)
    }

    /// Parses the letters after one dash.
    fn cluster(&self, letters: &str) -> Cluster {
        let is_perl = self.is("perl");
        let mut rest = letters.chars();
        let mut before = '\0';
        while let Some(letter) = rest.next() {
            if self.code.contains(letter) {
                return Cluster::Code(letter);
            }
            // perl's -0xA is a number.
            let is_number = is_perl && letter == 'x' && before == '0';
            if (self.valued.contains(letter) || self.attached.contains(letter)) && !is_number {
                let value = rest.as_str();
                if value.is_empty() && self.valued.contains(letter) {
                    return Cluster::Wants(letter);
                }
                if self.is_code(letter, value) {
                    return Cluster::Code(letter);
                }
                // perl parses on after white space: "-i.bak -e".
                match value.find(char::is_whitespace).filter(|_| is_perl && "iCDI".contains(letter)) {
                    Some(end) => rest = value[end..].chars(),
                    None => return Cluster::Plain,
                }
            }
            match letter {
                'K' if self.is("ruby") => drop(rest.next()),
                // -W:no-deprecated
                'W' if self.is("ruby") && rest.as_str().starts_with(':') => return Cluster::Plain,
                _ => {}
            }
            before = letter;
        }
        Cluster::Plain
    }

    /// Returns whether the value of an option that names a module, a setting or a separator contains code.
    fn is_code(&self, letter: char, value: &str) -> bool {
        match (self.names[0], letter) {
            ("python", 'm') => value == "timeit",
            ("php", 'd') => value.to_ascii_lowercase().contains("data:"),
            ("perl", 'M' | 'm') => !is_import(value),
            ("perl", 'd') => value.split_once(':').is_some_and(|(_, module)| !is_import(module)),
            ("perl", 'F') => is_more_than_a_pattern(value),
            _ => false,
        }
    }
}

/// What the letters after a dash mean.
enum Cluster {
    Plain,
    /// The next argument is this letter's value.
    Wants(char),
    Code(char),
}

/// Returns true for `Module`, `-Module`, `Module=list` and `Module qw(list)`. perl turns the whole text into
/// `use …;`, so anything else may be code.
fn is_import(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':')).unwrap_or(text.len());
    let list = text[end..].trim();
    let quoted = list.strip_prefix("qw(").and_then(|list| list.strip_suffix(')'));
    list.is_empty() || text[end..].starts_with('=') || quoted.is_some_and(|words| !words.contains(')'))
}

/// Returns whether the value of perl's -F may contain code: perl inserts `/…/` and quoted text verbatim into
/// `split(…)`.
fn is_more_than_a_pattern(text: &str) -> bool {
    let mut rest = text.chars();
    let is_quoted = rest.next().filter(|first| matches!(first, '/' | '\'' | '"'));
    let Some(quote) = is_quoted else { return text.contains("(?{") || text.contains("(??{") };
    let mut is_escaped = false;
    let end = rest.as_str().find(|c: char| {
        let is_end = c == quote && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    });
    let behind = end.map_or("", |end| &rest.as_str()[end + 1..]);
    !behind.chars().all(|c| c.is_ascii_lowercase()) || text.contains(['{', '$', '@'])
}

/// Returns whether make evaluates the value of this variable.
fn is_expanded(argument: &str) -> bool {
    argument.split_once('=').is_some_and(|(name, value)| {
        let name = name.trim();
        value.contains("$(")
            || value.contains("${")
            || name.ends_with('!')
            || name.trim_end_matches([':', '?', '+']) == "MAKEFLAGS"
    })
}

#[cfg(test)]
mod tests {
    use super::super::inline_eval;

    fn is_code(argv: &[&str]) -> bool {
        inline_eval(argv).is_some()
    }

    /// Each line was seen to run the code with Python 3.11, perl 5.36, ruby 3.1, PHP 8.2, Node 20, mawk
    /// 1.3.4, GNU sed 4.9, GNU make 4.3 and BusyBox 1.35.
    #[test]
    fn what_runs_is_found() {
        let lines: &[&[&str]] = &[
            &["python3", "-tc", "1"],
            &["python3", "-W", "--", "-c", "1"],
            &["python3", "-X", "--", "-Bc", "1"],
            &["python3", "-m", "timeit", "1"],
            &["perl", "-w -e", "1"],
            &["perl", "-i.bak -e", "1"],
            &["perl", "-gne", "1"],
            &["perl", "-0xAne", "1"],
            &["perl", "-I", "--", "-e", "1"],
            &["perl", "-Mstrict;print 1", "x"],
            &["perl", "-mstrict print 1", "x"],
            &["perl", "-d:strict;print 1", "x"],
            &["perl", "-F/x/);print(1", "x"],
            &["perl", "-F(?{print 1})", "x"],
            &["perl5.36-x86_64-linux-gnu", "-e", "1"],
            &["ruby", "-Kue", "1"],
            &["ruby", "-I", "--", "-e", "1"],
            &["php", "-nr", "1;"],
            &["php", "--run", "1;"],
            &["php", "--process-begin=1;", "x"],
            &["php", "-d", "--", "-r", "1;"],
            &["php", "-d", "auto_prepend_file=data:text/plain,<?php 1;", "x"],
            &["node", "--import", "data:text/javascript,1"],
            &["node", "--experimental_loader=DATA:text/javascript,1"],
            &["sed", "-nep"],
            &["sed", "--expr=p"],
            &["sed", "-f", "x", "-ne", "p"],
            &["make", "-sE", "$(info 1)"],
            &["make", "--ev=$(info 1)"],
            &["make", "A:=$(info 1)"],
            &["make", "--", "A!=id"],
            &["busybox", "awk", "BEGIN{}"],
            &["busybox", "busybox", "sed", "p"],
        ];
        for line in lines {
            assert!(is_code(line), "{line:?}");
        }
    }

    /// According to their documentation.
    #[test]
    fn others_are_found_too() {
        let lines: &[&[&str]] = &[
            &["gawk", "-f", "x", "--sou=BEGIN{}"],
            &["deno", "--log-level", "debug", "eval", "1"],
            &["deno", "run", "data:text/javascript,1"],
            &["gdb", "--ex", "shell id"],
            &["gdb", "-eval-c=shell id"],
            &["julia", "-qe", "1"],
            &["expect", "-dc", "1"],
            &["groovy", "-ne", "1"],
            &["luajit-2.1.0-beta3", "-e", "1"],
        ];
        for line in lines {
            assert!(is_code(line), "{line:?}");
        }
    }

    #[test]
    fn ordinary_lines_are_let() {
        for line in [
            "python3 -Werror -Xdev -OO a.py -tc",
            "python3 -m pytest -x",
            "python3 -W ignore -- a.py",
            "python3-config --cflags",
            "perl -Mstrict -MPOSIX=floor -M-warnings -w -Ilib a.pl",
            "perl -MTest::More=tests,1 -d:NYTProf a.pl --eager",
            "perl -F/,/ a.pl",
            "perl -F, a.pl",
            "ruby -W:no-deprecated -Ilib -rjson a.rb -Kue",
            "ruby -W0 -Ku a.rb",
            "php -d memory_limit=1G -dx=1 a.php --run",
            "php -f a.php -- -r",
            "node --import ./a.mjs --title=x a.js",
            "deno run a.ts eval",
            "sed -i.e -f a.sed b",
            "make -j4 -C sub -k CFLAGS=-O2 V=1 all",
            "make -I e -O -- all",
            "busybox ls -e",
            "busybox",
            "gdb -e a -x b --args c",
            "expect -f a -b",
        ] {
            assert!(!is_code(&line.split(' ').collect::<Vec<_>>()), "{line}");
        }
        assert!(!is_code(&["perl", "-MPOSIX qw(floor ceil)", "a.pl"]));
        assert!(is_code(&["perl", "-MPOSIX qw(floor);print(1)", "a.pl"]));
    }

    #[test]
    fn many_names_in_a_row_are_no_trouble() {
        let mut argv = vec!["busybox"; 200_000];
        assert!(!is_code(&argv));
        argv.extend(["sed", "p"]);
        assert!(is_code(&argv));
    }
}
