//! The Landlock domain of the tree. It limits the tree even if the supervisor makes a mistake.
//!
//! It handles all file-system rights that the kernel knows. It does not affect files that the supervisor opened and
//! passed on, because the kernel checks the opener's rights.
//!
//! Besides programs, it grants only hierarchies that the policy allows as a whole. So a call may be left to the kernel:
//! whatever object the kernel resolves, the domain allows it only if everything around it is allowed too.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::Arc;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

pub use landlock::RulesetError;

use crate::failpoints;

/// The Landlock versions that add rights, with what is not restricted before that version.
const ADDED: &[(u8, &str)] = &[
    (2, "links and renames between directories"),
    (3, "truncation"),
    (5, "device ioctls"),
    (6, "signals and abstract sockets"),
];

/// The first version that scopes signals and abstract sockets (Linux 6.12).
pub const SCOPING: u8 = 6;
/// The version that restricts TCP ports, which only some policies need.
const PORTS: (u8, &str) = (4, "TCP ports");

/// How much of the domain this kernel can enforce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandlockStatus {
    /// Everything that the guard asks for.
    Full,
    /// Everything except these.
    Partial {
        /// What the kernel does not restrict, in words.
        missing: Vec<&'static str>,
    },
    /// The kernel has no Landlock, or it is switched off.
    None,
}

impl LandlockStatus {
    /// The status for this version of Landlock. `ports` are the TCP ports that the domain is limited to, if any.
    #[must_use]
    pub fn on(abi: Option<u8>, ports: Option<&[u16]>) -> LandlockStatus {
        let Some(abi) = abi else { return LandlockStatus::None };
        let features = ADDED.iter().chain(ports.map(|_| &PORTS));
        let missing: Vec<_> = features.filter(|(since, _)| *since > abi).map(|(_, what)| *what).collect();
        if missing.is_empty() { LandlockStatus::Full } else { LandlockStatus::Partial { missing } }
    }
}

/// A Landlock domain that is ready to be entered.
#[derive(Debug)]
pub struct Floor {
    ruleset: Option<OwnedFd>,
    status: LandlockStatus,
    skipped: Vec<PathBuf>,
}

/// The access that the kernel grants by itself, at and below a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelAccess {
    /// Reading files and listing directories.
    Read,
    /// Writing, truncating, creating and removing files, and removing directories. Only the supervisor renames, links,
    /// and creates directories and special files.
    Write,
    /// Both.
    ReadWrite,
}

/// An access right at a path.
#[derive(Debug)]
pub struct PathGrant {
    /// The directory or file.
    pub beneath: Arc<OwnedFd>,
    /// Whether it is a directory; the access then covers everything below it.
    pub is_directory: bool,
    /// The granted access.
    pub access: KernelAccess,
}

impl PathGrant {
    fn rights(&self) -> BitFlags<AccessFs> {
        let (read, write) = if self.is_directory {
            (
                AccessFs::ReadFile | AccessFs::ReadDir,
                AccessFs::WriteFile
                    | AccessFs::Truncate
                    | AccessFs::MakeReg
                    | AccessFs::RemoveFile
                    | AccessFs::RemoveDir,
            )
        } else {
            // Usually a device: the filter and the supervisor decide on its ioctls.
            (
                AccessFs::ReadFile | AccessFs::IoctlDev,
                AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev,
            )
        };
        match self.access {
            KernelAccess::Read => read,
            KernelAccess::Write => write,
            KernelAccess::ReadWrite => read | write,
        }
    }
}

/// Whether calls may be left to this kernel at all. Without the truncate right (ABI 3, Linux 6.2) Landlock would not
/// check O_TRUNC.
#[must_use]
pub fn holds_grants(abi: Option<u8>) -> bool {
    abi.is_some_and(|abi| abi >= 3)
}

/// The kernel's Landlock version, or `None` if it has none or has it switched off.
#[must_use]
pub fn abi() -> Option<u8> {
    version().ok()
}

/// The kernel's Landlock version.
///
/// # Errors
/// ENOSYS if the kernel has none, EOPNOTSUPP if it is switched off.
pub fn version() -> io::Result<u8> {
    const VERSION: u32 = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the kernel reads no ruleset and returns a number.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0usize, VERSION) };
    if version < 0 {
        return Err(io::Error::last_os_error());
    }
    match u8::try_from(version).unwrap_or(u8::MAX).min(failpoints::landlock_limit()) {
        0 => Err(io::Error::from_raw_os_error(libc::ENOSYS)),
        version => Ok(version),
    }
}

/// Builds the domain. It allows programs and their libraries below these directories, and what the grants allow, and
/// nothing else. If ports are given, it allows TCP only to them. The supervisor, which connects for the tree, is not in
/// this domain.
///
/// Directories that do not exist are [skipped](Floor::skipped). Without Landlock the domain is empty, and its
/// [status](Floor::status) says so.
pub fn plan(
    exec_roots: &[PathBuf],
    grants: Vec<PathGrant>,
    ports: Option<&[u16]>,
) -> Result<Floor, RulesetError> {
    plan_with(abi(), exec_roots, grants, ports)
}

/// Like [`Floor::plan`], for a kernel with this version of Landlock. Only what that version knows is asked for.
fn plan_with(
    abi: Option<u8>,
    exec_roots: &[PathBuf],
    grants: Vec<PathGrant>,
    ports: Option<&[u16]>,
) -> Result<Floor, RulesetError> {
    let status = LandlockStatus::on(abi, ports);
    let known = ABI::from(abi.map_or(0, i32::from));
    if known == ABI::Unsupported {
        return Ok(Floor { ruleset: None, status, skipped: Vec::new() });
    }
    let ports = ports.filter(|_| AccessNet::from_all(known).contains(AccessNet::ConnectTcp));
    let mut skipped = Vec::new();
    let mut ruleset = handled(known, ports.is_some())?.create()?;
    for port in ports.unwrap_or_default() {
        ruleset = ruleset.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
    }
    for root in exec_roots {
        match PathFd::new(root) {
            Ok(opened) => ruleset = add(ruleset, opened, AccessFs::Execute | AccessFs::ReadFile)?,
            Err(_) => skipped.push(root.clone()),
        }
    }
    for grant in grants {
        let rights = grant.rights() & AccessFs::from_all(known);
        ruleset = add(ruleset, grant.beneath, rights)?;
    }
    Ok(Floor { ruleset: ruleset.into(), status, skipped })
}

/// What the domain restricts.
fn handled(known: ABI, has_ports: bool) -> Result<Ruleset, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(known))?;
    // The crate reports an empty set as a mistake, and before ABI 6 the set would be empty.
    let scopes = Scope::from_all(known);
    if !scopes.is_empty() {
        ruleset = ruleset.scope(scopes)?;
    }
    if has_ports {
        ruleset = ruleset.handle_access(AccessNet::ConnectTcp)?;
    }
    Ok(ruleset)
}

fn add(
    ruleset: RulesetCreated,
    beneath: impl AsFd,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    ruleset.add_rule(PathBeneath::new(beneath, access))
}

/// From here on the calling thread can bind sockets only below this directory. Sets no_new_privs if needed.
///
/// # Errors
/// If the kernel cannot enforce this.
pub fn bind_only_below(directory: impl AsFd) -> io::Result<()> {
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::MakeSock)
        .and_then(Ruleset::create)
        .and_then(|ruleset| ruleset.add_rule(PathBeneath::new(directory, AccessFs::MakeSock)))
        .and_then(RulesetCreated::restrict_self)
        .map_err(io::Error::other)?;
    if status.ruleset == RulesetStatus::FullyEnforced {
        Ok(())
    } else {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// From here on the calling thread, and what it starts, reach no abstract AF_UNIX socket but those of each other. Returns
/// whether the kernel can hold that (Linux 6.12). Sets no_new_privs if needed.
///
/// # Errors
/// The kernel's, except that it has no such scope.
pub fn scope_abstract_sockets() -> io::Result<bool> {
    if abi().is_none_or(|abi| abi < SCOPING) {
        return Ok(false);
    }
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .scope(Scope::AbstractUnixSocket)
        .and_then(Ruleset::create)
        .and_then(RulesetCreated::restrict_self)
        .map_err(io::Error::other)?;
    Ok(status.ruleset == RulesetStatus::FullyEnforced)
}

impl Floor {
    /// How much of the domain the kernel enforces.
    #[must_use]
    pub fn status(&self) -> &LandlockStatus {
        &self.status
    }

    /// The directories that could not be opened. No program can start below them.
    #[must_use]
    pub fn skipped(&self) -> &[PathBuf] {
        &self.skipped
    }

    /// The descriptor that must stay open until [`Floor::enter`].
    pub(crate) fn descriptor(&self) -> Option<RawFd> {
        self.ruleset.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Enters the domain for good. The caller has set no_new_privs.
    pub(crate) fn enter(self) -> io::Result<()> {
        let Some(ruleset) = self.ruleset else { return Ok(()) };
        // SAFETY: the kernel takes an open descriptor and accesses no memory.
        let entered = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) };
        if entered < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_names_what_a_kernel_lacks() {
        assert_eq!(LandlockStatus::on(None, None), LandlockStatus::None);
        assert_eq!(LandlockStatus::on(Some(6), Some(&[80])), LandlockStatus::Full);
        assert_eq!(LandlockStatus::on(Some(200), None), LandlockStatus::Full);
        let signals = "signals and abstract sockets";
        assert_eq!(
            LandlockStatus::on(Some(5), Some(&[])),
            LandlockStatus::Partial { missing: vec![signals] }
        );
        let missing = |ports| match LandlockStatus::on(Some(3), ports) {
            LandlockStatus::Partial { missing } => missing,
            other => panic!("ABI 3 is partial: {other:?}"),
        };
        assert_eq!(missing(None), ["device ioctls", signals]);
        assert_eq!(missing(Some(&[80])), ["device ioctls", signals, "TCP ports"]);
        let LandlockStatus::Partial { missing } = LandlockStatus::on(Some(1), None) else {
            panic!("ABI 1 is partial")
        };
        assert_eq!(missing.len(), 4);
    }

    /// Each version, as far as this kernel has it.
    #[test]
    fn a_domain_can_be_built_for_every_version_of_landlock() {
        let granted = |path: &str, is_directory| PathGrant {
            beneath: Arc::new(std::fs::File::open(path).unwrap().into()),
            is_directory,
            access: KernelAccess::ReadWrite,
        };
        for version in 1..=abi().unwrap_or(0) {
            let grants = vec![granted("/tmp", true), granted("/dev/null", false)];
            let floor = plan_with(Some(version), &["/usr".into()], grants, Some(&[443]));
            let floor = floor.unwrap_or_else(|error| panic!("version {version}: {error}"));
            assert!(floor.descriptor().is_some());
            assert_eq!(floor.status(), &LandlockStatus::on(Some(version), Some(&[443])));
        }
    }

    #[test]
    fn roots_that_do_not_exist_are_listed() {
        let floor = plan(&["/usr".into(), "/no/such/root".into()], Vec::new(), None).unwrap();
        assert!(floor.status == LandlockStatus::None || floor.skipped() == [PathBuf::from("/no/such/root")]);
    }
}
