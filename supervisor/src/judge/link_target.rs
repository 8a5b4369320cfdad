//! Where a symbolic link of the tree's would lead the operator's programs.

use std::os::fd::{AsFd, OwnedFd};

use guard_policy::{Link, Outcome, Request, decide};
use rustix::fs::{AtFlags, Mode, OFlags, statat};
use rustix::io::Errno;

use crate::audit::Operation;
use crate::caller::Caller;
use crate::judge::anchored_path::AnchoredPath;
use crate::judge::guard::Guard;
use crate::judge::link_text::{absolute, after_up, as_written};
use crate::judge::shapes::{Shapes, Subject};
use crate::resolve::{Last, Target};

/// How many names at the end of a text may be missing.
const MAX_MISSING: usize = 128;

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
        let real = self.led_to(caller, parent, text)?;
        let written = as_written(place.path, text);
        // A name in /proc leads somewhere else for each program that follows it.
        let is_by_proc = written.starts_with(b"/proc/") || written.windows(5).any(|part| part == b"/cwd/");
        let own = Some(&written).filter(|written| is_by_proc && **written != real);
        // The real path names the process that makes the link, which is not the one that follows it.
        let is_in_proc = own.is_some() && real.starts_with(b"/proc/") && written.starts_with(b"/proc/");
        for target in Some(&real).filter(|_| !is_in_proc).into_iter().chain(own) {
            let link = Link {
                path: place.path,
                target,
                site: self.shapes().site_of(AnchoredPath::path(target), Subject::There),
                after_up: after_up(text),
            };
            let verdict = decide(self.policy(), &Request::Link(link));
            if verdict.outcome != Outcome::Allow {
                self.deny(caller, Operation::Write, target, &[], &verdict.reason)?;
            }
        }
        Ok(())
    }

    /// The real path to which a text leads from a directory, as far as something is there, and the names after that.
    fn led_to(&self, caller: &Caller<'_>, directory: OwnedFd, text: &[u8]) -> Result<Vec<u8>, Errno> {
        let mut missing = Vec::new();
        let mut there = text;
        loop {
            let start = match there.first() {
                Some(b'/') => rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?,
                _ => directory.try_clone().map_err(|_| Errno::MFILE)?,
            };
            let path = if there.is_empty() { b"." } else { there };
            match self.resolver.resolve_from(caller, start, path, Last::Follow) {
                Ok(Target::Entry(entry)) => return Ok(joined(&entry.path, &missing)),
                Ok(Target::Object { path, .. }) => return Ok(joined(&path, &missing)),
                // Something on the way is missing, or a link that leads nowhere: so does this one, for now.
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
        let depth = below.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b".")).count();
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
        let site = self.site_of(AnchoredPath::path(&target), Subject::There);
        let link = Link { path: &path, target: &target, site, after_up: after_up(&text) };
        decide(self.policy, &Request::Link(link)).outcome == Outcome::Allow
    }
}
