//! The calls that sequences consist of, each with its weight.

use guard_shim::table::{self, Architecture};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

use super::arguments::*;
use super::calls::{Actor, Arg, Call, ENTRIES, NAME, RECEIVE, SEND};
use super::paths;

/// `__NR_fchmodat2`, which the libc crate does not name yet.
const FCHMODAT2: i64 = 452;

/// One sequence.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// Its calls, in the order in which they are made.
    pub calls: Vec<Call>,
    /// Whether there are FIFOs: then no open waits for their other end.
    pub fifos: bool,
}

/// Generates a sequence.
pub fn sequence() -> impl Strategy<Value = Sequence> {
    let actors = select(vec![
        vec![Actor::First],
        vec![Actor::First, Actor::First, Actor::Thread],
        vec![Actor::First, Actor::Other],
        vec![Actor::First, Actor::Other],
    ]);
    (actors, any::<bool>(), vec((call(), any::<prop::sample::Index>()), 1..30)).prop_map(
        |(actors, fifos, calls)| {
            let mut calls: Vec<Call> =
                calls.into_iter().map(|(call, who)| Call { actor: *who.get(&actors), ..call }).collect();
            if fifos {
                calls.retain(|call| !call.waits());
                calls.iter_mut().for_each(Call::never_block);
            } else {
                calls.retain(|call| !call.makes_fifo());
            }
            Sequence { calls, fifos }
        },
    )
}

fn made(name: &'static str, number: i64, args: Vec<Arg>) -> Call {
    Call { actor: Actor::First, name, number, args }
}

/// Generates a call whose arguments are chosen independently.
fn of(weight: u32, name: &'static str, number: i64, args: Vec<Args>) -> (u32, BoxedStrategy<Call>) {
    (weight, args.prop_map(move |args| made(name, number, args)).boxed())
}

/// Generates a call that newer architectures do not have. There it has no weight.
fn older(weight: u32, name: &'static str, args: Vec<Args>) -> (u32, BoxedStrategy<Call>) {
    match table::named(Architecture::THIS, name) {
        Some(row) => of(weight, name, row.number.into(), args),
        None => of(0, name, -1, args),
    }
}

/// Generates a call with the name of a file's ACL or a directory's default ACL, the ACL, its size, and no
/// flags.
fn acl_call(name: &'static str, number: i64, first: Args) -> BoxedStrategy<Call> {
    let names: Vec<&[u8]> =
        vec![b"system.posix_acl_default", b"system.posix_acl_default", b"system.posix_acl_access"];
    let lists = vec![
        ("{rwx user:rwx r-x mask:rwx ---}", acl(7, 7, 5, 7, 0)),
        ("{rw- user:r-- --- mask:r-- r--}", acl(6, 4, 0, 4, 4)),
    ];
    (first, select(names), select(lists))
        .prop_map(move |(first, attribute, (shown, list))| {
            let size = Arg::Int(list.len() as i64);
            made(
                name,
                number,
                vec![first, Arg::Path(attribute.to_vec()), Arg::Bytes(list, shown), size, Arg::Int(0)],
            )
        })
        .boxed()
}

fn call() -> impl Strategy<Value = Call> {
    let mut calls = opens();
    calls.extend(descriptors());
    calls.extend(entries());
    calls.extend(attributes());
    calls.extend(questions());
    calls.extend(processes());
    calls.retain(|(weight, _)| *weight > 0);
    Union::new_weighted(calls)
}

fn opens() -> Vec<(u32, BoxedStrategy<Call>)> {
    vec![
        of(40, "openat", libc::SYS_openat, vec![at(), path(), open_flags(), mode()]),
        older(25, "open", vec![path(), open_flags(), mode()]),
        of(16, "openat2", libc::SYS_openat2, vec![at(), path(), how(), one_of(&[24, 24, 24, 24, 23, 32])]),
        older(4, "creat", vec![path(), mode()]),
        of(6, "truncate", libc::SYS_truncate, vec![path(), one_of(&[0, 2, 9, -1])]),
    ]
}

fn descriptors() -> Vec<(u32, BoxedStrategy<Call>)> {
    let [out, size] = buffer(16);
    let [out2, size2] = buffer(8);
    vec![
        of(14, "close", libc::SYS_close, vec![fd()]),
        of(4, "dup", libc::SYS_dup, vec![fd()]),
        older(3, "dup2", vec![fd(), fd()]),
        of(2, "dup3", libc::SYS_dup3, vec![fd(), fd(), one_of(&[0, libc::O_CLOEXEC, 1])]),
        of(2, "F_DUPFD", libc::SYS_fcntl, vec![fd(), int(libc::F_DUPFD.into()), one_of(&[0, 3, 6, -1])]),
        of(
            2,
            "F_DUPFD_CLOEXEC",
            libc::SYS_fcntl,
            vec![fd(), int(libc::F_DUPFD_CLOEXEC.into()), one_of(&[0, 4, 9])],
        ),
        of(2, "pwrite", libc::SYS_pwrite64, vec![fd(), data(), int(3), one_of(&[0, 5, -1])]),
        of(2, "fallocate", libc::SYS_fallocate, vec![fd(), int(0), int(0), one_of(&[0, 5, 40])]),
        of(1, "close_range", libc::SYS_close_range, vec![one_of(&[4, 6]), one_of(&[5, 9]), one_of(&[0, 4])]),
        of(3, "F_GETFD", libc::SYS_fcntl, vec![fd(), int(libc::F_GETFD.into())]),
        of(6, "F_GETFL", libc::SYS_fcntl, vec![fd(), int(libc::F_GETFL.into())]),
        of(
            2,
            "F_SETFL",
            libc::SYS_fcntl,
            vec![
                fd(),
                int(libc::F_SETFL.into()),
                one_of(&[libc::O_NONBLOCK, libc::O_NONBLOCK | libc::O_APPEND]),
            ],
        ),
        of(4, "F_SETLK", libc::SYS_fcntl, vec![fd(), int(libc::F_SETLK.into()), lock()]),
        of(
            4,
            "flock",
            libc::SYS_flock,
            vec![
                fd(),
                one_of(&[libc::LOCK_SH | libc::LOCK_NB, libc::LOCK_EX | libc::LOCK_NB, libc::LOCK_UN]),
            ],
        ),
        of(8, "read", libc::SYS_read, vec![fd(), out, size]),
        of(10, "write", libc::SYS_write, vec![fd(), data(), int(3)]),
        of(3, "pread", libc::SYS_pread64, vec![fd(), out2, size2, one_of(&[0, 2, -1])]),
        of(
            4,
            "lseek",
            libc::SYS_lseek,
            vec![fd(), one_of(&[0, 5]), one_of(&[libc::SEEK_SET, libc::SEEK_CUR, libc::SEEK_END])],
        ),
        of(5, "ftruncate", libc::SYS_ftruncate, vec![fd(), one_of(&[0, 2, 9, -1])]),
        of(6, "entries", ENTRIES, vec![fd()]),
        of(
            1,
            "pipe2",
            libc::SYS_pipe2,
            vec![Just(Arg::Out).boxed(), int((libc::O_NONBLOCK | libc::O_CLOEXEC).into())],
        ),
        of(2, "send descriptor", SEND, vec![fd()]),
        of(2, "receive descriptor", RECEIVE, vec![]),
        of(
            5,
            "socket",
            libc::SYS_socket,
            vec![int(libc::AF_UNIX.into()), int((libc::SOCK_STREAM | libc::SOCK_NONBLOCK).into()), int(0)],
        ),
        of(5, "bind", libc::SYS_bind, vec![fd(), address()]),
        of(4, "listen", libc::SYS_listen, vec![fd(), int(2)]),
        of(5, "connect", libc::SYS_connect, vec![fd(), address()]),
        of(
            2,
            "accept4",
            libc::SYS_accept4,
            vec![fd(), Just(Arg::Null).boxed(), Just(Arg::Null).boxed(), int(libc::SOCK_NONBLOCK.into())],
        ),
        of(3, "getsockname", NAME, vec![fd()]),
    ]
}

fn entries() -> Vec<(u32, BoxedStrategy<Call>)> {
    let kinds = select(vec![
        libc::S_IFIFO,
        libc::S_IFIFO,
        libc::S_IFREG,
        0,
        libc::S_IFSOCK,
        libc::S_IFDIR,
        libc::S_IFCHR,
    ])
    .prop_map(|kind| Arg::Mode(kind | 0o664))
    .boxed();
    let removal = || one_of(&[0, 0, libc::AT_REMOVEDIR, libc::AT_REMOVEDIR, 1]);
    let renaming = || one_of(&[0, libc::RENAME_NOREPLACE as i32, libc::RENAME_EXCHANGE as i32, 3, 4, 8]);
    let linking =
        || one_of(&[0, 0, libc::AT_SYMLINK_FOLLOW, libc::AT_SYMLINK_FOLLOW, libc::AT_EMPTY_PATH, 1]);
    let text = || paths::text().prop_map(Arg::Path).boxed();
    vec![
        older(8, "mkdir", vec![path(), mode()]),
        of(5, "mkdirat", libc::SYS_mkdirat, vec![at(), path(), mode()]),
        older(3, "mknod", vec![path(), kinds.clone(), int(0)]),
        of(2, "mknodat", libc::SYS_mknodat, vec![at(), path(), kinds, int(0)]),
        older(6, "rmdir", vec![path()]),
        older(10, "unlink", vec![path()]),
        of(7, "unlinkat", libc::SYS_unlinkat, vec![at(), path(), removal()]),
        older(12, "rename", vec![path(), path()]),
        of(4, "renameat", libc::SYS_renameat, vec![at(), path(), at(), path()]),
        of(8, "renameat2", libc::SYS_renameat2, vec![at(), path(), at(), path(), renaming()]),
        older(6, "link", vec![path(), path()]),
        of(7, "linkat", libc::SYS_linkat, vec![at(), path(), at(), path(), linking()]),
        older(8, "symlink", vec![text(), path()]),
        of(3, "symlinkat", libc::SYS_symlinkat, vec![text(), at(), path()]),
    ]
}

fn attributes() -> Vec<(u32, BoxedStrategy<Call>)> {
    let flags = || one_of(&[0, 0, libc::AT_SYMLINK_NOFOLLOW, libc::AT_EMPTY_PATH, 1]);
    let me = || {
        // No change, the ids of the user who runs the tests, or a group that is not theirs.
        let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        (
            select(vec![-1, i64::from(user)]).prop_map(Arg::Int).boxed(),
            select(vec![-1, i64::from(group), 4242]).prop_map(Arg::Int).boxed(),
        )
    };
    let setting = || one_of(&[0, 0, 0, libc::XATTR_CREATE, libc::XATTR_REPLACE, 4]);
    let (path_value, path_size) = (data(), one_of(&[0, 3]));
    let [out, size] = buffer(32);
    let [names, names_size] = buffer(200);
    vec![
        older(6, "chmod", vec![path(), mode()]),
        of(4, "fchmod", libc::SYS_fchmod, vec![fd(), mode()]),
        of(3, "fchmodat", libc::SYS_fchmodat, vec![at(), path(), mode()]),
        of(3, "fchmodat2", FCHMODAT2, vec![at(), path(), mode(), flags()]),
        older(2, "chown", vec![path(), me().0, me().1]),
        older(2, "lchown", vec![path(), me().0, me().1]),
        of(2, "fchown", libc::SYS_fchown, vec![fd(), me().0, me().1]),
        of(2, "fchownat", libc::SYS_fchownat, vec![at(), path(), me().0, me().1, flags()]),
        of(5, "utimensat", libc::SYS_utimensat, vec![at(), path(), times(), flags()]),
        older(2, "utimes", vec![path(), old_times()]),
        older(2, "futimesat", vec![at(), path(), old_times()]),
        older(1, "utime", vec![path(), old_times()]),
        of(1, "listxattr", libc::SYS_listxattr, vec![path(), names, names_size]),
        of(3, "futimens", libc::SYS_utimensat, vec![fd(), Just(Arg::Null).boxed(), times(), int(0)]),
        of(4, "setxattr", libc::SYS_setxattr, vec![path(), attribute(), path_value, path_size, setting()]),
        of(2, "lsetxattr", libc::SYS_lsetxattr, vec![path(), attribute(), data(), int(3), setting()]),
        of(3, "fsetxattr", libc::SYS_fsetxattr, vec![fd(), attribute(), data(), int(3), setting()]),
        (2, acl_call("setxattr", libc::SYS_setxattr, path())),
        (1, acl_call("fsetxattr", libc::SYS_fsetxattr, fd())),
        of(4, "getxattr", libc::SYS_getxattr, vec![path(), attribute(), out, size]),
        of(2, "removexattr", libc::SYS_removexattr, vec![path(), attribute()]),
        of(1, "lremovexattr", libc::SYS_lremovexattr, vec![path(), attribute()]),
        of(1, "fremovexattr", libc::SYS_fremovexattr, vec![fd(), attribute()]),
    ]
}

fn questions() -> Vec<(u32, BoxedStrategy<Call>)> {
    let access = || one_of(&[libc::F_OK, libc::R_OK, libc::W_OK, libc::X_OK, 7]);
    let stat = || Just(Arg::Stat).boxed();
    let follow = || one_of(&[0, libc::AT_SYMLINK_NOFOLLOW, libc::AT_EMPTY_PATH]);
    let [out, size] = buffer(200);
    let [out2, size2] = buffer(200);
    vec![
        older(8, "stat", vec![path(), stat()]),
        older(5, "lstat", vec![path(), stat()]),
        of(8, "fstat", libc::SYS_fstat, vec![fd(), stat()]),
        of(3, "fstatat", libc::SYS_newfstatat, vec![at(), path(), stat(), follow()]),
        of(
            3,
            "statx",
            libc::SYS_statx,
            vec![at(), path(), follow(), int(libc::STATX_BASIC_STATS.into()), Just(Arg::Statx).boxed()],
        ),
        older(4, "access", vec![path(), access()]),
        of(2, "faccessat", libc::SYS_faccessat, vec![at(), path(), access()]),
        of(2, "faccessat2", libc::SYS_faccessat2, vec![at(), path(), access(), follow()]),
        older(5, "readlink", vec![path(), out, size]),
        of(2, "readlinkat", libc::SYS_readlinkat, vec![at(), path(), out2, size2]),
    ]
}

fn processes() -> Vec<(u32, BoxedStrategy<Call>)> {
    let [out, size] = buffer(400);
    vec![
        of(5, "umask", libc::SYS_umask, vec![one_of(&[0, 0o022, 0o077, 0o027, 0o777])]),
        of(9, "chdir", libc::SYS_chdir, vec![path()]),
        of(4, "fchdir", libc::SYS_fchdir, vec![fd()]),
        of(4, "getcwd", libc::SYS_getcwd, vec![out, size]),
        of(4, "setrlimit NOFILE", libc::SYS_setrlimit, vec![int(libc::RLIMIT_NOFILE.into()), limit()]),
    ]
}
