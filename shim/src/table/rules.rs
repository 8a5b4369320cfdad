//! The actions that the rows of the table refer to.

use libc::{EACCES, EAFNOSUPPORT, EBUSY, EINVAL, EPROTONOSUPPORT, ESOCKTNOSUPPORT, c_uint};

use super::requests::{IOCTL_ALLOWED, IOCTL_REFUSED};
use super::{Action, Is, RowAction, Rule, Switch, Test};

pub(super) const ALLOW: RowAction = RowAction::Always(Action::Allow);
pub(super) const NOTIFY: RowAction = RowAction::Always(Action::Notify);
pub(super) const EPERM: RowAction = RowAction::Always(Action::Errno(libc::EPERM));
/// Calls that the kernel has removed, or that programs replace by older ones if they are missing.
pub(super) const ENOSYS: RowAction = RowAction::Always(Action::Errno(libc::ENOSYS));
/// The error of a kernel that has Landlock built in but switched off.
pub(super) const EOPNOTSUPP: RowAction = RowAction::Always(Action::Errno(libc::EOPNOTSUPP));

const REFUSE: Action = Action::Errno(libc::EPERM);

const fn rule(when: &'static [Test], then: Action) -> Rule {
    Rule { when, then }
}

const fn one_of(argument: u8, values: &'static [u32]) -> Test {
    Test { argument, is: Is::OneOf(values) }
}

const fn masked(argument: u8, mask: u32, value: u32) -> Test {
    Test { argument, is: Is::Masked { mask, value } }
}

const fn any_of(argument: u8, bits: u32) -> Test {
    Test { argument, is: Is::AnyOf(bits) }
}

const fn none_of(argument: u8, bits: u32) -> Test {
    Test { argument, is: Is::NoneOf(bits) }
}

// Files. An O_PATH descriptor gives no access to data, and each use of it is judged again.

const O_PATH: u32 = libc::O_PATH as u32;
/// `O_ACCMODE` as the kernel defines it (asm-generic/fcntl.h); musl's has the bit of `O_PATH` as well.
const ACCESS_MODE: u32 = (libc::O_WRONLY | libc::O_RDWR) as u32;
/// The access mode for neither reading nor writing. Landlock grants it on any file, and opening a device has effects.
const NEITHER: u32 = 3;
/// The flags that write. `O_RDONLY` has no bit of its own, and `O_TMPFILE` includes the bit of `O_DIRECTORY`.
const WRITES: u32 =
    ACCESS_MODE | libc::O_CREAT as u32 | libc::O_TRUNC as u32 | (libc::O_TMPFILE & !libc::O_DIRECTORY) as u32;

/// The flags that make a file (`O_TMPFILE` without the bit of `O_DIRECTORY`).
const CREATES: u32 = libc::O_CREAT as u32 | (libc::O_TMPFILE & !libc::O_DIRECTORY) as u32;
/// The bits of a mode that the supervisor takes off: no Landlock rule can.
const SET_ID: u32 = libc::S_ISUID | libc::S_ISGID;

/// The action for an open call with its flags and its mode in these arguments.
macro_rules! open_by {
    ($flags:literal, $mode:literal) => {
        RowAction::Option(
            Switch::KernelReads,
            &RowAction::Option(
                Switch::KernelWrites,
                &RowAction::First(
                    &[
                        rule(&[any_of($flags, O_PATH)], Action::Allow),
                        rule(&[any_of($flags, CREATES), any_of($mode, SET_ID)], Action::Notify),
                        rule(&[masked($flags, ACCESS_MODE, NEITHER)], Action::Notify),
                    ],
                    Action::Allow,
                ),
                &RowAction::First(
                    &[
                        rule(&[any_of($flags, O_PATH)], Action::Allow),
                        rule(&[none_of($flags, WRITES)], Action::Allow),
                    ],
                    Action::Notify,
                ),
            ),
            &RowAction::Option(
                Switch::KernelWrites,
                &RowAction::First(
                    &[
                        rule(&[any_of($flags, O_PATH)], Action::Allow),
                        rule(&[any_of($flags, CREATES), any_of($mode, SET_ID)], Action::Notify),
                        rule(&[masked($flags, ACCESS_MODE, libc::O_WRONLY as u32)], Action::Allow),
                    ],
                    Action::Notify,
                ),
                &RowAction::First(&[rule(&[any_of($flags, O_PATH)], Action::Allow)], Action::Notify),
            ),
        )
    };
}

pub(super) const OPEN: RowAction = open_by!(1, 2);
pub(super) const OPENAT: RowAction = open_by!(2, 3);
/// Calls that only write to files or remove names. The supervisor handles calls that create directories or special
/// files, rename or link, because Landlock does not check all that the policy does.
pub(super) const WRITE: RowAction = RowAction::Option(Switch::KernelWrites, &ALLOW, &NOTIFY);
/// creat(2) is judged like the open call that it stands for. Its mode is the second argument.
pub(super) const CREAT: RowAction = RowAction::Option(
    Switch::KernelWrites,
    &RowAction::First(&[rule(&[any_of(1, SET_ID)], Action::Notify)], Action::Allow),
    &NOTIFY,
);

// Memory. Mapping a file with PROT_EXEC loads a library, which is judged.

const PROT_EXEC: u32 = libc::PROT_EXEC as u32;
const MAP_ANONYMOUS: u32 = libc::MAP_ANONYMOUS as u32;
const SHM_EXEC: u32 = libc::SHM_EXEC as u32;
pub(super) const MMAP: RowAction = RowAction::First(
    &[rule(&[any_of(2, PROT_EXEC), none_of(3, MAP_ANONYMOUS)], Action::Notify)],
    Action::Allow,
);
pub(super) const MPROTECT: RowAction =
    RowAction::First(&[rule(&[any_of(2, PROT_EXEC)], Action::Notify)], Action::Allow);
pub(super) const SHMAT: RowAction = RowAction::First(&[rule(&[any_of(2, SHM_EXEC)], REFUSE)], Action::Allow);

// Descriptors. The supervisor judges an unknown request by the file behind the descriptor.

pub(super) const IOCTL: RowAction = RowAction::First(
    &[rule(&[one_of(1, IOCTL_ALLOWED)], Action::Allow), rule(&[one_of(1, IOCTL_REFUSED)], REFUSE)],
    Action::Notify,
);

/// The owner of a descriptor receives signals from it, so setting an owner means sending signals.
const FCNTL_OWNER: &[u32] = &[8 /* F_SETOWN */, 15 /* F_SETOWN_EX */];
/// Locks of the open file description. The supervisor may still hold a copy of a descriptor that it has handed over.
const FCNTL_LOCK: &[u32] =
    &[37 /* F_OFD_SETLK */, 38 /* F_OFD_SETLKW */, 1024 /* F_SETLEASE */];
/// A terminal sends this signal to its foreground group, which may be the one of the guard's leader. A signal that
/// cannot be blocked is never needed for I/O.
const FCNTL_SIGNAL: &[u32] = &[10 /* F_SETSIG */];
const UNBLOCKABLE: &[u32] = &[libc::SIGKILL as u32, libc::SIGSTOP as u32];
pub(super) const FCNTL: RowAction = RowAction::First(
    &[
        rule(&[one_of(1, FCNTL_OWNER)], Action::Notify),
        rule(&[one_of(1, FCNTL_LOCK)], Action::Notify),
        rule(&[one_of(1, FCNTL_SIGNAL), one_of(2, UNBLOCKABLE)], Action::Errno(EINVAL)),
    ],
    Action::Allow,
);
/// A lock of the open file description, as with fcntl. Unlocking never has to wait.
pub(super) const FLOCK: RowAction =
    RowAction::First(&[rule(&[one_of(1, &[libc::LOCK_UN as u32])], Action::Allow)], Action::Notify);

// Processes.

const NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;
/// Only for `unshare`: in `clone` this bit is part of the exit signal.
const CLONE_NEWTIME: u32 = 0x80;
const CLONE_FS: u32 = libc::CLONE_FS as u32;
const CLONE_THREAD: u32 = libc::CLONE_THREAD as u32;

/// `CLONE_PARENT` would make the supervisor the parent of a process it does not know, and `CLONE_PTRACE` its tracer.
/// `CLONE_FS` between processes would let one change the current directory of another during a judged call.
pub(super) const CLONE: RowAction = RowAction::First(
    &[
        rule(&[any_of(0, NAMESPACES)], REFUSE),
        rule(&[any_of(0, libc::CLONE_PARENT as u32)], Action::Errno(EINVAL)),
        rule(&[any_of(0, libc::CLONE_PTRACE as u32)], REFUSE),
        rule(&[masked(0, CLONE_FS | CLONE_THREAD, CLONE_FS)], REFUSE),
    ],
    Action::Allow,
);
pub(super) const UNSHARE: RowAction =
    RowAction::First(&[rule(&[any_of(0, NAMESPACES | CLONE_NEWTIME)], REFUSE)], Action::Allow);

const PR_SET_PTRACER: u32 = libc::PR_SET_PTRACER as u32;
const PR_REFUSED: &[u32] = &[libc::PR_SET_MM as u32, libc::PR_SET_SECUREBITS as u32];

/// The supervisor reads the memory of the tree: it could not judge a process that hides from it.
pub(super) const PRCTL: RowAction = RowAction::First(
    &[
        rule(&[one_of(0, &[libc::PR_SET_DUMPABLE as u32]), one_of(1, &[0])], Action::Answer0),
        rule(&[one_of(0, &[PR_SET_PTRACER])], Action::Answer0),
        rule(&[one_of(0, PR_REFUSED)], REFUSE),
    ],
    Action::Allow,
);

const NEW_LISTENER: u32 = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER as u32;

/// EBUSY is the kernel's error if there is already a listener, as there is here.
pub(super) const SECCOMP: RowAction = RowAction::First(
    &[rule(&[one_of(0, &[libc::SECCOMP_SET_MODE_FILTER]), any_of(1, NEW_LISTENER)], Action::Errno(EBUSY))],
    Action::Allow,
);

/// The low byte of personality(2) (linux/personality.h).
const PER_LINUX32: libc::c_int = 8;
const UNAME26: libc::c_int = 0x0002_0000;
/// The bits of personality(2) that change only what a process sees of itself: the machine's name (`PER_LINUX32`,
/// `UNAME26`), where its memory is, and details of old calls. `READ_IMPLIES_EXEC` is none of them: it would map files as
/// code without PROT_EXEC, the flag for which mmap is held. Nor is `MMAP_PAGE_ZERO`.
const HARMLESS_PERSONALITY: u32 = (PER_LINUX32
    | UNAME26
    | libc::ADDR_NO_RANDOMIZE
    | libc::ADDR_COMPAT_LAYOUT
    | libc::ADDR_LIMIT_32BIT
    | libc::ADDR_LIMIT_3GB
    | libc::SHORT_INODE
    | libc::WHOLE_SECONDS
    | libc::STICKY_TIMEOUTS) as u32;
const PERSONALITY_QUERY: &[u32] = &[0xffff_ffff];
pub(super) const PERSONALITY: RowAction = RowAction::First(
    &[
        rule(&[masked(0, !HARMLESS_PERSONALITY, 0)], Action::Allow),
        rule(&[one_of(0, PERSONALITY_QUERY)], Action::Allow),
    ],
    REFUSE,
);

const TRACEME: &[u32] = &[libc::PTRACE_TRACEME as c_uint];
/// `PTRACE_TRACEME` makes the parent the tracer, and the first process's parent is the guard.
pub(super) const PTRACE: RowAction = RowAction::Option(
    Switch::AllowPtrace,
    &RowAction::First(&[rule(&[one_of(0, TRACEME)], Action::Notify)], Action::Allow),
    &NOTIFY,
);
const SETREGSET: &[u32] = &[libc::PTRACE_SETREGSET as c_uint];
/// The type of the set that has the registers of system calls (linux/elf.h).
const NT_PRSTATUS: &[u32] = &[libc::NT_PRSTATUS as u32];
/// On aarch64, seccomp sees the first argument as it was at the call's entry, and the kernel takes it from a register that a
/// tracer may change in between (arch/arm64/kernel/ptrace.c, syscall_trace_enter). Then no rule on it would hold.
pub(super) const PTRACE_OF_AARCH64: RowAction = RowAction::Option(
    Switch::AllowPtrace,
    &RowAction::First(
        &[
            rule(&[one_of(0, TRACEME)], Action::Notify),
            rule(&[one_of(0, SETREGSET), one_of(2, NT_PRSTATUS)], REFUSE),
        ],
        Action::Allow,
    ),
    &NOTIFY,
);
/// The kernel checks whether the caller may trace the other process, and Landlock denies that outside the tree.
pub(super) const OTHERS_MEMORY: RowAction = RowAction::Option(Switch::AllowPtrace, &ALLOW, &EPERM);
pub(super) const SIGNAL: RowAction = RowAction::Option(Switch::ScopedSignals, &ALLOW, &NOTIFY);

/// The first argument is a process; 0 means the caller.
pub(super) const OF_PROCESS: RowAction =
    RowAction::First(&[rule(&[one_of(0, &[0])], Action::Allow)], Action::Notify);
const CORE: &[u32] = &[libc::RLIMIT_CORE as c_uint];
/// The limit on core files must stay: a lower one would let the kernel start the program of core_pattern(5).
pub(super) const SETRLIMIT: RowAction =
    RowAction::First(&[rule(&[one_of(0, CORE)], Action::Notify)], Action::Allow);
pub(super) const PRLIMIT: RowAction = RowAction::First(
    &[rule(&[one_of(1, CORE)], Action::Notify), rule(&[one_of(0, &[0])], Action::Allow)],
    Action::Notify,
);
/// Only `PRIO_PROCESS` of the caller. A user or a group, even the caller's own, may include the supervisor.
pub(super) const SETPRIORITY: RowAction = RowAction::First(
    &[rule(&[one_of(0, &[libc::PRIO_PROCESS as c_uint]), one_of(1, &[0])], Action::Allow)],
    Action::Notify,
);
/// As for `setpriority`; here 1 selects a process.
pub(super) const IOPRIO_SET: RowAction =
    RowAction::First(&[rule(&[one_of(0, &[1]), one_of(1, &[0])], Action::Allow)], Action::Notify);

// Sockets.

const UNIX: &[u32] = &[libc::AF_UNIX as u32];
const INTERNET: &[u32] = &[libc::AF_INET as u32, libc::AF_INET6 as u32];
const NETLINK: &[u32] = &[libc::AF_NETLINK as u32];
const ROUTE: &[u32] = &[libc::NETLINK_ROUTE as u32];
const TYPE: u32 = 0xf;
const TYPE_FLAGS: u32 = (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) as u32;

/// The kernel looks at this first, whatever the family is.
const NO_FLAGS: Rule = rule(&[any_of(1, !(TYPE | TYPE_FLAGS))], Action::Errno(EINVAL));
/// The kernel turns `SOCK_RAW` into a datagram socket too.
const UNIX_DATAGRAM: Rule =
    rule(&[one_of(0, UNIX), masked(1, TYPE, libc::SOCK_DGRAM as u32)], Action::Errno(EACCES));
const UNIX_RAW: Rule =
    rule(&[one_of(0, UNIX), masked(1, TYPE, libc::SOCK_RAW as u32)], Action::Errno(EACCES));
const UNIX_ANY: Rule = rule(&[one_of(0, UNIX)], Action::Allow);

const STREAM: u32 = libc::SOCK_STREAM as u32;
const DATAGRAM: u32 = libc::SOCK_DGRAM as u32;
/// 0 is TCP.
const STREAMS: &[u32] = &[0, libc::IPPROTO_TCP as u32, libc::IPPROTO_MPTCP as u32];
/// 0 is UDP; ICMP sockets only send echo requests.
const DATAGRAMS: &[u32] =
    &[0, libc::IPPROTO_UDP as u32, libc::IPPROTO_ICMP as u32, libc::IPPROTO_ICMPV6 as u32];
const IS_INTERNET_STREAM: &[Test] = &[one_of(0, INTERNET), masked(1, TYPE, STREAM), one_of(2, STREAMS)];
const INTERNET_STREAM: Rule = rule(IS_INTERNET_STREAM, Action::Allow);
/// The supervisor refuses such sockets where there is no network at all, because listen(2) would bind a socket that has
/// no address yet.
const HELD_STREAM: Rule = rule(IS_INTERNET_STREAM, Action::Notify);
/// The supervisor refuses such sockets where there is no network at all, because messages to this host would pass.
const INTERNET_DATAGRAM: Rule =
    rule(&[one_of(0, INTERNET), masked(1, TYPE, DATAGRAM), one_of(2, DATAGRAMS)], Action::Notify);
/// The kernel itself refuses this without CAP_NET_RAW.
const INTERNET_RAW: Rule =
    rule(&[one_of(0, INTERNET), masked(1, TYPE, libc::SOCK_RAW as u32)], Action::Allow);
/// Other protocols connect in other ways: SCTP by sendto and setsockopt, SMC by a TCP connection inside the kernel.
/// These are the errors of a kernel built without them.
const NO_STREAM: Rule = rule(&[one_of(0, INTERNET), masked(1, TYPE, STREAM)], Action::Errno(EPROTONOSUPPORT));
const NO_DATAGRAM: Rule =
    rule(&[one_of(0, INTERNET), masked(1, TYPE, DATAGRAM)], Action::Errno(EPROTONOSUPPORT));
const NO_TYPE: Rule = rule(&[one_of(0, INTERNET)], Action::Errno(ESOCKTNOSUPPORT));
const NETLINK_ROUTE: Rule = rule(&[one_of(0, NETLINK), one_of(2, ROUTE)], Action::Allow);
const NO_FAMILY: Action = Action::Errno(EAFNOSUPPORT);

/// The rules for sockets: those for streams and datagrams of the network, the others for the network, and those for other
/// families.
macro_rules! socket_rules {
    ($stream:expr, $datagram:expr, [$($family:expr),*]) => {
        RowAction::First(
            &[
                NO_FLAGS,
                $stream,
                $datagram,
                INTERNET_RAW,
                NO_STREAM,
                NO_DATAGRAM,
                NO_TYPE,
                $($family,)*
            ],
            NO_FAMILY,
        )
    };
}

/// The row for socket(2), with this rule for streams of the network, and with or without datagrams of AF_UNIX.
macro_rules! socket_row {
    ($stream:expr) => {
        RowAction::Option(
            Switch::UnixDatagram,
            &socket_rules!($stream, INTERNET_DATAGRAM, [UNIX_ANY, NETLINK_ROUTE]),
            &socket_rules!($stream, INTERNET_DATAGRAM, [UNIX_DATAGRAM, UNIX_RAW, UNIX_ANY, NETLINK_ROUTE]),
        )
    };
}

pub(super) const SOCKET: RowAction =
    RowAction::Option(Switch::NoNetwork, &socket_row!(HELD_STREAM), &socket_row!(INTERNET_STREAM));
/// The kernel makes no pairs of such sockets: the call fails whatever the filter says.
const INTERNET_DATAGRAM_PAIR: Rule =
    rule(&[one_of(0, INTERNET), masked(1, TYPE, DATAGRAM), one_of(2, DATAGRAMS)], Action::Allow);

pub(super) const SOCKETPAIR: RowAction = RowAction::Option(
    Switch::UnixDatagram,
    &socket_rules!(INTERNET_STREAM, INTERNET_DATAGRAM_PAIR, [UNIX_ANY]),
    &socket_rules!(INTERNET_STREAM, INTERNET_DATAGRAM_PAIR, [UNIX_DATAGRAM, UNIX_RAW, UNIX_ANY]),
);

/// With this flag a message opens its own connection, and names a peer without connect(2).
const FASTOPEN: u32 = libc::MSG_FASTOPEN as u32;

/// The rule for a call with its `MSG_*` flags in this argument. EOPNOTSUPP is the error of a kernel with TCP fast open
/// disabled (net.ipv4.tcp_fastopen); programs then connect first.
macro_rules! no_fastopen {
    ($flags:literal) => {
        rule(&[any_of($flags, FASTOPEN)], Action::Errno(libc::EOPNOTSUPP))
    };
}

/// Without an address, whose length is in argument 5, everything goes along the connection. send(2) is such a call.
pub(super) const SENDTO: RowAction =
    RowAction::First(&[no_fastopen!(3), rule(&[one_of(5, &[0])], Action::Allow)], Action::Notify);
/// Each message may name its receiver in memory.
pub(super) const SENDMSG: RowAction = RowAction::First(&[no_fastopen!(2)], Action::Notify);
pub(super) const SENDMMSG: RowAction = RowAction::First(&[no_fastopen!(3)], Action::Notify);

const TCP: &[u32] = &[libc::IPPROTO_TCP as u32];
const SOCKET_LEVEL: &[u32] = &[libc::SOL_SOCKET as u32];
const IP: &[u32] = &[libc::IPPROTO_IP as u32];
const IPV6: &[u32] = &[libc::IPPROTO_IPV6 as u32];
/// Options that send data by another way than to the address that was judged: IP's source routes, IPv6's routing headers
/// (two of them by the names of RFC 2292), and the labels that hold such headers.
const IP_ROUTES: &[u32] = &[libc::IP_OPTIONS as u32];
const IPV6_ROUTES: &[u32] = &[
    libc::IPV6_RTHDR as u32,
    libc::IPV6_2292RTHDR as u32,
    libc::IPV6_2292PKTOPTIONS as u32,
    IPV6_FLOWLABEL_MGR,
];
/// linux/in6.h
const IPV6_FLOWLABEL_MGR: u32 = 32;
/// Options that choose an interface. What is sent to an address of this host then leaves by that interface, past the
/// local routes. The filter answers EPERM, as SO_BINDTODEVICE did before Linux 5.7 without CAP_NET_RAW.
const DEVICES: &[u32] = &[libc::SO_BINDTODEVICE as u32, SO_BINDTOIFINDEX];
/// asm-generic/socket.h
const SO_BINDTOIFINDEX: u32 = 62;
const IP_DEVICES: &[u32] = &[libc::IP_UNICAST_IF as u32];
const IPV6_DEVICES: &[u32] = &[IPV6_UNICAST_IF, libc::IPV6_PKTINFO as u32];
/// linux/in6.h
const IPV6_UNICAST_IF: u32 = 76;
/// linux/in.h, since Linux 6.3
const IP_LOCAL_PORT_RANGE: u32 = 51;

pub(super) const SETSOCKOPT: RowAction = RowAction::First(
    &[
        // With this option connect(2) takes effect at the first message, long after it was judged.
        rule(
            &[one_of(1, TCP), one_of(2, &[libc::TCP_FASTOPEN_CONNECT as u32])],
            Action::Errno(libc::EOPNOTSUPP),
        ),
        // The supervisor sends from its own memory, and this option has a use only for sendmsg(2).
        rule(
            &[one_of(1, SOCKET_LEVEL), one_of(2, &[libc::SO_ZEROCOPY as u32])],
            Action::Errno(libc::EOPNOTSUPP),
        ),
        // A range of one port gives a socket of UDP the port of a running server, although bind(2) names no port.
        rule(&[one_of(1, IP), one_of(2, &[IP_LOCAL_PORT_RANGE])], Action::Errno(libc::ENOPROTOOPT)),
        rule(&[one_of(1, SOCKET_LEVEL), one_of(2, DEVICES)], REFUSE),
        rule(&[one_of(1, IP), one_of(2, IP_DEVICES)], REFUSE),
        rule(&[one_of(1, IPV6), one_of(2, IPV6_DEVICES)], REFUSE),
        // Without a value, the options are cleared.
        rule(&[one_of(1, IP), one_of(2, IP_ROUTES), one_of(4, &[0])], Action::Allow),
        rule(&[one_of(1, IPV6), one_of(2, IPV6_ROUTES), one_of(4, &[0])], Action::Allow),
        rule(&[one_of(1, IP), one_of(2, IP_ROUTES)], REFUSE),
        rule(&[one_of(1, IPV6), one_of(2, IPV6_ROUTES)], REFUSE),
    ],
    Action::Allow,
);
