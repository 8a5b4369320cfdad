//! Dot commands among the arguments of sqlite3(1).

/// Returns a dot command without its dot and quotes: blanks may stand after the dot, and words may be quoted (shell.c,
/// do_meta_command). `None` if the argument is no such command.
pub(super) fn dot_command(argument: &str) -> Option<String> {
    let command = argument.strip_prefix('.')?.replace(['"', '\''], "");
    Some(command.trim_start().to_owned())
}

/// Whether an argument is a dot command that reads commands from a file, or loads a library.
pub(super) fn reads_a_file(argument: &str) -> bool {
    dot_command(argument)
        .is_some_and(|command| is_reader(command.split_whitespace().next().unwrap_or_default()))
}

/// Whether a dot command of this name does. Names may be cut short.
pub(super) fn is_reader(name: &str) -> bool {
    let is_short = |command: &str, least: usize| name.len() >= least && command.starts_with(name);
    is_short("read", 3) || is_short("load", 1) || hides(name)
}

/// Whether an escape in a name may stand for any letter.
pub(super) fn hides(name: &str) -> bool {
    name.contains('\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_as_sqlite_reads_it() {
        for (argument, expected) in [
            (".read x", Some("read x")),
            (". \tread x", Some("read x")),
            (".\"read\" x", Some("read x")),
            ("select 1", None),
            (" .read x", None),
        ] {
            assert_eq!(dot_command(argument).as_deref(), expected, "{argument}");
        }
        for (name, expected) in
            [("read", true), ("rea", true), ("re", false), ("l", true), ("\\162ead", true), ("mode", false)]
        {
            assert_eq!(is_reader(name), expected, "{name}");
            assert_eq!(reads_a_file(&format!(". {name} x")), expected, "{name}");
        }
    }
}
