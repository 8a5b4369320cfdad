//! The native way has no more rights than the guarded one: both run without capabilities, and cannot gain any.

use caps::{CapSet, Capability};

use crate::error::{Context, Error};

/// Gives up for all that is started what a guarded command would not have.
///
/// # Errors
/// When the kernel keeps a capability.
pub fn drop() -> Result<(), Error> {
    nix::sys::prctl::set_no_new_privs().context(|| "cannot set no_new_privs".into())?;
    for capability in caps::all() {
        // One that the kernel does not know, or no right to: without privileges to gain it makes no difference.
        let _ = caps::drop(None, CapSet::Bounding, capability);
    }
    for set in [CapSet::Ambient, CapSet::Effective, CapSet::Permitted, CapSet::Inheritable] {
        caps::clear(None, set).context(|| "cannot drop capabilities".into())?;
    }
    let left = caps::has_cap(None, CapSet::Permitted, Capability::CAP_DAC_OVERRIDE);
    if left.context(|| "cannot read capabilities".into())? {
        return Err(Error::new("capabilities are still there"));
    }
    Ok(())
}
