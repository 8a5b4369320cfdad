//! Calls that the kernel performs itself, because it does not matter which object it finds.
//!
//! After CONTINUE the kernel reads the path again. By then another thread may have changed it, and names may lead
//! elsewhere. But the caller is in a Landlock domain. For each kind of access, that domain grants only hierarchies in
//! which the policy allows every object without asking. So whatever the kernel finds, the caller reaches nothing that
//! the policy does not allow. This module only checks whether the kernel will find the object that the policy was asked
//! about. Otherwise the floor would refuse what the broker would do, or the broker should give the reason for the
//! refusal.
//!
//! Why: docs/decisions.md, "Before a call continues, the guard checks whether a link is on the way"

use guard_policy::Access;
use guard_shim::failpoints::{Layer, is_layer_off};
use rustix::fs::{AtFlags, CWD, FileType};
use rustix::io::Errno;

use super::Request;
use super::open_how::OpenHow;
use crate::landlock::Target;
use crate::reply::{ContinueReason, HandlerResult, Reply};
use crate::resolve::{FastLookup, FastPath, Last};

/// Lets the kernel perform an open, if that is safe: all its arguments are in registers, except the path.
pub fn open(request: &Request<'_, '_>, dirfd: i32, path: &[u8], how: OpenHow) -> Option<HandlerResult> {
    // The floor does not restrict an open that neither reads nor writes: the kernel would open whatever the path leads
    // to by then. Nor does it restrict the mode of a new file, which is in a register: the kernel finds the same mode.
    if how.unnamed() || how.is_neither() || how.has_set_id() || !is_possible(request) {
        return None;
    }
    let access = if how.creates() { how.access() | Access::WRITE } else { how.access() };
    if how.creates() && !request.guard.floor.leaves(access) {
        return None;
    }
    // Single files that the floor lets the kernel write, such as /dev/null, are opened by their absolute path.
    let may_be_single = path.starts_with(b"/dev/");
    if access.contains(Access::WRITE) && !may_be_single && !request.guard.floor.leaves_names() {
        return None;
    }
    let mut fast_path = FastPath::default();
    fast_path.spell(request.caller, dirfd, path, &request.guard.floor)?;
    // The broker handles most writes, whatever a lookup would find, and each path with a link that leads elsewhere.
    let covers = |reach| request.guard.floor.covers(fast_path.real(), access, reach);
    if access.contains(Access::WRITE) && !covers(Target::Object) && !covers(Target::Entry) {
        return None;
    }
    match fast_path.lookup() {
        FastLookup::Link if how.last() == Last::Follow => {
            fast_path.follow()?;
            no_device(request, fast_path.real())?;
            continue_call(request, fast_path.real(), access, Target::Object)
        }
        FastLookup::Link | FastLookup::Unclear => None,
        // The right to create a name is the directory's.
        FastLookup::Missing if how.creates() => {
            continue_call(request, fast_path.real(), access, Target::Entry)
        }
        FastLookup::There => {
            no_device(request, fast_path.real())?;
            continue_call(request, fast_path.real(), access, Target::Object)
        }
        // The floor need not allow a file that does not exist.
        FastLookup::Missing => continue_call(request, fast_path.real(), access, Target::Object)
            .or_else(|| Some(request.need_room().and(Err(Errno::NOENT)))),
    }
}

/// `None` if a device is at a real path: the floor cannot distinguish it from a file, and the broker knows which
/// devices act on the machine. The devices in /dev that the floor grants are named one by one.
fn no_device(request: &Request<'_, '_>, real: &[u8]) -> Option<()> {
    if !request.guard.resolver.opens_devices() || real.starts_with(b"/dev/") {
        return Some(());
    }
    let found = rustix::fs::statat(CWD, real, AtFlags::SYMLINK_NOFOLLOW);
    let kind = found.map(|stat| FileType::from_raw_mode(stat.st_mode));
    (!matches!(kind, Ok(FileType::BlockDevice | FileType::CharacterDevice))).then_some(())
}

/// Lets the kernel remove a name, if that is safe.
pub fn remove(request: &Request<'_, '_>, dirfd: i32, path: &[u8]) -> Option<HandlerResult> {
    let last = path.rsplit(|&byte| byte == b'/').find(|name| !name.is_empty())?;
    if matches!(last, b"." | b"..") || !is_possible(request) || !request.guard.floor.leaves_names() {
        return None;
    }
    let mut fast_path = FastPath::default();
    fast_path.spell(request.caller, dirfd, path, &request.guard.floor)?;
    if !request.guard.floor.covers(fast_path.real(), Access::WRITE, Target::Entry) {
        return None;
    }
    match fast_path.lookup() {
        // The broker must do this one: the grants must be updated at once.
        FastLookup::There if request.guard.floor.grants().begin_at(fast_path.real()) => None,
        FastLookup::There | FastLookup::Missing => {
            continue_call(request, fast_path.real(), Access::WRITE, Target::Entry)
        }
        FastLookup::Link | FastLookup::Unclear => None,
    }
}

/// Whether any call may be left to the kernel. If the operator wants allowed calls logged, if an approved script must
/// be read as approved, or if nothing is blocked, the broker must see each call to its end.
fn is_possible(request: &Request<'_, '_>) -> bool {
    let guard = request.guard;
    guard.floor.leaves_anything()
        && guard.starts.scripts.is_empty()
        && !guard.sees_all()
        && !guard.session.observe
        && !is_layer_off(Layer::Broker)
}

fn continue_call(
    request: &Request<'_, '_>,
    real: &[u8],
    access: Access,
    reach: Target,
) -> Option<HandlerResult> {
    let guard = request.guard;
    let goes_on = guard.floor.covers(real, access, reach);
    // The policy was checked for everything below when it came into force (`Policy::is_uniform`).
    debug_assert!(!goes_on || guard.allows(real, access), "{}", guard_policy::text::shown(real));
    goes_on.then_some(Ok(Reply::Continue(ContinueReason::Floored)))
}
