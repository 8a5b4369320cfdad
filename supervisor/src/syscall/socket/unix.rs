//! AF_UNIX sockets: paths in the file system, and abstract names.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use guard_policy::Access;
use guard_policy::learn::Used;
use guard_shim::failpoints::{Fallible, fail_point};
use guard_shim::landlock;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::{PeerCredentials, PeerPidfd};
use rustix::fs::{Access as Mode, AtFlags, CWD, FileType};
use rustix::io::Errno;
use rustix::net::{Shutdown, SocketType, sockopt};

use super::address::FAMILY;
use crate::audit::Operation;
use crate::exec::spelled;
use crate::judge::anchored_path::{AnchoredPath, parent_of};
use crate::judge::bound_name::BoundSocket;
use crate::judge::bound_sockets::{NameOwner, may_be_served};
use crate::kernel::{errno, requests};
use crate::reply::HandlerResult;
use crate::resolve::{DirEntry, Last, Object, Target, link_to, real_path};
use crate::syscall::Request;

/// `struct sockaddr_un` with this path.
fn unix_address(path: &[u8]) -> Vec<u8> {
    let mut raw = (libc::AF_UNIX as u16).to_ne_bytes().to_vec();
    raw.extend_from_slice(path);
    raw.push(0);
    raw
}

/// Connects to a socket in the file system.
pub fn connect_path(request: &Request<'_, '_>, socket: BorrowedFd<'_>, path: &[u8]) -> HandlerResult {
    let (address, _server) = receiver(request, path)?;
    request.guard.created.sockets.naming(socket, || request.connect(socket, &address))
}

/// Connects to a socket by its abstract name.
pub fn connect_name(request: &Request<'_, '_>, socket: BorrowedFd<'_>, raw: &[u8]) -> HandlerResult {
    let kind = sockopt::socket_type(socket)?;
    let judged = judge_name(request, raw, kind)?;
    let sockets = &request.guard.created.sockets;
    let done = match sockets.naming(socket, || connect_in_scope(request, socket, raw)) {
        Err(Errno::PERM) => return Err(judge_again(request, raw, kind)),
        done => done?,
    };
    // Another server may have the name by now. While one socket has a name, no other gets it.
    if judged.is_none_or(|judged| sockets.owner_of_name(&raw[FAMILY..], kind) == NameOwner::Tree(judged)) {
        return Ok(done);
    }
    if kind == SocketType::DGRAM {
        // The kernel does not tell who receives its datagrams.
        requests::connect(socket, &NO_ADDRESS)?;
        return Err(Errno::CONNREFUSED);
    }
    // A server may close its socket as soon as it has accepted the connection.
    if !listened(request, socket)?
        && let Err(error) = refuse_outsider(request, &raw[FAMILY..])
    {
        rustix::net::shutdown(socket, Shutdown::Both)?;
        return Err(error);
    }
    Ok(done)
}

/// Connects in the scope of the tree's abstract sockets; may block for long.
fn connect_in_scope(request: &Request<'_, '_>, socket: BorrowedFd<'_>, raw: &[u8]) -> HandlerResult {
    let (socket, address) = (socket.try_clone_to_owned().map_err(errno::from_io)?, raw.to_vec());
    let deputy = request.worker.deputy();
    let connect = move || deputy.run(|| requests::connect(socket.as_fd(), &address));
    request.perform(|| request.worker.block(request.caller, || request.guard.session.scope.start(connect)?))
}

/// Judges an abstract name again, whose socket the kernel has refused. Returns the error for the caller: the kernel's, if the
/// socket is the tree's after all.
pub fn judge_again(request: &Request<'_, '_>, raw: &[u8], kind: SocketType) -> Errno {
    match judge_name(request, raw, kind) {
        Ok(_) => Errno::PERM,
        Err(error) => error,
    }
}

/// An address of no family, which ends a connection.
const NO_ADDRESS: [u8; FAMILY] = (libc::AF_UNSPEC as u16).to_ne_bytes();

/// Judges the socket of this type with the abstract name in `raw`, an address: it must be the tree's own. Returns that
/// socket; `None` if it is another's, and the guard only observes.
///
/// # Errors
/// ECONNREFUSED.
pub fn judge_name(
    request: &Request<'_, '_>,
    raw: &[u8],
    kind: SocketType,
) -> Result<Option<BoundSocket>, Errno> {
    let name = &raw[FAMILY..];
    match request.guard.created.sockets.owner_of_name(name, kind) {
        NameOwner::Tree(socket) => Ok(Some(socket)),
        NameOwner::Nobody => Err(Errno::CONNREFUSED),
        NameOwner::Outside => refuse_outsider(request, name).map(|()| None),
    }
}

/// Judges the socket in the file system to which a call connects, or that a datagram names. Returns its address for the
/// kernel, which leads to that socket as long as the object is open.
///
/// # Errors
/// EACCES if the policy refuses it, ECONNREFUSED if it is no socket, and the errors of resolving the path.
pub fn receiver(request: &Request<'_, '_>, path: &[u8]) -> Result<(Vec<u8>, Object), Errno> {
    let there = find_server(request, path)?;
    Ok((unix_address(link_to(there.fd.as_fd()).as_bytes()), there))
}

/// Resolves a path to the socket that the caller may connect to. Most sockets of a host act for their clients, outside
/// the tree. So the right to write to the path is not enough: the tree must have made the socket, or a rule must name
/// it.
fn find_server(request: &Request<'_, '_>, path: &[u8]) -> Result<Object, Errno> {
    fail_point(Fallible::Connect, || path);
    let target = request.guard.resolver.resolve(request.caller, libc::AT_FDCWD, path, Last::Follow)?;
    let (object, path) = target.into_object()?;
    if object.kind() != FileType::Socket {
        rustix::fs::accessat(CWD, link_to(object.fd.as_fd()), Mode::WRITE_OK, AtFlags::EACCESS)?;
        return Err(Errno::CONNREFUSED);
    }
    request.guard.judge(
        request.caller,
        Operation::Connect,
        AnchoredPath::object(&path, &object),
        Access::WRITE,
    )?;
    if request.guard.created.sockets.has_file(&object)? || request.guard.policy().names(&path) {
        request.guard.saw(&path, Used::WRITTEN);
    } else {
        if !may_be_served(&object) {
            // A stale socket without a server: nothing can be reached, and the program will create its own.
            rustix::fs::accessat(CWD, link_to(object.fd.as_fd()), Mode::WRITE_OK, AtFlags::EACCESS)?;
            return Err(Errno::CONNREFUSED);
        }
        // When recording, the connection is let through: a learning session is trusted that far.
        if !request.guard.saw(&path, Used::SPOKEN_TO) {
            let text = "a socket that the tree did not create; a rule must name the socket itself";
            request.guard.refuse(request.caller, Operation::Connect, &path, text)?;
        }
    }
    Ok(object)
}

/// An abstract socket has no path to judge: only the tree's own servers may be reached.
///
/// # Errors
/// ECONNREFUSED, as if nothing listened.
fn refuse_outsider(request: &Request<'_, '_>, name: &[u8]) -> Result<(), Errno> {
    let path = [b"@", &name[1..]].concat();
    let text = "a socket of a process that is not guarded";
    request.guard.refuse(request.caller, Operation::Connect, &path, text).map_err(|_| Errno::CONNREFUSED)
}

/// Whether the process that listened at the other end is one of the tree, and is still there.
fn listened(request: &Request<'_, '_>, socket: BorrowedFd<'_>) -> Result<bool, Errno> {
    // The number is 0 if the process is in another pid namespace.
    let peer = getsockopt(&socket, PeerCredentials).map_err(errno::from_nix)?;
    let is_there = match getsockopt(&socket, PeerPidfd) {
        Ok(process) => {
            poll(&mut [PollFd::new(process.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO) == Ok(0)
        }
        // Before Linux 6.5, the number of a process that has ended may be another's.
        Err(error) => error == nix::errno::Errno::ENOPROTOOPT,
    };
    Ok(is_there && request.guard.tree.contains(peer.pid()))
}

/// Creates a socket in the file system.
pub fn bind_path(request: &Request<'_, '_>, socket: &OwnedFd, raw: &[u8], path: &[u8]) -> HandlerResult {
    // The socket is recorded by its name, which no other socket may get meanwhile, and the name may complete a
    // repository.
    let _alone = super::super::rename::alone(request)?;
    let target = request.guard.resolver.resolve(request.caller, libc::AT_FDCWD, path, Last::Name)?;
    let entry = match target {
        Target::Entry(entry) if entry.object.is_none() => entry,
        Target::Entry(_) | Target::Object { .. } => return Err(Errno::ADDRINUSE),
    };
    request.guard.judge(request.caller, Operation::Write, AnchoredPath::from_entry(&entry), Access::WRITE)?;
    request.adopt_umask()?;
    let done = request.perform(|| bind_at(request, socket, raw, path, &entry))?;
    request.guard.created.sockets.add_file(&entry, socket.as_fd());
    Ok(done)
}

/// Binds at the judged entry, by the name that the caller wrote if that is safe.
fn bind_at(
    request: &Request<'_, '_>,
    socket: &OwnedFd,
    address: &[u8],
    path: &[u8],
    entry: &DirEntry,
) -> Result<(), Errno> {
    let name = entry.written();
    if path == name {
        // The worker's current directory is its own (CLONE_FS).
        rustix::process::fchdir(&entry.parent)?;
        let bound = requests::bind(socket.as_fd(), &unix_address(&name));
        rustix::process::chdir(c"/")?;
        return bound;
    }
    let parent = parent_of(&entry.path);
    let here = request.caller.directory(libc::AT_FDCWD)?;
    // Safe in two cases. Either everything below the directory may be written: if the name changes meanwhile, it leads
    // no further. Or the name leads down through directories alone: a directory with a place below it that may not be
    // written cannot be moved away.
    if (request.guard.policy().may_move(parent, parent, true)
        || leads_straight(&real_path(here.as_fd())?, path, &entry.path))
        && let Some(Ok(())) = bind_as_written(&here, socket, address, entry)
    {
        return Ok(());
    }
    // A name that means something else to the supervisor, such as one through /proc/self, also ends up here.
    requests::bind(
        socket.as_fd(),
        &unix_address(&[link_to(entry.parent.as_fd()).as_bytes(), b"/", &name].concat()),
    )
}

/// Whether the name is literally the way down to `real`: it has no link and no `..` in it.
fn leads_straight(directory: &[u8], written: &[u8], real: &[u8]) -> bool {
    spelled(directory, written) == real
}

/// Binds by the name that the caller wrote, which getsockname(2) and every peer will see. The kernel walks that name
/// again, so a separate thread binds, which Landlock restricts to making sockets below the judged directory. Returns
/// `None` without Landlock.
fn bind_as_written(
    directory: &OwnedFd,
    socket: &OwnedFd,
    address: &[u8],
    entry: &DirEntry,
) -> Option<Result<(), Errno>> {
    let bind = || {
        // The thread gets its own current directory, for relative names. The umask is the worker's.
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_FS).ok()?;
        rustix::process::fchdir(directory).ok()?;
        landlock::bind_only_below(&entry.parent).ok()?;
        Some(requests::bind(socket.as_fd(), address))
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, bind).ok()?;
        thread.join().ok().flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::leads_straight;

    #[test]
    fn a_path_without_links_is_its_own_real_path() {
        for (directory, written, real) in
            [("/", "a/s", "/a/s"), ("/d", "./a//s", "/d/a/s"), ("/d", "/a/./s", "/a/s"), ("/d", "s", "/d/s")]
        {
            assert!(leads_straight(directory.as_bytes(), written.as_bytes(), real.as_bytes()), "{written}");
        }
        // Names through a link or `..`: their target can change.
        for (directory, written, real) in [
            ("/d", "link/s", "/d/a/s"),
            ("/d", "a/../s", "/d/s"),
            ("/d/a", "../s", "/d/s"),
            ("/d", "/s", "/d/s"),
        ] {
            assert!(!leads_straight(directory.as_bytes(), written.as_bytes(), real.as_bytes()), "{written}");
        }
    }
}
