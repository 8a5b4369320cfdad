//! The floor of a tree that is about to start.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;

use guard_policy::{Policy, Tiers};
use guard_shim::floor as landlock;

use super::plan::{Held, Untrapped};
use super::{Grants, Names, Plan};
use crate::cli::Tier;

/// Landlock's first ABI that scopes signals and abstract sockets (Linux 6.12).
const SCOPING: u8 = 6;

/// A floor, ready to be entered.
pub struct Made {
    /// The domain; None where there is none to enter.
    pub domain: Option<landlock::Floor>,
    /// How much of a floor the kernel can hold.
    pub status: landlock::Status,
    /// What may be left to it.
    pub plan: Plan,
}

/// Whether the floor is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It is.
    Entered,
    /// Nothing is to be blocked.
    LeftOut,
}

impl Made {
    /// Of what a policy allows as a whole, for these tiers.
    ///
    /// # Errors
    /// Landlock's.
    pub fn of(policy: &Policy, tiers: &[Tier], entered: Use) -> Result<Made, String> {
        let roots: Vec<PathBuf> =
            policy.exec_roots().into_iter().map(|root| PathBuf::from(OsString::from_vec(root))).collect();
        let abi = landlock::abi();
        let mut untrapped = Untrapped::default();
        let (mut grants, mut beneath) = (Grants::default(), Vec::new());
        let is_fast = tiers.contains(&Tier::Floored) || tiers.contains(&Tier::Kernel);
        if is_fast && entered == Use::Entered && landlock::holds_grants(abi) {
            let names = Names::read();
            let Tiers { hierarchies, classes, .. } = policy.tiers(&|directory: &[u8]| names.of(directory));
            let wanted = hierarchies.len();
            (grants, beneath) = Grants::open(hierarchies);
            // One that went away meanwhile would be missing.
            if tiers.contains(&Tier::Kernel) && grants.iter().count() == wanted {
                untrapped.reads = classes.read.is_exact() && classes.list.is_exact();
                untrapped.writes = classes.write.is_exact() && classes.create.is_exact();
            }
        }
        let floor = landlock::plan(&roots, beneath).map_err(|error| error.to_string())?;
        let status = floor.status().clone();
        let is_entered = entered == Use::Entered && status != landlock::Status::None;
        let held = if tiers.contains(&Tier::Floored) { Held::Floored } else { Held::Brokered };
        let plan = Plan::new(is_entered.then_some(roots), Arc::new(grants), held, untrapped, policy);
        Ok(Made { domain: is_entered.then_some(floor), status, plan })
    }

    /// Whether the floor keeps signals inside the tree.
    pub fn scopes_signals(&self) -> bool {
        self.domain.is_some() && landlock::abi().is_some_and(|abi| abi >= SCOPING)
    }
}
