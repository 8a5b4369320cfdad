//! Code in options, as the interpreters read them. OpenClaw's table ([`super::openclaw`]) misses combined letters,
//! abbreviated names, `--` as the value of an option, and modules followed by code.
//!
//! An option that the table does not have is assumed to take no value: at worst this asks once too often.

use super::super::interpreters::{Element, Interpreter, OptionKind, OptionName, interpreter, is_of};
use super::commands::command_option;

/// The flag of a hit in a make variable.
const VARIABLE: &str = "<variable>";

/// Modules of Python that run code from their arguments or input, or other modules and files: the library reference,
/// "Debugging and Profiling" (3.13), runpy and code.
const MODULES: [&str; 8] = ["timeit", "trace", "pdb", "profile", "cProfile", "runpy", "code", "asyncio"];

/// Returns the option that takes code, if the arguments of this program have one.
pub fn code_option(program: &str, arguments: &[&str]) -> Option<String> {
    interpreter(program).and_then(|interpreter| find(interpreter, arguments)).or_else(|| {
        if is_of(program, &["node", "nodejs", "bun", "deno"]) {
            // A `data:` URL contains the module's text, as for --import.
            let has_text =
                |word: &str| is_text(word) || word.split_once('=').is_some_and(|(_, value)| is_text(value));
            return arguments.iter().any(|word| has_text(word)).then(|| "data:".to_owned());
        }
        if is_of(program, &["php-cgi", "phpdbg"]) && arguments.iter().any(|word| is_php_setting(word)) {
            return Some("-d".to_owned());
        }
        command_option(program, arguments)
    })
}

/// Returns whether a URL contains its own text. The parser of URLs (url.spec.whatwg.org, "basic URL parser") removes
/// leading control characters and blanks, and tabs and newlines anywhere.
fn is_text(url: &str) -> bool {
    let read =
        url.trim_start_matches(|c: char| c <= ' ').chars().filter(|c| !matches!(c, '\t' | '\n' | '\r'));
    read.take("data:".len()).collect::<String>().eq_ignore_ascii_case("data:")
}

/// Returns whether a setting of PHP's names a file that contains its own text: `auto_prepend_file=data:…`.
fn is_php_setting(value: &str) -> bool {
    value.to_ascii_lowercase().contains("data:")
}

fn find(interpreter: &'static Interpreter, arguments: &[&str]) -> Option<String> {
    let family = interpreter.family();
    // awk(1), sed(1): the first operand is the program, unless an option has named one before.
    let mut takes_program = matches!(family, "awk" | "sed");
    interpreter.elements(arguments).find_map(|element| match element {
        Element::Option(_, OptionKind::File, _) if takes_program => {
            takes_program = false;
            None
        }
        Element::Option(name, kind, value) => (kind == OptionKind::Code || is_code(family, name, value))
            .then(|| match name {
                OptionName::Letter(letter) => format!("-{letter}"),
                OptionName::Word(word) => format!("--{word}"),
            }),
        Element::Operand(_) if takes_program => Some("<program>".to_owned()),
        Element::Operand(at) => (family == "make" && is_expanded(arguments[at])).then(|| VARIABLE.to_owned()),
        Element::Unknown | Element::Dash => None,
    })
}

/// Returns whether the value of an option that names a module, a setting or a separator contains code.
fn is_code(family: &str, name: OptionName, value: &str) -> bool {
    use OptionName::{Letter, Word};
    match (family, name) {
        ("python", Letter('m')) => MODULES.contains(&value),
        ("php", Letter('d') | Word("define")) => is_php_setting(value),
        ("perl", Letter('M' | 'm')) => !is_import(value),
        ("perl", Letter('d')) => value.split_once([':', '=']).is_some_and(|(_, module)| !is_import(module)),
        ("perl", Letter('F')) => is_more_than_a_pattern(value),
        // m4(1): a macro whose text calls another one, and one that runs a command.
        ("m4", Letter('D') | Word("define")) => value.contains("syscmd") || value.contains('('),
        _ => false,
    }
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
    fn inline_code_is_found() {
        let lines: &[&[&str]] = &[
            &["python3", "-tc", "1"],
            &["python3", "-W", "--", "-c", "1"],
            &["python3", "-X", "--", "-Bc", "1"],
            &["python3", "-m", "timeit", "1"],
            &["perl", "-w -e", "1"],
            &["perl", "-i.bak -e", "1"],
            &["perl", "-gne", "1"],
            &["perl", "-0xA", "-ne", "1"],
            &["perl", "-I", "--", "-e", "1"],
            &["perl", "-Mstrict;print 1", "x"],
            &["perl", "-mstrict print 1", "x"],
            &["perl", "-d:strict;print 1", "x"],
            &["perl", "-F/x/);print(1", "x"],
            &["perl", "-F(?{print 1})", "x"],
            &["perl", "-F: -e", "1"],
            &["perl", "-F: -w -E", "1"],
            &["node", "--import= \x01data:text/javascript,1"],
            &["node", "--import", "\x01da\nta:text/javascript,1"],
            &["node", "--import", "d\ta\rta:text/javascript,1"],
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
    fn inline_code_beyond_openclaws_table_is_found() {
        let lines: &[&[&str]] = &[
            &["gawk", "-f", "x", "--sou=BEGIN{}"],
            &["gawk", "-W", "source=BEGIN{}"],
            &["gawk", "-Wsource=BEGIN{}"],
            &["gawk", "-W", "source", "BEGIN{}"],
            &["gawk", "--field-sep", "-f", "BEGIN{}"],
            &["gawk", "-W", "field-sep", "-f", "BEGIN{}"],
            &["gawk", "-pf", "BEGIN{}"],
            &["original-awk", "BEGIN{}"],
            &["original-awk", "-safe", "BEGIN{}"],
            &["sed", "--line", "-f", "p"],
            &["php-cgi8.2", "-d", "auto_prepend_file=data:text/plain,<?php 1;", "x"],
            &["dc", "-e", "!id"],
            &["dc", "-e!id"],
            &["dc", "--expr=!id"],
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
    fn ordinary_commands_of_interpreters_are_allowed() {
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
            "gawk -W posix -f a b",
            "gawk --field-separator : -f a b",
            "original-awk -f a b",
            "dc -f a",
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
