//! The machine for which a policy is compiled, and what its stores of approvals hold.

use crate::network::Gateway;
use crate::paths::persistence::PersistenceSites;
use crate::store::StoreContents;

/// Where the policy applies: everything the compiler must know of the machine, gathered by the caller.
pub struct Host<'a> {
    /// What `~` means; best its real path, since requests are about real paths.
    pub home: &'a [u8],
    /// The real path of the start directory.
    pub cwd: &'a [u8],
    /// The real directories of `$PATH`: where the toolchains are, for the policy without a file.
    pub path_dirs: Vec<Vec<u8>>,
    /// Real paths denied with all below them, whatever the document says: OpenClaw's state
    /// directory, the guard's own files and audit.
    pub always_denied: Vec<Vec<u8>>,
    /// The real paths of `/tmp`, `/var/tmp`, `$TMPDIR`.
    pub temp_dirs: Vec<Vec<u8>>,
    /// OpenClaw's own approvals store. Its entries count; otherwise it only tightens.
    pub openclaw: OpenclawStore<'a>,
    /// What OpenClaw's gateway has in its store: counts in the same way where `approvals.gateway.admin` is set.
    pub gateways: OpenclawStore<'a>,
    /// The guard's own approvals store. Its entries count, and its rules for files answer what the map asks for.
    pub own: OwnStore<'a>,
    /// Where OpenClaw's gateway listens.
    pub gateway: Gateway,
    /// Where things are that would run by themselves later.
    pub premises: PersistenceSites,
    /// The real path of something that exists; `None` otherwise. `&|_| None` in pure use.
    pub realpath: &'a dyn Fn(&[u8]) -> Option<Vec<u8>>,
    /// Each symbolic link on the way to a path, by its real path, and at last where the path leads, whether or not that
    /// exists. `&|path| vec![path.to_vec()]` in pure use.
    pub trail: &'a dyn Fn(&[u8]) -> Vec<Vec<u8>>,
}

impl<'a> Host<'a> {
    /// A host of which nothing is known but these two: no toolchains, stores, links or files of the guard's own.
    pub fn bare(home: &'a [u8], cwd: &'a [u8]) -> Host<'a> {
        Host {
            home,
            cwd,
            path_dirs: Vec::new(),
            always_denied: Vec::new(),
            temp_dirs: Vec::new(),
            openclaw: OpenclawStore::Absent,
            gateways: OpenclawStore::Absent,
            own: OwnStore::Absent,
            gateway: Gateway::default(),
            premises: PersistenceSites::default(),
            realpath: &|_| None,
            trail: &|path| vec![path.to_vec()],
        }
    }
}

/// A store of OpenClaw's, as the host has it.
#[derive(Clone, Copy, Debug, Default)]
pub enum OpenclawStore<'a> {
    /// There is none.
    #[default]
    Absent,
    /// It was read.
    Present(&'a StoreContents),
    /// It is there and is not known: the line that says where and why. Nothing may start.
    Broken(&'a str),
}

/// The guard's own approvals store, as the host has it.
#[derive(Clone, Copy, Debug, Default)]
pub enum OwnStore<'a> {
    /// There is none.
    #[default]
    Absent,
    /// It was read.
    Present(&'a StoreContents),
    /// It is there and cannot be read: the line that says where and why. Nothing of it counts.
    Broken(&'a str),
}
