//! Where a symbolic link of the tree's would lead the operator's programs.

use std::os::fd::{AsFd, OwnedFd};

use guard_policy::{GitPart, Link, Outcome, Request, Shape, Site, decide};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, statat};
use rustix::io::Errno;

use crate::audit::Operation;
use crate::caller::Caller;
use crate::judge::anchored_path::{AnchoredPath, last_name, names};
use crate::judge::git_look::{is_part_of_repository, look_of};
use crate::judge::guard::Guard;
use crate::judge::link_text::{absolute, after_up, as_written, names_chosen};
use crate::judge::shapes::{Shapes, Subject};
use crate::resolve::{Last, Object};

/// How many names at the end of a text may be missing.
const MAX_MISSING: usize = 128;

/// Where a text leads.
struct LedTo {
    /// The real path, as far as something is there, and the names after that.
    path: Vec<u8>,
    /// Whether something other than a directory is there.
    is_file: bool,
}

impl Guard {
    /// Judges where a symbolic link with this text at a place leads.
    ///
    /// # Errors
    /// EACCES if it may not lead there.
    pub fn judge_link_target(
        &self,
        caller: &Caller<'_>,
        place: AnchoredPath<'_>,
        text: &[u8],
    ) -> Result<(), Errno> {
        // git tries out whether the file system has links (setup.c, `create_default_files`), by the name tXXXXXX.
        let is_of_git = text == b"testing" && place.name().len() == 7 && place.name().starts_with(b"t");
        let parent = place.parent()?;
        let has_name = || !matches!(statat(&parent, text, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT));
        if is_of_git && !has_name() {
            return Ok(());
        }
        let LedTo { path: real, is_file } = self.led_to(caller, parent, text)?;
        let written = as_written(place.path, text);
        // A name in /proc leads somewhere else for each program that follows it.
        let is_by_proc = written.starts_with(b"/proc/") || written.windows(5).any(|part| part == b"/cwd/");
        let own = Some(&written).filter(|written| is_by_proc && **written != real);
        // The real path names the process that makes the link, which is not the one that follows it.
        let is_in_proc = own.is_some() && real.starts_with(b"/proc/") && written.starts_with(b"/proc/");
        for target in Some(&real).filter(|_| !is_in_proc).into_iter().chain(own) {
            let site = self.shapes().site_led_to(AnchoredPath::path(target), text);
            let (path, after_up) = (place.path, after_up(text));
            let link = Link { path, target, site, is_to_file: is_file, after_up };
            let verdict = decide(self.policy(), &Request::Link(link));
            if verdict.outcome != Outcome::Allow {
                self.deny(caller, Operation::Write, target, &[], &verdict.reason)?;
            }
        }
        Ok(())
    }

    /// Where a text leads from a directory.
    fn led_to(&self, caller: &Caller<'_>, directory: OwnedFd, text: &[u8]) -> Result<LedTo, Errno> {
        let mut missing = Vec::new();
        let mut there = text;
        loop {
            let start = match there.first() {
                Some(b'/') => rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?,
                _ => directory.try_clone().map_err(|_| Errno::MFILE)?,
            };
            let path = if there.is_empty() { b"." } else { there };
            match self.resolver.resolve_from(caller, start, path, Last::Follow) {
                Ok(target) => {
                    let found = AnchoredPath::from_target(&target);
                    let is_there = missing.is_empty();
                    let is_file = |object: &Object| is_there && object.kind() != FileType::Directory;
                    let is_file = found.object.is_some_and(is_file);
                    return Ok(LedTo { path: joined(found.path, &missing), is_file });
                }
                // Something on the way is missing, or is a link that leads nowhere. So this link leads nowhere for now.
                Err(
                    error @ (Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::NAMETOOLONG),
                ) => {
                    let end = there.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
                    if end == 0 || missing.len() == MAX_MISSING {
                        return Err(error);
                    }
                    let name =
                        there[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
                    missing.push(&there[name..end]);
                    there = &there[..name];
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn joined(path: &[u8], missing: &[&[u8]]) -> Vec<u8> {
    let names: Vec<&[u8]> = [path].into_iter().chain(missing.iter().rev().copied()).collect();
    if missing.is_empty() { path.to_vec() } else { absolute(&names.join(&b'/')) }
}

impl Shapes<'_> {
    /// Whether a link in a directory that gets another path may lead where it will then lead. `below` is its path in
    /// that directory. A link that leads to somewhere in the directory was judged when it was made.
    pub(super) fn may_take_link(&self, new: &[u8], below: &[u8], link: AnchoredPath<'_>) -> bool {
        let read = |parent: OwnedFd| rustix::fs::readlinkat(parent.as_fd(), link.name(), Vec::new());
        let Ok(text) = link.parent().and_then(read) else { return false };
        let text = text.into_bytes();
        let depth = names(below).filter(|name| *name != b".").count();
        let ups = text
            .split(|byte| *byte == b'/')
            .take_while(|name| matches!(*name, b"" | b"." | b".."))
            .filter(|name| *name == b"..")
            .count();
        if !text.starts_with(b"/") && ups < depth {
            return true;
        }
        let path = absolute(&[new, b"/", below].concat());
        let target = as_written(&path, &text);
        let site = self.site_led_to(AnchoredPath::path(&target), &text);
        let is_to_file = statat(CWD, &*target, AtFlags::empty())
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) != FileType::Directory);
        let link = Link { path: &path, target: &target, site, is_to_file, after_up: after_up(&text) };
        decide(self.policy, &Request::Link(link)).outcome == Outcome::Allow
    }

    /// What is known of the place to which a link with a text leads. A name on the way may become a link to a directory
    /// of the operator's: then the link leads to what has the same shape there. So it does not matter that the tree has
    /// made the directory that holds the name now, unless the text begins in that directory.
    ///
    /// Why: docs/decisions.md, "A link is judged for what its names may become"
    fn site_led_to(&self, target: AnchoredPath<'_>, text: &[u8]) -> Option<Site> {
        let chosen = names_chosen(text);
        let passes = |holder: &[u8], is_named: bool| {
            let below = target.path.strip_prefix(holder).unwrap_or(target.path);
            chosen > names(below).count() + usize::from(is_named)
        };
        // A name like `.git` of the tree's never becomes a link to a repository of the operator's.
        let is_named = |holder: &[u8]| [&b".git"[..], b".hg", b".jj"].contains(&last_name(holder));
        let is_exchangeable = |shape: &Shape<'_>| passes(shape.holder, is_named(shape.holder));
        if self.policy.shapes(target.path).iter().any(is_exchangeable) {
            return None;
        }
        let is_part =
            |part: &GitPart<'_>| passes(part.directory, false) && is_part_of_repository(part, target);
        let parts = self.policy.git_parts(target.path);
        if self.is_repository(target.path) || parts.iter().any(is_part) {
            return Some(Site::Repository);
        }
        self.site_of(target, Subject::There)
    }

    /// Whether a directory is a repository of the operator's under another name than `.git`.
    fn is_repository(&self, directory: &[u8]) -> bool {
        let inside = [directory, b"/HEAD"].concat();
        let look = look_of(AnchoredPath::path(&inside), directory);
        self.policy.protects_shapes()
            && look.is_whole()
            && look.is_configured()
            && !self.created.directories.contains(directory)
    }
}
