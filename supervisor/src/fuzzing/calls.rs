//! Held calls of a caller that puts anything into registers and memory.
//!
//! What the broker reads there is read once more, one byte after the other, by rules that are written down here a second
//! time. Then the call is handled, under a policy that gives nothing but one directory of programs: whatever was asked,
//! nothing changes, and nothing else is handed over.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV6};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use guard_policy::{Document, Gateway, Host, OpenclawStore, Overrides, OwnStore, Policy};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType};
use tempfile::TempDir;

use super::input::Input;
use super::memory::{Memory, word};
use super::place;
use crate::answer::{Answer, Harmless, Outcome, give};
use crate::audit::Context;
use crate::broker::how::How;
use crate::broker::socket::address::{Address, Use};
use crate::broker::socket::read_address;
use crate::broker::{Request, handle};
use crate::caller::Caller;
use crate::exec::arguments::{LIMIT, Strings};
use crate::floor;
use crate::guard::Guard;
use crate::kernel::Response;
use crate::kernel::fake::Fake;
use crate::report::{Manner, Reporter};
use crate::resolve::{Resolver, real_path};
use crate::tree::Tree;

/// The calls, and which registers hold the addresses of paths.
const CALLS: [(i64, &[usize]); 79] = [
    (libc::SYS_openat, &[1]),
    (libc::SYS_open, &[0]),
    (libc::SYS_creat, &[0]),
    (libc::SYS_openat2, &[1]),
    (libc::SYS_execve, &[0]),
    (libc::SYS_execveat, &[1]),
    (libc::SYS_connect, &[]),
    (libc::SYS_bind, &[]),
    (libc::SYS_truncate, &[0]),
    (libc::SYS_mkdir, &[0]),
    (libc::SYS_mkdirat, &[1]),
    (libc::SYS_mknod, &[0]),
    (libc::SYS_mknodat, &[1]),
    (libc::SYS_symlink, &[0, 1]),
    (libc::SYS_symlinkat, &[0, 2]),
    (libc::SYS_unlink, &[0]),
    (libc::SYS_unlinkat, &[1]),
    (libc::SYS_rmdir, &[0]),
    (libc::SYS_rename, &[0, 1]),
    (libc::SYS_renameat, &[1, 3]),
    (libc::SYS_renameat2, &[1, 3]),
    (libc::SYS_link, &[0, 1]),
    (libc::SYS_linkat, &[1, 3]),
    (libc::SYS_chmod, &[0]),
    (libc::SYS_fchmodat, &[1]),
    (452, &[1]),
    (libc::SYS_fchmod, &[]),
    (libc::SYS_chown, &[0]),
    (libc::SYS_lchown, &[0]),
    (libc::SYS_fchownat, &[1]),
    (libc::SYS_fchown, &[]),
    (libc::SYS_utime, &[0]),
    (libc::SYS_utimes, &[0]),
    (libc::SYS_futimesat, &[]),
    (libc::SYS_utimensat, &[]),
    (libc::SYS_setxattr, &[0]),
    (libc::SYS_lsetxattr, &[0]),
    (libc::SYS_fsetxattr, &[]),
    (libc::SYS_removexattr, &[0]),
    (libc::SYS_lremovexattr, &[0]),
    (libc::SYS_fremovexattr, &[]),
    (libc::SYS_ioctl, &[]),
    (libc::SYS_fcntl, &[]),
    (libc::SYS_flock, &[]),
    (libc::SYS_mmap, &[]),
    (libc::SYS_mprotect, &[]),
    (libc::SYS_pkey_mprotect, &[]),
    (libc::SYS_kill, &[]),
    (libc::SYS_tkill, &[]),
    (libc::SYS_tgkill, &[]),
    (libc::SYS_rt_sigqueueinfo, &[]),
    (libc::SYS_rt_tgsigqueueinfo, &[]),
    (libc::SYS_ptrace, &[]),
    (libc::SYS_pidfd_send_signal, &[]),
    (libc::SYS_prlimit64, &[]),
    (libc::SYS_sched_setaffinity, &[]),
    (libc::SYS_sched_setscheduler, &[]),
    (libc::SYS_sched_setparam, &[]),
    (libc::SYS_sched_setattr, &[]),
    (libc::SYS_migrate_pages, &[]),
    (libc::SYS_move_pages, &[]),
    (libc::SYS_setpriority, &[]),
    (libc::SYS_ioprio_set, &[]),
    (463, &[]),
    (466, &[]),
    (-1, &[]),
    (i64::MAX, &[]),
    // The first again: most of what is read is theirs.
    (libc::SYS_openat, &[1]),
    (libc::SYS_openat2, &[1]),
    (libc::SYS_openat2, &[1]),
    (libc::SYS_execve, &[0]),
    (libc::SYS_execve, &[0]),
    (libc::SYS_execveat, &[1]),
    (libc::SYS_connect, &[]),
    (libc::SYS_bind, &[]),
    (libc::SYS_ioctl, &[]),
    (libc::SYS_fcntl, &[]),
    (libc::SYS_rename, &[0, 1]),
    (libc::SYS_setrlimit, &[]),
];

/// Memory, then calls.
pub fn calls(data: &[u8]) {
    let mut input = Input::new(data);
    let memory = Memory::of(&mut input);
    let ground = Ground::new();
    for _ in 0..3 {
        let (number, paths) = *input.pick(&CALLS);
        let mut args = [0; 6];
        args.iter_mut().for_each(|arg| *arg = word(&mut input));
        let choice = input.byte();
        let mut kernel = ground.kernel(&memory, choice);
        let call = Fake::call(number, &args);
        let caller = Caller::new(&kernel, call);
        let unread: Vec<Errno> = paths.iter().filter_map(|&index| path(&memory, args[index]).err()).collect();
        let mut wrong = None;
        // One that is gone is told so anywhere.
        if kernel.lives.is_none() {
            compare_paths(&caller, &memory, args[0]);
            compare_open(args[1] as i32, args[2] as i32);
            compare_address(&caller, &memory, args[1], args[2]);
            compare_strings(&caller, &memory, (args[1], args[2]));
            wrong = compare_how(&caller, &memory, args[2], args[3]).err();
        }
        let outcome = handle(&Request { guard: guard(), caller: &caller });
        check(number, &args, &outcome);
        assert!(unread.is_empty() || outcome.is_err() || is_continued(&outcome), "{number} {args:x?}");
        match (number, wrong) {
            // What is wrong with the structure is said before the path is looked at.
            (libc::SYS_openat2, Some(wrong)) => assert_eq!(outcome.as_ref().err(), Some(&wrong), "{args:x?}"),
            (libc::SYS_openat | libc::SYS_unlink | libc::SYS_mkdir, _)
                if !unread.is_empty() && kernel.lives.is_none() =>
            {
                let refused = outcome.as_ref().err().unwrap();
                assert!(unread.contains(refused) || *refused == Errno::INVAL, "{args:x?}: {refused}");
            }
            _ => {}
        }
        give(&Caller::new(&kernel, call), outcome);
        ground.check_handed_over(&mut kernel, number);
        if input.is_empty() {
            break;
        }
    }
    ground.check_unchanged();
}

/// A path as the kernel takes it: PATH_MAX bytes with its NUL.
fn path(memory: &Memory, address: u64) -> Result<Vec<u8>, Errno> {
    memory.string(address, 4096, Errno::NAMETOOLONG)
}

fn compare_paths(caller: &Caller<'_>, memory: &Memory, address: u64) {
    let read = caller.path(address).map(|path| path.as_bytes().to_vec());
    assert_eq!(read, path(memory, address), "the path at {address:#x}");
}

/// The flags of open(2), by fs/open.c: what is not known does not count, and neither does a mode without a file to be made.
fn compare_open(flags: i32, mode: i32) {
    let how = How::of_open(flags, mode);
    let known = flags as u32 & 0o37_777_703;
    let makes = known & 0o100 != 0 || known & 0o20_000_000 != 0;
    let mode = if makes { mode as u32 & 0o7777 } else { 0 };
    assert_eq!((flags_of(how), how.our_mode().as_raw_mode()), (known, mode), "open {flags:#o} {mode:#o}");
    assert_eq!(how.check().err(), (!is_valid(known, mode)).then_some(Errno::INVAL), "open {flags:#o}");
}

/// What was asked for, without what is added for our own descriptor.
fn flags_of(how: How) -> u32 {
    const OURS: i32 = libc::O_CLOEXEC | libc::O_NOCTTY;
    let ours = how.ours().bits() & !(OURS as u32);
    let kept = [libc::O_CLOEXEC, libc::O_NOCTTY].into_iter().filter(|&flag| how.has(flag));
    kept.fold(ours, |flags, flag| flags | flag as u32)
}

/// Which flags and modes go together (fs/open.c, build_open_flags).
fn is_valid(flags: u32, mode: u32) -> bool {
    let (creates, directory) = (flags & 0o100 != 0, flags & 0o200_000 != 0);
    match flags & 0o20_000_000 != 0 {
        true => directory && !creates && flags & 3 != 0 && mode <= 0o7777,
        false => !(creates && directory) && if creates { mode <= 0o7777 } else { mode == 0 },
    }
}

/// `struct open_how` (openat2(2)): three numbers, and what a later kernel may have behind them must be 0.
fn compare_how(caller: &Caller<'_>, memory: &Memory, address: u64, size: u64) -> Result<(), Errno> {
    let expected = || {
        if size < 24 {
            return Err(Errno::INVAL);
        }
        if size > 4096 {
            return Err(Errno::TOOBIG);
        }
        // What follows is looked at first, up to where it is not 0.
        for offset in 24..size {
            if memory.byte(address.checked_add(offset).ok_or(Errno::FAULT)?)? != 0 {
                return Err(Errno::TOOBIG);
            }
        }
        let word = |index: u64| memory.word(address.checked_add(8 * index).ok_or(Errno::FAULT)?);
        let (flags, mode, resolve) = (word(0)?, word(1)?, word(2)?);
        let both = 0x08 | 0x10;
        if flags & !0o37_777_703 != 0 || mode > 0o7777 || resolve > 0x3f || resolve & both == both {
            return Err(Errno::INVAL);
        }
        Ok((flags, mode, resolve))
    };
    let read = How::read(caller, address, size);
    let said = read
        .map(|how| (u64::from(flags_of(how)), u64::from(how.our_mode().as_raw_mode()), how.resolve().bits()));
    assert_eq!(said, expected(), "the open_how at {address:#x} of {size} bytes");
    if let Ok(how) = read
        && !how.has(libc::O_PATH)
    {
        let valid = is_valid(flags_of(how), how.our_mode().as_raw_mode());
        assert_eq!(how.check().is_ok(), valid, "{how:?}");
        return how.check();
    }
    read.map(drop)
}

fn compare_address(caller: &Caller<'_>, memory: &Memory, address: u64, length: u64) {
    let length = length as i32;
    let expected = match u64::try_from(length) {
        Ok(length @ 0..=128) => memory.bytes(address, length),
        _ => Err(Errno::INVAL),
    };
    let request = Request { guard: guard(), caller };
    let read = read_address(&request, address, length as u32 as u64);
    assert_eq!(read, expected, "the address at {address:#x} of {length} bytes");
    let Ok(raw) = read else { return };
    for (socket, to) in FAMILIES.into_iter().flat_map(|family| [(family, Use::Connect), (family, Use::Bind)])
    {
        compare_name(&raw, socket, to);
    }
}

const FAMILIES: [AddressFamily; 4] =
    [AddressFamily::UNIX, AddressFamily::INET, AddressFamily::INET6, AddressFamily::NETLINK];

/// What an address is to a socket: unix(7), ip(7), ipv6(7). A name in the file system ends at a NUL.
fn compare_name(raw: &[u8], socket: AddressFamily, to: Use) {
    let family = raw.get(..2).map(|family| i32::from(family[0]) + 256 * i32::from(family[1]));
    let name: Vec<u8> = raw.iter().skip(2).copied().take_while(|&byte| byte != 0).collect();
    let port = |raw: &[u8]| u16::from(raw[2]) * 256 + u16::from(raw[3]);
    let is_ipv4 = family == Some(2) || family == Some(0) && socket == AddressFamily::INET && to == Use::Bind;
    let expected = if socket == AddressFamily::UNIX {
        match (family == Some(1) && (3..=110).contains(&raw.len()), name.is_empty()) {
            (false, _) => Address::Other,
            (true, true) => Address::Abstract,
            (true, false) => Address::Path(&name),
        }
    } else if is_ipv4 && raw.len() >= 16 {
        let ip = Ipv4Addr::new(raw[4], raw[5], raw[6], raw[7]);
        Address::Internet((ip, port(raw)).into())
    } else if family == Some(10) && raw.len() >= 24 {
        let half = |at: usize| u16::from(raw[at]) * 256 + u16::from(raw[at + 1]);
        let [a, b, c, d, e, f, g, h] = [8, 10, 12, 14, 16, 18, 20, 22].map(half);
        let zone = raw
            .get(24..28)
            .map_or(0, |zone| zone.iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte)));
        let ip = Ipv6Addr::new(a, b, c, d, e, f, g, h);
        Address::Internet(SocketAddrV6::new(ip, port(raw), 0, zone).into())
    } else {
        Address::Other
    };
    assert_eq!(Address::of(raw, socket, to), expected, "{raw:x?}");
}

/// argv and environment: an array of pointers up to the first 0, each to a string of less than 128 KiB, all of them in
/// 6 MiB.
fn compare_strings(caller: &Caller<'_>, memory: &Memory, arrays: (u64, u64)) {
    let read = || {
        let mut left = LIMIT;
        let argv = Strings::read(caller, arrays.0, &mut left)?;
        Ok((argv.items, Strings::read(caller, arrays.1, &mut left)?.items))
    };
    let mut sum = 0;
    let mut array = |start: u64| {
        let mut items = Vec::new();
        for index in 0.. {
            let at = start.checked_add(8 * index).filter(|_| start != 0);
            let pointer = match at {
                None if start == 0 => 0,
                at => memory.word(at.ok_or(Errno::FAULT)?)?,
            };
            if pointer == 0 {
                break;
            }
            let text = memory.string(pointer, 32 * 4096, Errno::TOOBIG)?;
            sum += text.len() + 1 + 8;
            if sum > 6 * 1024 * 1024 {
                return Err(Errno::TOOBIG);
            }
            items.push(text);
        }
        Ok(items)
    };
    let expected = array(arrays.0).and_then(|argv| Ok((argv, array(arrays.1)?)));
    let read: Result<_, Errno> = read();
    assert!(read == expected, "{arrays:x?}: {:?} {:?}", read.err(), expected.err());
}

fn is_continued(outcome: &Outcome) -> bool {
    matches!(outcome, Ok(Answer::Continue(_)))
}

/// Only what is said to be harmless goes on in the kernel.
fn check(number: i64, args: &[u64; 6], outcome: &Outcome) {
    let Ok(Answer::Continue(why)) = outcome else { return };
    let may = match number {
        libc::SYS_mmap | libc::SYS_mprotect | libc::SYS_pkey_mprotect => *why == Harmless::Hardening,
        libc::SYS_fcntl => *why == Harmless::Registers || *why == Harmless::NoAccess,
        libc::SYS_execveat => args[4] & 0x10000 != 0 && *why == Harmless::NoAccess,
        libc::SYS_flock
        | libc::SYS_kill
        | libc::SYS_tkill
        | libc::SYS_tgkill
        | libc::SYS_rt_sigqueueinfo
        | libc::SYS_rt_tgsigqueueinfo
        | libc::SYS_prlimit64
        | libc::SYS_setrlimit
        | libc::SYS_sched_setaffinity
        | libc::SYS_sched_setscheduler
        | libc::SYS_sched_setparam
        | libc::SYS_sched_setattr
        | libc::SYS_migrate_pages
        | libc::SYS_move_pages
        | libc::SYS_setpriority
        | libc::SYS_ioprio_set => *why == Harmless::Registers,
        _ => false,
    };
    assert!(may, "{number} {args:x?} goes on: {why:?}");
}

/// A directory with `exec/`, whose programs may be read and started, and what may not be touched at all.
struct Ground {
    directory: TempDir,
    socket: OwnedFd,
    before: BTreeMap<PathBuf, Vec<u64>>,
}

/// What all grounds share: the policy goes by their names.
fn guard() -> &'static Guard {
    static GUARD: OnceLock<Guard> = OnceLock::new();
    GUARD.get_or_init(|| {
        let text = format!(
            r#"{{"version": 1, "exec": {{"security": "full", "ask": "off"}}, "permissions": {{"base": false,
                "filesystem": {{"rules": {{"{}/guard-calls-*/exec/**": "r-x"}}, "default": "---"}}}}}}"#,
            place().display()
        );
        let host = Host {
            home: b"/nowhere",
            cwd: b"/",
            path_dirs: Vec::new(),
            always_denied: Vec::new(),
            temp_dirs: Vec::new(),
            openclaw: OpenclawStore::Absent,
            own: OwnStore::Absent,
            gateway: Gateway::default(),
            realpath: &|_| None,
        };
        let document = Document::parse("fuzz", &text).unwrap();
        let policy = Policy::compile(&document, "main", &host, &Overrides::default()).unwrap();
        // Nobody is a member of this tree.
        let tree = Tree { reaper: i32::MAX, supervisor: 1, front: 1, leader: None };
        let manner = Manner { lines: false, observe: false, allowed: false };
        let context = Context { session: String::new(), agent: String::new() };
        let reporter = Reporter::start(manner, None, context, tree).unwrap();
        let resolver = Resolver::new().unwrap();
        Guard::new(policy, resolver, tree, reporter, false, floor::Plan::default(), "")
    })
}

impl Ground {
    fn new() -> Ground {
        let directory = tempfile::Builder::new().prefix("guard-calls-").tempdir_in(place()).unwrap();
        let root = directory.path();
        fs::create_dir(root.join("exec")).unwrap();
        fs::create_dir(root.join("shut")).unwrap();
        fs::write(root.join("shut/file"), "secret").unwrap();
        fs::write(root.join("exec/s"), "#!/nowhere/sh -x\n").unwrap();
        fs::write(root.join("exec/t"), "#! s \n").unwrap();
        fs::set_permissions(root.join("exec/s"), Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(root.join("exec/t"), Permissions::from_mode(0o755)).unwrap();
        symlink("shut/file", root.join("l")).unwrap();
        symlink("../l", root.join("exec/l")).unwrap();
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        let before = listed(root);
        Ground { directory, socket, before }
    }

    fn kernel(&self, memory: &Memory, choice: u8) -> Fake {
        let root = self.directory.path();
        let mut kernel = Fake::new(root, &[]);
        memory.give(&mut kernel, choice & 1 != 0);
        if choice & 2 != 0 {
            kernel.directories.insert(libc::AT_FDCWD, root.join("exec"));
        }
        kernel.directories.insert(3, root.join("shut"));
        kernel.directories.insert(4, root.join("shut/file"));
        kernel.directories.insert(5, root.join("exec/s"));
        kernel.directories.insert(6, "/dev/null".into());
        kernel.descriptors.insert(7, self.socket.try_clone().unwrap());
        if choice & 0xc == 0xc {
            kernel.lives = Some(usize::from(choice >> 4));
        }
        kernel
    }

    /// A file of `exec/`, or what has no path and is the caller's own; and a program only of there.
    fn check_handed_over(&self, kernel: &mut Fake, number: i64) {
        let programs = self.directory.path().join("exec");
        for (file, _) in kernel.installed.lock().unwrap().drain(..) {
            let path = real_path(file.as_fd()).unwrap();
            let path = Path::new(std::str::from_utf8(&path).unwrap());
            assert!(path.starts_with(&programs) || !path.starts_with("/"), "{number}: {}", path.display());
        }
        assert!(!kernel.followed.load(Ordering::Relaxed), "there is no program whose interpreter is there");
        let answers = kernel.answers.lock().unwrap();
        assert!(!answers.contains(&Response::Interrupted), "no call was blocked");
    }

    fn check_unchanged(&self) {
        assert_eq!(listed(self.directory.path()), self.before);
    }
}

/// All that could be changed of what is there, but for times.
fn listed(root: &Path) -> BTreeMap<PathBuf, Vec<u64>> {
    let mut all = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(path) = pending.pop() {
        let stat = fs::symlink_metadata(&path).unwrap();
        if stat.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let owner = u64::from(stat.uid()) << 32 | u64::from(stat.gid());
        let when = stat.mtime() as u64;
        all.insert(path, vec![stat.ino(), u64::from(stat.mode()), stat.nlink(), owner, stat.size(), when]);
    }
    all
}
