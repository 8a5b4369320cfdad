//! Programs that run what a file says, beyond the interpreters of [`super::inline_eval()`].
//!
//! The guard saves no "allow always" for such a program with its arguments: the file that they name may change.

use super::interpreters::{EDITORS, EMACS};
use super::name::{is_of, program_name};
use super::sqlite;

/// Programs that run their first operand, and without one mostly what they read from standard input: tclsh(1), wish(1),
/// julia(1), Rscript(1), guile(1), racket(1), sbcl(1), ocaml(1), escript(1), elixir(1), crystal(1), m4(1), bc(1), dc(1),
/// octave(1), gnuplot(1), swipl(1), gforth(1), pike(1); PHP's php-cgi and phpdbg; the JavaScript interpreters mujs, duk, qjs,
/// gjs, rhino; deno, bun, ts-node, tsx, zx, coffee. Builds of these count, too: `gnuplot-nox` (see [`is_of`]).
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
    "octave-cli",
    "gnuplot",
    "php-cgi",
    "phpdbg",
    "mujs",
    "duk",
    "qjs",
    "gjs",
    "rhino",
    "jrunscript",
    "js",
    "d8",
    "micropython",
    "ipython",
    "jython",
    "jruby",
    "irb",
    "jimsh",
    "mit-scheme",
    "csi",
    "gosh",
    "ecl",
    "newlisp",
    "janet",
    "swipl",
    "gprolog",
    "gforth",
    "pike",
    "nickle",
    "gst",
    "yabasic",
    "a68g",
    "gap",
    "gp",
    "maxima",
    "texlua",
    "bpftrace",
    "stap",
    "gs",
    "mongosh",
    "mongo",
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

/// Programs that run what a file says: always, or by these words or letters.
struct ProgramReader {
    names: &'static [&'static str],
    /// A program without any words and letters always runs what a file says.
    words: &'static [&'static str],
    /// Options of one letter, which may stand in one argument with others: `-nf`.
    letters: &'static str,
}

const fn reader(
    names: &'static [&'static str],
    words: &'static [&'static str],
    letters: &'static str,
) -> ProgramReader {
    ProgramReader { names, words, letters }
}

const READERS: &[ProgramReader] = &[
    reader(FIRST_OPERAND, &[], ""),
    // java(1): an archive, a class of the class path, or a source file.
    reader(&["java", "jshell"], &[], ""),
    // Builders, which run the commands of a file in the directory: ninja(1), rake(1), just(1); cmake(1), ctest(1), cpack(1),
    // meson(1), scons(1).
    reader(
        &[
            "ninja", "samu", "cmake", "ctest", "cpack", "meson", "scons", "rake", "just", "task", "bmake",
            "pmake", "remake", "ant", "gradle", "mvn", "bazel", "waf", "tup", "jam",
        ],
        &[],
        "",
    ),
    // jq(1) -f, -L, which may stand with other letters
    reader(&["jq", "gojq", "jaq"], &["--from-file", "--library-path"], "fL"),
    // vim(1), ex(1): commands from a file.
    reader(EDITORS, &["--cmd"], "Ssuc"),
    reader(&["nvim"], &["--cmd"], "Ssulc"),
    // The GNU Emacs manual, "Action Arguments"; "File Variables": Emacs also evaluates code in the files that it opens.
    reader(EMACS, &[], ""),
    // `go help run`, `go help generate`
    reader(&["go"], &["run", "generate", "test", "tool"], ""),
    // sqlite3(1): options have one dash or two. Dot commands are looked at below.
    reader(&["sqlite3"], &["-init", "--init"], ""),
    // psql(1), mysql(1)
    reader(&["psql"], &["--file", "--command"], "fc"),
    reader(&["mysql", "mariadb"], &["--execute", "--init-command"], "e"),
    // groff(1), troff(1): -U lets a document start programs.
    reader(&["groff", "troff", "gtroff"], &[], ""),
    // tex(1): a document may read, write and start what it likes.
    reader(&["tex", "latex", "pdftex", "pdflatex", "luatex", "lualatex", "xetex", "xelatex"], &[], ""),
    // gdb(1), lldb(1)
    reader(&["gdb"], &[], ""),
    reader(
        &["lldb"],
        &["-s", "-S", "-o", "-O", "--source", "--one-line", "--source-before-file", "--one-line-before-file"],
        "",
    ),
    // ghc(1) -e, and options in files
    reader(&["ghc", "ghci"], &[], ""),
];

/// Returns whether a program with these arguments runs what a file says.
pub fn reads_programs(token: impl AsRef<[u8]>, arguments: &[Vec<u8>]) -> bool {
    let program = program_name(token);
    let Some(reader) = READERS.iter().find(|reader| is_of(&program, reader.names)) else { return false };
    let has_word = |word: &&str| {
        arguments.iter().any(|argument| match argument.strip_prefix(word.as_bytes()) {
            Some([]) => true,
            // A value may be attached: `-sFILE`, `--file=FILE`, `.read FILE`.
            Some([next, ..]) => {
                matches!(next, b'=' | b' ' | b'\t') || word.len() == 2 && word.starts_with('-')
            }
            None => is_short_for(argument, word),
        })
    };
    let has_letter = |argument: &Vec<u8>| {
        let letters = argument.strip_prefix(b"-").filter(|rest| !rest.starts_with(b"-")).unwrap_or_default();
        letters.iter().any(|letter| reader.letters.as_bytes().contains(letter))
    };
    // vim(1): `+COMMAND`; a number or a pattern only says where to begin.
    let is_command = |argument: &Vec<u8>| matches!(argument[..], [b'+', first, ..] if !first.is_ascii_digit() && first != b'/');
    let takes_commands = is_of(&program, EDITORS) || is_of(&program, &["nvim"]);
    let is_dot_command = |argument: &Vec<u8>| sqlite::reads_a_file(&String::from_utf8_lossy(argument));
    reader.words.is_empty() && reader.letters.is_empty()
        || is_of(&program, &["sqlite3"]) && arguments.iter().any(is_dot_command)
        || takes_commands && arguments.iter().any(is_command)
        || reader.words.iter().any(has_word)
        || arguments.iter().any(has_letter)
}

/// Returns whether an argument is this long option, perhaps cut short (getopt_long(3)): `--exec=…`.
pub(super) fn is_short_for(argument: &[u8], word: &str) -> bool {
    let name = argument.split(|byte| *byte == b'=').next().unwrap_or_default();
    name.len() > 2 && word.starts_with("--") && word.as_bytes().starts_with(name)
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
        for line in [
            "gnuplot-nox x",
            "php-cgi8.2 -q x",
            "phpdbg8.2 -qrr x",
            "mujs x",
            "duk x",
            "cmake -P x",
            "ctest -S x",
            "ninja",
            "jq -nf x",
            "vim -es",
            "emacs-nox --scr x",
            "emacs --batch --lo=./x",
            "sqlite3 --init x db",
            "sqlite3 db .load\tx",
            "psql --com=x",
            "mysql --exec=x",
            "vim +so\tx y",
            "troff -U x",
        ] {
            assert!(reads(line), "{line}");
        }
        for line in [
            "jq .x y",
            "go build",
            "vim x",
            "vim +12 x",
            "vim +/y x",
            "vim + x",
            "psql db",
            "cat x",
            "r2 x",
            "sqlite3 db",
        ] {
            assert!(!reads(line), "{line}");
        }
    }
}
