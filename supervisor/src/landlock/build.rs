//! Builds the floor of a tree that is about to start.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;

use guard_policy::{Access, Hierarchy, HierarchyKind, Policy, Tiers};
use guard_shim::landlock::{self, RulesetError};

use super::plan::{HeldCall, Untrapped};
use super::{Grants, LandlockPlan, Names};
use crate::config::options::Tier;

/// A floor that is ready to be entered.
pub struct BuiltDomain {
    /// The domain; `None` if there is none to enter.
    pub domain: Option<landlock::Floor>,
    /// How much of the floor the kernel supports.
    pub status: landlock::LandlockStatus,
    /// What may be left to the floor.
    pub plan: LandlockPlan,
}

/// Whether the tree enters the floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// The tree enters it.
    Entered,
    /// The tree does not enter it, because this session blocks nothing.
    LeftOut,
}

/// The roots of programs, narrowed so that reads can stay in the kernel. If a root contains something that may not be
/// read, and starting a program there needs approval (`~/.cache`, which has tokens and built tools), it is replaced by
/// those parts of it that may be read as a whole. If some program may start unasked, as in a project, the root stays: a
/// program that is built there later must start, too.
fn readable(policy: &Policy, roots: Vec<Vec<u8>>, hierarchies: &[Hierarchy]) -> Vec<Vec<u8>> {
    let parts = |root: Vec<u8>| {
        if policy.is_uniform(&root, Access::READ) || policy.starts_unasked(&root) {
            return vec![root];
        }
        let is_within = |path: &[u8]| path.strip_prefix(&*root).is_some_and(|rest| rest.starts_with(b"/"));
        let parts = hierarchies.iter().filter(|part| {
            part.access.contains(Access::READ)
                && part.kind == HierarchyKind::Directory
                && is_within(&part.path)
        });
        parts.map(|part| part.path.clone()).collect()
    };
    roots.into_iter().flat_map(parts).collect()
}

/// Descriptors that the guard needs besides those of the grants.
const OTHER_DESCRIPTORS: u64 = 40;

/// How many objects may be kept open under this process's limit. What is not granted, the broker opens.
fn max_grants() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let spare = limit.map(|limit| limit.saturating_sub(OTHER_DESCRIPTORS) / 2);
    spare.map_or(usize::MAX, |spare| usize::try_from(spare).unwrap_or(usize::MAX))
}

impl BuiltDomain {
    /// Builds the floor from what a policy allows as a whole, for these tiers.
    ///
    /// # Errors
    /// Landlock's.
    pub fn build(policy: &Policy, tiers: &[Tier], entered: Use) -> Result<BuiltDomain, RulesetError> {
        let mut roots = policy.exec_roots();
        let abi = landlock::abi();
        let mut untrapped = Untrapped::default();
        let (mut grants, mut beneath) = (Grants::default(), Vec::new());
        let is_fast = tiers.contains(&Tier::Floored) || tiers.contains(&Tier::Kernel);
        if is_fast && entered == Use::Entered && landlock::holds_grants(abi) {
            let names = Names::read();
            let Tiers { hierarchies, classes, .. } = policy.tiers(&|directory: &[u8]| names.list(directory));
            let wanted = hierarchies.len();
            roots = readable(policy, roots, &hierarchies);
            (grants, beneath) = Grants::open(hierarchies, max_grants());
            // A hierarchy that disappeared meanwhile would be missing.
            if tiers.contains(&Tier::Kernel) && grants.len() == wanted {
                untrapped.reads = classes.read.is_exact() && classes.list.is_exact();
                untrapped.writes = classes.write.is_exact() && classes.create.is_exact();
            }
        }
        let roots: Vec<PathBuf> =
            roots.into_iter().map(|root| PathBuf::from(OsString::from_vec(root))).collect();
        let floor = landlock::plan(&roots, beneath, policy.tcp_ports())?;
        let status = floor.status().clone();
        let grants = grants.with_roots(&roots);
        let is_entered = entered == Use::Entered && status != landlock::LandlockStatus::None;
        let held = if tiers.contains(&Tier::Floored) { HeldCall::Floored } else { HeldCall::Brokered };
        let plan = LandlockPlan::new(is_entered.then_some(roots), Arc::new(grants), held, untrapped, policy);
        Ok(BuiltDomain { domain: is_entered.then_some(floor), status, plan })
    }

    /// The status of the floor, in words for the operator.
    pub fn describe(&self) -> String {
        match &self.status {
            landlock::LandlockStatus::Full => "full".to_owned(),
            landlock::LandlockStatus::Partial { missing } => {
                format!("partial, without {}", missing.join(", "))
            }
            landlock::LandlockStatus::None => "none, this kernel has no Landlock".to_owned(),
        }
    }

    /// Whether the floor keeps signals inside the tree.
    pub fn scopes_signals(&self) -> bool {
        self.domain.is_some() && landlock::abi().is_some_and(|abi| abi >= landlock::SCOPING)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use guard_policy::{Host, Overrides, Unreadable};

    use super::*;

    /// Without a guard.json, too, reads stay in the kernel, except where a cache holds a token.
    #[test]
    fn a_secret_among_programs_that_are_asked_for_leaves_reads_to_the_kernel() {
        if !landlock::holds_grants(landlock::abi()) {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        for name in [".cache/huggingface", ".cache/pip", "work"] {
            std::fs::create_dir_all(home.join(name)).unwrap();
        }
        std::fs::write(home.join(".cache/huggingface/token"), "secret").unwrap();
        let cwd = home.join("work");
        let host = Host::bare(home.as_os_str().as_bytes(), cwd.as_os_str().as_bytes());
        let policy = Policy::without_file("main", &host, &Overrides::default());
        let made = BuiltDomain::build(&policy, &[Tier::Floored], Use::Entered).unwrap();
        assert_eq!(made.plan.tiers(), "broker, floored (reads and writes)");
        let starts = |name: &str| made.plan.starts(home.join(name).as_os_str().as_bytes());
        assert!(starts("work/new/tool") && starts(".cache/pip/tool") && !starts(".cache/huggingface/token"));
    }

    /// The kernel may read the directories that programs may start from. A denied path in them matters as soon as it exists.
    #[test]
    fn a_secret_among_programs_counts_while_it_exists() {
        if !landlock::holds_grants(landlock::abi()) {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let cache = root.join("cache");
        std::fs::create_dir_all(cache.join("tools")).unwrap();
        let text = format!(
            r#"{{"version": 1, "exec": {{"security": "full"}}, "permissions": {{"filesystem": {{
                "rules": {{"/usr/**": "r-x", "{0}/**": "rwx"}}, "deny": ["{0}/app/token", "{0}/browser", "{0}/krb5cc*"]}}}}}}"#,
            cache.display()
        );
        let document = guard_policy::Document::parse("test", &text).unwrap();
        let path = |path: &std::path::Path| path.as_os_str().as_bytes().to_vec();
        let (home, cwd) = (path(&root), path(&root));
        let host = Host::bare(&home, &cwd);
        let policy = Policy::compile(&document, "main", &host, &Overrides::default()).unwrap();
        let built = BuiltDomain::build(&policy, &[Tier::Floored], Use::Entered).unwrap();
        let reads = |expected: bool| {
            let words = if expected { "reads and writes" } else { "writes" };
            let plan = built.plan.under(&policy);
            let tiers = format!("broker, floored ({words})");
            assert_eq!(plan.tiers(), tiers, "{:?}", plan.unreadable_root(&policy));
        };
        reads(true);
        let awaited: Vec<Unreadable> = built.plan.awaited(&policy).collect();
        let paths = ["app/token", "browser"].map(|name| Unreadable::Path(path(&cache.join(name))));
        assert_eq!(awaited[..2], paths);
        assert_eq!(awaited[2..], [Unreadable::Prefix(path(&cache.join("krb5cc")))]);
        std::fs::create_dir_all(cache.join("app")).unwrap();
        reads(true);
        std::fs::write(cache.join("app/token"), "secret").unwrap();
        reads(false);
        assert_eq!(
            built.plan.unreadable_root(&policy),
            Some((path(&cache), Some(path(&cache.join("app/token")))))
        );
        std::fs::remove_file(cache.join("app/token")).unwrap();
        reads(true);
        std::os::unix::fs::symlink("nowhere", cache.join("browser")).unwrap();
        reads(false);
        std::fs::remove_file(cache.join("browser")).unwrap();
        reads(true);
        std::fs::write(cache.join("krb5cc_1000"), "secret").unwrap();
        reads(false);
    }
}
