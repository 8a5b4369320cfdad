//! Waits for SIGHUP and for file changes.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

use super::stamp::Stamp;
use crate::config::followed_names::Followed;

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
/// How often the files are compared with what they were. Events alone are not enough: a directory above may be moved or
/// replaced, all inotify instances may be taken, and some file systems report nothing.
const STAMP_INTERVAL: Duration = Duration::from_secs(1);
/// How often the names are compared through which the policy was compiled. The tree may change some of them all the time, and
/// with it compiles the policy at most so often.
const FOLLOWED_INTERVAL: Duration = Duration::from_secs(1);
/// How often the files are compared before there are events.
const EARLY_INTERVAL: Duration = Duration::from_millis(50);
/// When the kernel is asked for events. It takes up to 20 ms to close an inotify instance, and the end of a short
/// command would wait for that.
const EVENTS_DELAY: Duration = Duration::from_secs(1);

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

/// The descriptors to wait on, and the files. Each works without the others.
#[derive(Debug)]
pub struct Watch {
    hangups: Option<SignalFd>,
    changes: Option<OwnedFd>,
    /// When to open `changes`; `None` afterwards, even if that failed.
    events_due: Option<Instant>,
    files: Vec<PathBuf>,
    stamps: Vec<Stamp>,
    /// What the policy in force was compiled through.
    followed: Followed,
    /// When that is compared next.
    followed_due: Instant,
    pace: Pace,
    /// Whether files were not yet settled when [`Watch::next`] returned last.
    changing: bool,
}

impl Watch {
    /// Blocks SIGHUP, and prepares to watch these files, given by their real paths.
    /// They need not exist.
    ///
    /// Call this before any other thread starts: the signal must be blocked in all threads.
    pub fn open(files: Vec<PathBuf>, followed: Followed) -> Watch {
        let set = SigSet::from_iter([Signal::SIGHUP]);
        let held = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&set), None);
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let hangups = held.and_then(|()| SignalFd::with_flags(&set, flags)).ok();
        let stamps = files.iter().map(|file| Stamp::read(file)).collect();
        let events_due = Some(Instant::now() + EVENTS_DELAY);
        let followed_due = Instant::now() + FOLLOWED_INTERVAL;
        let (changes, pace, changing) = (None, PACE, false);
        Watch { hangups, changes, events_due, files, stamps, followed, followed_due, pace, changing }
    }

    /// Opens the events once they are due. Returns how long to wait for one before the files are compared.
    fn interval(&mut self) -> Duration {
        match self.events_due {
            Some(due) if Instant::now() < due => EARLY_INTERVAL,
            Some(_) => {
                self.events_due = None;
                self.changes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
                self.attend();
                // A file may have changed since the files were compared last.
                Duration::ZERO
            }
            None => {
                // poll(2) waits for whole milliseconds, and must not wake before the names are due.
                let due = self.followed_due.saturating_duration_since(Instant::now());
                STAMP_INTERVAL.min(due + Duration::from_millis(1))
            }
        }
    }

    /// Watches the directories, because editors replace files. A directory that cannot be watched is still checked each
    /// second.
    fn attend(&self) {
        const WHAT: WatchFlags = WatchFlags::CLOSE_WRITE
            .union(WatchFlags::MOVED_TO)
            .union(WatchFlags::MOVED_FROM)
            .union(WatchFlags::DELETE)
            .union(WatchFlags::ONLYDIR)
            // Two files may be in the same directory.
            .union(WatchFlags::MASK_ADD);
        let Some(changes) = &self.changes else { return };
        for directory in self.files.iter().filter_map(|file| file.parent()) {
            let _ = inotify::add_watch(changes, directory, WHAT);
        }
    }

    /// Waits a moment, or until SIGHUP comes.
    pub(super) fn pause(&self) {
        self.wait(EARLY_INTERVAL);
    }

    /// Waits until the policy should be read again.
    pub fn next(&mut self) -> ReloadCause {
        if std::mem::take(&mut self.changing) {
            return self.settle();
        }
        loop {
            let interval = self.interval();
            self.wait(interval);
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
            self.wait(left);
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
    fn wait(&self, timeout: Duration) {
        let descriptors = [self.hangups.as_ref().map(AsFd::as_fd), self.changes.as_ref().map(AsFd::as_fd)];
        let mut polled: Vec<_> =
            descriptors.into_iter().flatten().map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        // An error counts as a wake-up with nothing to read.
        let _ = poll(&mut polled, PollTimeout::try_from(timeout).unwrap_or(PollTimeout::ZERO));
    }

    fn is_asked(&mut self) -> bool {
        let Some(hangups) = &mut self.hangups else { return false };
        let mut asked = false;
        while let Ok(Some(_)) = hangups.read_signal() {
            asked = true;
        }
        asked
    }

    /// Whether a file was written, is another one than at the last call, or the policy's paths lead elsewhere.
    fn has_changed(&mut self) -> bool {
        let was_written = self.has_events();
        let stamps: Vec<Stamp> = self.files.iter().map(|file| Stamp::read(file)).collect();
        let is_other = stamps != self.stamps;
        self.stamps = stamps;
        if is_other {
            // The directory may have been replaced as well.
            self.attend();
        }
        // Always compared, because each comparison is with the one before.
        let leads_elsewhere = self.leads_elsewhere();
        was_written || is_other || leads_elsewhere
    }

    /// Whether a path of the policy leads elsewhere than before.
    fn leads_elsewhere(&mut self) -> bool {
        let now = Instant::now();
        if now < self.followed_due {
            return false;
        }
        self.followed_due = now + FOLLOWED_INTERVAL;
        self.followed.look()
    }

    /// Reads the pending events. Returns whether one concerns a file. On a file system with a coarse clock, a write may
    /// leave the file's stamp as it was.
    fn has_events(&self) -> bool {
        let Some(changes) = &self.changes else { return false };
        let is_file = |name: &CStr| {
            let mut names = self.files.iter().filter_map(|file| file.file_name());
            names.any(|own| own.as_bytes() == name.to_bytes())
        };
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(changes, &mut buffer);
        let mut changed = false;
        while let Ok(event) = events.next() {
            changed |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            changed |= event.file_name().is_some_and(is_file);
        }
        changed
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
        let stamps = vec![Stamp::read(&file)];
        let (files, pace) = (vec![file], UNHURRIED);
        let (followed, followed_due) = (Followed::default(), Instant::now());
        let watch = Watch {
            hangups: None,
            changes,
            events_due: None,
            files,
            stamps,
            followed,
            followed_due,
            pace,
            changing: false,
        };
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
    fn a_file_that_changes_all_the_time_is_reported_and_waited_for() {
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
        let inner = directory.path().join("none/deeper");
        let file = inner.join("guard.json");
        let mut watch = watch(file.clone());
        assert!(!watch.has_changed());
        for _ in 0..2 {
            fs::create_dir_all(&inner).unwrap();
            fs::write(&file, "x").unwrap();
            assert_eq!(watch.next(), ReloadCause::Changed);
            // The next round uses new directories of the same names.
            fs::remove_dir_all(inner.parent().unwrap()).unwrap();
            assert_eq!(watch.next(), ReloadCause::Changed);
        }
        assert!(!watch.has_changed());
    }

    #[test]
    fn a_directory_that_is_moved_or_replaced_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let (inner, aside) = (directory.path().join("outer/inner"), directory.path().join("aside"));
        let file = inner.join("guard.json");
        fs::create_dir_all(&inner).unwrap();
        fs::write(&file, "x").unwrap();
        let mut watch = watch(file.clone());
        for moved in [&*inner, inner.parent().unwrap()] {
            fs::rename(moved, &aside).unwrap();
            assert_eq!(watch.next(), ReloadCause::Changed);
            fs::create_dir_all(&inner).unwrap();
            fs::write(&file, "y").unwrap();
            assert_eq!(watch.next(), ReloadCause::Changed);
            // The new directory is watched: this is an event.
            fs::write(&file, "z").unwrap();
            assert!(watch.has_events());
            assert_eq!(watch.next(), ReloadCause::Changed);
            assert!(!watch.has_changed());
            fs::remove_dir_all(&aside).unwrap();
        }
    }

    #[test]
    fn without_events_changes_are_noticed_all_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("guard.json");
        let mut watch = Watch { changes: None, ..watch(file.clone()) };
        for text in ["x", "xy"] {
            fs::write(&file, text).unwrap();
            assert_eq!(watch.next(), ReloadCause::Changed);
        }
        assert!(!watch.has_changed());
    }
}
