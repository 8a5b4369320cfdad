//! Symbolic links that the tree makes, by where they lead. What the tree may not write itself, the operator's programs
//! could write for it: an editor, `tar x` and `git checkout` follow links.
//!
//! Why: docs/decisions.md, "A link of the tree's leads to no place of the operator's"

use std::ptr;

use super::exec_roots::is_below;
use super::glob::Glob;
use super::normalize;
use super::path_rules::PathRules;
use crate::text::shown;
use crate::verdict::CompiledReason;
use crate::{Grant, Link, Outcome, Policy, Reason, Source, Verdict};

/// Sets whose places a link may lead to although persistence protects them, if the target is a file that the tree may
/// start: virtual environments and `node_modules/.bin` consist of such links. Through a link to a missing file, or to a
/// directory, a copy by the operator would put another program there.
const PROGRAMS: [&str; 3] =
    ["permissions.persistence.path", "permissions.persistence.packages", "permissions.persistence.preload"];

/// Directories of the system. Packages and images hold many links to what is there, and only root's programs could write
/// it.
const SYSTEM: [&[u8]; 15] = [
    b"/bin", b"/boot", b"/dev", b"/etc", b"/lib", b"/lib32", b"/lib64", b"/opt", b"/proc", b"/run", b"/sbin",
    b"/snap", b"/sys", b"/usr", b"/var",
];

/// Directories whose names mean something other than files that stay.
const SPECIAL: [&[u8]; 3] = [b"/dev", b"/proc", b"/sys"];

/// Why a link is refused.
#[derive(Clone, Copy)]
enum LinkRefusal<'p> {
    /// A rule, or persistence.
    Rule(&'p CompiledReason),
    /// It leads to a directory that a home is in, or to a home itself.
    Home,
    /// It leads to where whoever follows it happens to be.
    Follower,
}

pub(crate) fn decide_link<'p>(policy: &'p Policy, link: &Link<'_>) -> Verdict<'p> {
    let at = shown(link.path);
    let (source, path, rule, text) = match refusal(policy, link) {
        None => {
            let rule = "the link leads to nothing that is protected from the tree";
            let reason =
                Reason::new(Source::Builtin, "builtin.links", format!("builtin links: {rule}"), rule);
            return Verdict { outcome: Outcome::Allow, reason };
        }
        Some(LinkRefusal::Rule(reason)) => (reason.source, &*reason.path, &*reason.rule, &*reason.text),
        Some(LinkRefusal::Home) => {
            let text = "its target holds your home directory, where the tree may not write everything";
            (Source::Builtin, "builtin.links", "builtin links: the target holds your home directory", text)
        }
        Some(LinkRefusal::Follower) => {
            let text = "its target, such as /proc/self, differs for each program that follows it";
            (
                Source::Builtin,
                "builtin.links",
                "builtin links: the target, such as /proc/self, differs for each program",
                text,
            )
        }
    };
    let rule = format!("{rule}; the symbolic link {at} would lead your programs there");
    let text = format!("the symbolic link {at} would lead your programs there: {text}");
    Verdict { outcome: Outcome::Deny, reason: Reason::new(source, path, rule, text) }
}

/// A directory and those around it, without a trailing slash.
fn directories(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    (0..path.len()).filter(|at| path[*at] == b'/').map(|at| &path[..at]).chain([path])
}

/// Whether a path in /proc leads elsewhere for each program, or may do so later: a path through a process's `cwd`, `root` or
/// descriptors, or a directory on the way to these. A process of the tree chooses where its own lead, and can change that.
fn is_of_a_process(target: &[u8]) -> bool {
    let mut names = target.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    if names.next() != Some(b"proc") {
        return false;
    }
    let is_number = |name: &[u8]| name.iter().all(u8::is_ascii_digit);
    let rest: Vec<&[u8]> = names.collect();
    match *rest {
        [] => true,
        // What `/dev/stdin` and the like lead to.
        [b"self", b"fd"] | [b"self", b"fd", b"0" | b"1" | b"2"] => false,
        // The caller judges this path for each directory in which the program that follows the link may be.
        [b"self" | b"thread-self", b"cwd", _, ..] => false,
        [process, ref rest @ ..] if is_number(process) || matches!(process, b"self" | b"thread-self") => {
            let of_thread = match *rest {
                [b"task", thread, ref rest @ ..] if is_number(thread) => rest,
                _ => rest,
            };
            of_thread
                .first()
                .is_none_or(|name| matches!(*name, b"task" | b"cwd" | b"root" | b"fd" | b"map_files"))
        }
        _ => false,
    }
}

/// What follows the last `cwd` of a path. If that is a `cwd` of /proc, the rest is a path from the directory of whoever
/// follows the link.
fn behind_cwd(path: &[u8]) -> Option<&[u8]> {
    let starts = (0..path.len()).filter(|at| *at == 0 || path[at - 1] == b'/');
    starts.filter_map(|at| path[at..].strip_prefix(b"cwd/")).next_back()
}

/// Why nobody may write a path, or see it. Only denials and persistence count, because the path is a guess, and rules
/// for whole homes would close every guess.
fn closed<'p>(policy: &'p Policy, path: &[u8]) -> Option<&'p CompiledReason> {
    policy.map.denial(path).or_else(|| policy.map.keeping(path, None))
}

/// Why something strictly below the target of a link is protected or denied: a copy or an archive through the link could
/// write it. A target around the link, or around the link's later name, counts, too: other links lead to such a place
/// through it.
fn closed_below<'p>(map: &'p PathRules, link: &Link<'_>) -> Option<&'p CompiledReason> {
    let is_around = is_below(link.path, link.target);
    let shapes = map.protected().shapes();
    // A link that names a protected shape is judged for that, whatever leads there.
    let may_be_led_to = |place: &Glob| is_around && !shapes.all(place.text().as_bytes()).is_empty();
    let kept = map.kept_below(link.target, may_be_led_to);
    kept.or_else(|| map.denied_below(link.target).map(|entry| &*entry.reason))
}

fn refusal<'p>(policy: &'p Policy, link: &Link<'_>) -> Option<LinkRefusal<'p>> {
    let (map, target) = (&policy.map, link.target);
    let shapes = map.protected().shapes();
    let homes = || shapes.homes().iter().map(Vec::as_slice).chain([&*policy.home]);
    let is_protected = !map.protected().entries().is_empty();
    let is_let_write = |path: &[u8]| map.find(path).rights.w == Grant::Yes;
    let is_open = !is_protected && homes().all(is_let_write);
    if !is_open && is_of_a_process(target) {
        return Some(LinkRefusal::Follower);
    }
    let after_up = link.after_up.map(normalize::posix);
    // If nothing follows the `..`, the link may lead to any directory.
    let rest = after_up.as_deref().filter(|rest| *rest != b".");
    if !is_open && after_up.is_some() && rest.is_none() {
        return Some(LinkRefusal::Home);
    }
    let by_cwd = [Some(target), rest].into_iter().flatten().filter_map(behind_cwd);
    for rest in rest.into_iter().chain(by_cwd) {
        let mut around = homes().chain([link.path]).flat_map(directories);
        if let Some(reason) = around.find_map(|top| closed(policy, &[top, b"/", rest].concat())) {
            return Some(LinkRefusal::Rule(reason));
        }
    }
    if !target.starts_with(b"/") {
        return None;
    }
    if SPECIAL.iter().any(|top| is_below(target, top)) {
        return map.denial(target).map(LinkRefusal::Rule);
    }
    let found = map.find_at(target, link.site);
    let may_write = found.rights.w == Grant::Yes;
    let holds_home = homes().any(|home| is_below(home, target));
    if holds_home && (!may_write || is_protected) {
        return Some(LinkRefusal::Home);
    }
    let is_in_home = homes().any(|home| is_below(target, home));
    let is_listed = !is_in_home && SYSTEM.iter().any(|top| is_below(target, top));
    if let Some(reason) = closed_below(map, link).filter(|_| !is_listed && !holds_home) {
        return Some(LinkRefusal::Rule(reason));
    }
    if may_write {
        return None;
    }
    let may_start = found.rights.x == Grant::Yes;
    if let Some(reason) = map.keeping(target, link.site).filter(|_| !is_listed) {
        // A link may lead to a protected file of its own name: `.envrc` of a work tree to that of another.
        let last = |path: &[u8]| path.rsplit(|byte| *byte == b'/').next().map(<[u8]>::to_vec);
        let is_same = last(link.path) == last(target)
            && !shapes.all(link.path).is_empty()
            && !shapes.all(target).is_empty();
        let may_lead = is_same || may_start && link.is_to_file && PROGRAMS.contains(&&*reason.path);
        return (!may_lead).then_some(LinkRefusal::Rule(reason));
    }
    // The operator's own programs would show the target to the tree.
    let is_denied = found.rights.r == Grant::No && !ptr::eq(found.r, map.default_reason());
    let is_closed = is_denied || is_in_home && !may_start;
    is_closed.then_some(LinkRefusal::Rule(if is_denied { found.r } else { found.w }))
}
