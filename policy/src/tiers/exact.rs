//! Whether what is granted is all that the policy grants.
//!
//! Every hierarchy grants only what the policy allows ([`super::walk`]), so it is enough to show that nothing else is
//! allowed or asked for: that each rule with a yes or a question speaks only of paths that some hierarchy grants.

use super::walk::Walked;
use super::{Classes, Exactness, HARMLESS_DEVICES, HierarchyKind, MAX_HIERARCHIES, NameKind};
use crate::glob::{Below, Glob};
use crate::pattern::show;
use crate::roots::is_below;
use crate::rwx::Entry;
use crate::{Access, Ask, Grant, Policy, Rights};

/// Why a class is not exact.
type Because = String;

/// Places of which the floor cannot say what the guard says.
const APART: [&[u8]; 2] = [b"/proc", b"/dev"];

pub(super) fn classes(policy: &Policy, walked: &Walked) -> Classes {
    let exactness = |found: Result<(), Because>| match found {
        Ok(()) => Exactness::Exact,
        Err(because) => Exactness::Not(because),
    };
    let read = Compared { policy, walked, bit: Access::READ };
    let write = Compared { policy, walked, bit: Access::WRITE };
    let reads = exactness(approved_scripts(policy).and_then(|()| read.compare()));
    let writes = write.compare();
    Classes {
        list: reads.clone(),
        read: reads,
        create: exactness(writes.clone().and_then(|()| write.tops())),
        write: exactness(writes),
        execute: Exactness::Not(
            "a program's arguments and environment are checked as it starts, which Landlock cannot do"
                .to_owned(),
        ),
    }
}

/// What only the broker can do where a script was approved: its interpreter is given the bytes that were approved. And
/// what the floor lets be read beside the hierarchies: where programs are.
fn approved_scripts(policy: &Policy) -> Result<(), Because> {
    let programs = &policy.programs;
    if programs.ask != Ask::Off {
        let (path, ask) = (&programs.reasons.always.path, programs.ask.as_str());
        return Err(format!("{path} is {ask}: a script that was approved is read as it was then"));
    }
    if let Some(reason) = &programs.strict_inline_eval {
        return Err(format!("{} is on: a script that was approved is read as it was then", reason.path));
    }
    let is_read = |root: &&Vec<u8>| policy.is_uniform(root, Access::READ);
    match policy.roots.iter().find(|root| !is_read(root)) {
        Some(root) => Err(format!(
            "programs can start from {} (exec.roots), of which not everything may be read",
            show(root)
        )),
        None => Ok(()),
    }
}

/// One bit of the policy beside what is granted of it.
struct Compared<'a> {
    policy: &'a Policy,
    walked: &'a Walked,
    bit: Access,
}

impl Compared<'_> {
    fn compare(&self) -> Result<(), Because> {
        let map = &self.policy.map;
        // The longest that speaks of everything leaves nothing to shorter ones, nor to the base and the default.
        let all = map.rules.iter().find(|e| e.glob.covers(b"/") && e.glob.below(b"/") == Below::Everything);
        let length = all.map_or(0, |e| e.glob.length());
        let rules = map.rules.iter().take_while(|e| e.glob.length() >= length);
        let base = map.base.iter().filter(|_| all.is_none());
        let entries: Vec<&Entry> = rules.chain(base).filter(|e| self.grant(e.rights) != Grant::No).collect();
        if all.is_none() {
            self.default()?;
        }
        for entry in entries.iter().filter(|e| !self.is_denied(&e.glob)) {
            self.places(entry)?;
        }
        for entry in entries.iter().filter(|e| !self.is_denied(&e.glob)) {
            self.entry(entry)?;
        }
        self.replaceable()
    }

    fn grant(&self, rights: Rights) -> Grant {
        if self.bit == Access::READ { rights.r } else { rights.w }
    }

    /// `reading` or `writing`.
    fn word(&self) -> &'static str {
        if self.bit == Access::READ { "reading" } else { "writing" }
    }

    fn default(&self) -> Result<(), Because> {
        let reason = self.policy.map.default_reason();
        match self.grant(self.policy.map.default) {
            Grant::No => Ok(()),
            Grant::Ask => Err(format!("{} what no rule covers is asked for ({})", self.word(), reason.path)),
            Grant::Yes if self.is_granted_below(b"/") => Ok(()),
            Grant::Yes => Err(format!("{} allows {} what no rule covers", reason.path, self.word())),
        }
    }

    /// Whether a rule reaches what is something else to each process, and so is judged by more than its path.
    fn places(&self, entry: &Entry) -> Result<(), Because> {
        let is_harmless =
            entry.glob.is_literal() && HARMLESS_DEVICES.iter().any(|device| entry.glob.literal() == *device);
        let reaches = |place: &&[u8]| entry.glob.covers(place) || entry.glob.below(place) != Below::Nothing;
        let denied = |place: &&[u8]| {
            let denies = &self.policy.map.denies;
            denies.iter().any(|e| e.glob.covers(place))
                && denies.iter().any(|e| e.glob.below(place) == Below::Everything)
        };
        match APART.iter().find(|place| reaches(place) && !denied(place)) {
            None => Ok(()),
            Some(_) if is_harmless => Ok(()),
            Some(_) if entry.reason.path == BASE => Err(format!(
                "{BASE} grants /proc/self and terminals, which mean something else to each process; \"base\": false leaves \
                 them out"
            )),
            Some(place) => Err(format!(
                "{} reaches {}, where names mean something else to each process",
                entry.reason.path,
                show(place)
            )),
        }
    }

    /// Whether everything that a rule speaks of is granted.
    fn entry(&self, entry: &Entry) -> Result<(), Because> {
        let Entry { glob, rights, reason } = entry;
        let (path, literal) = (&reason.path, glob.literal());
        let top = if glob.is_literal() { literal } else { directory(literal) };
        let is_granted = if glob.is_literal() { self.is_granted(top) } else { self.is_granted_below(top) };
        if is_granted {
            return Ok(());
        }
        let what = if path.contains('[') { path.clone() } else { format!("{path} (\"{}\")", glob.text()) };
        let is_hierarchy = glob.below(top) == Below::Everything;
        Err(match (self.grant(*rights), self.walked.kind(top)) {
            (Grant::Ask, _) => format!("{what} asks before {}", self.word()),
            _ if self.walked.is_cut => {
                format!(
                    "the policy allows more than {MAX_HIERARCHIES} hierarchies, and {what} is among the rest"
                )
            }
            _ if !glob.is_literal() && !is_hierarchy => {
                format!("{what} grants by names what is no whole directory")
            }
            (_, Some(NameKind::Other)) => format!("{what} names a link or a place that is none on a disk"),
            (_, Some(NameKind::Directory | NameKind::Mixed)) if glob.is_literal() => {
                format!("{what} grants a directory without what is in it")
            }
            (_, Some(_)) | (Grant::Yes, None) if is_hierarchy && !self.is_missing(top) => {
                format!("{what} has exceptions, and what comes up beside them is not known yet")
            }
            _ => format!("{what} names what does not exist yet"),
        })
    }

    /// Whether nothing is known to stand at `top`.
    fn is_missing(&self, top: &[u8]) -> bool {
        top != b"/" && self.walked.kind(top).is_none()
    }

    /// A file that is granted by itself and may be replaced: what replaces it would not be granted.
    fn replaceable(&self) -> Result<(), Because> {
        let is_file = |path: &[u8]| !HARMLESS_DEVICES.contains(&path);
        let mut files = self.walked.hierarchies.iter().filter(|h| h.kind == HierarchyKind::File);
        match files.find(|h| h.access.contains(Access::WRITE) && is_file(&h.path)) {
            Some(file) => Err(format!(
                "{} is granted by itself and may be replaced by another file; name its directory instead",
                show(&file.path)
            )),
            None => Ok(()),
        }
    }

    /// Whether making and removing what is granted is granted, too: the kernel looks at the directory around it.
    fn tops(&self) -> Result<(), Because> {
        let tops = self.walked.hierarchies.iter().filter(|h| h.access.contains(self.bit) && h.path != b"/");
        match tops.into_iter().find(|h| !self.is_granted_below(directory(&h.path))) {
            Some(top) => Err(format!(
                "{} itself may be removed and made again, which Landlock grants only with the directory around it",
                show(&top.path)
            )),
            None => Ok(()),
        }
    }

    /// Whether a denial speaks of everything that a pattern does.
    fn is_denied(&self, glob: &Glob) -> bool {
        let denies = &self.policy.map.denies;
        let top = if glob.is_literal() { glob.literal() } else { directory(glob.literal()) };
        let covers = denies.iter().any(|e| e.glob.covers(top));
        covers && (glob.is_literal() || denies.iter().any(|e| e.glob.below(top) == Below::Everything))
    }

    /// Whether a path is granted.
    fn is_granted(&self, path: &[u8]) -> bool {
        self.walked.hierarchies.iter().any(|h| h.covers(path, self.bit))
    }

    /// Whether a directory is granted with all that is below it.
    fn is_granted_below(&self, dir: &[u8]) -> bool {
        let mut whole = self.walked.hierarchies.iter().filter(|h| h.kind == HierarchyKind::Directory);
        whole.any(|h| h.access.contains(self.bit) && is_below(dir, &h.path))
    }
}

/// What the reasons of the base name.
const BASE: &str = "permissions.base";

/// The path up to its last slash.
fn directory(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|b| *b == b'/') {
        Some(end) if end > 0 => &path[..end],
        _ => b"/",
    }
}
