//! What the approvals stores add to a policy.

pub(crate) mod guard;
pub(crate) mod openclaw;
