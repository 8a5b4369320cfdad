//! The floor: a Landlock domain below which no mistake of the supervisor reaches.
//!
//! All file-system rights that the kernel knows are handled. Files that the supervisor has opened and passed on
//! are not affected: the kernel remembers what the opener had the right to.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

/// What the floor adds to from one version of Landlock to the next, and what is missing below that version.
const ADDED: &[(u8, &str)] = &[
    (2, "links and renames between directories"),
    (3, "truncation"),
    (5, "device ioctls"),
    (6, "signals and abstract sockets"),
];

/// How much of the floor this kernel can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
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

impl Status {
    /// The status on a kernel with this version of Landlock.
    #[must_use]
    pub fn on(abi: Option<u8>) -> Status {
        let Some(abi) = abi else { return Status::None };
        let missing: Vec<_> = ADDED.iter().filter(|(since, _)| *since > abi).map(|(_, what)| *what).collect();
        if missing.is_empty() { Status::Full } else { Status::Partial { missing } }
    }
}

/// A Landlock domain that is ready to be entered.
#[derive(Debug)]
pub struct Floor {
    ruleset: Option<OwnedFd>,
    status: Status,
    skipped: Vec<PathBuf>,
}

/// The kernel's version of Landlock, or `None` where it has none or has switched it off.
#[must_use]
pub fn abi() -> Option<u8> {
    const VERSION: u32 = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the kernel takes no ruleset, and returns a number.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0usize, VERSION) };
    u8::try_from(version).ok().filter(|version| *version > 0)
}

/// Make the floor: programs, and the libraries they map, below these directories, and nothing else.
///
/// Directories that do not exist are [skipped](Floor::skipped). Where there is no Landlock the floor is empty,
/// and its [status](Floor::status) says so.
pub fn plan(exec_roots: &[PathBuf]) -> Result<Floor, RulesetError> {
    let status = Status::on(abi());
    let known = ABI::from(abi().map_or(0, i32::from));
    if known == ABI::Unsupported {
        return Ok(Floor { ruleset: None, status, skipped: Vec::new() });
    }
    let mut skipped = Vec::new();
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(known))?
        .scope(Scope::from_all(known))?
        .create()?;
    for root in exec_roots {
        match PathFd::new(root) {
            Ok(opened) => ruleset = grant(ruleset, opened, AccessFs::Execute | AccessFs::ReadFile)?,
            Err(_) => skipped.push(root.clone()),
        }
    }
    Ok(Floor { ruleset: ruleset.into(), status, skipped })
}

fn grant(
    ruleset: RulesetCreated,
    beneath: PathFd,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    ruleset.add_rule(PathBeneath::new(beneath, access))
}

impl Floor {
    /// How much of it the kernel holds.
    #[must_use]
    pub fn status(&self) -> &Status {
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
        assert_eq!(Status::on(None), Status::None);
        assert_eq!(Status::on(Some(6)), Status::Full);
        assert_eq!(Status::on(Some(200)), Status::Full);
        assert_eq!(Status::on(Some(5)), Status::Partial { missing: vec!["signals and abstract sockets"] });
        let Status::Partial { missing } = Status::on(Some(1)) else { panic!("ABI 1 is partial") };
        assert_eq!(missing.len(), 4);
    }

    #[test]
    fn roots_that_do_not_exist_are_listed() {
        let floor = plan(&["/usr".into(), "/no/such/root".into()]).unwrap();
        assert!(floor.status == Status::None || floor.skipped() == [PathBuf::from("/no/such/root")]);
    }
}
