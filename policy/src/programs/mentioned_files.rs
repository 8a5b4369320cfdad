//! The files that commands and code among the arguments name: `source -v FILE`, `exec(open("FILE").read())`.
//!
//! The languages differ in how they split and quote words, and the list of commands that read a file is never complete.
//! So each word counts, whatever the command is called, and each way to split: a word that the program does not see
//! costs a look for a file of that name. If there is no such file, a name counts only if a command that is known to
//! read a file has it.

use std::collections::HashSet;

use super::interpreters::{EDITORS, Interpreter, is_of};
use super::python_modules;
use super::sqlite;

/// How many names are looked for one by one, each by a few system calls.
const MAX_WORDS: usize = 16_384;
/// No longer name can be a file's (PATH_MAX).
const MAX_WORD: usize = 4096;
/// How many ends of a line are tried as a name with blanks in it.
const MAX_ENDS: usize = 16;

/// The words that commands and code among the arguments consist of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MentionedFiles {
    /// Each is the name of a file that the program may read, if there is such a file.
    pub words: Vec<Vec<u8>>,
    /// Words beyond those that are looked for.
    pub more: Vec<Vec<u8>>,
}

/// What separates words in one of the languages. A backslash begins a command of psql's.
fn is_separator(c: char) -> bool {
    c.is_whitespace() || ";|&(){}[]<>,'\"`=\\".contains(c)
}

/// Returns the words of arguments that are more than one word.
pub(super) fn mentioned(
    program: &str,
    known: Option<&'static Interpreter>,
    arguments: &[&str],
) -> MentionedFiles {
    let family = known.map_or("", Interpreter::family);
    let texts: Vec<String> = arguments
        .iter()
        .filter(|argument| argument.contains(is_separator))
        .flat_map(|argument| [(*argument).to_owned(), unescaped(argument)])
        .collect();
    let mut found = MentionedFiles::default();
    let mut seen = HashSet::new();
    let mut is_new = |word: &str| {
        (1..MAX_WORD).contains(&word.len()) && !matches!(word, "." | "..") && seen.insert(word.to_owned())
    };
    // First the names as they are written.
    for word in texts.iter().flat_map(|text| words(text)).filter(|word| is_new(word)) {
        let list = if found.words.len() < MAX_WORDS { &mut found.words } else { &mut found.more };
        list.push(word.as_bytes().to_vec());
    }
    for name in texts.iter().flat_map(|text| words(text)).flat_map(|word| ended(program, family, word)) {
        if found.words.len() == MAX_WORDS {
            found.more.push(name.into_bytes());
            break;
        }
        if is_new(&name) {
            found.words.push(name.into_bytes());
        }
    }
    found
}

/// The words of a text: between separators, between quotation marks, and without what may stand before a name.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.split(['\'', '"', '`']).filter(|part| part.contains(' '));
    let plain = text.split(is_separator);
    let named = plain.clone().map(|word| word.trim_start_matches(['+', ':', '@', '-', '$', '!', '%', '.']));
    let named = named.filter(|word| !word.is_empty());
    // `.x` is a name, `x.` may end a sentence, and a colon or a hash separates in some languages (`q#x#` of perl).
    let parts =
        plain.clone().filter(|word| word.contains([':', '#'])).flat_map(|word| word.split([':', '#']));
    let unended = plain.clone().map(|word| word.trim_end_matches(['.', ':', '!', '?']));
    plain.chain(quoted).chain(named).chain(parts).chain(unended).filter(|word| !word.is_empty())
}

/// The names of files that a word may stand for as a module or a library: see [`super::named_files`]; sqlite3's `.load`
/// adds an ending.
fn ended(program: &str, family: &str, word: &str) -> Vec<String> {
    let is_name = word.chars().all(|c| c.is_alphanumeric() || "_-./:".contains(c))
        && word.contains(|c: char| c.is_alphabetic() || c == '_');
    let endings: &[&str] = match family {
        _ if !is_name => &[],
        "python" => return python_modules::files(word).unwrap_or_default(),
        "node" => &[".js", ".cjs", ".mjs", ".json", ".node", "/index.js", "/package.json"],
        "perl" => &[".pm", ".pl"],
        "ruby" => &[".rb"],
        "lua" => &[".lua", "/init.lua"],
        "php" => &[".php"],
        _ if is_of(program, &["sqlite3"]) => &[".so"],
        _ if is_of(program, &["gdb", "lldb"]) => &[".py"],
        _ => &[],
    };
    let stem = match family {
        "lua" if !word.contains('/') => word.replace('.', "/"),
        "perl" => word.replace("::", "/"),
        _ => word.to_owned(),
    };
    endings.iter().map(|ending| format!("{stem}{ending}")).collect()
}

/// Decodes a text in which a backslash takes the meaning of the next character away, or stands for a character by its number.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let (kind, after) = rest.split_at(rest.chars().next().map_or(0, char::len_utf8));
        // `\u{6d}` of javascript and ruby, `\x{6d}` of perl.
        let (digits, radix, most) = match (kind, after.strip_prefix('{')) {
            ("u" | "x", Some(braced)) => (braced, 16, 8),
            ("x", None) => (after, 16, 2),
            ("u", None) => (after, 16, 4),
            ("U", None) => (after, 16, 8),
            _ => (rest, 8, 3),
        };
        let length = digits.chars().take(most).take_while(|c| c.is_digit(radix)).count();
        match u32::from_str_radix(&digits[..length], radix).ok().and_then(char::from_u32) {
            Some(c) => {
                out.push(c);
                rest = &digits[length..];
                rest = rest.strip_prefix('}').unwrap_or(rest);
            }
            None => {
                let Some(c) = rest.chars().next() else { break };
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// The files that known commands among the arguments read: sqlite3's `.read FILE`, `source FILE` of gdb, lldb and vim, psql's
/// `\i FILE`. Every word after the command counts, since options may stand before the name, and each end of its line, since the
/// name may have blanks.
pub(super) fn read_by_commands(program: &str, argument: &str) -> Vec<String> {
    let is_one = |word: &str| {
        let word = word.trim_start_matches(['+', ':', '-', 'c', '=']);
        match program {
            // The name may be quoted, and stand apart from its dot.
            _ if is_of(program, &["sqlite3"]) => {
                argument.starts_with('.') && sqlite::is_reader(word.trim_matches(['.', '"', '\'']))
            }
            _ if is_of(program, EDITORS) || is_of(program, &["nvim"]) => {
                let is_source = word.len() > 1 && "source".starts_with(word.trim_end_matches('!'));
                let is_runtime = word.len() > 1 && "runtime".starts_with(word.trim_end_matches('!'));
                is_source
                    || is_runtime
                    || matches!(
                        word,
                        "luafile" | "luaf" | "pyfile" | "pyf" | "py3file" | "py3f" | "rubyfile" | "rubyf"
                    )
            }
            _ if is_of(program, &["gdb", "lldb"]) => matches!(word, "source" | "script" | "import"),
            _ if is_of(program, &["psql"]) => {
                matches!(word, r"\i" | r"\ir" | r"\include" | r"\include_relative")
            }
            _ if is_of(program, &["mysql", "mariadb"]) => matches!(word, "source" | r"\."),
            _ => false,
        }
    };
    let mut found = Vec::new();
    for line in argument.split(['\n', '\r', ';', '|']) {
        let starts = word_starts(line);
        let word_at = |at: usize| line[at..].split(char::is_whitespace).next().unwrap_or_default();
        let Some(command) = starts.iter().position(|at| is_one(word_at(*at))) else { continue };
        for at in starts.iter().skip(command + 1).take(MAX_ENDS) {
            let bare = |name: &str| name.trim().trim_matches(['"', '\'', '`']).to_owned();
            found.extend([bare(word_at(*at)), bare(&line[*at..]), bare(&unescaped(&line[*at..]))]);
        }
    }
    found.retain(|name| !name.is_empty());
    let mut seen = HashSet::new();
    found.retain(|name| seen.insert(name.clone()));
    found
}

/// Where the words of a line begin.
fn word_starts(line: &str) -> Vec<usize> {
    let mut is_blank = true;
    let begins = |(at, c): (usize, char)| {
        let begins = is_blank && !c.is_whitespace();
        is_blank = c.is_whitespace();
        begins.then_some(at)
    };
    line.char_indices().filter_map(begins).collect()
}

#[cfg(test)]
mod tests {
    use super::super::interpreters::interpreter;
    use super::*;

    fn has(program: &str, argument: &str, word: &str) -> bool {
        mentioned(program, interpreter(program), &[argument])
            .words
            .iter()
            .any(|other| other == word.as_bytes())
    }

    #[test]
    fn every_word_of_a_command_counts() {
        for (program, argument, word) in [
            ("gdb", "source -v F", "F"),
            ("gdb", "whatever x/F", "x/F"),
            ("gdb", "source my script", "my"),
            ("gdb", "python exec(open('my script').read())", "my script"),
            ("sqlite3", ".read  F", "F"),
            ("sqlite3", ".read \"\\106\"", "F"),
            ("sqlite3", "select load_extension('./x')", "./x.so"),
            ("psql", r"\i F\q", "F"),
            ("python3", "exec(open(\"F\").read())", "F"),
            ("python3", "import evil", "evil.py"),
            ("python3", "import a.b", "a/b.py"),
            ("python3", "import a.b", "a/__init__.py"),
            ("python3", "import a.b", "a.so"),
            ("python3", "open(\"\\x46\")", "F"),
            ("python3", "open(\"\\u006d.py\")", "m.py"),
            ("python3", "open(\"\\U0000006d.py\")", "m.py"),
            ("node", "require(\"./\\u{6d}.js\")", "./m.js"),
            ("perl", "do q#F#", "F"),
            ("node", "require('./lib')", "./lib.js"),
            ("perl", "use A::B;do './F'", "A/B.pm"),
            ("ruby", "load 'F.rb'", "F.rb"),
            ("make", "include F", "F"),
            ("vim", "+so F", "F"),
            ("vim", r"so my\ F", "F"),
            ("emacs", "(load \"F.el\")", "F.el"),
            ("awk", "@include \"F\"", "F"),
        ] {
            assert!(has(program, argument, word), "{program} {argument}");
        }
        assert_eq!(mentioned("gdb", None, &["F", "-x"]), MentionedFiles::default());
    }

    #[test]
    fn what_a_known_command_reads_may_be_missing() {
        for (program, argument, names) in [
            ("gdb", "source -v F", &["-v", "-v F", "F"][..]),
            ("gdb", "source  my F ", &["my", "my F", "F"]),
            ("sqlite3", ".read  'F'", &["F"]),
            ("sqlite3", ".load x", &["x"]),
            ("sqlite3", ". read x", &["x"]),
            ("sqlite3", ".\"read\" x", &["x"]),
            ("sqlite3", "select load x", &[]),
            ("vim", r"+so my\ F", &[r"my\", r"my\ F", "my F", "F"]),
            ("psql", "select 1;\n\\i F", &["F"]),
            ("mysql", r"\. F", &["F"]),
            ("gdb", "print F", &[]),
            ("python3", "source F", &[]),
        ] {
            assert_eq!(read_by_commands(program, argument), names, "{program} {argument}");
        }
    }

    #[test]
    fn words_have_a_bound() {
        let text: String = (0..20_000).map(|n| format!("w{n} ")).collect();
        let found = mentioned("awk", None, &[&text]);
        assert_eq!(found.words.len(), MAX_WORDS);
        assert!(found.more.contains(&b"w19999".to_vec()));
    }
}
