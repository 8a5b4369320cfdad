//! What settings make an agent start.

/// What a setting makes an agent start.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NamedCommand {
    /// A text of shell.
    Text(String),
    /// A program with its arguments.
    Argv(Vec<String>),
    /// Arguments alone.
    Words(String),
    /// A file that a program loads, whatever the file's name is.
    Loaded(String),
    /// A directory of programs, or a file.
    Place(String),
}

impl NamedCommand {
    /// Its length in bytes.
    pub fn length(&self) -> usize {
        match self {
            NamedCommand::Argv(words) => words.iter().map(|word| word.len() + 1).sum(),
            NamedCommand::Text(text)
            | NamedCommand::Words(text)
            | NamedCommand::Loaded(text)
            | NamedCommand::Place(text) => text.len(),
        }
    }
}

/// A command, and where it starts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StartedCommand {
    pub command: NamedCommand,
    /// The directory that the settings name for it.
    pub directory: Option<String>,
}

/// A command that starts in the project.
impl From<NamedCommand> for StartedCommand {
    fn from(command: NamedCommand) -> StartedCommand {
        StartedCommand { command, directory: None }
    }
}

#[cfg(test)]
impl StartedCommand {
    /// Its words as one text.
    pub fn into_text(self) -> String {
        match self.command {
            NamedCommand::Argv(words) => words.join(" "),
            NamedCommand::Text(text)
            | NamedCommand::Words(text)
            | NamedCommand::Loaded(text)
            | NamedCommand::Place(text) => text,
        }
    }
}
