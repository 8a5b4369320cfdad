//! What the kernel may decide by itself under the policy in force.

use std::path::PathBuf;
use std::sync::Arc;

use guard_policy::{Access, Exactness, HierarchyKind, Outcome, Policy, Request, Tiers, Unreadable, decide};

use super::Names;
use super::awaited::existing;
use super::grants::{Grants, Target};
use super::hierarchy_grant::PlacedGrant;
use super::location::Location;

/// How a held call is handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeldCall {
    /// The broker performs it.
    #[default]
    Brokered,
    /// The kernel performs it if the floor covers its object.
    Floored,
}

/// Accesses that the filter does not trap at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Untrapped {
    /// Opens only for reading.
    pub reads: bool,
    /// Opens only for writing, and removals.
    pub writes: bool,
}

/// The floor of a tree, and its use under a policy. The floor never changes; the policy may.
#[derive(Clone, Debug, Default)]
pub struct LandlockPlan {
    /// The hierarchies from which programs can start; `None` without a floor.
    pub roots: Option<Vec<PathBuf>>,
    grants: Arc<Grants>,
    /// Top-level links that lead to directories, such as `/lib` to `/usr/lib`.
    links: Arc<Vec<(Vec<u8>, Vec<u8>)>>,
    held: HeldCall,
    untrapped: Untrapped,
    /// Whether the policy allows reading everything that the floor allows reading; and the same for writing.
    reads: bool,
    writes: bool,
}

impl LandlockPlan {
    /// The plan for a floor with these roots (`None` without one), and with grants that were just made for what this policy
    /// allows as a whole.
    pub fn new(
        roots: Option<Vec<PathBuf>>,
        grants: Arc<Grants>,
        held: HeldCall,
        untrapped: Untrapped,
        policy: &Policy,
    ) -> LandlockPlan {
        let links = Arc::new(top_links());
        let mut plan = LandlockPlan { roots, grants, links, held, untrapped, reads: false, writes: true };
        let are_readable = plan
            .grants
            .iter()
            .filter(|granted| granted.is_root)
            .all(|root| is_within(policy, &root, Access::READ));
        plan.reads = are_readable && plan.may_leave_reads(policy);
        plan
    }

    /// The accesses that are never trapped during this run.
    pub fn untrapped(&self) -> Untrapped {
        self.untrapped
    }

    /// Whether a policy allows all accesses that are not trapped.
    pub fn is_kept_by(&self, policy: &Policy) -> bool {
        let Untrapped { reads, writes } = self.untrapped;
        let under = self.under(policy);
        // If scripts need approval, the broker must see which process opens them.
        (!reads || (under.reads && !policy.may_ask_about_scripts())) && (!writes || under.writes)
    }

    /// Whether a policy may allow more of the untrapped accesses than the floor grants. The floor never changes.
    pub fn is_less_than(&self, policy: &Policy) -> bool {
        let Untrapped { reads, writes } = self.untrapped;
        if !reads && !writes {
            return false;
        }
        let names = Names::read();
        let Tiers { hierarchies, classes, .. } = policy.tiers(&|directory: &[u8]| names.list(directory));
        let is_less = |bit: Access, exact: &Exactness| {
            let mut given = hierarchies.iter().filter(|given| given.access.contains(bit));
            !exact.is_exact() || given.any(|given| !self.grants.cover(&given.path, bit, Target::Object))
        };
        reads && is_less(Access::READ, &classes.read) || writes && is_less(Access::WRITE, &classes.create)
    }

    /// The plan under another policy, or after a grant was moved. A grant that this policy does not allow as a whole
    /// takes its kind of access from the kernel.
    pub fn under(&self, policy: &Policy) -> LandlockPlan {
        let holds = |class| self.exceeding(policy, class).next().is_none();
        let reads = self.may_leave_reads(policy) && holds(Access::READ);
        LandlockPlan { reads, writes: holds(Access::WRITE), ..self.clone() }
    }

    /// Whether a policy lets the kernel decide about reads at all: without a floor it could not, and the floor knows no sizes.
    fn may_leave_reads(&self, policy: &Policy) -> bool {
        self.roots.is_some() && policy.max_read_bytes().is_none()
    }

    /// The grants that give more of this kind of access than the policy allows where they are now.
    pub fn exceeding<'p>(
        &'p self,
        policy: &'p Policy,
        class: Access,
    ) -> impl Iterator<Item = PlacedGrant<'p>> + use<'p> {
        let grants = self.grants.iter().filter(move |granted| granted.access.contains(class));
        grants.filter(move |granted| !is_within(policy, granted, class))
    }

    /// Why reads are not left to the kernel: a directory from which programs can start, and a path below it that may not
    /// be read. The kernel reads a program to start it, so the floor must allow that.
    pub fn unreadable_root(&self, policy: &Policy) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        let root = self.exceeding(policy, Access::READ).find(|granted| granted.is_root)?;
        let Location::At(path) = root.location else { return None };
        let below = policy.unreadable_below(&path).unwrap_or_default();
        let unreadable = below.iter().find_map(existing);
        Some((path, unreadable))
    }

    /// The names whose coming or going changes what is left to the kernel.
    pub fn awaited<'p>(&'p self, policy: &'p Policy) -> impl Iterator<Item = Unreadable> + use<'p> {
        let roots = self.grants.iter().filter(|granted| granted.is_root);
        roots.flat_map(|root| match root.location {
            Location::At(path) => policy.unreadable_below(&path).unwrap_or_default(),
            Location::Gone | Location::Unknown => Vec::new(),
        })
    }

    /// Whether the policy allows at `new` what the floor still grants after `old` is moved there.
    pub fn may_move(&self, policy: &Policy, old: &[u8], new: &[u8]) -> bool {
        let mut along = self.grants.along(old, new);
        along.all(|(path, granted)| is_whole(policy, &path, granted.access, granted.kind))
    }

    /// Whether the object at a path must stay there. A read that is not trapped needs a grant, and a replacement of the
    /// object would have none, unless a hierarchy around it is granted.
    pub fn needs(&self, path: &[u8]) -> bool {
        let is_granted = |path: &[u8]| self.grants.cover(path, Access::READ, Target::Object);
        let is_needed = |(place, granted): (Vec<u8>, PlacedGrant<'_>)| {
            let around = place.iter().rposition(|&byte| byte == b'/').unwrap_or(0).max(1);
            granted.access.contains(Access::READ) && !is_granted(&place[..around])
        };
        self.untrapped.reads && self.grants.along(path, path).any(is_needed)
    }

    /// Whether the kernel could start a program at `path`.
    pub fn starts(&self, path: &[u8]) -> bool {
        self.roots
            .as_ref()
            .is_none_or(|roots| roots.iter().any(|root| is_below(path, root.as_os_str().as_encoded_bytes())))
    }

    /// Whether the kernel may perform this access at a real path: the floor covers it, and the policy allows as a whole
    /// everything that the floor covers for this kind of access.
    pub fn covers(&self, path: &[u8], access: Access, reach: Target) -> bool {
        self.leaves(access) && self.grants.cover(path, access, reach)
    }

    /// Whether the kernel may perform this access anywhere.
    pub fn leaves(&self, access: Access) -> bool {
        (self.reads || !access.contains(Access::READ)) && (self.writes || !access.contains(Access::WRITE))
    }

    /// Whether the kernel may make and remove names anywhere.
    pub fn leaves_names(&self) -> bool {
        self.leaves(Access::WRITE) && self.grants.write_in_directories()
    }

    /// Whether any call could be left to the kernel.
    pub fn leaves_anything(&self) -> bool {
        self.held == HeldCall::Floored && (self.reads || self.writes) && !self.grants.is_empty()
    }

    /// If the path begins with a top-level link, returns the link's target and the link's length. A path that ends with
    /// the link may mean the link itself.
    pub fn top_link(&self, path: &[u8]) -> Option<(&[u8], usize)> {
        let is_first = |(link, _): &&(Vec<u8>, Vec<u8>)| {
            path.strip_prefix(link.as_slice()).is_some_and(|rest| rest.first() == Some(&b'/'))
        };
        self.links.iter().find(is_first).map(|(link, target)| (target.as_slice(), link.len()))
    }

    /// Which tier decides, in words for the operator.
    pub fn tiers(&self) -> String {
        let words = |reads, writes| match (reads, writes) {
            (true, true) => "reads and writes",
            (true, false) => "reads",
            (false, _) => "writes",
        };
        let mut tiers = "broker".to_owned();
        if self.leaves_anything() {
            tiers.push_str(&format!(", floored ({})", words(self.reads, self.writes)));
        }
        let Untrapped { reads, writes } = self.untrapped;
        if reads || writes {
            tiers.push_str(&format!(", kernel ({})", words(reads, writes)));
        }
        tiers
    }

    /// The hierarchies.
    pub fn grants(&self) -> &Arc<Grants> {
        &self.grants
    }
}

/// Whether the policy allows, where the granted object is now, what the grant gives of a kind of access.
fn is_within(policy: &Policy, granted: &PlacedGrant<'_>, class: Access) -> bool {
    match &granted.location {
        Location::At(path) if granted.is_root => is_readable(policy, path),
        Location::At(path) => !granted.is_mounted_over && is_whole(policy, path, class, granted.kind),
        Location::Gone => true,
        Location::Unknown => false,
    }
}

/// Whether the policy allows everything that a grant at this path gives. There is nothing below a file.
fn is_whole(policy: &Policy, path: &[u8], access: Access, kind: HierarchyKind) -> bool {
    match kind {
        HierarchyKind::Directory => policy.is_uniform(path, access),
        HierarchyKind::File => decide(policy, &Request::File { path, access }).outcome == Outcome::Allow,
    }
}

/// Whether everything that is below a directory now may be read. The paths below it that may not be read do not exist
/// yet: [`LandlockPlan::awaited`] lists them. The tree cannot create them, because what may not be read may not be
/// written.
fn is_readable(policy: &Policy, path: &[u8]) -> bool {
    policy.is_uniform(path, Access::READ)
        || policy
            .unreadable_below(path)
            .is_some_and(|below| !below.iter().any(|name| existing(name).is_some()))
}

/// The links of `/` that lead to directories. They belong to the system (merged /usr); should one lead elsewhere later,
/// the floor decides about what is there.
fn top_links() -> Vec<(Vec<u8>, Vec<u8>)> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let Ok(names) = std::fs::read_dir("/") else { return Vec::new() };
    let links = names.flatten().filter(|name| name.file_type().is_ok_and(|kind| kind.is_symlink()));
    let directory = |path: PathBuf| path.canonicalize().ok().filter(|target| target.is_dir());
    links
        .filter_map(|link| {
            let target = directory(link.path())?.into_os_string().into_vec();
            Some((link.path().as_os_str().as_bytes().to_vec(), target))
        })
        .filter(|(_, target)| target.len() > 1)
        .collect()
}

/// Whether `path` is `directory` or below it.
fn is_below(path: &[u8], directory: &[u8]) -> bool {
    match path.strip_prefix(directory) {
        Some(rest) => rest.is_empty() || rest[0] == b'/' || directory.ends_with(b"/"),
        None => false,
    }
}
