//! Calls that the kernel does itself, because it does not matter what it finds.
//!
//! After CONTINUE the kernel reads the path again, and another thread may have changed it; names may lead elsewhere by
//! then. But the caller is in a Landlock domain, and that domain grants, for each kind of access, only hierarchies of
//! which the policy allows every object without asking. So whatever is found, nothing is reached that the policy does not
//! give. What is looked at here is only whether the kernel will find the object that the policy was asked about: else the
//! floor would refuse what the broker does, or the broker would say why it refuses.

use guard_policy::Access;
use guard_shim::failpoints::{Layer, is_off};

use super::Request;
use super::open_how::OpenHow;
use crate::landlock::Target;
use crate::reply::{ContinueReason, HandlerResult, Reply};
use crate::resolve::{FastLookup, FastPath, Last};

/// Lets an open go on in the kernel, if it may: all that it does is in registers, but for the path.
pub fn open(request: &Request<'_, '_>, dirfd: i32, path: &[u8], how: OpenHow) -> Option<HandlerResult> {
    // To what is neither read nor written the floor has nothing to say: it would be opened wherever the path leads by then.
    if how.unnamed() || how.is_neither() || !is_possible(request) {
        return None;
    }
    let mut spelling = FastPath::default();
    spelling.spell(request.caller, dirfd, path, &request.guard.floor)?;
    let found = spelling.lookup();
    let access = if how.creates() { how.access() | Access::WRITE } else { how.access() };
    match found {
        FastLookup::Link if how.last() == Last::Follow => {
            spelling.follow()?;
            continue_call(request, spelling.real(), access, Target::Object)
        }
        FastLookup::Link | FastLookup::Unclear => None,
        // A new name is its directory's.
        FastLookup::Missing if how.creates() => {
            continue_call(request, spelling.real(), access, Target::Entry)
        }
        FastLookup::Missing | FastLookup::There => {
            continue_call(request, spelling.real(), access, Target::Object)
        }
    }
}

/// Lets a name be removed by the kernel, if it may.
pub fn remove(request: &Request<'_, '_>, dirfd: i32, path: &[u8]) -> Option<HandlerResult> {
    let last = path.rsplit(|&byte| byte == b'/').find(|name| !name.is_empty())?;
    if matches!(last, b"." | b"..") || !is_possible(request) {
        return None;
    }
    let mut spelling = FastPath::default();
    spelling.spell(request.caller, dirfd, path, &request.guard.floor)?;
    match spelling.lookup() {
        // What goes with it must be known at once.
        FastLookup::There if request.guard.floor.grants().begin_at(spelling.real()) => None,
        FastLookup::There | FastLookup::Missing => {
            continue_call(request, spelling.real(), Access::WRITE, Target::Entry)
        }
        FastLookup::Link | FastLookup::Unclear => None,
    }
}

/// Whether anything may go on in the kernel. Where the operator wants to know of what is allowed, where a script that was
/// approved is to be read as it was, and where nothing is blocked, each call must be seen to its end.
fn is_possible(request: &Request<'_, '_>) -> bool {
    let guard = request.guard;
    guard.floor.leaves_anything()
        && guard.scripts.is_empty()
        && !guard.sees_all()
        && !guard.observe
        && !is_off(Layer::Broker)
}

fn continue_call(
    request: &Request<'_, '_>,
    real: &[u8],
    access: Access,
    reach: Target,
) -> Option<HandlerResult> {
    let guard = request.guard;
    let goes_on = guard.floor.covers(real, access, reach);
    // The policy was asked about all that is there when it came into force (`Policy::is_uniform`).
    debug_assert!(!goes_on || guard.allows(real, access), "{}", guard_policy::text::shown(real));
    goes_on.then_some(Ok(Reply::Continue(ContinueReason::Floored)))
}
