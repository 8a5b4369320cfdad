//! The machine for which a policy is compiled, and the contents of its approvals stores.

use std::net::IpAddr;

use super::enclosure::Enclosure;
use super::profiles::Profile;
use crate::config::project::ProjectFile;
use crate::network::Gateway;
use crate::paths::earlier_runs::EarlierRuns;
use crate::paths::expansion::{Bases, Paths};
use crate::paths::persistence::PersistenceSites;
use crate::paths::workspace::Workspace;
use crate::store::StoreContents;

/// The machine where the policy applies: everything that the compiler must know of it, gathered by the
/// caller.
pub struct Host<'a> {
    /// What `~` means; preferably a real path, since requests name real paths.
    pub home: &'a [u8],
    /// The real path of the start directory.
    pub cwd: &'a [u8],
    /// What `${workspace}` stands for in guard.json.
    pub workspace: Workspace,
    /// The profile of the program that is guarded.
    pub profile: Option<Profile>,
    /// The real directories of `$PATH`: where the toolchains are, for the policy without a file.
    pub path_dirs: Vec<Vec<u8>>,
    /// Real paths denied with everything below them, whatever the document grants: OpenClaw's state
    /// directory, the guard's own files and audit.
    pub always_denied: Vec<Vec<u8>>,
    /// Real paths of files beside which OpenClaw leaves copies (`FILE.bak`). The copies are denied, too.
    pub copied: Vec<Vec<u8>>,
    /// Files that earlier runs had as their policies: they are not written, whatever the document grants.
    pub former_policies: Vec<Vec<u8>>,
    /// Absolute paths of secrets, each with the operator's variable that names it. Only the policy without a file uses them.
    pub named_secrets: Vec<(String, Vec<u8>)>,
    /// The real paths of `/tmp`, `/var/tmp`, `$TMPDIR`.
    pub temp_dirs: Vec<Vec<u8>>,
    /// OpenClaw's own approvals store. Its entries count; otherwise it only tightens.
    pub openclaw: OpenclawStore<'a>,
    /// The store of OpenClaw's gateway: counts in the same way if `approvals.gateway.admin` is set.
    pub gateways: OpenclawStore<'a>,
    /// The guard's own approvals store. Its entries count, and its rules for files grant what the map asks
    /// for.
    pub own: OwnStore<'a>,
    /// The files of the projects that the start directory is in.
    pub projects: &'a [ProjectFile],
    /// The sandbox without a container that the tree runs in.
    pub enclosure: Option<&'a Enclosure>,
    /// Where OpenClaw's gateway listens.
    pub gateway: Gateway,
    /// The name servers of this host, which may be asked even where they are link-local.
    pub resolvers: Vec<IpAddr>,
    /// The machine-specific locations of files that run by themselves later.
    pub persistence_sites: PersistenceSites,
    /// Returns the real path of something that exists, else `None`. `&|_| None` in pure use.
    pub realpath: &'a dyn Fn(&[u8]) -> Option<Vec<u8>>,
    /// Returns the real path of each symbolic link on the way to a path, and last where the path leads,
    /// whether or not that exists. `&|path| vec![path.to_vec()]` in pure use.
    pub trail: &'a dyn Fn(&[u8]) -> Vec<Vec<u8>>,
    /// Where earlier runs could write. None in pure use.
    pub earlier_runs: EarlierRuns,
}

impl<'a> Host<'a> {
    /// Returns what the expansion of all patterns but those of guard.json needs.
    pub(crate) fn paths(&self) -> Paths<'a> {
        Paths { home: self.home, workspace: None, realpath: self.realpath, trail: self.trail }
    }

    /// Returns what the patterns of guard.json may begin with.
    pub(crate) fn bases(&self) -> Bases<'_> {
        Bases { home: self.home, workspace: self.workspace.root.as_deref() }
    }

    /// Returns a host with only these two paths: no toolchains, stores, links or files of the guard's own.
    pub fn bare(home: &'a [u8], cwd: &'a [u8]) -> Host<'a> {
        Host {
            home,
            cwd,
            workspace: Workspace::default(),
            profile: None,
            path_dirs: Vec::new(),
            always_denied: Vec::new(),
            copied: Vec::new(),
            former_policies: Vec::new(),
            named_secrets: Vec::new(),
            temp_dirs: Vec::new(),
            openclaw: OpenclawStore::Absent,
            gateways: OpenclawStore::Absent,
            own: OwnStore::Absent,
            projects: &[],
            enclosure: None,
            gateway: Gateway::default(),
            resolvers: Vec::new(),
            persistence_sites: PersistenceSites::default(),
            realpath: &|_| None,
            trail: &|path| vec![path.to_vec()],
            earlier_runs: EarlierRuns::default(),
        }
    }
}

/// A store of OpenClaw's, as found on the host.
#[derive(Clone, Copy, Debug, Default)]
pub enum OpenclawStore<'a> {
    /// There is no store.
    #[default]
    Absent,
    /// It was read.
    Present(&'a StoreContents),
    /// It exists but cannot be read, so nothing may start. Contains the line that reports where and why.
    Broken(&'a str),
}

/// The guard's own approvals store, as found on the host.
#[derive(Clone, Copy, Debug, Default)]
pub enum OwnStore<'a> {
    /// There is no store.
    #[default]
    Absent,
    /// It was read.
    Present(&'a StoreContents),
    /// It exists but cannot be read, so nothing in it counts. Contains the line that reports where and why.
    Broken(&'a str),
}
