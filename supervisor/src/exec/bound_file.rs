//! What an approved program finds under one name: the file that was there, or nothing if nothing was.

use std::fs::File;
use std::sync::Arc;

use rustix::io::Errno;

use super::script_paths::{is_below, script_paths};
use super::sealed_script::SealedScript;
use crate::resolve::Identity;

/// A script as passed to an interpreter.
#[derive(Debug)]
pub struct Named {
    /// The real path.
    pub path: Vec<u8>,
    /// The absolute name that the interpreter opens.
    pub name: Vec<u8>,
    /// The script.
    pub file: File,
    /// Whether the file may be data that the program changes and reads again. Once the program or a child of it has
    /// opened the file for writing or replaced it, the program reads what is there.
    pub is_until_changed: bool,
}

/// A name among the arguments without a file that could be bound.
#[derive(Debug)]
pub struct BareName {
    /// The absolute name that the program may open.
    pub name: Vec<u8>,
    /// Whether something is there: a directory or a device, which must stay.
    pub is_there: bool,
}

/// What a program gets under a name.
#[derive(Debug)]
enum UnderName {
    /// This copy, instead of the file.
    Copy(Arc<SealedScript>),
    /// Nothing: what somebody else puts there was not asked about.
    Nothing,
    /// What is there: no copy replaces it, but it must stay where it is.
    AsItIs,
}

/// One name of one approved program.
#[derive(Debug)]
pub(super) struct BoundFile {
    pub(super) file: Option<Identity>,
    /// The file: while it is open, no other file gets its inode number.
    _open: Option<File>,
    pub(super) path: Vec<u8>,
    pub(super) name: Vec<u8>,
    /// The entries that must stay; empty if the name means another file to each process.
    ways: Vec<Vec<u8>>,
    content: UnderName,
    pub(super) is_until_changed: bool,
}

/// How a path relates to a bound file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Meant {
    Itself,
    /// A path below the script, as if the script were a directory.
    Below,
}

impl BoundFile {
    pub(super) fn new(script: Named, copy: Arc<SealedScript>) -> Result<BoundFile, Errno> {
        let Named { path, name, file: open, is_until_changed } = script;
        let file = Some(Identity::from_stat(&rustix::fs::fstat(&open)?));
        // If the name means another file to each process, the real path still leads to it.
        let ways = script_paths(&name).or_else(|| script_paths(&path)).unwrap_or_default();
        Ok(BoundFile {
            file,
            _open: Some(open),
            path,
            name,
            ways,
            content: UnderName::Copy(copy),
            is_until_changed,
        })
    }

    /// A name without a file. `None` if the name means something else to each process.
    pub(super) fn bare(bare: BareName) -> Option<BoundFile> {
        let ways = script_paths(&bare.name)?;
        let path = ways.last()?.clone();
        let content = if bare.is_there { UnderName::AsItIs } else { UnderName::Nothing };
        Some(BoundFile {
            file: None,
            _open: None,
            path,
            name: bare.name,
            ways,
            content,
            is_until_changed: true,
        })
    }

    /// Whether the name still leads to what was bound. After this check the name can no longer be changed.
    pub(super) fn is_there(&self) -> bool {
        let Some(last) = self.ways.last() else { return true };
        let is_same_way =
            script_paths(&self.name).or_else(|| script_paths(&self.path)).as_ref() == Some(&self.ways);
        let found = rustix::fs::lstat(&last[..]);
        is_same_way
            && match self.content {
                UnderName::Copy(_) => found.is_ok_and(|stat| Some(Identity::from_stat(&stat)) == self.file),
                UnderName::Nothing => found.is_err(),
                UnderName::AsItIs => found.is_ok_and(|stat| stat.st_mode & libc::S_IFMT != libc::S_IFREG),
            }
    }

    pub(super) fn copy(&self) -> Option<&Arc<SealedScript>> {
        match &self.content {
            UnderName::Copy(copy) => Some(copy),
            UnderName::Nothing | UnderName::AsItIs => None,
        }
    }

    /// Whether nothing was under the name.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(self.content, UnderName::Nothing)
    }

    /// Whether a removal or replacement of this entry would remove the file, or make its name lead elsewhere.
    pub(super) fn is_led_to_by(&self, entry: &[u8]) -> bool {
        self.ways.iter().any(|way| way == entry || is_below(way, entry))
    }

    /// Whether a change of this file, or at this path, changes what the program finds.
    pub(super) fn is_changed_by(&self, file: Option<Identity>, path: &[u8]) -> bool {
        file.is_some() && file == self.file
            || self.path == path
            || self.is_led_to_by(path)
            || self.is_nothing() && is_below(path, &self.path)
    }

    pub(super) fn meant_by_name(&self, name: &[u8]) -> Option<Meant> {
        self.meant_by(name, &self.name)
    }

    pub(super) fn meant_by_file(&self, file: Identity, path: &[u8]) -> Option<Meant> {
        if Some(file) == self.file { Some(Meant::Itself) } else { self.meant_by(path, &self.path) }
    }

    fn meant_by(&self, path: &[u8], own: &[u8]) -> Option<Meant> {
        match self.content {
            UnderName::AsItIs => None,
            _ if path == own => Some(Meant::Itself),
            _ => is_below(path, own).then_some(Meant::Below),
        }
    }
}
