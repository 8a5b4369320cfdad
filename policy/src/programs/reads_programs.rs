//! Programs that run what a file says, beyond the interpreters of [`super::inline_eval()`].
//!
//! "Allow always" cannot hold for them by their arguments: the file may change.

use super::interpreters::{EDITORS, EMACS};
use super::name::program_name;

/// Programs that run their first operand, and without one mostly what they read from standard input: tclsh(1), wish(1),
/// julia(1), Rscript(1), guile(1), racket(1), sbcl(1), ocaml(1), escript(1), elixir(1), crystal(1), m4(1), bc(1), dc(1),
/// octave(1), gnuplot(1); deno, bun, ts-node, tsx, zx, coffee.
pub(super) const FIRST_OPERAND: &[&str] = &[
    "tclsh",
    "wish",
    "expect",
    "julia",
    "rscript",
    "r",
    "guile",
    "racket",
    "scheme",
    "sbcl",
    "clisp",
    "ocaml",
    "escript",
    "elixir",
    "iex",
    "crystal",
    "m4",
    "bc",
    "dc",
    "octave",
    "gnuplot",
    "deno",
    "bun",
    "ts-node",
    "tsx",
    "zx",
    "coffee",
    "raku",
    "runghc",
    "runhaskell",
    "swift",
    "groovy",
    "scala",
    "clojure",
    "clj",
    "bb",
];

/// Programs by name, apart from a version, with the words that make them run a file; without any, they always do.
const READERS: &[(&[&str], &[&str])] = &[
    (FIRST_OPERAND, &[]),
    // java(1): an archive, a class of the class path, or a source file.
    (&["java", "jshell"], &[]),
    // jq(1) -f, -L
    (&["jq"], &["-f", "--from-file", "-L"]),
    // vim(1), ex(1): commands from a file.
    (EDITORS, &["-S", "-s", "-u", "--cmd", "-c"]),
    (&["nvim"], &["-S", "-s", "-u", "-l", "--cmd", "-c"]),
    // emacs(1)
    (EMACS, &["-l", "-load", "--load", "-x", "-script", "--script", "-f", "--funcall", "--eval"]),
    // `go help run`, `go help generate`
    (&["go"], &["run", "generate", "test", "tool"]),
    // sqlite3(1), psql(1), mysql(1)
    (&["sqlite3"], &["-init"]),
    (&["psql"], &["-f", "--file"]),
    // gdb(1), lldb(1)
    (&["gdb"], &[]),
    (
        &["lldb"],
        &["-s", "-S", "-o", "-O", "--source", "--one-line", "--source-before-file", "--one-line-before-file"],
    ),
    // ghc(1) -e, and options in files
    (&["ghc", "ghci"], &[]),
];

/// Returns whether a program with these arguments runs what a file says.
pub fn reads_programs(token: impl AsRef<[u8]>, arguments: &[Vec<u8>]) -> bool {
    let program = program_name(token);
    let stem = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-');
    let is_named = |names: &[&str]| names.contains(&&*program) || stem.len() > 1 && names.contains(&stem);
    let has = |word: &&str| {
        arguments.iter().any(|argument| match argument.strip_prefix(word.as_bytes()) {
            Some([]) => true,
            // A value may be attached: `-fFILE`, `--file=FILE`.
            Some([next, ..]) => *next == b'=' || word.len() == 2 && word.starts_with('-'),
            None => false,
        })
    };
    let reader = READERS.iter().find(|(names, _)| is_named(names));
    reader.is_some_and(|(_, words)| words.is_empty() || words.iter().any(has))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_run_a_file_are_known() {
        let reads = |line: &str| {
            let mut words = line.split(' ');
            let name = words.next().unwrap();
            reads_programs(name, &words.map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>())
        };
        for line in
            ["tclsh8.6 x", "/usr/bin/java -jar x", "jq -fx y", "vim -S x", "go run x", "psql --file=x", "r x"]
        {
            assert!(reads(line), "{line}");
        }
        for line in ["jq .x y", "go build", "vim x", "psql db", "cat x", "r2 x", "sqlite3 db"] {
            assert!(!reads(line), "{line}");
        }
    }
}
