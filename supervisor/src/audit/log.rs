//! Writes the log. Several guards may write to one log at the same time, a line at a time.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FileType, FlockOperation, flock, fstat, ftruncate};

use super::chain::{ChainFields, ChainLink, Hash};
use super::files::{Files, LOCK_TIMEOUT, LogPart, identity, lock};
use super::head::Head;
use super::lines::{Backward, Forward};
use super::record;

/// The most bytes that the chain fields add to the body of a line.
const TIES: u64 = 110;

/// How much of the log is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum size of a file in bytes: `audit.maxBytes`.
    pub max_bytes: u64,
    /// The number of older files that are kept: `audit.keep`.
    pub keep: usize,
}

/// An open log.
#[derive(Debug)]
pub struct AuditLog {
    path: PathBuf,
    kind: LogKind,
}

#[derive(Debug)]
enum LogKind {
    /// A plain file, with its directory beside it.
    Rotated(RotatedLog),
    /// Another kind of file, for instance /dev/null. Then the chain has only this guard's lines.
    Passing { file: File, link: ChainLink },
}

impl AuditLog {
    /// Opens the log for appending, and creates missing files and directories.
    ///
    /// # Errors
    /// The kernel's; ELOOP when the file is a symbolic link.
    pub fn open(path: &Path, limits: Limits) -> io::Result<AuditLog> {
        // Files are reopened later, when the current directory may be another one.
        let path = std::path::absolute(path)?;
        let files = Files::new(&path);
        let is_passing = path.symlink_metadata().is_ok_and(|found| {
            !matches!(FileType::from_raw_mode(found.mode()), FileType::RegularFile | FileType::Symlink)
        });
        let kind = if is_passing {
            LogKind::Passing { file: files.open_log()?, link: ChainLink::START }
        } else {
            LogKind::Rotated(RotatedLog::open(files, limits)?)
        };
        Ok(AuditLog { path, kind })
    }

    /// Opens the log of denials beside this one, with the same limits. Returns None if this one is no plain file.
    ///
    /// # Errors
    /// As [`AuditLog::open`].
    pub fn open_denials(&self) -> io::Result<Option<AuditLog>> {
        let LogKind::Rotated(RotatedLog { limits, .. }) = &self.kind else { return Ok(None) };
        AuditLog::open(LogPart::Denials.files(&self.path).log(), *limits).map(Some)
    }

    /// Closes the log without freeing its memory, for a forked process that does not write it.
    pub fn forget(self) {
        let AuditLog { path, kind } = self;
        std::mem::forget(path);
        match kind {
            LogKind::Passing { file, .. } => drop(file),
            LogKind::Rotated(RotatedLog { files, log, head, .. }) => {
                std::mem::forget(files);
                drop((log, head));
            }
        }
    }

    /// Returns the path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends the line with this body, a JSON object. If lines are missing before it, a line that counts the missing
    /// ones comes first.
    ///
    /// # Errors
    /// The kernel's, for instance for a full disk. Then no part of the line is in the log.
    pub fn append(&mut self, body: &str, missing: u64) -> io::Result<Appended> {
        match &mut self.kind {
            LogKind::Rotated(rotated) => rotated.append(body, missing),
            LogKind::Passing { file, link } => {
                let (line, next) = link.next(body);
                file.write_all(format!("{line}\n").as_bytes())?;
                *link = next;
                Ok(Appended { line, trouble: None })
            }
        }
    }
}

/// A line that was appended to the log.
#[derive(Debug)]
pub struct Appended {
    /// The line as written.
    pub line: String,
    /// A problem that occurred although the line is in the log.
    pub trouble: Option<String>,
}

#[derive(Debug)]
struct RotatedLog {
    files: Files,
    limits: Limits,
    log: File,
    head: File,
    /// Whether a failed rotation was reported.
    warned: bool,
    /// How long to wait for the lock: zero after a timeout, until the lock is free again.
    patience: Duration,
}

/// A defect found before the next line is written. A line about the log itself records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    /// The last line has no line feed.
    Unfinished,
    /// There are lines, but no head.
    NoHead,
    /// The log does not continue from the position that the head records.
    Cut(ChainLink),
    /// This many lines could not be written.
    Missing(u64),
}

/// Where the next line goes.
struct Tail {
    link: ChainLink,
    root: Hash,
    length: u64,
    found: Vec<Defect>,
}

impl RotatedLog {
    fn open(files: Files, limits: Limits) -> io::Result<RotatedLog> {
        files.make_directories()?;
        let head = plain(files.open_head()?, &files.head())?;
        let log = plain(files.open_log()?, files.log())?;
        Ok(RotatedLog { files, limits, log, head, warned: false, patience: LOCK_TIMEOUT })
    }

    fn append(&mut self, body: &str, missing: u64) -> io::Result<Appended> {
        self.lock()?;
        let done = self.append_locked(body, missing);
        // Unlocks all copies of the descriptor: a program that is being started may briefly have one.
        let unlocked = flock(&self.head, FlockOperation::Unlock);
        let done = done?;
        unlocked?;
        Ok(done)
    }

    fn lock(&mut self) -> io::Result<()> {
        loop {
            let locked = lock(&self.head, FlockOperation::NonBlockingLockExclusive, self.patience);
            self.patience = if locked.is_ok() { LOCK_TIMEOUT } else { Duration::ZERO };
            locked?;
            if is_at(&self.head, &self.files.head())? {
                return Ok(());
            }
            // The head was removed or replaced, so other writers do not see this lock.
            self.files.make_directories()?;
            self.head = plain(self.files.open_head()?, &self.files.head())?;
        }
    }

    fn append_locked(&mut self, body: &str, missing: u64) -> io::Result<Appended> {
        let head = match Head::read(&self.head) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => None,
            head => head?,
        };
        self.follow()?;
        let mut end = self.end(head)?;
        end.found.extend((missing > 0).then_some(Defect::Missing(missing)));
        let mut trouble = None;
        if end.length > 0 && end.length + body.len() as u64 + TIES > self.limits.max_bytes {
            trouble = self.rotate(&mut end).err().filter(|_| !self.warned).map(|error| {
                self.warned = true;
                format!("the audit log {} grows beyond audit.maxBytes: {error}", self.files.log().display())
            });
        }
        let mut text = String::new();
        for found in &end.found {
            // After a rotation the unfinished line is in another file.
            if *found == Defect::Unfinished && end.length > 0 {
                text.push('\n');
            }
            let (line, next) = end.link.next(&found.body());
            end.link = next;
            text.push_str(&line);
            text.push('\n');
        }
        let (line, link) = end.link.next(body);
        text.push_str(&line);
        text.push('\n');
        let head = Head::new(link, end.length + text.len() as u64, end.root);
        let written = self.log.write_all(text.as_bytes()).and_then(|()| head.write(&self.head));
        if let Err(error) = written {
            // Removes a partly written line. If that fails, the next line records it.
            let _ = ftruncate(&self.log, end.length);
            return Err(error);
        }
        Ok(Appended { line, trouble })
    }

    /// Reopens the log if another file is at its path.
    fn follow(&mut self) -> io::Result<()> {
        if !is_at(&self.log, self.files.log())? {
            self.log = plain(self.files.open_log()?, self.files.log())?;
        }
        Ok(())
    }

    /// Returns where the next line goes, and how the log differs from what the head records.
    fn end(&self, head: Option<Head>) -> io::Result<Tail> {
        let length = u64::try_from(fstat(&self.log)?.st_size).unwrap_or_default();
        if let Some(head) = head.filter(|head| head.length == length) {
            return Ok(Tail { link: head.link(), root: head.root, length, found: Vec::new() });
        }
        let mut found = Vec::new();
        let mut last = last(&self.log, length)?;
        let olds = if length == 0 || head.is_none() { self.files.olds()? } else { Vec::new() };
        if length == 0
            && let Some(old) = olds.last()
        {
            // A rotation was interrupted, or the log was removed.
            let old = File::open(old)?;
            last = self::last(&old, old.metadata()?.len())?;
            last.is_whole = true;
        }
        let known = head.map_or(ChainLink::START, |head| head.link());
        let link = ChainLink { n: last.n.unwrap_or(known.n), hash: last.hash };
        match head {
            None if link.hash == Hash::NONE => {}
            None => found.push(Defect::NoHead),
            Some(head) if length == 0 && link.hash == head.link().hash => {}
            Some(head) if length > head.length && self.goes_on(&head, length)? => {}
            Some(head) => found.push(Defect::Cut(head.link())),
        }
        // The numbers of lost lines are not used again.
        let link = ChainLink { n: link.n.max(known.n), ..link };
        if !last.is_whole {
            found.insert(0, Defect::Unfinished);
        }
        let root = match head {
            Some(head) => head.root,
            None => self.root(&olds, length)?,
        };
        Ok(Tail { link, root, length, found })
    }

    /// Returns whether the log continues after the line that the head records. If it does, a writer was killed before
    /// it could update the head.
    fn goes_on(&self, head: &Head, length: u64) -> io::Result<bool> {
        let Some(line) = Forward::new(&self.log, head.length, length).next().transpose()? else {
            return Ok(false);
        };
        // An unfinished line may not parse. It is enough that the line begins where the head says.
        let begins = head.length == 0
            || Backward::new(&self.log, head.length)
                .next()
                .transpose()?
                .is_some_and(|last| last.is_whole && Hash::digest(&last.bytes) == head.link().hash);
        Ok(begins
            && (!line.is_whole
                || ChainFields::parse(&line.bytes).is_some_and(|joint| joint.prev == head.link().hash)))
    }

    /// Returns the `prev` of the first line that exists.
    fn root(&self, olds: &[PathBuf], length: u64) -> io::Result<Hash> {
        let joint = match olds.first() {
            Some(old) => first(&File::open(old)?)?,
            None => Forward::new(&self.log, 0, length)
                .next()
                .transpose()?
                .and_then(|line| ChainFields::parse(&line.bytes)),
        };
        Ok(joint.map_or(Hash::NONE, |joint| joint.prev))
    }

    /// Renames the log to an older file, and starts a new one.
    fn rotate(&mut self, end: &mut Tail) -> io::Result<()> {
        let first = first(&self.log)?.map_or(0, |joint| joint.n);
        let old = self.files.old(first);
        let no_replace = rustix::fs::RenameFlags::NOREPLACE;
        rustix::fs::renameat_with(rustix::fs::CWD, self.files.log(), rustix::fs::CWD, &old, no_replace)?;
        self.log = self.files.open_log()?;
        end.length = 0;
        let olds = self.files.olds()?;
        let surplus = olds.len().saturating_sub(self.limits.keep);
        end.root = match olds.get(surplus) {
            Some(old) => self::first(&File::open(old)?)?.map_or(end.root, |joint| joint.prev),
            None => end.link.hash,
        };
        // The head is written first, so that removed files are never taken for lost ones.
        Head::new(end.link, 0, end.root).write(&self.head)?;
        for old in &olds[..surplus] {
            std::fs::remove_file(old)?;
        }
        Ok(())
    }
}

impl Defect {
    fn body(&self) -> String {
        let (event, text) = match self {
            Defect::Unfinished => ("unfinished", "the line before this one was not finished".to_owned()),
            Defect::NoHead => {
                ("no-head", "the head was missing: lines before this one may have been cut".to_owned())
            }
            Defect::Cut(ChainLink { n, hash }) => {
                ("cut", format!("the log did not go on from line {n} ({hash}), its last line by the head"))
            }
            Defect::Missing(lines) => {
                (record::MISSING, format!("lines that could not be written before this one: {lines}"))
            }
        };
        record::of_log(event, &text)
    }
}

/// Returns whether the open file is the one at this path.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    match path.symlink_metadata() {
        Ok(found) => Ok((found.dev(), found.ino()) == identity(file)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn plain(file: File, path: &Path) -> io::Result<File> {
    let stat = fstat(&file)?;
    match FileType::from_raw_mode(stat.st_mode) {
        // By its other name a run could write to the file or empty it.
        FileType::RegularFile if stat.st_nlink > 1 => Err(io::Error::other(format!(
            "{} has another name (a hard link): remove one of them",
            path.display()
        ))),
        FileType::RegularFile => Ok(file),
        _ => Err(io::Error::other(format!("{} is not a regular file", path.display()))),
    }
}

/// The position of a file's last line.
struct Last {
    n: Option<u64>,
    hash: Hash,
    is_whole: bool,
}

fn last(file: &File, length: u64) -> io::Result<Last> {
    let mut lines = Backward::new(file, length);
    let Some(last) = lines.next().transpose()? else {
        return Ok(Last { n: None, hash: Hash::NONE, is_whole: true });
    };
    let numbered = if last.is_whole { Some(last.clone()) } else { lines.next().transpose()? };
    let n = numbered.and_then(|line| ChainFields::parse(&line.bytes)).map(|joint| joint.n);
    Ok(Last { n, hash: Hash::digest(&last.bytes), is_whole: last.is_whole })
}

/// Returns the chain fields of a file's first line.
fn first(file: &File) -> io::Result<Option<ChainFields>> {
    let line = Forward::new(file, 0, file.metadata()?.len()).next().transpose()?;
    Ok(line.and_then(|line| ChainFields::parse(&line.bytes)))
}
