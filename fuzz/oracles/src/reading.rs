//! A second reader of registers and memory, to compare with the supervisor's. It reads byte by byte, by rules stated
//! here independently.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV6};

use guard_supervisor::caller::Caller;
use guard_supervisor::exec::arguments::{StringBudget, Strings, Windows};
use guard_supervisor::syscall::Request;
use guard_supervisor::syscall::open_how::OpenHow;
use guard_supervisor::syscall::socket::address::{Address, Use};
use guard_supervisor::syscall::socket::read_address;
use guard_supervisor::worker::Worker;
use rustix::io::Errno;
use rustix::net::AddressFamily;

use super::fixture::guard;
use super::memory::Memory;

/// A path as the kernel reads it: at most PATH_MAX bytes with its NUL.
pub fn path(memory: &Memory, address: u64) -> Result<Vec<u8>, Errno> {
    memory.string(address, 4096, Errno::NAMETOOLONG)
}

/// Compares the path of the first path argument.
pub fn compare_paths(caller: &Caller<'_>, memory: &Memory, address: u64) {
    let read = caller.path(address).map(|path| path.as_bytes().to_vec());
    assert_eq!(read, path(memory, address), "the path at {address:#x}");
}

/// Compares the flags of open(2) (fs/open.c): unknown flags are ignored, and so is the mode if no file is created.
pub fn compare_open(flags: i32, mode: i32) {
    let how = OpenHow::of_open(flags, mode);
    let known = flags as u32 & 0o37_777_703;
    let makes = known & 0o100 != 0 || known & 0o20_000_000 != 0;
    let mode = if makes { mode as u32 & 0o7777 } else { 0 };
    assert_eq!((flags_of(how), how.our_mode().as_raw_mode()), (known, mode), "open {flags:#o} {mode:#o}");
    assert_eq!(how.check().err(), (!is_valid(known, mode)).then_some(Errno::INVAL), "open {flags:#o}");
}

/// The requested flags, without those that the supervisor adds for its own descriptor.
fn flags_of(how: OpenHow) -> u32 {
    const OURS: i32 = libc::O_CLOEXEC | libc::O_NOCTTY;
    let ours = how.ours().bits() & !(OURS as u32);
    let passed_on = [libc::O_CLOEXEC, libc::O_NOCTTY].into_iter().filter(|&flag| how.has(flag));
    passed_on.fold(ours, |flags, flag| flags | flag as u32)
}

/// Whether these flags and this mode are valid together (fs/open.c, build_open_flags).
fn is_valid(flags: u32, mode: u32) -> bool {
    let (creates, directory) = (flags & 0o100 != 0, flags & 0o200_000 != 0);
    match flags & 0o20_000_000 != 0 {
        true => directory && !creates && flags & 3 != 0 && mode <= 0o7777,
        false => !(creates && directory) && if creates { mode <= 0o7777 } else { mode == 0 },
    }
}

/// Compares `struct open_how` (openat2(2)): three numbers. Any further bytes, for later kernels, must be 0.
///
/// # Errors
/// The error of the call, whatever its path is.
pub fn compare_how(caller: &Caller<'_>, memory: &Memory, address: u64, size: u64) -> Result<(), Errno> {
    let expected = || {
        if size < 24 {
            return Err(Errno::INVAL);
        }
        if size > 4096 {
            return Err(Errno::TOOBIG);
        }
        // The kernel checks the further bytes first, up to the first that is not 0.
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
    let read = OpenHow::read(caller, address, size);
    let actual = read
        .map(|how| (u64::from(flags_of(how)), u64::from(how.our_mode().as_raw_mode()), how.resolve().bits()));
    assert_eq!(actual, expected(), "the open_how at {address:#x} of {size} bytes");
    if let Ok(how) = read
        && !how.has(libc::O_PATH)
    {
        let valid = is_valid(flags_of(how), how.our_mode().as_raw_mode());
        assert_eq!(how.check().is_ok(), valid, "{how:?}");
        return how.check();
    }
    read.map(drop)
}

/// Compares a socket address, for sockets of several families.
pub fn compare_address(caller: &Caller<'_>, memory: &Memory, address: u64, length: u64) {
    let length = length as i32;
    let expected = match u64::try_from(length) {
        Ok(length @ 0..=128) => memory.bytes(address, length),
        _ => Err(Errno::INVAL),
    };
    let request = Request { guard: guard(), caller, worker: &Worker::alone() };
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

/// Compares how an address is interpreted: unix(7), ip(7), ipv6(7). A name in the file system ends at a NUL.
fn compare_name(raw: &[u8], socket: AddressFamily, to: Use) {
    let family = raw.get(..2).map(|family| i32::from(family[0]) + 256 * i32::from(family[1]));
    let name: Vec<u8> = raw.iter().skip(2).copied().take_while(|&byte| byte != 0).collect();
    let port = |raw: &[u8]| u16::from(raw[2]) * 256 + u16::from(raw[3]);
    // An IPv6 socket may have been converted to IPv4 meanwhile. For IPv4, bind also accepts the family AF_UNSPEC.
    let is_ipv4 = family == Some(2) || family == Some(0) && to == Use::Bind;
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
    assert_eq!(Address::parse(raw, socket, to), expected, "{raw:x?}");
}

/// Compares argv and the environment: an array of pointers up to the first 0, each to a string of less than 128 KiB, 6
/// MiB in total.
pub fn compare_strings(caller: &Caller<'_>, memory: &Memory, arrays: (u64, u64)) {
    let read = || {
        let mut budget = StringBudget::default();
        let mut memory = Windows::new(caller);
        let argv = Strings::read(&mut memory, arrays.0, &mut budget)?;
        Ok((argv.items, Strings::read(&mut memory, arrays.1, &mut budget)?.items))
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
