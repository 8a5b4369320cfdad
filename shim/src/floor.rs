//! The floor: a Landlock domain below which no mistake of the supervisor reaches.
//!
//! All file-system rights that the kernel knows are handled. Files that the supervisor has opened and passed on
//! are not affected: the kernel remembers what the opener had the right to.
//!
//! Beside programs it grants only what the policy allows as a whole, so that a call may be left to the kernel: whatever
//! object the kernel finds, the floor lets it be reached only if everything around it may be.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

/// What the floor adds to from one version of Landlock to the next, and what is missing below that version.
const ADDED: &[(u8, &str)] = &[
    (2, "links and renames between directories"),
    (3, "truncation"),
    (5, "device ioctls"),
    (6, "signals and abstract sockets"),
];

/// Since when it restricts to which TCP ports a connection goes, which is asked for by some policies only.
const PORTS: (u8, &str) = (4, "TCP ports");

/// How much of the floor this kernel can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandlockStatus {
    /// All that the guard asks for.
    Full,
    /// All but this.
    Partial {
        /// What the kernel does not restrict, in words.
        missing: Vec<&'static str>,
    },
    /// No Landlock, or it is switched off.
    None,
}

impl LandlockStatus {
    /// The status on a kernel with this version of Landlock, of a floor that keeps to these ports, if any are named.
    #[must_use]
    pub fn on(abi: Option<u8>, ports: Option<&[u16]>) -> LandlockStatus {
        let Some(abi) = abi else { return LandlockStatus::None };
        let wanted = ADDED.iter().chain(ports.map(|_| &PORTS));
        let missing: Vec<_> = wanted.filter(|(since, _)| *since > abi).map(|(_, what)| *what).collect();
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

/// What may be done at and below a place, by the kernel alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelAccess {
    /// Files are read, directories listed.
    Read,
    /// Files are written, truncated, made and removed, and directories removed. Moves, links, directories and special
    /// files are made by the supervisor alone.
    Write,
    /// Both.
    ReadWrite,
}

/// A place where something may be done.
#[derive(Debug)]
pub struct PathGrant {
    /// The directory or file.
    pub beneath: OwnedFd,
    /// Whether it is a directory, with all that is below it.
    pub is_directory: bool,
    /// What may be done.
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
            // A device, most often: what its ioctls may do is for the filter and the supervisor to say.
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

/// Whether calls may be left to this kernel at all: without the right to truncate (ABI 3, Linux 6.2) the floor would not
/// see what O_TRUNC does.
#[must_use]
pub fn holds_grants(abi: Option<u8>) -> bool {
    abi.is_some_and(|abi| abi >= 3)
}

/// The kernel's version of Landlock, or `None` where it has none or has switched it off.
#[must_use]
pub fn abi() -> Option<u8> {
    version().ok()
}

/// The kernel's version of Landlock.
///
/// # Errors
/// ENOSYS where it has none, EOPNOTSUPP where it is switched off.
pub fn version() -> io::Result<u8> {
    const VERSION: u32 = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the kernel takes no ruleset, and returns a number.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0usize, VERSION) };
    match version {
        ..0 => Err(io::Error::last_os_error()),
        0 => Err(io::Error::from_raw_os_error(libc::ENOSYS)),
        version => Ok(u8::try_from(version).unwrap_or(u8::MAX)),
    }
}

/// Make the floor: programs, and the libraries they map, below these directories, what the grants allow, and nothing
/// else; TCP to these ports alone, if any are named. The supervisor, which connects for the tree, is not on this floor.
///
/// Directories that do not exist are [skipped](Floor::skipped). Where there is no Landlock the floor is empty,
/// and its [status](Floor::status) says so.
pub fn plan(
    exec_roots: &[PathBuf],
    grants: Vec<PathGrant>,
    ports: Option<&[u16]>,
) -> Result<Floor, RulesetError> {
    let status = LandlockStatus::on(abi(), ports);
    let known = ABI::from(abi().map_or(0, i32::from));
    if known == ABI::Unsupported {
        return Ok(Floor { ruleset: None, status, skipped: Vec::new() });
    }
    let mut skipped = Vec::new();
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(known))?
        .scope(Scope::from_all(known))?;
    if ports.is_some() {
        ruleset = ruleset.handle_access(AccessNet::ConnectTcp)?;
    }
    let mut ruleset = ruleset.create()?;
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
        let rights = grant.rights();
        ruleset = add(ruleset, grant.beneath, rights)?;
    }
    Ok(Floor { ruleset: ruleset.into(), status, skipped })
}

fn add(
    ruleset: RulesetCreated,
    beneath: impl AsFd,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    ruleset.add_rule(PathBeneath::new(beneath, access))
}

/// From here on the calling thread binds sockets to names below this directory alone. It sets no_new_privs, if it has to.
///
/// # Errors
/// Where the kernel cannot hold it.
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

impl Floor {
    /// How much of it the kernel holds.
    #[must_use]
    pub fn status(&self) -> &LandlockStatus {
        &self.status
    }

    /// The directories that could not be opened, below which no program can start.
    #[must_use]
    pub fn skipped(&self) -> &[PathBuf] {
        &self.skipped
    }

    /// The descriptor that must stay open until the domain is entered.
    pub(crate) fn descriptor(&self) -> Option<RawFd> {
        self.ruleset.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Enter the domain, for good. The caller has set no_new_privs.
    pub(crate) fn enter(self) -> io::Result<()> {
        let Some(ruleset) = self.ruleset else { return Ok(()) };
        // SAFETY: the kernel takes a descriptor, which is open, and no memory.
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

    #[test]
    fn roots_that_do_not_exist_are_listed() {
        let floor = plan(&["/usr".into(), "/no/such/root".into()], Vec::new(), None).unwrap();
        assert!(floor.status == LandlockStatus::None || floor.skipped() == [PathBuf::from("/no/such/root")]);
    }
}
