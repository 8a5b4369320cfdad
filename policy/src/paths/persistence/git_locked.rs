//! The names that take part when git changes its configuration in a git directory.

/// A configuration, and the files beside it while it changes. git writes the new one to the lock and renames that; the
/// guard puts a file of its own in place instead. Who has either open could write to it afterwards.
#[derive(Debug, PartialEq, Eq)]
pub struct GitConfigNames {
    /// What git reads.
    pub config: &'static [u8],
    /// git's lock, which keeps others from changing it at the same time (git's lockfile.h).
    pub lock: &'static [u8],
    /// The guard's own file, which the tree neither makes nor writes.
    pub new: &'static [u8],
}

impl GitConfigNames {
    pub(super) fn names(&self) -> [&'static [u8]; 3] {
        [self.config, self.lock, self.new]
    }

    /// Returns the names of the files that this is the lock of.
    pub fn of_lock(name: &[u8]) -> Option<&'static GitConfigNames> {
        GIT_CONFIGS.iter().find(|names| names.lock == name)
    }
}

/// The configuration of a repository, and that of one of its work trees.
pub(super) const GIT_CONFIGS: [GitConfigNames; 2] = [
    GitConfigNames { config: b"config", lock: b"config.lock", new: b"config.openclaw-guard" },
    GitConfigNames {
        config: b"config.worktree",
        lock: b"config.worktree.lock",
        new: b"config.worktree.openclaw-guard",
    },
];

pub(super) fn is_config_name(name: &[u8]) -> bool {
    GIT_CONFIGS.iter().any(|config| config.names().contains(&name))
}

pub(super) fn is_lock_or_config(name: &[u8]) -> bool {
    GIT_CONFIGS.iter().any(|config| [config.config, config.lock].contains(&name))
}

pub(super) fn is_config(name: &[u8]) -> bool {
    GIT_CONFIGS.iter().any(|config| config.config == name)
}
