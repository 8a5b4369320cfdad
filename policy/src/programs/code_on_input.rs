//! Decides by a program's arguments whether the program runs what it reads from standard input.

use super::interpreters::{EDITORS, Element, Interpreter, OptionKind, is_of};
use super::reads_programs::FIRST_OPERAND;
use super::starters::is_shell;

/// Whether a program runs what it reads from standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodeOnInput {
    /// It does not, as far as its arguments say.
    #[default]
    No,
    /// It does, or may.
    Runs,
    /// Nothing is known of the program.
    Unknown,
}

/// Returns whether an interpreter of the table may run what it reads from standard input.
pub(super) fn on_input(interpreter: &'static Interpreter, arguments: &[&str]) -> CodeOnInput {
    use OptionKind::{Code, Command, File, Input, Module, Prints, Prompt};
    let (mut is_certain, mut has_program) = (true, false);
    for element in interpreter.elements(arguments) {
        match element {
            Element::Option(_, Prompt | Input, _) | Element::Option(_, File, "-") => {
                return CodeOnInput::Runs;
            }
            Element::Option(_, Prints | Command | Module | File, _) => return CodeOnInput::No,
            Element::Option(_, Code, _) => has_program = true,
            Element::Dash if !has_program => return CodeOnInput::Runs,
            Element::Unknown => is_certain = false,
            // node's debugger takes commands.
            Element::Operand(at) if is_nodes_debugger(interpreter, arguments[at]) => {
                return CodeOnInput::Runs;
            }
            // After an option that may take the operand as its value, the operand need not be the script.
            Element::Operand(_) if is_certain => return CodeOnInput::No,
            Element::Operand(_) | Element::Option(..) | Element::Dash => {}
        }
    }
    if has_program { CodeOnInput::No } else { CodeOnInput::Runs }
}

/// Returns whether node's first operand is no script, but starts its debugger with the next one (node's manual, "Debugger").
pub(super) fn is_nodes_debugger(interpreter: &Interpreter, operand: &str) -> bool {
    interpreter.family() == "node" && operand == "inspect"
}

/// Returns whether an option names standard input as the file with the program: `awk -f -`.
pub(super) fn has_input_file(interpreter: &'static Interpreter, arguments: &[&str]) -> bool {
    interpreter
        .elements(arguments)
        .any(|element| matches!(element, Element::Option(_, OptionKind::File, "-")))
}

/// Returns whether a program whose operands the table does not know may run what it reads from standard input. A shell,
/// or a program that runs its first operand, may do so without an operand, or with `-`.
pub(super) fn others_on_input(program: &str, arguments: &[&str]) -> CodeOnInput {
    let is_one = is_shell(program) || is_of(program, FIRST_OPERAND);
    let has_operand = arguments.iter().any(|word| !word.starts_with('-'));
    if is_one && (!has_operand || arguments.contains(&"-")) { CodeOnInput::Runs } else { CodeOnInput::No }
}

/// Options of sqlite3(1) that take the next argument, without their dashes.
const SQLITE_VALUED: [&str; 16] = [
    "cmd",
    "init",
    "separator",
    "newline",
    "nullvalue",
    "mmap",
    "vfs",
    "heap",
    "maxsize",
    "pagecache",
    "lookaside",
    "key",
    "hexkey",
    "textkey",
    "escape",
    "A",
];

/// Returns whether a program that is not an interpreter runs the lines that it reads from standard input. ed(1),
/// gdb(1), psql(1) and mysql(1) do; sqlite3(1) does without SQL among its operands; vim(1) takes the lines as keys,
/// unless it reads the text to edit from standard input.
pub(super) fn reads_lines(program: &str, arguments: &[&str]) -> bool {
    let is_asked =
        |words: &[&str]| arguments.iter().any(|word| words.iter().any(|option| word.starts_with(option)));
    if is_of(program, &["sqlite3"]) {
        let mut rest = arguments.iter();
        let mut operands = 0;
        while let Some(word) = rest.next() {
            match word.strip_prefix('-').map(|name| name.strip_prefix('-').unwrap_or(name)) {
                Some(name) if SQLITE_VALUED.contains(&name) => drop(rest.next()),
                Some("version" | "help") => return false,
                Some(_) => {}
                None => operands += 1,
            }
        }
        return operands < 2;
    }
    let is_editor = is_of(program, EDITORS) || is_of(program, &["nvim"]);
    is_of(program, &["ed", "red", "lldb"])
        || is_editor && !arguments.contains(&"-") && !is_asked(&["--version", "--help", "-h"])
        || is_of(program, &["gdb"]) && !is_asked(&["-batch", "--batch", "-v", "--version"])
        || is_of(program, &["psql"])
            && !is_asked(&["-c", "-f", "--command", "--file", "-l", "--list", "-V", "--version"])
        || is_of(program, &["mysql", "mariadb"]) && !is_asked(&["-e", "--execute", "-V", "--version"])
}
