//! What the stores of approvals add to a policy.

pub(crate) mod guard;
pub(crate) mod openclaw;
