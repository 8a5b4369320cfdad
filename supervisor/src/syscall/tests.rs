//! The broker on a real directory, with a scripted caller.

use std::fs;
use std::path::Path;

use guard_openclaw::peer::process_tree::Tree;
use guard_policy::{Document, Host, Overrides, Policy};
use rustix::io::Errno;
use tempfile::TempDir;

use super::{Request, handle};
use crate::audit::report::{ReportOptions, Reporter};
use crate::audit::{Context, Writer};
use crate::caller::Caller;
use crate::judge::guard::Guard;
use crate::judge::program_starts::ProgramStarts;
use crate::judge::session_context::SessionContext;
use crate::kernel::fake::{Fake, last_installed};
use crate::kernel::{Notification, Response};
use crate::landlock;
use crate::reply::{Reply, send};
use crate::resolve::Resolver;
use crate::worker::Worker;

const AT_FDCWD: u64 = libc::AT_FDCWD as u64;

/// A directory with `open/`, which may be read and written, and `shut/`, which may not.
pub struct SyscallFixture {
    directory: TempDir,
    /// A guard with that policy.
    pub guard: Guard,
}

impl SyscallFixture {
    fn new() -> SyscallFixture {
        SyscallFixture::with_tree(Tree { reaper: 1, supervisor: 1, front: 1, leader: None })
    }

    /// Creates the fixture for callers of this tree.
    pub fn with_tree(tree: Tree) -> SyscallFixture {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for (name, text) in [("open", "fine"), ("shut", "secret")] {
            fs::create_dir(root.join(name)).unwrap();
            fs::write(root.join(name).join("file"), text).unwrap();
        }
        let text = format!(
            r#"{{"version": 1, "exec": {{"security": "full", "ask": "off"}}, "permissions": {{"filesystem": {{
                "rules": {{"{0}/open/**": "rw-", "{0}/exec/**": "r-x"}}, "default": "---"}}}}}}"#,
            root.display()
        );
        let host = Host::bare(b"/nowhere", b"/");
        let document = Document::parse("test", &text).unwrap();
        let policy = Policy::compile(&document, "main", &host, &Overrides::default()).unwrap();
        let manner = ReportOptions::default();
        let context = Context::default();
        let reporter = Reporter::start(manner, Writer::none(), context, tree).unwrap();
        let resolver = Resolver::new().unwrap();
        let guard = Guard::new(
            policy,
            landlock::LandlockPlan::default(),
            resolver,
            tree,
            reporter,
            SessionContext::default(),
            ProgramStarts::default(),
        );
        SyscallFixture { directory, guard }
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    /// The reply to a call from a caller in this directory.
    fn answer(&self, kernel: &Fake, call: Notification) -> Result<Reply, Errno> {
        let caller = Caller::new(kernel, call);
        handle(&Request { guard: &self.guard, caller: &caller, worker: &Worker::alone() })
    }

    /// The errno of a call with these strings in memory, 0 for success.
    fn errno(&self, strings: &[&str], number: i64, args: &[u64]) -> i32 {
        let kernel = Fake::new(self.root(), strings);
        self.answer(&kernel, Fake::call(number, args)).err().map_or(0, Errno::raw_os_error)
    }
}

#[test]
fn an_allowed_file_is_put_into_the_caller() {
    let fixture = SyscallFixture::new();
    let kernel = Fake::new(fixture.root(), &["open/file"]);
    let call = Fake::call(libc::SYS_openat, &[AT_FDCWD, 0x1000, libc::O_RDONLY as u64]);
    let caller = Caller::new(&kernel, call);
    send(&caller, handle(&Request { guard: &fixture.guard, caller: &caller, worker: &Worker::alone() }));
    assert!(last_installed(&kernel).unwrap().ends_with("/open/file"));
    // A regular file open for reading: installed and answered in one step.
    assert!(kernel.installed.lock().unwrap()[0].1);
    assert!(kernel.answers.lock().unwrap().is_empty());
}

#[test]
fn a_regular_file_is_handed_over_in_one_step_and_a_fifo_is_closed_first() {
    let fixture = SyscallFixture::new();
    nix::unistd::mkfifo(&fixture.root().join("open/fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    for (path, is_one_step, answers) in
        [("open/file", true, &[][..]), ("open/fifo", false, &[Response::Value(7)])]
    {
        let kernel = Fake::new(fixture.root(), &[path]);
        let call = Fake::call(libc::SYS_openat, &[AT_FDCWD, 0x1000, libc::O_RDWR as u64]);
        let caller = Caller::new(&kernel, call);
        send(&caller, handle(&Request { guard: &fixture.guard, caller: &caller, worker: &Worker::alone() }));
        assert_eq!(kernel.installed.lock().unwrap()[0].1, is_one_step, "{path}");
        assert_eq!(*kernel.answers.lock().unwrap(), answers, "{path}");
    }
}

#[test]
fn a_denied_file_is_eacces_and_a_missing_one_enoent() {
    let fixture = SyscallFixture::new();
    let open =
        |path: &str, flags: i32| fixture.errno(&[path], libc::SYS_openat, &[AT_FDCWD, 0x1000, flags as u64]);
    assert_eq!(open("shut/file", libc::O_RDONLY), libc::EACCES);
    assert_eq!(open("shut/none", libc::O_RDONLY), libc::ENOENT);
    assert_eq!(open("shut/none", libc::O_CREAT | libc::O_WRONLY), libc::EACCES);
    assert!(!fixture.root().join("shut/none").exists());
    assert_eq!(open("open/../shut/file", libc::O_RDONLY), libc::EACCES);
    assert_eq!(open("shut/file/x", libc::O_RDONLY), libc::ENOTDIR);
}

#[test]
fn a_link_is_judged_by_what_it_leads_to() {
    let fixture = SyscallFixture::new();
    std::os::unix::fs::symlink("../shut/file", fixture.root().join("open/link")).unwrap();
    std::os::unix::fs::symlink("../shut/new", fixture.root().join("open/dangling")).unwrap();
    std::os::unix::fs::symlink("loop", fixture.root().join("open/loop")).unwrap();
    let open =
        |path: &str, flags: i32| fixture.errno(&[path], libc::SYS_openat, &[AT_FDCWD, 0x1000, flags as u64]);
    assert_eq!(open("open/link", libc::O_RDONLY), libc::EACCES);
    assert_eq!(open("open/link", libc::O_RDONLY | libc::O_NOFOLLOW), libc::ELOOP);
    assert_eq!(open("open/dangling", libc::O_CREAT | libc::O_WRONLY), libc::EACCES);
    assert!(!fixture.root().join("shut/new").exists());
    assert_eq!(open("open/loop", libc::O_RDONLY), libc::ELOOP);
}

#[test]
fn entries_are_judged_by_their_own_path() {
    let fixture = SyscallFixture::new();
    let call = |strings: &[&str], number, args: &[u64]| fixture.errno(strings, number, args);
    assert_eq!(call(&["shut/d"], libc::SYS_mkdirat, &[AT_FDCWD, 0x1000, 0o755]), libc::EACCES);
    assert_eq!(call(&["shut"], libc::SYS_mkdirat, &[AT_FDCWD, 0x1000, 0o755]), libc::EEXIST);
    assert_eq!(call(&["open/d"], libc::SYS_mkdirat, &[AT_FDCWD, 0x1000, 0o755]), 0);
    assert_eq!(call(&["shut/file"], libc::SYS_unlinkat, &[AT_FDCWD, 0x1000]), libc::EACCES);
    assert_eq!(call(&["shut/none"], libc::SYS_unlinkat, &[AT_FDCWD, 0x1000]), libc::ENOENT);
    assert_eq!(call(&["open/d"], libc::SYS_unlinkat, &[AT_FDCWD, 0x1000, libc::AT_REMOVEDIR as u64]), 0);
    assert_eq!(
        call(&["open/file", "shut/moved"], libc::SYS_renameat, &[AT_FDCWD, 0x1000, AT_FDCWD, 0x2000]),
        libc::EACCES
    );
    assert_eq!(
        call(&["shut/file", "open/stolen"], libc::SYS_renameat, &[AT_FDCWD, 0x1000, AT_FDCWD, 0x2000]),
        libc::EACCES
    );
    assert_eq!(
        call(&["shut/file", "open/stolen"], libc::SYS_linkat, &[AT_FDCWD, 0x1000, AT_FDCWD, 0x2000]),
        libc::EXDEV
    );
    assert_eq!(fs::read_to_string(fixture.root().join("shut/file")).unwrap(), "secret");
    assert!(!fixture.root().join("open/stolen").exists());
}

/// Each of two names is harmless in a directory that has the other parts of a repository, but both together are not.
#[test]
fn two_calls_at_once_do_not_complete_a_repository() {
    let fixture = SyscallFixture::new();
    let open = fixture.root().join("open");
    fs::create_dir(open.join("objects")).unwrap();
    let create = [AT_FDCWD, 0x1000, (libc::O_CREAT | libc::O_WRONLY) as u64, 0o644];
    let node = [AT_FDCWD, 0x1000, u64::from(libc::S_IFREG | 0o644), 0];
    let mut outcomes = std::collections::HashSet::new();
    for round in 0..2000 {
        let barrier = std::sync::Barrier::new(2);
        let make = |name: &str| {
            barrier.wait();
            match round % 2 {
                0 => fixture.errno(&[name], libc::SYS_openat, &create),
                _ => fixture.errno(&[name], libc::SYS_mknodat, &node),
            }
        };
        let both = std::thread::scope(|scope| {
            let config = scope.spawn(|| make("open/config"));
            (make("open/HEAD"), config.join().unwrap())
        });
        assert_ne!(both, (0, 0), "round {round}");
        outcomes.insert(both);
        for name in ["HEAD", "config"] {
            let _ = fs::remove_file(open.join(name));
        }
    }
    assert!(outcomes.is_subset(&[(0, libc::EACCES), (libc::EACCES, 0)].into()), "{outcomes:?}");
}

/// A socket may complete a repository, too: git asks only whether the name may be searched.
#[test]
fn a_socket_is_judged_when_no_other_call_makes_a_name() {
    let fixture = SyscallFixture::new();
    let directory = fixture.root().join("open/d");
    fs::create_dir_all(directory.join("refs")).unwrap();
    fs::write(directory.join("HEAD"), "").unwrap();
    let alone = fixture.guard.session.moving.alone(|wait| wait()).unwrap();
    let bound = std::thread::scope(|scope| {
        let bind = scope.spawn(|| {
            let mut kernel = Fake::new(fixture.root(), &[]);
            let socket = std::os::unix::net::UnixDatagram::unbound().unwrap();
            kernel.descriptors.insert(5, socket.into());
            let family = (libc::AF_UNIX as u16).to_ne_bytes();
            kernel.memory.insert(0x1000, [&family[..], b"open/d/objects\0"].concat());
            let length = kernel.memory[&0x1000].len() as u64;
            fixture.answer(&kernel, Fake::call(libc::SYS_bind, &[5, 0x1000, length])).err()
        });
        std::thread::sleep(std::time::Duration::from_millis(300));
        fs::write(directory.join("config"), "").unwrap();
        drop(alone);
        bind.join().unwrap()
    });
    assert_eq!(bound, Some(Errno::ACCESS));
}

#[test]
fn an_open_that_waits_for_a_peer_holds_up_no_other_call() {
    let fixture = SyscallFixture::new();
    let fifo = fixture.root().join("open/HEAD");
    let alone = fixture.guard.session.moving.alone(|wait| wait()).unwrap();
    let open = [AT_FDCWD, 0x1000, (libc::O_CREAT | libc::O_WRONLY) as u64, 0o644];
    std::thread::scope(|scope| {
        let opened = scope.spawn(|| fixture.errno(&["open/HEAD"], libc::SYS_openat, &open));
        std::thread::sleep(std::time::Duration::from_millis(300));
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        drop(alone);
        // The open waits for a reader now, or soon will.
        std::thread::sleep(std::time::Duration::from_millis(300));
        let (made, is_made) = std::sync::mpsc::channel();
        let mkdir = scope.spawn({
            let fixture = &fixture;
            move || made.send(fixture.errno(&["open/new"], libc::SYS_mkdirat, &[AT_FDCWD, 0x1000, 0o755]))
        });
        let made = is_made.recv_timeout(std::time::Duration::from_secs(60));
        // Both calls can go on, whatever the test has found.
        let reader = fs::File::open(&fifo).unwrap();
        assert_eq!((made, opened.join().unwrap()), (Ok(0), 0));
        mkdir.join().unwrap().unwrap();
        drop(reader);
    });
}

#[test]
fn nothing_is_done_for_a_caller_that_has_ended() {
    let fixture = SyscallFixture::new();
    for lives in 0..2 {
        let mut kernel = Fake::new(fixture.root(), &["open/file"]);
        kernel.lives = Some(lives);
        let result = fixture.answer(&kernel, Fake::call(libc::SYS_unlinkat, &[AT_FDCWD, 0x1000]));
        assert_eq!(result.err(), Some(Errno::SRCH), "alive for {lives} checks");
    }
    assert!(fixture.root().join("open/file").exists());
}

#[test]
fn memory_that_ends_is_efault_and_a_path_that_does_not_enametoolong() {
    let fixture = SyscallFixture::new();
    let mut kernel = Fake::new(fixture.root(), &[]);
    kernel.memory.insert(0x1ff0, b"open/file/withou".to_vec());
    kernel.memory.insert(0x4000, vec![b'a'; 8192]);
    let unlink =
        |address| fixture.answer(&kernel, Fake::call(libc::SYS_unlinkat, &[AT_FDCWD, address])).err();
    assert_eq!(unlink(0x1ff0), Some(Errno::FAULT));
    assert_eq!(unlink(0), Some(Errno::FAULT));
    assert_eq!(unlink(u64::MAX), Some(Errno::FAULT));
    assert_eq!(unlink(0x4000), Some(Errno::NAMETOOLONG));
}

#[test]
fn a_path_may_lie_across_pages() {
    let fixture = SyscallFixture::new();
    let mut kernel = Fake::new(fixture.root(), &[]);
    kernel.memory.insert(0x1ffb, b"open/".to_vec());
    kernel.memory.insert(0x2000, b"file\0".to_vec());
    assert!(fixture.answer(&kernel, Fake::call(libc::SYS_unlinkat, &[AT_FDCWD, 0x1ffb])).is_ok());
    assert!(!fixture.root().join("open/file").exists());
}

#[test]
fn openat2_refuses_what_it_does_not_know() {
    let fixture = SyscallFixture::new();
    let how = |flags: u64, mode: u64, resolve: u64, size: u64| {
        let mut kernel = Fake::new(fixture.root(), &["open/file"]);
        let raw = [flags, mode, resolve, u64::from(flags == 1)]
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect::<Vec<_>>();
        kernel.memory.insert(0x9000, raw);
        fixture.answer(&kernel, Fake::call(libc::SYS_openat2, &[AT_FDCWD, 0x1000, 0x9000, size])).err()
    };
    assert_eq!(how(0, 0, 0, 24), None);
    assert_eq!(how(0, 0, 0, 32), None);
    assert_eq!(how(0, 0, 0, 16), Some(Errno::INVAL));
    assert_eq!(how(0, 0, 0, 8192), Some(Errno::TOOBIG));
    assert_eq!(how(1 << 40, 0, 0, 24), Some(Errno::INVAL));
    assert_eq!(how(0, 0o644, 0, 24), Some(Errno::INVAL));
    assert_eq!(how(0, 0, 1 << 30, 24), Some(Errno::INVAL));
    assert_eq!(how(1, 0, 0, 32), Some(Errno::TOOBIG));
    assert_eq!(how(1, 0, 0, 40), Some(Errno::TOOBIG));
    // Only 32 bytes are mapped.
    assert_eq!(how(0, 0, 0, 40), Some(Errno::FAULT));
    // The kernel would read the flags again, and there is no floor here to restrict what they become.
    assert_eq!(how(libc::O_PATH as u64, 0, 0, 24), Some(Errno::NOSYS));
}

#[test]
fn a_call_that_is_not_known_here_is_enosys() {
    let fixture = SyscallFixture::new();
    assert_eq!(fixture.errno(&[], 463, &[]), libc::ENOSYS);
    assert_eq!(fixture.errno(&[], -1, &[]), libc::ENOSYS);
}

#[test]
fn a_group_that_cannot_be_is_esrch() {
    let fixture = SyscallFixture::new();
    for number in [libc::SYS_kill, libc::SYS_rt_sigqueueinfo] {
        assert_eq!(fixture.errno(&[], number, &[i32::MIN as u64, 15]), libc::ESRCH);
        // A process group that does not exist.
        assert_eq!(fixture.errno(&[], number, &[i32::MIN as u64 + 1, 15]), libc::EPERM);
    }
}

#[test]
fn a_program_is_judged_before_anything_goes_on() {
    let fixture = SyscallFixture::new();
    let mut strings = vec!["open/file"];
    let kernel = Fake::new(fixture.root(), &strings);
    let result = fixture.answer(&kernel, Fake::call(libc::SYS_execve, &[0x1000, 0, 0]));
    // Not executable: the kernel's own errno.
    assert_eq!(result.err(), Some(Errno::ACCESS));
    strings[0] = "nowhere/at/all";
    let kernel = Fake::new(fixture.root(), &strings);
    let result = fixture.answer(&kernel, Fake::call(libc::SYS_execve, &[0x1000, 0, 0]));
    assert_eq!(result.err(), Some(Errno::NOENT));
    assert!(!kernel.followed.load(std::sync::atomic::Ordering::Relaxed));
}
