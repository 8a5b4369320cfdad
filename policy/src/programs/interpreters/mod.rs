//! How interpreters read their arguments. The searches for the script, for code in
//! arguments and for code on standard input all use the same [table](table), so they agree on which argument is the
//! operand.

mod elements;
mod table;

pub(super) use elements::{Element, OptionName};
pub(super) use table::{EDITORS, EMACS, Interpreter, OperandRule, OptionKind};

pub(super) use super::name::is_of;
use super::name::program_name;
use super::starters::MULTICALL;

/// Returns how the program of this name reads its arguments, if the table has it.
pub(super) fn interpreter(program: &str) -> Option<&'static Interpreter> {
    table::INTERPRETERS.iter().find(|interpreter| is_of(program, interpreter.names))
}

/// Returns the name of the applet that a multicall binary runs, and its arguments: the first argument names it. Any
/// other program stays what it is.
pub(super) fn applet<A: AsRef<[u8]>>(mut program: String, mut arguments: &[A]) -> (String, &[A]) {
    while is_of(&program, &MULTICALL)
        && let Some((applet, rest)) = arguments.split_first()
    {
        (program, arguments) = (program_name(applet), rest);
    }
    (program, arguments)
}

#[cfg(test)]
mod tests;
