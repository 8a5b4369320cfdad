//! The facts about this machine that the lists of places need.

/// The machine-specific locations of files that run by themselves, as found at the start.
#[derive(Clone, Debug, Default)]
pub struct PersistenceSites {
    /// Homes beside [`crate::Host::home`] in which programs look for their files: `$HOME`, `$ZDOTDIR`.
    pub homes: Vec<Vec<u8>>,
    /// The directories of `PATH` as written, absolute: links on the way count, and directories that are missing.
    pub path_as_written: Vec<Vec<u8>>,
    /// The directories of the operator's tmux servers. A process that is the server there can make clients run
    /// commands (tmux(1), `detach-client -E`).
    pub tmux: Vec<Vec<u8>>,
    /// `$XDG_CONFIG_HOME`, if set.
    pub config: Option<Vec<u8>>,
    /// `$XDG_DATA_HOME`, if set.
    pub data: Option<Vec<u8>>,
    /// `$XDG_CACHE_HOME`, if set.
    pub cache: Option<Vec<u8>>,
    /// The start directory, and the tops of the repositories that contain it.
    pub workspaces: Vec<Vec<u8>>,
    /// The git directories: `.git`, the common directory, and those of worktrees and submodules.
    pub git_directories: Vec<Vec<u8>>,
    /// Other paths that git depends on: a `.git` file, the hooks directory, included configuration files.
    pub git_others: Vec<Vec<u8>>,
    /// Directories of hooks that the operator's configuration names relative to each work tree (git-config(1),
    /// `core.hooksPath`).
    pub hook_directories: Vec<Vec<u8>>,
    /// The names and addresses of this machine, in lower case: a remote at one of them is a path of this machine.
    pub this_host: Vec<Vec<u8>>,
    /// The operator's variables that name files which programs run or read at their start, as they are set.
    pub variables: Vec<(String, Vec<u8>)>,
    /// The files that the settings of agents name, in the home and in projects, wherever these files are.
    pub agents: Vec<Vec<u8>>,
    /// The symbolic link by which the shell came to the start directory, if a guarded program may have made it.
    pub start_link: Option<Vec<u8>>,
    /// The guard's own executable.
    pub guard: Vec<Vec<u8>>,
}
