//! truncate.

use std::os::fd::AsFd;

use guard_policy::Access;
use rustix::fs::{Access as Mode, AtFlags, CWD, FileType};
use rustix::io::Errno;

use super::Request;
use super::open::judge;
use crate::judge::anchored_path::AnchoredPath;
use crate::kernel::{errno, limits};
use crate::reply::HandlerResult;
use crate::resolve::{Last, link_to};

pub fn truncate(request: &Request<'_, '_>, path: u64, length: i64) -> HandlerResult {
    if length < 0 {
        return Err(Errno::INVAL);
    }
    let path = request.caller.path(path)?;
    let target =
        request.guard.resolver.resolve(request.caller, libc::AT_FDCWD, path.as_bytes(), Last::Follow)?;
    let (object, path) = target.into_object()?;
    match object.kind() {
        FileType::RegularFile => {}
        FileType::Directory => return Err(Errno::ISDIR),
        _ => return Err(Errno::INVAL),
    }
    judge(request, AnchoredPath::object(&path, &object), Access::WRITE)?;
    let link = link_to(object.fd.as_fd());
    if length > object.stat.st_size
        && length as u64 > request.caller.kernel().size_limit(request.caller.tid())
    {
        rustix::fs::accessat(CWD, &link, Mode::WRITE_OK, AtFlags::EACCESS)?;
        limits::exceed_size(request.caller.process()?, || request.caller.check().is_ok());
        return Err(Errno::FBIG);
    }
    // This truncates by path instead of opening the file: file watchers would see the open.
    request.perform(|| {
        request
            .worker
            .block(request.caller, || nix::unistd::truncate(&link[..], length).map_err(errno::from_nix))
    })
}
