//! Waits for SIGHUP and for file changes.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

/// How long to wait before a changed file is read.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// How long a file must be unchanged before it is read: programs write in several steps.
    quiet: Duration,
    /// After this time a file is read even if it keeps changing.
    patience: Duration,
}

const PACE: Pace = Pace { quiet: Duration::from_millis(100), patience: Duration::from_secs(1) };
/// The pause between wake-ups: other files in the directory may change all the time.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Why the policy is read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReloadCause {
    /// The operator sent SIGHUP.
    Asked,
    /// A file has changed and is settled.
    Changed,
    /// A file keeps changing.
    Changing,
}

/// The descriptors to wait on. Each works without the other.
#[derive(Debug)]
pub struct Watch {
    hangups: Option<SignalFd>,
    changes: Option<OwnedFd>,
    files: Vec<PathBuf>,
    pace: Pace,
    /// Whether files were not yet settled when [`Watch::next`] returned last.
    changing: bool,
}

impl Watch {
    /// Blocks SIGHUP, and prepares to [`attend`](Watch::attend) to these files, given by their real paths.
    /// They need not exist.
    ///
    /// Call this before any other thread starts: the signal must be blocked in all threads.
    pub fn open(files: Vec<PathBuf>) -> Watch {
        let set = SigSet::from_iter([Signal::SIGHUP]);
        let held = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&set), None);
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let hangups = held.and_then(|()| SignalFd::with_flags(&set, flags)).ok();
        let changes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        Watch { hangups, changes, files, pace: PACE, changing: false }
    }

    /// Watches the directories, because editors replace files. For a missing directory it watches the parent.
    pub(super) fn attend(&self) {
        const WHAT: WatchFlags = WatchFlags::CLOSE_WRITE
            .union(WatchFlags::MOVED_TO)
            .union(WatchFlags::MOVED_FROM)
            .union(WatchFlags::DELETE)
            .union(WatchFlags::ONLYDIR)
            // Two files may be in the same directory.
            .union(WatchFlags::MASK_ADD);
        let watch = |directory: &Path, what| match &self.changes {
            Some(changes) => inotify::add_watch(changes, directory, what).map(drop),
            None => Err(Errno::MFILE),
        };
        for directory in self.files.iter().filter_map(|file| file.parent()) {
            let watched = match (watch(directory, WHAT), directory.parent()) {
                (Err(Errno::NOENT), Some(parent)) => watch(parent, WHAT | WatchFlags::CREATE).map(|()| {
                    // The directory may have been created meanwhile.
                    let _ = watch(directory, WHAT);
                }),
                (watched, _) => watched,
            };
            if let Err(error) = watched {
                let directory = directory.display();
                tracing::warn!("changes in {directory} are not noticed without SIGHUP: {error}");
            }
        }
    }

    /// Waits until the policy should be read again.
    pub fn next(&mut self) -> ReloadCause {
        if std::mem::take(&mut self.changing) {
            return self.settle();
        }
        loop {
            self.wait(PollTimeout::NONE);
            if self.is_asked() {
                return ReloadCause::Asked;
            }
            if self.has_changed() {
                return self.settle();
            }
            std::thread::sleep(RETRY_INTERVAL);
        }
    }

    /// Waits until the files are settled.
    fn settle(&mut self) -> ReloadCause {
        let since = Instant::now();
        let mut last = since;
        loop {
            let left = self.pace.quiet.saturating_sub(last.elapsed());
            if left.is_zero() {
                return ReloadCause::Changed;
            }
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
            self.wait(timeout);
            if self.is_asked() {
                // SIGHUP is reported at once; the next call waits for the files to settle.
                self.changing = true;
                return ReloadCause::Asked;
            }
            if self.has_changed() {
                last = Instant::now();
            }
            if since.elapsed() > self.pace.patience {
                self.changing = true;
                return ReloadCause::Changing;
            }
            std::thread::sleep(RETRY_INTERVAL);
        }
    }

    /// Waits until a descriptor is readable or the timeout expires.
    fn wait(&self, timeout: PollTimeout) {
        let descriptors = [self.hangups.as_ref().map(AsFd::as_fd), self.changes.as_ref().map(AsFd::as_fd)];
        let mut polled: Vec<_> =
            descriptors.into_iter().flatten().map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        // An error counts as a wake-up with nothing to read.
        let _ = poll(&mut polled, timeout);
    }

    fn is_asked(&mut self) -> bool {
        let Some(hangups) = &mut self.hangups else { return false };
        let mut asked = false;
        while let Ok(Some(_)) = hangups.read_signal() {
            asked = true;
        }
        if asked {
            // A missing directory may exist by this time, or a directory may have been replaced.
            self.attend();
        }
        asked
    }

    /// Reads pending events; returns true if one concerns a watched file or its directory.
    fn has_changed(&mut self) -> bool {
        let Some(changes) = &self.changes else { return false };
        let is = |path: Option<&Path>, name: &CStr| {
            path.and_then(Path::file_name).is_some_and(|own| own.as_bytes() == name.to_bytes())
        };
        let is_file = |name: &CStr| self.files.iter().any(|file| is(Some(file), name));
        let is_directory = |name: &CStr| self.files.iter().any(|file| is(file.parent(), name));
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(changes, &mut buffer);
        let (mut changed, mut moved) = (false, false);
        while let Ok(event) = events.next() {
            changed |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            changed |= event.file_name().is_some_and(is_file);
            moved |= event.events().contains(ReadFlags::ISDIR) && event.file_name().is_some_and(is_directory);
        }
        if moved {
            self.attend();
        }
        changed || moved
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A pace that waits until files settle, however slow the machine is.
    const UNHURRIED: Pace = Pace { quiet: Duration::from_millis(100), patience: Duration::MAX };

    fn watch(file: PathBuf) -> Watch {
        let changes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        let watch = Watch { hangups: None, changes, files: vec![file], pace: UNHURRIED, changing: false };
        watch.attend();
        watch
    }

    #[test]
    fn a_file_that_is_written_replaced_or_removed_has_changed() {
        let directory = tempfile::tempdir().unwrap();
        let (file, other) = (directory.path().join("guard.json"), directory.path().join("other"));
        let mut watch = watch(file.clone());
        fs::write(&other, "x").unwrap();
        assert!(!watch.has_changed());
        fs::write(&file, "x").unwrap();
        assert_eq!(watch.next(), ReloadCause::Changed);
        fs::rename(&other, &file).unwrap();
        assert_eq!(watch.next(), ReloadCause::Changed);
        fs::remove_file(&file).unwrap();
        assert_eq!(watch.next(), ReloadCause::Changed);
        assert!(!watch.has_changed());
    }

    #[test]
    fn a_file_that_never_rests_is_told_of_and_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("guard.json");
        let mut watch = watch(file.clone());
        // No file is unchanged for that long.
        watch.pace = Pace { quiet: Duration::MAX, patience: Duration::from_millis(50) };
        for _ in 0..2 {
            fs::write(&file, "x").unwrap();
            assert_eq!(watch.next(), ReloadCause::Changing);
        }
        watch.pace = UNHURRIED;
        assert_eq!(watch.next(), ReloadCause::Changed);
        assert!(!watch.has_changed());
    }

    #[test]
    fn a_directory_that_is_missing_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("none");
        let file = inner.join("guard.json");
        let mut watch = watch(file.clone());
        assert!(!watch.has_changed());
        for _ in 0..2 {
            fs::create_dir(&inner).unwrap();
            assert_eq!(watch.next(), ReloadCause::Changed);
            fs::write(&file, "x").unwrap();
            assert_eq!(watch.next(), ReloadCause::Changed);
            // The next round uses a new directory of the same name.
            fs::remove_dir_all(&inner).unwrap();
            assert_eq!(watch.next(), ReloadCause::Changed);
        }
        // A missing parent directory is no error either.
        super::tests::watch(inner.join("deeper/guard.json"));
    }
}
