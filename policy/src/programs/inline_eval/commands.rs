//! Programs that take commands as options or operands, in a language that reaches a shell.

use super::super::interpreters::{EDITORS, EMACS, is_of};
use super::super::sqlite;

/// Returns the option or operand that is a command, if the arguments of this program have one.
pub(super) fn command_option(program: &str, arguments: &[&str]) -> Option<String> {
    let is_command: fn(&str) -> bool = match program {
        _ if is_of(program, EDITORS) || is_of(program, &["nvim"]) => is_vims,
        _ if is_of(program, EMACS) => is_emacs,
        _ if is_of(program, &["sqlite3"]) => is_sqlites,
        _ if is_of(program, &["lldb"]) => is_lldbs,
        _ if is_of(program, &["gdb"]) => is_gdbs,
        _ if is_of(program, &["psql", "mysql", "mariadb"]) => is_database_clients,
        _ => return word_with_code(program, arguments),
    };
    let mut options = arguments.iter().map(|word| word.trim());
    // gdb and sqlite3 take commands after `--`, too; emacs and vim take files, and lldb arguments of a program.
    let ends = !(is_of(program, &["gdb"]) || is_of(program, &["sqlite3"]));
    let found = options.by_ref().take_while(|word| !(ends && *word == "--")).find(|word| is_command(word))?;
    Some(match found.split_once('=') {
        _ if found.starts_with(['+', '.']) => "<command>".to_owned(),
        Some((name, _)) => name.to_owned(),
        None => found.to_owned(),
    })
}

/// Options that take code, as a word of their own or with the code attached, from the manual or `--help` of each:
/// gnuplot(1), octave(1), sbcl(1), clisp(1), ocaml(1), racket, duk, qjs, gjs(1), swipl(1), gforth(1), pike(1), newlisp(1),
/// janet(1), jimsh, iex; ts-node, tsx, coffee, bb, mongosh.
const WORDS: &[(&[&str], &[&str])] = &[
    (
        &["gnuplot", "ocaml", "duk", "newlisp", "janet", "jimsh", "jrunscript", "nickle", "bpftrace", "stap"],
        &["-e"],
    ),
    (&["octave", "octave-cli", "sbcl", "mit-scheme", "mongosh", "mongo"], &["--eval"]),
    (&["clisp"], &["-x"]),
    (&["racket", "qjs", "coffee", "bb"], &["-e", "--eval"]),
    (&["gjs"], &["-c", "--command"]),
    (&["ts-node", "tsx"], &["-e", "--eval", "-p", "--print"]),
    (&["swipl"], &["-g", "-t", "--goal"]),
    (&["gforth"], &["-e", "--evaluate"]),
    (&["pike"], &["-e", "-x"]),
    (&["iex"], &["-e", "--eval", "--rpc-eval"]),
    (&["rake"], &["-e", "-E", "-p", "--execute"]),
];

fn word_with_code(program: &str, arguments: &[&str]) -> Option<String> {
    let (_, options) = WORDS.iter().find(|(names, _)| is_of(program, names))?;
    let is_one = |word: &str, option: &str| {
        let rest = word.strip_prefix(option);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('=') || option.len() == 2)
    };
    let has = |option: &&&str| arguments.iter().any(|word| is_one(word, option));
    options.iter().find(has).map(|option| (*option).to_owned())
}

/// psql(1), "Meta-Commands", and mysql(1), "MySQL Client Commands": `\!` and `system` start a shell, and a pipe may follow
/// where a file may.
fn is_database_clients(word: &str) -> bool {
    word.contains("\\!") || word.contains('\\') && word.contains('|') || word.contains("system ")
}

/// vim(1): `--cmd`, in any case and whatever follows (command_line_scan of main.c), and `+COMMAND`. `+`, `+NUMBER` and
/// `+/PATTERN` only say where the cursor is; after the pattern's end a command may follow.
fn is_vims(word: &str) -> bool {
    let is_place = |command: &str| {
        let pattern = command.strip_prefix('/').map(|rest| rest.strip_suffix('/').unwrap_or(rest));
        pattern.is_some_and(|pattern| !pattern.contains(['|', '\n', '/']))
            || command.bytes().all(|byte| byte.is_ascii_digit())
    };
    word.to_ascii_lowercase().starts_with("--cmd")
        || word.strip_prefix('+').is_some_and(|command| !is_place(command))
}

/// The GNU Emacs manual, "Action Arguments"; `-e` as startup.el has it. Two dashes allow an abbreviation.
fn is_emacs(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    let is_one = |whole: &&str| match name.strip_prefix("--") {
        Some(short) => !short.is_empty() && whole.starts_with(short),
        None => name.strip_prefix('-') == Some(*whole),
    };
    matches!(name, "-f" | "-e") || ["eval", "execute", "funcall"].iter().any(is_one)
}

/// sqlite3(1), "Command Line Shell For SQLite": `-cmd`, with one or two dashes; the dot-commands `.shell`, `.system` and
/// `.excel`, which may be cut short, those that take a pipe (`.once |CMD`) or start an editor (`.once -e`); and SQL's
/// `edit(VALUE, EDITOR)`.
fn is_sqlites(word: &str) -> bool {
    let is_dot = |command: String| {
        let mut words = command.split_whitespace();
        let name = words.next().unwrap_or_default();
        let is_output = ["once", "output"].iter().any(|whole| whole.starts_with(name));
        command.contains('|')
            || sqlite::hides(name)
            || is_output && words.any(|word| word.starts_with('-'))
            || name.len() > 1 && ["shell", "system", "excel"].iter().any(|whole| whole.starts_with(name))
    };
    let lower = word.to_ascii_lowercase();
    let starts_editor = || lower.split_once("edit").is_some_and(|(_, rest)| rest.contains('('));
    matches!(word, "-cmd" | "--cmd") || sqlite::dot_command(word).map_or_else(starts_editor, is_dot)
}

/// `lldb --help`: one or two dashes before a long name.
fn is_lldbs(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    let long = name.strip_prefix("--").or_else(|| name.strip_prefix('-')).unwrap_or_default();
    matches!(name, "-o" | "-O" | "-k")
        || matches!(long, "one-line" | "one-line-before-file" | "one-line-on-crash")
}

/// gdb's options that take a command. Some of their abbreviations are another option's, too.
const GDBS: [&str; 6] = ["ex", "eval-command", "iex", "init-eval-command", "eiex", "early-init-eval-command"];

/// gdb(1), "Mode Options" of the manual: long options begin with one or two dashes and may be abbreviated.
fn is_gdbs(word: &str) -> bool {
    let Some(name) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else { return false };
    let name = name.split('=').next().unwrap_or(name);
    let is_short = |whole: &&str| name.len() > 1 && whole.starts_with(name);
    name == "ix" || GDBS.iter().any(is_short)
}

#[cfg(test)]
mod tests {
    use super::super::inline_eval;

    fn is_code(argv: &[&str]) -> bool {
        inline_eval(argv).is_some()
    }

    /// By the manuals that stand above; Vim 9.0, GDB 13.1 and sqlite3 3.40 were seen to run their lines.
    #[test]
    fn commands_that_reach_a_shell_are_found() {
        let lines: &[&[&str]] = &[
            &["vim", "-c", "!id"],
            &["vim.basic", "-nc!id", "x"],
            &["vim", "-es", "-c", "!id"],
            &["vi", "-u", "NONE", "x", "-c", "!id"],
            &["ex", "--cmd", "!id"],
            &["vim", "--CMD", "!id"],
            &["view", "+!id", "x"],
            &["vim", "+/x/|!id", "x"],
            &["nvim", "-l", "x.lua"],
            &["nvim", "-c", "!id"],
            &["emacs", "--batch", "--eval", "(shell-command \"id\")"],
            &["emacs", "-eval=(x)"],
            &["emacs-29.4", "--ev=(x)"],
            &["emacs", "x", "-f", "shell"],
            &["emacs-nox", "--execute", "(x)"],
            &["sqlite3", "db", ".shell id"],
            &["sqlite3", "db", ".sy id"],
            &["sqlite3", "db", ".\"shell\" id"],
            &["sqlite3", "db", ".\"\\163hell\" id"],
            &["sqlite3", "-cmd", "select 1", "db"],
            &["sqlite3", "db", ".once |id"],
            &["sqlite3", "db", "select edit('x', 'id')"],
            &["sqlite3", "db", "SELECT Edit/**/('x', 'id')"],
            &["sqlite3", "db", ".once -e"],
            &["sqlite3", "db", ".excel"],
            &["vim", "+/x/ !id", "x"],
            &["vim", "+/x/;/y/!id", "x"],
            &["gdb", "-ev", "shell id"],
            &["gdb", "--ev=shell id"],
            &["gdb", "-ie=shell id"],
            &["gdb", "-ei", "shell id"],
            &["gnuplot-nox", "-e", "system(1)"],
            &["gnuplot", "-esystem(1)"],
            &["octave-cli", "--eval", "system(1)"],
            &["psql", "-c", "\\! id"],
            &["mysql", "-e", "system id"],
            &["m4", "-DX=syscmd(id)", "x"],
            &["m4", "-D", "X=$1syscmd", "x"],
            &["m4", "--define=X=indir(`a')", "x"],
            &["lldb", "-o", "shell id"],
            &["lldb-17", "--one-line", "shell id"],
            &["lldb", "-one-line-before-file", "shell id"],
            &["gdb", "-eiex", "shell id"],
            &["gdb", "--early-init-eval-command=shell id"],
            &["python3", "-m", "pdb", "-c", "x", "y.py"],
            &["python3", "-mtrace", "--trace", "y.py"],
            &["python3", "-u", "-m", "runpy", "y"],
            &["python3", "-m", "cProfile", "y.py"],
            &["python3", "-m", "code"],
        ];
        for line in lines {
            assert!(is_code(line), "{line:?}");
        }
    }

    #[test]
    fn ordinary_commands_of_these_programs_are_allowed() {
        for line in [
            "vim x",
            "vim + x",
            "vim +12 x",
            "vim +/main x.c",
            "vim +/main/ x.c",
            "vim -u NONE -S x.vim y",
            "vim -- +x -c",
            "vim --clean x",
            "nvim -u NONE x",
            "emacs x",
            "emacs -nw --batch -l x.el",
            "emacs -- --eval",
            "sqlite3 db",
            "sqlite3 db .schema",
            "sqlite3 db select(1)",
            "psql -c select(1)",
            "gnuplot -persist x.gp",
            "sqlite3 -header db .tables",
            "m4 -DVERSION=1.2 -I lib x.m4",
            "m4 x.m4",
            "lldb -b -s x -- prog -o y",
            "lldb prog",
            "gdb prog core",
            "python3 -m codecs",
            "python3 -m pytest -m trace",
        ] {
            assert!(!is_code(&line.split(' ').collect::<Vec<_>>()), "{line}");
        }
    }
}
