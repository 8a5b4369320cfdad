//! The calls of a gateway to a node, and the node's answers (OpenClaw 2026.9.6 and 2026.7.35). Nothing here runs
//! anything or reads the disk.
//!
//! `invoke` reads the gateway's events, and `params` the parameters of a call. `plan` is what an approval covers.
//! `answer` has the answers with OpenClaw's codes and sentences. `event` has the events about a run, and `output` keeps
//! a part of its output. `approvals` is the document by which a gateway sets what may run here.

mod answer;
mod approvals;
mod event;
mod invoke;
mod output;
mod params;
mod plan;
#[cfg(test)]
mod tests;

pub use answer::{Answer, Code, Denied, InvokeError, result_params};
pub use approvals::{BadDocument, NodeApprovals, Shown};
pub use event::{NodeEvent, RunReport};
pub use invoke::{Cancel, Heard, Invoke, PairingDecision, heard};
pub use output::{Captured, Collector, Stream};
pub use params::{Approval, PrepareParams, RunParams, Tightened, WhichParams};
pub use plan::{FileOperand, Plan, PlanMismatch, PolicySnapshot, command_text};
