//! What the kernel may decide by itself under the policy in force.

use std::path::PathBuf;
use std::sync::Arc;

use guard_policy::{Access, Exactness, HierarchyKind, Outcome, Policy, Request, Tiers, decide};

use super::Names;
use super::grants::{Grants, Target};

/// What becomes of a call that is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeldCall {
    /// The broker does it.
    #[default]
    Brokered,
    /// It goes on in the kernel where the floor covers what it is about.
    Floored,
}

/// What is not held at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Untrapped {
    /// Opening only to read.
    pub reads: bool,
    /// Opening only to write, and removing.
    pub writes: bool,
}

/// The floor of a tree, with what a policy makes of it. The floor stays as it was made; the policy may be another one.
#[derive(Clone, Debug, Default)]
pub struct LandlockPlan {
    /// The hierarchies from which programs can start; None when there is no floor.
    pub roots: Option<Vec<PathBuf>>,
    grants: Arc<Grants>,
    /// Top-level links that lead to directories, as `/lib` to `/usr/lib`.
    links: Arc<Vec<(Vec<u8>, Vec<u8>)>>,
    held: HeldCall,
    untrapped: Untrapped,
    /// Whether everything that the floor lets be read may be, and written.
    reads: bool,
    writes: bool,
}

impl LandlockPlan {
    /// What a floor of these roots (None without one) and grants means under a policy.
    pub fn new(
        roots: Option<Vec<PathBuf>>,
        grants: Arc<Grants>,
        held: HeldCall,
        untrapped: Untrapped,
        policy: &Policy,
    ) -> LandlockPlan {
        let links = Arc::new(top_links());
        LandlockPlan { roots, grants, links, held, untrapped, reads: false, writes: false }.under(policy)
    }

    /// What is not held at all, for good.
    pub fn untrapped(&self) -> Untrapped {
        self.untrapped
    }

    /// Whether a policy takes nothing away of what is not held.
    pub fn is_kept_by(&self, policy: &Policy) -> bool {
        let Untrapped { reads, writes } = self.untrapped;
        let under = self.under(policy);
        // Where scripts are asked for, who opens them must be seen.
        (!reads || (under.reads && !policy.may_ask_about_scripts())) && (!writes || under.writes)
    }

    /// Whether a policy may give more of what is not held than the floor, which stays as it was made.
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

    /// The same under another policy: a grant that this does not allow as a whole takes its class from the kernel.
    pub fn under(&self, policy: &Policy) -> LandlockPlan {
        let holds = |class: Access| {
            let mut grants = self.grants.places().filter(|(_, access, _)| access.contains(class));
            grants.all(|(path, _, kind)| is_whole(policy, &path, class, kind))
        };
        // The kernel opens programs for reading, and so the floor lets them be read.
        let roots = self.roots.as_ref().is_some_and(|roots| {
            roots.iter().all(|root| policy.is_uniform(root.as_os_str().as_encoded_bytes(), Access::READ))
        });
        LandlockPlan { reads: roots && holds(Access::READ), writes: holds(Access::WRITE), ..self.clone() }
    }

    /// Whether the policy allows at `new` what the floor goes on granting when `old` is moved there.
    pub fn may_move(&self, policy: &Policy, old: &[u8], new: &[u8]) -> bool {
        self.grants.along(old, new).all(|(path, access, kind)| is_whole(policy, &path, access, kind))
    }

    /// Whether what is at a path must stay there: nobody is asked about reading, and what is made anew in the place of a
    /// hierarchy would not be granted, unless the one around it is.
    pub fn needs(&self, path: &[u8]) -> bool {
        let is_granted = |path: &[u8]| self.grants.cover(path, Access::READ, Target::Object);
        let is_needed = |(place, access, _): (Vec<u8>, Access, _)| {
            let around = place.iter().rposition(|&byte| byte == b'/').unwrap_or(0).max(1);
            access.contains(Access::READ) && !is_granted(&place[..around])
        };
        self.untrapped.reads && self.grants.along(path, path).any(is_needed)
    }

    /// Whether the kernel could start a program at `path`.
    pub fn starts(&self, path: &[u8]) -> bool {
        self.roots
            .as_ref()
            .is_none_or(|roots| roots.iter().any(|root| is_below(path, root.as_os_str().as_encoded_bytes())))
    }

    /// Whether whatever the floor lets be opened is what the policy lets be opened: then it cannot matter what the kernel
    /// opens.
    pub fn is_within_policy(&self) -> bool {
        self.reads && self.writes
    }

    /// Whether the kernel may be left to do this with what is at a real path: the floor covers it, and covers nothing for
    /// this access but what the policy allows as a whole.
    pub fn covers(&self, path: &[u8], access: Access, reach: Target) -> bool {
        (self.reads || !access.contains(Access::READ))
            && (self.writes || !access.contains(Access::WRITE))
            && self.grants.cover(path, access, reach)
    }

    /// Whether there is anything that could be left to the kernel.
    pub fn leaves_anything(&self) -> bool {
        self.held == HeldCall::Floored && (self.reads || self.writes) && !self.grants.is_empty()
    }

    /// Where a top-level link leads by which a path begins: what the link is replaced by, and its length. A path that ends
    /// with the link may mean the link itself.
    pub fn top_link(&self, path: &[u8]) -> Option<(&[u8], usize)> {
        let is_first = |(link, _): &&(Vec<u8>, Vec<u8>)| {
            path.strip_prefix(link.as_slice()).is_some_and(|rest| rest.first() == Some(&b'/'))
        };
        self.links.iter().find(is_first).map(|(link, target)| (target.as_slice(), link.len()))
    }

    /// Who decides, in words for the operator.
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

/// Whether the policy allows all that a grant at this path gives. Nothing is below a file.
fn is_whole(policy: &Policy, path: &[u8], access: Access, kind: HierarchyKind) -> bool {
    match kind {
        HierarchyKind::Directory => policy.is_uniform(path, access),
        HierarchyKind::File => decide(policy, &Request::File { path, access }).outcome == Outcome::Allow,
    }
}

/// The links of `/` that lead to directories. They are the system's (merged /usr); should one lead elsewhere later, then
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
