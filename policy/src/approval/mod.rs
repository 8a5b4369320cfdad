//! What an approval is bound to, and what the person who gives it is shown, as OpenClaw 2026.9.6 has both; by what ways
//! people are asked (`settings`); and what their "always" saves (`always`).

mod always;
mod binding;
mod collation;
mod display;
mod forwarding;
mod gateway;
pub(crate) mod secrets;
mod settings;
mod url;

pub(crate) use always::literal;
pub use always::{Always, FileRule, Repeat, Saving, always};
pub use binding::{Binding, EnvBinding, Mismatch};
pub use display::{OVERSIZED, TRUNCATED, display_text};
pub use forwarding::{Forwarding, ThreadId, Turn, TurnSource};
pub use gateway::{Fingerprint, GatewayRoute};
pub use settings::{Approvals, Route};
pub use url::{GatewayHost, GatewayUrl, Scheme};

pub(crate) use forwarding::ForwardingMode;
