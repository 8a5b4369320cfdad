//! Why a command cannot be authorized as a whole.

use std::fmt;

/// The part of a command that prevents its authorization, by OpenClaw's name if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blocker {
    /// `$(…)` or backticks.
    CommandSubstitution,
    /// `<(…)`, `>(…)`.
    ProcessSubstitution,
    /// The shell computes the program's name: a variable, a pattern.
    DynamicExecutable,
    /// The shell computes an argument: `$HOME`, `"${x}"`, `$((1 + 2))`.
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
    /// Text that no shell could parse.
    SyntaxError,
    /// The parser had to insert something that is missing.
    Unparsed,
    /// Only assignments, comments and white space.
    NoCommands,
    /// A brace before a character that the parser cannot handle safely.
    Unreadable,
    /// More than [`super::MAX_LENGTH`] bytes.
    TooLong,
    /// More than [`super::MAX_STEPS`] commands.
    TooMany,
    /// Substitutions that are nested deeper than [`super::MAX_NESTING`].
    TooDeep,
}

impl Blocker {
    /// Returns the reason's name.
    pub const fn name(self) -> &'static str {
        match self {
            Blocker::CommandSubstitution => "command-substitution",
            Blocker::ProcessSubstitution => "process-substitution",
            Blocker::DynamicExecutable => "dynamic-executable",
            Blocker::DynamicArgument => "dynamic-argument",
            Blocker::Redirect => "redirect",
            Blocker::Heredoc => "heredoc",
            Blocker::HereString => "here-string",
            Blocker::LineContinuation => "line-continuation",
            Blocker::Background => "background",
            Blocker::If => "if",
            Blocker::For => "for",
            Blocker::While => "while",
            Blocker::Case => "case",
            Blocker::FunctionDefinition => "function-definition",
            Blocker::Subshell => "subshell",
            Blocker::Group => "group",
            Blocker::SyntaxError => "syntax-error",
            Blocker::Unparsed => "unable to parse command",
            Blocker::NoCommands => "no commands to authorize",
            Blocker::Unreadable => "not analysed: a brace before a character beyond Latin-1",
            Blocker::TooLong => "not analysed: too long",
            Blocker::TooMany => "not analysed: too many commands",
            Blocker::TooDeep => "not analysed: too deeply nested",
        }
    }
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
