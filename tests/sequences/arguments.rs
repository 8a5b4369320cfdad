//! Generators for the arguments of calls.

use proptest::prelude::*;
use proptest::sample::select;

use super::calls::Arg;
use super::paths;

/// A generator for one argument.
pub type Args = BoxedStrategy<Arg>;

pub fn int(value: i64) -> Args {
    Just(Arg::Int(value)).boxed()
}

pub fn one_of(values: &[i32]) -> Args {
    select(values.to_vec()).prop_map(|value| Arg::Int(value.into())).boxed()
}

pub fn path() -> Args {
    prop_oneof![30 => paths::path().prop_map(Arg::Path), 1 => paths::path().prop_map(Arg::PathAtEnd)].boxed()
}

/// Chooses a descriptor: a standard one, those that a sequence opens first, and some that are rarely or never
/// open.
pub fn fd() -> Args {
    select(vec![0, 3, 3, 3, 3, 4, 4, 4, 5, 5, 6, 7, 8, 9, -1]).prop_map(Arg::Int).boxed()
}

/// Chooses where an *at call starts.
pub fn at() -> Args {
    prop_oneof![1 => int(libc::AT_FDCWD.into()), 1 => fd()].boxed()
}

pub fn mode() -> Args {
    select(vec![0o644, 0o600, 0o666, 0o755, 0o777, 0o700, 0o400, 0o555, 0o000, 0o4755, 0o2770, 0o1777])
        .prop_map(Arg::Mode)
        .boxed()
}

fn open_bits() -> impl Strategy<Value = i32> {
    let access = select(vec![libc::O_RDONLY, libc::O_RDONLY, libc::O_WRONLY, libc::O_RDWR, libc::O_RDWR, 3]);
    let bit =
        |bit: i32, often: f64| prop::bool::weighted(often).prop_map(move |set| if set { bit } else { 0 });
    let creating = (bit(libc::O_CREAT, 0.45), bit(libc::O_EXCL, 0.2), bit(libc::O_TRUNC, 0.2));
    let kind = (
        bit(libc::O_DIRECTORY, 0.12),
        bit(libc::O_NOFOLLOW, 0.12),
        bit(libc::O_PATH, 0.08),
        bit(libc::O_TMPFILE, 0.05),
    );
    let state = (
        bit(libc::O_APPEND, 0.1),
        bit(libc::O_CLOEXEC, 0.2),
        bit(libc::O_NONBLOCK, 0.2),
        bit(libc::O_SYNC, 0.03),
        bit(libc::O_NOATIME, 0.03),
        select(vec![
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            libc::O_DIRECT,
            libc::O_ASYNC,
            libc::O_NOCTTY,
            0x4000_0000,
        ]),
    );
    (access, creating, kind, state).prop_map(|(access, creating, kind, state)| {
        access
            | creating.0
            | creating.1
            | creating.2
            | kind.0
            | kind.1
            | kind.2
            | kind.3
            | state.0
            | state.1
            | state.2
            | state.3
            | state.4
            | state.5
    })
}

pub fn open_flags() -> Args {
    open_bits().prop_map(Arg::Flags).boxed()
}

pub fn how() -> Args {
    let resolve = select(vec![
        0,
        0,
        libc::RESOLVE_NO_SYMLINKS,
        libc::RESOLVE_NO_MAGICLINKS,
        libc::RESOLVE_BENEATH,
        libc::RESOLVE_BENEATH,
        libc::RESOLVE_IN_ROOT,
        libc::RESOLVE_IN_ROOT,
        libc::RESOLVE_NO_XDEV,
        libc::RESOLVE_BENEATH | libc::RESOLVE_NO_SYMLINKS,
        libc::RESOLVE_IN_ROOT | libc::RESOLVE_NO_MAGICLINKS,
    ]);
    let mode = select(vec![0o644_u32, 0o600, 0]);
    (open_bits(), mode, resolve)
        .prop_map(|(flags, mode, resolve)| {
            let creates = flags & (libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY)) != 0;
            Arg::How { flags, mode: if creates { mode } else { 0 }, resolve }
        })
        .boxed()
}

/// Chooses what to write: a few bytes.
pub fn data() -> Args {
    select(vec![(&b"one"[..], "\"one\""), (b"second", "\"second\"")])
        .prop_map(|(bytes, shown)| Arg::Bytes(bytes.to_vec(), shown))
        .boxed()
}

fn words(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

pub fn times() -> Args {
    let (now, omit) = (libc::UTIME_NOW, libc::UTIME_OMIT);
    prop_oneof![
        3 => Just(Arg::Bytes(words(&[100, 7, 200, 8]), "{100.7, 200.8}")),
        1 => Just(Arg::Bytes(words(&[0, omit, 300, 0]), "{omit, 300}")),
        1 => Just(Arg::Bytes(words(&[0, now, 0, now]), "{now, now}")),
        1 => Just(Arg::Bytes(words(&[0, now, 0, omit]), "{now, omit}")),
        1 => Just(Arg::Bytes(words(&[0, omit, 0, omit]), "{omit, omit}")),
        1 => Just(Arg::Bytes(words(&[0, 2_000_000_000, 0, 0]), "{bad}")),
        1 => Just(Arg::Null),
    ]
    .boxed()
}

/// Seconds and microseconds; utime(2) reads the first two numbers as its two times.
pub fn old_times() -> Args {
    prop_oneof![
        2 => Just(Arg::Bytes(words(&[100, 7, 200, 8]), "{100.7, 200.8}")),
        1 => Just(Arg::Bytes(words(&[100, 1_000_000, 0, 0]), "{bad}")),
        1 => Just(Arg::Null),
    ]
    .boxed()
}

pub fn attribute() -> Args {
    let names: Vec<&[u8]> = vec![
        b"user.a",
        b"user.a",
        b"user.b",
        b"system.posix_acl_access",
        b"system.posix_acl_default",
        b"trusted.a",
        b"nonsense",
        b"",
    ];
    select(names).prop_map(|name| Arg::Path(name.to_vec())).boxed()
}

/// Returns a POSIX ACL (linux/posix_acl_xattr.h) that gives owner, a named user, group, mask and others these
/// rights.
pub fn acl(owner: u16, user: u16, group: u16, mask: u16, other: u16) -> Vec<u8> {
    let mut raw = 2_u32.to_ne_bytes().to_vec();
    for (tag, rights, id) in [
        (0x01_u16, owner, u32::MAX),
        (0x02, user, 4242),
        (0x04, group, u32::MAX),
        (0x10, mask, u32::MAX),
        (0x20, other, u32::MAX),
    ] {
        raw.extend_from_slice(&tag.to_ne_bytes());
        raw.extend_from_slice(&rights.to_ne_bytes());
        raw.extend_from_slice(&id.to_ne_bytes());
    }
    raw
}

pub fn lock() -> Args {
    // struct flock: l_type, l_whence, l_start, l_len, l_pid
    let of = |kind: i32, shown| {
        let mut raw = (kind as i16).to_ne_bytes().to_vec();
        raw.extend_from_slice(&[0; 6]);
        raw.extend_from_slice(&words(&[0, 0, 0]));
        Just(Arg::Bytes(raw, shown))
    };
    prop_oneof![of(libc::F_RDLCK, "read lock"), of(libc::F_WRLCK, "write lock"), of(libc::F_UNLCK, "unlock")]
        .boxed()
}

pub fn limit() -> Args {
    let of = |limit: i64, shown| Just(Arg::Bytes(words(&[limit, 1024]), shown));
    prop_oneof![of(3, "{3}"), of(4, "{4}"), of(5, "{5}"), of(7, "{7}"), of(64, "{64}")].boxed()
}

pub fn buffer(size: usize) -> [Args; 2] {
    [Just(Arg::Out).boxed(), int(size as i64)]
}

/// Chooses a socket address: mostly the one name that sockets have, so that they meet.
pub fn address() -> Args {
    prop_oneof![3 => Just(b"s".to_vec()), 1 => paths::path()].prop_map(Arg::Address).boxed()
}
