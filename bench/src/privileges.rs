//! Native commands get no more rights than guarded ones: both run without capabilities, and cannot gain any.

use caps::{CapSet, Capability};

use crate::error::{Context, Error};

/// Drops the privileges that a guarded command would not have, for this process and its children.
///
/// # Errors
/// If the kernel keeps a capability.
pub fn drop() -> Result<(), Error> {
    nix::sys::prctl::set_no_new_privs().context(|| "cannot set no_new_privs".into())?;
    for capability in caps::all() {
        // A failure means an unknown capability or no right to drop it. Without a way to gain privileges neither
        // matters.
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
