//! Why a command cannot be authorized as a whole.

use std::fmt;

/// What in a command keeps it from being authorized, in OpenClaw's words where it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// `$(…)` or backticks.
    CommandSubstitution,
    /// `<(…)`, `>(…)`.
    ProcessSubstitution,
    /// The program's name is the shell's to make: a variable, a pattern.
    DynamicExecutable,
    /// An argument is: `$HOME`, `"${x}"`, `$((1 + 2))`.
    DynamicArgument,
    /// `>`, `<`, `2>&1`.
    Redirect,
    /// `<<EOF`.
    Heredoc,
    /// `<<<`.
    HereString,
    /// A backslash before the end of a line.
    LineContinuation,
    /// A single `&`.
    Background,
    /// `if`.
    If,
    /// `for`, `select`.
    For,
    /// `while`, `until`.
    While,
    /// `case`.
    Case,
    /// `name() { … }`.
    FunctionDefinition,
    /// `( … )`.
    Subshell,
    /// `{ …; }`, `(( … ))`.
    Group,
    /// What no shell could read.
    SyntaxError,
    /// The parser had to make up something that is missing.
    Unparsed,
    /// Nothing but assignments, comments and white space.
    NoCommands,
    /// A brace before a character that the parser must not be given.
    Unreadable,
    /// More than [`super::MAX_LENGTH`] bytes.
    TooLong,
    /// More than [`super::MAX_STEPS`] commands.
    TooMany,
    /// Substitutions within substitutions, more than [`super::MAX_NESTING`] of them.
    TooDeep,
}

impl Reason {
    /// The reason's name.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::CommandSubstitution => "command-substitution",
            Reason::ProcessSubstitution => "process-substitution",
            Reason::DynamicExecutable => "dynamic-executable",
            Reason::DynamicArgument => "dynamic-argument",
            Reason::Redirect => "redirect",
            Reason::Heredoc => "heredoc",
            Reason::HereString => "here-string",
            Reason::LineContinuation => "line-continuation",
            Reason::Background => "background",
            Reason::If => "if",
            Reason::For => "for",
            Reason::While => "while",
            Reason::Case => "case",
            Reason::FunctionDefinition => "function-definition",
            Reason::Subshell => "subshell",
            Reason::Group => "group",
            Reason::SyntaxError => "syntax-error",
            Reason::Unparsed => "unable to parse command",
            Reason::NoCommands => "no commands to authorize",
            Reason::Unreadable => "not analysed: a brace before a character beyond Latin-1",
            Reason::TooLong => "not analysed: too long",
            Reason::TooMany => "not analysed: too many commands",
            Reason::TooDeep => "not analysed: too deeply nested",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
