//! Protected names of the operator's that are symbolic links, such as `.git/hooks` to `../tools/hooks`: what lies
//! behind such a link runs by the protected name, whatever its own name is.
//!
//! At each write, the guard looks for such links in the directories around the written file. An earlier run could make
//! so many names that a search at the start would not get through. In directories of the operator's, the tree can
//! neither make nor move such a link, so it cannot make a result of the search untrue.
//!
//! Why: docs/decisions.md, "A protected name that is a link protects what is behind it"

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use guard_policy::text::shown;
use guard_policy::{LinkedSet, Policy};
use parking_lot::Mutex;

use super::link_search::{LinkedPlace, search};
use super::made_directories::MadeDirectories;
use crate::audit::report::print;
use crate::config::agent_settings::UnreadSettings;

/// How long a directory is not searched again. The operator may make such a link at any time.
const FRESH: Duration = Duration::from_secs(1);
/// The same as a multiple of the time that the search took: a tree may have filled the directory.
const FRESH_LOOKS: u32 = 20;
/// The longest such time: the guard does not see a link that the operator puts there meanwhile.
const MAX_FRESH: Duration = Duration::from_secs(2);
/// How many directories are remembered.
const MAX_DIRECTORIES: usize = 4096;

/// How many settings are reported to the operator.
const MAX_REPORTED: usize = 16;

/// What a protected name that is a link makes of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OtherName {
    /// The place has this path as well.
    Path(Vec<u8>),
    /// The place is, or may be, on the way from such a name to the end of the link.
    Way(LinkedSet),
    /// A repository's configuration names the place.
    Configured(LinkedSet),
}

/// What was found for a directory, and until when it counts.
type DatedPlaces = (Instant, Arc<Vec<LinkedPlace>>);

/// What such links lead to, by the directory around them.
#[derive(Debug, Default)]
pub struct LinkedNames {
    places: Mutex<HashMap<Vec<u8>, DatedPlaces>>,
    /// The settings that were reported.
    reported: Mutex<HashSet<String>>,
}

impl LinkedNames {
    /// Reports once why the guard lets nothing in a place be written, because a denial names the set alone.
    fn report(&self, place: &[u8], why: &UnreadSettings) {
        let mut reported = self.reported.lock();
        if reported.len() < MAX_REPORTED && reported.insert(why.to_string()) {
            print(&format!("openclaw-guard: nothing in {} may be written: {why}", shown(place)));
        }
    }

    /// What such links make of a real path.
    pub fn other_names(&self, policy: &Policy, made: &MadeDirectories, path: &[u8]) -> Vec<OtherName> {
        let mut names = Vec::new();
        self.each(policy, made, path, |linked| {
            let rest = below(path, linked.path());
            names.extend(rest.and_then(|rest| match linked {
                LinkedPlace::End { name, .. } => Some(OtherName::Path([name, rest].concat())),
                LinkedPlace::Passed { set, .. } => rest.is_empty().then_some(OtherName::Way(*set)),
                LinkedPlace::Configured { set, .. } => Some(OtherName::Configured(*set)),
                LinkedPlace::Hidden { set, .. } => Some(OtherName::Way(*set)),
                LinkedPlace::Unread { place, set, why } => {
                    self.report(place, why);
                    Some(OtherName::Way(*set))
                }
            }));
        });
        names
    }

    /// Whether such a link leads to a place at or below a path, or through one.
    pub fn lead_below(&self, policy: &Policy, made: &MadeDirectories, path: &[u8]) -> bool {
        let mut found = false;
        self.each(policy, made, path, |linked| {
            let is_all = matches!(
                linked,
                LinkedPlace::Hidden { .. } | LinkedPlace::Unread { .. } | LinkedPlace::Configured { .. }
            );
            let may_be_above = is_all && below(path, linked.path()).is_some();
            found |= may_be_above || below(linked.path(), path).is_some();
        });
        found
    }

    fn each(
        &self,
        policy: &Policy,
        made: &MadeDirectories,
        path: &[u8],
        mut found: impl FnMut(&LinkedPlace),
    ) {
        let slashes = (0..path.len()).filter(|at| path[*at] == b'/');
        for directory in slashes.map(|at| &path[..at.max(1)]) {
            self.in_directory(policy, made, directory).iter().for_each(&mut found);
        }
    }

    fn in_directory(
        &self,
        policy: &Policy,
        made: &MadeDirectories,
        directory: &[u8],
    ) -> Arc<Vec<LinkedPlace>> {
        let now = Instant::now();
        let is_fresh = |found: &&DatedPlaces| now < found.0;
        if let Some((_, places)) = self.places.lock().get(directory).filter(is_fresh) {
            return Arc::clone(places);
        }
        let places = Arc::new(search(policy, made, directory));
        let mut known = self.places.lock();
        if known.len() >= MAX_DIRECTORIES {
            known.clear();
        }
        let until = Instant::now() + FRESH.max((now.elapsed() * FRESH_LOOKS).min(MAX_FRESH));
        known.insert(directory.to_vec(), (until, Arc::clone(&places)));
        places
    }
}

/// What is left of a path below a directory, with a leading slash; empty for the directory itself.
fn below<'p>(path: &'p [u8], directory: &[u8]) -> Option<&'p [u8]> {
    path.strip_prefix(directory).filter(|rest| rest.is_empty() || rest.starts_with(b"/"))
}
