//! Judges the paths of a call.

use super::needs::{Reach, ToolNeed};
use super::spelling::spellings;
use crate::paths::normalize::posix;
use crate::{Access, Grant, Outcome, Policy, Reason, Request, Site, Source, Verdict, decide};

/// The names in a directory.
pub type DirectoryNames = Vec<Vec<u8>>;

/// What is known of the size of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSize {
    /// That of a regular file, in bytes.
    Bytes(u64),
    /// There is no regular file.
    NoFile,
    /// It cannot be found out.
    Unknown,
}

/// Where a call's paths lead, on the disk.
pub struct CallSite<'s> {
    /// What `~` stands for.
    pub home: &'s [u8],
    /// The directories that may be the current one, real paths.
    pub bases: &'s [Vec<u8>],
    /// The real path of an absolute path, as far as it exists; a link to nothing is followed to its target. `None` if
    /// it cannot be found out.
    pub real: &'s dyn Fn(&[u8]) -> Option<Vec<u8>>,
    /// The names in a directory; none if they cannot be read. A directory that is not there has no names.
    pub names: &'s dyn Fn(&[u8]) -> Option<DirectoryNames>,
    /// The size of the file at a real path.
    pub size: &'s dyn Fn(&[u8]) -> FileSize,
    /// What is known of a real path that is to be written; none if the path alone decides.
    pub site: &'s dyn Fn(&[u8]) -> Option<Site>,
}

/// What was decided about a path.
#[derive(Clone, Debug)]
pub struct JudgedPath<'p> {
    /// The real path that decided, or the text if there is no real path.
    pub path: Vec<u8>,
    /// Whether it is a real path.
    pub is_real: bool,
    /// The decision.
    pub verdict: Verdict<'p>,
}

/// Judges one file of a call: every path that it may stand for, at least one. The strictest verdict counts. The first path is
/// the one that is meant.
pub fn judge_file<'p>(
    policy: &'p Policy,
    path: &str,
    access: Access,
    reach: Reach,
    site: &CallSite<'_>,
) -> Vec<JudgedPath<'p>> {
    let unclear =
        |why: &str| vec![JudgedPath { path: path.as_bytes().to_vec(), is_real: false, verdict: denied(why) }];
    let Some(spelled) = spellings(path, site.home, site.bases) else {
        return unclear("the path has a NUL, is too long, or stands for too many paths or none");
    };
    let mut real_paths: Vec<Vec<u8>> = Vec::new();
    for one in spelled {
        // OpenClaw removes `..` before it follows links; the kernel follows links first.
        for form in [posix(&one), one.clone()] {
            let Some(real) = (site.real)(&form) else { return unclear("the real path cannot be told") };
            if reach == Reach::Similar && !similar(&real, site, &mut real_paths) {
                return unclear("the directory of the path cannot be read, and its names may look the same");
            }
            if !real_paths.contains(&real) {
                real_paths.push(real);
            }
        }
    }
    if real_paths.is_empty() {
        return unclear("the path stands for nothing");
    }
    let judged = real_paths.into_iter().map(|path| {
        let verdict = judge_path(policy, &path, access, reach, site);
        JudgedPath { path, is_real: true, verdict }
    });
    judged.collect()
}

fn judge_path<'p>(
    policy: &'p Policy,
    path: &[u8],
    access: Access,
    reach: Reach,
    site: &CallSite<'_>,
) -> Verdict<'p> {
    let known = if access.contains(Access::WRITE) { (site.site)(path) } else { None };
    let verdict = decide(
        policy,
        &match known {
            Some(site) => Request::FileAt { path, access, site },
            None => Request::File { path, access },
        },
    );
    if verdict.outcome == Outcome::Deny {
        return verdict;
    }
    if let Some(too_large) = judge_size(policy, path, access, site) {
        return too_large;
    }
    if reach == Reach::Below { with_all_below(policy, path, verdict) } else { verdict }
}

/// The verdict on a call that reads all that is below a directory.
fn with_all_below<'p>(policy: &'p Policy, path: &[u8], verdict: Verdict<'p>) -> Verdict<'p> {
    let stricter = |outcome, reason: Reason<'_>| Verdict {
        outcome,
        reason: Reason::new(
            reason.source,
            reason.path.to_string(),
            reason.rule().to_owned(),
            format!("the call reads all that is below, and there {}", reason.text),
        ),
    };
    if let Some(reason) = policy.denied_below(path) {
        return stricter(Outcome::Deny, reason);
    }
    match policy.least_below(path).r {
        Grant::Yes => verdict,
        Grant::Ask => stricter(Outcome::Ask, Reason::unmentioned("some of it is asked about")),
        Grant::No => stricter(Outcome::Deny, Reason::unmentioned("some of it may not be read")),
    }
}

/// The denial of a file that is too large to be read. An edit reads the whole file, too.
fn judge_size<'p>(
    policy: &'p Policy,
    path: &[u8],
    access: Access,
    site: &CallSite<'_>,
) -> Option<Verdict<'p>> {
    if policy.max_read_bytes().is_none() || !access.contains(Access::READ) {
        return None;
    }
    match (site.size)(path) {
        FileSize::NoFile => None,
        FileSize::Bytes(size) => {
            let verdict = decide(policy, &Request::Sized { path, size });
            (verdict.outcome == Outcome::Deny).then_some(verdict)
        }
        FileSize::Unknown => Some(denied("the size of the file cannot be told, and the policy bounds it")),
    }
}

/// Adds the names that OpenClaw tries if a file does not exist: those that differ in quotes, blanks and the form of
/// their letters. Returns false if these names, or where they lead, cannot be read.
fn similar(path: &[u8], site: &CallSite<'_>, paths: &mut Vec<Vec<u8>>) -> bool {
    let at = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    let (directory, name) = (&path[..at], &path[(at + 1).min(path.len())..]);
    if !is_odd(name) {
        return true;
    }
    let directory = if directory.is_empty() { b"/" } else { directory };
    let Some(names) = (site.names)(directory) else { return false };
    if names.iter().any(|there| there == name) {
        return true;
    }
    for odd in names.iter().filter(|there| is_odd(there)) {
        let sibling = [directory.strip_suffix(b"/").unwrap_or(directory), b"/", odd.as_slice()].concat();
        let Some(real) = (site.real)(&sibling) else { return false };
        paths.push(real);
    }
    true
}

/// Whether a name has a character that OpenClaw replaces by similar ones.
fn is_odd(name: &[u8]) -> bool {
    let is_before_noon = |part: &[u8]| {
        part.first() == Some(&b' ') && matches!(part[1..3].to_ascii_uppercase().as_slice(), b"AM" | b"PM")
    };
    !name.is_ascii() || name.contains(&b'\'') || name.windows(3).any(is_before_noon)
}

/// A denial that does not come from a rule of the policy.
fn denied(why: &str) -> Verdict<'static> {
    let rule = "the gate for OpenClaw's tools";
    let reason = Reason::new(Source::Builtin, "builtin.gate", rule, why.to_owned());
    Verdict { outcome: Outcome::Deny, reason }
}

impl ToolNeed {
    /// The text that the call names.
    pub fn text(&self) -> &str {
        match self {
            ToolNeed::File { path, .. } => path,
            ToolNeed::Command { text, .. } => text,
            ToolNeed::Url(url) => url,
            ToolNeed::SessionDirectory(path) => path,
        }
    }
}
