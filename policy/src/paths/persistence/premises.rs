//! What of this machine the lists of places need to know.

/// Where things are that run by themselves, as far as it is not the same everywhere. All of it as it was at the start.
#[derive(Clone, Debug, Default)]
pub struct PersistenceSites {
    /// Where programs may look for what is in the home directory, beside [`crate::Host::home`]: `$HOME`, `$ZDOTDIR`.
    pub homes: Vec<Vec<u8>>,
    /// `$XDG_CONFIG_HOME` and `$XDG_DATA_HOME`, where they are set.
    pub config: Option<Vec<u8>>,
    /// See `config`.
    pub data: Option<Vec<u8>>,
    /// The start directory, and the top of the repository that it is in.
    pub workspaces: Vec<Vec<u8>>,
    /// The directories of that repository that are its `.git`: that of a worktree, the common one, those of its modules.
    pub git_directories: Vec<Vec<u8>>,
    /// What else git goes by there: a `.git` that is a file, the hooks' directory and what the configuration includes.
    pub git_others: Vec<Vec<u8>>,
    /// The guard's own program.
    pub guard: Vec<Vec<u8>>,
}
