//! Programs that take commands as options or operands, in a language that reaches a shell.

use super::super::interpreters::{EDITORS, EMACS, is_of};

/// Returns the option or operand that is a command, if the arguments of this program have one.
pub(super) fn command_option(program: &str, arguments: &[&str]) -> Option<String> {
    let is_command: fn(&str) -> bool = match program {
        _ if is_of(program, EDITORS) || is_of(program, &["nvim"]) => is_vims,
        _ if is_of(program, EMACS) => is_emacs,
        _ if is_of(program, &["sqlite3"]) => is_sqlites,
        _ if is_of(program, &["lldb"]) => is_lldbs,
        _ if is_of(program, &["gdb"]) => is_gdbs,
        _ => return None,
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

/// vim(1): `--cmd`, in any case and whatever follows (command_line_scan of main.c), and `+COMMAND`. `+`, `+NUMBER` and
/// `+/PATTERN` only say where the cursor is.
fn is_vims(word: &str) -> bool {
    let is_place = |command: &str| {
        let is_pattern = command.starts_with('/') && !command.contains(['|', '\n']);
        is_pattern || command.bytes().all(|byte| byte.is_ascii_digit())
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

/// sqlite3(1), "Command Line Shell For SQLite": `-cmd`, with one or two dashes, and the dot-commands `.shell`,
/// `.system`, which may be cut short, and those that take a pipe: `.once |CMD`.
fn is_sqlites(word: &str) -> bool {
    let is_dot = |command: &str| {
        let name = command.split(char::is_whitespace).next().unwrap_or(command);
        command.contains('|')
            || name.len() > 1 && ["shell", "system"].iter().any(|whole| whole.starts_with(name))
    };
    matches!(word, "-cmd" | "--cmd") || word.strip_prefix('.').is_some_and(is_dot)
}

/// `lldb --help`: one or two dashes before a long name.
fn is_lldbs(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    let long = name.strip_prefix("--").or_else(|| name.strip_prefix('-')).unwrap_or_default();
    matches!(name, "-o" | "-O" | "-k")
        || matches!(long, "one-line" | "one-line-before-file" | "one-line-on-crash")
}

/// gdb(1), "Mode Options" of the manual: long options begin with one or two dashes and may be abbreviated.
fn is_gdbs(word: &str) -> bool {
    let Some(name) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else { return false };
    let name = name.split('=').next().unwrap_or(name);
    let is_short = |whole: &str| whole.starts_with(name);
    matches!(name, "ex" | "iex" | "ix" | "eiex")
        || name.len() > 2
            && ["eval-command", "init-eval-command", "early-init-eval-command"].into_iter().any(is_short)
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
            &["sqlite3", "-cmd", "select 1", "db"],
            &["sqlite3", "db", ".once |id"],
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
            "vim -u NONE -S x.vim y",
            "vim -- +x -c",
            "vim --clean x",
            "nvim -u NONE x",
            "emacs x",
            "emacs -nw --batch -l x.el",
            "emacs -- --eval",
            "sqlite3 db",
            "sqlite3 db .schema",
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
