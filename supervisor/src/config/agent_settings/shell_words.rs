//! What stands before the name of a program in a text of shell.

/// Words that stand before a command: words of the shell, and programs that start another program.
pub const BEFORE: [&str; 23] = [
    "!", "{", "if", "then", "else", "elif", "do", "while", "until", "time", "exec", "command", "builtin",
    "env", "nohup", "nice", "ionice", "setsid", "stdbuf", "sudo", "timeout", "xargs", "doas",
];

/// Whether a word sets a variable.
pub fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}
