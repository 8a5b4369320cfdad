//! A scripted kernel for tests: the test supplies the caller's memory, descriptors and status.

use std::collections::HashMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use guard_openclaw::peer::proc::{ProcStatus, Tid};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::{Followed, Kernel, Notification, Response};

/// The scripted kernel. Directories and descriptors are real ones, supplied by the test.
#[derive(Default)]
pub struct Fake {
    /// Memory regions by start address; everything else is unmapped.
    pub memory: HashMap<u64, Vec<u8>>,
    /// The directories of AT_FDCWD and descriptor numbers.
    pub directories: HashMap<i32, std::path::PathBuf>,
    /// Descriptors without a path, such as sockets.
    pub descriptors: HashMap<i32, OwnedFd>,
    /// The caller is gone after this many checks of its ID; `None` for never.
    pub lives: Option<usize>,
    checks: AtomicUsize,
    /// The replies sent.
    pub answers: Mutex<Vec<Response>>,
    /// The files installed in the caller, and whether installing was also the reply.
    pub installed: Mutex<Vec<(OwnedFd, bool)>>,
    /// What was written to the caller's memory, with its addresses.
    pub written: Mutex<Vec<(u64, Vec<u8>)>>,
    /// The signals sent to the caller.
    pub signals: Mutex<Vec<i32>>,
    /// Whether an exec was continued.
    pub followed: AtomicBool,
}

/// The id of every call of a fake.
pub const ID: u64 = 1;

impl Fake {
    /// A caller in `directory`, with these strings in memory, at 0x1000, 0x2000 and so on.
    pub fn new(directory: &std::path::Path, strings: &[&str]) -> Fake {
        let memory = strings
            .iter()
            .enumerate()
            .map(|(index, text)| (0x1000 * (index as u64 + 1), [text.as_bytes(), b"\0"].concat()));
        Fake {
            memory: memory.collect(),
            directories: HashMap::from([(libc::AT_FDCWD, directory.to_owned())]),
            ..Fake::default()
        }
    }

    /// A held call.
    pub fn call(number: i64, args: &[u64]) -> Notification {
        let mut all = [0; 6];
        all[..args.len()].copy_from_slice(args);
        Notification { id: ID, tid: own_pid(), number, args: all }
    }
}

fn own_pid() -> Tid {
    rustix::process::getpid().as_raw_nonzero().get()
}

impl Kernel for Fake {
    fn receive(&self) -> Result<Notification, Errno> {
        Err(Errno::NOENT)
    }

    fn respond(&self, _: u64, response: Response) -> Result<(), Errno> {
        self.answers.lock().unwrap().push(response);
        Ok(())
    }

    fn valid(&self, id: u64) -> bool {
        let before = self.checks.fetch_add(1, Ordering::Relaxed);
        id == ID && self.lives.is_none_or(|lives| before < lives)
    }

    fn install(&self, _: u64, fd: BorrowedFd<'_>, _: bool, reply: bool) -> Result<i64, Errno> {
        let copy = fd.try_clone_to_owned().map_err(|_| Errno::MFILE)?;
        self.installed.lock().unwrap().push((copy, reply));
        Ok(7)
    }

    fn read(&self, _: Tid, address: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
        let (start, bytes) = self
            .memory
            .iter()
            .find(|(start, bytes)| (**start..**start + bytes.len() as u64).contains(&address))
            .ok_or(Errno::FAULT)?;
        let bytes = &bytes[(address - start) as usize..];
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn read_parts(&self, tid: Tid, parts: &[(u64, u64)], buffer: &mut [u8]) -> Result<usize, Errno> {
        let mut done = 0;
        for &(address, length) in parts {
            let end = buffer.len().min(done + length as usize);
            done += self.read(tid, address, &mut buffer[done..end])?;
        }
        Ok(done)
    }

    fn write(&self, _: Tid, address: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.written.lock().unwrap().push((address, bytes.to_vec()));
        Ok(())
    }

    fn directory(&self, _: Tid, dirfd: i32) -> Result<OwnedFd, Errno> {
        let path = self.directories.get(&dirfd).ok_or(Errno::BADF)?;
        rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
    }

    fn directory_path(&self, _: Tid, dirfd: i32, buffer: &mut [u8]) -> Result<usize, Errno> {
        use std::os::unix::ffi::OsStrExt;
        let path =
            self.directories.get(&dirfd).ok_or(Errno::BADF)?.canonicalize().map_err(|_| Errno::NOENT)?;
        let path = path.as_os_str().as_bytes();
        let length = path.len().min(buffer.len());
        buffer[..length].copy_from_slice(&path[..length]);
        Ok(length)
    }

    fn descriptor(&self, _: Tid, fd: i32) -> Result<OwnedFd, Errno> {
        if let Some(descriptor) = self.descriptors.get(&fd) {
            return descriptor.try_clone().map_err(|_| Errno::MFILE);
        }
        let path = self.directories.get(&fd).ok_or(Errno::BADF)?;
        rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
    }

    fn size_limit(&self, _: Tid) -> u64 {
        u64::MAX
    }

    fn has_room(&self, _: Tid) -> bool {
        true
    }

    fn is_leader(&self, tid: Tid) -> bool {
        tid == own_pid()
    }

    fn status(&self, _: Tid) -> Result<ProcStatus, Errno> {
        Ok(ProcStatus { tgid: own_pid(), ppid: 1, tracer: 0, umask: 0o22 })
    }

    fn arguments(&self, _: Tid) -> Result<Vec<Vec<u8>>, Errno> {
        Ok(Vec::new())
    }

    fn is_signalled(&self, _: Tid) -> bool {
        false
    }

    fn signal(&self, _: Tid, _: Tid, signal: i32) {
        self.signals.lock().unwrap().push(signal);
    }

    fn follow_exec(&self, _: u64, _: Tid, _: &mut dyn FnMut(Tid) -> bool) -> Result<Followed, Errno> {
        self.followed.store(true, Ordering::Relaxed);
        Ok(Followed::Runs)
    }
}

/// The file that was last installed in the caller, if any.
#[cfg(test)]
pub fn last_installed(fake: &Fake) -> Option<String> {
    use std::os::fd::AsFd;
    let installed = fake.installed.lock().unwrap();
    let (file, _) = installed.last()?;
    let path = crate::resolve::real_path(file.as_fd()).ok()?;
    String::from_utf8(path).ok()
}
