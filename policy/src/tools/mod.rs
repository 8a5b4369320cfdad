//! OpenClaw's tool policy: which tools an agent has, and what took away the others.
//!
//! [`effective`] goes through the steps in OpenClaw's order (`src/agents/tool-policy-pipeline.ts`). Each step has an
//! allow list, a deny list or both, and only removes. [`ToolSettings`] is what `openclaw.json` says, [`ToolContext`] is
//! who asks, and [`Inventory`] has all tools.

mod call;
mod catalogue;
mod context;
mod inventory;
mod lists;
mod pattern;
mod pipeline;
mod settings;
mod steps;
mod warnings;

pub use call::{
    CallSite, FileSize, JudgedPath, MalformedCall, Reach, ToolNeed, judge_file, judge_url, needs, spellings,
};
pub use catalogue::{Catalogue, CoreTool, PROFILES, Release, Toolset};
pub use context::{Sender, Subagent, Surface, ToolContext};
pub use inventory::Inventory;
pub use lists::ToolLists;
pub(crate) use pipeline::denies_tool;
pub use pipeline::{EffectiveTools, GUARD_STEP, Removal, RemovedBy, ToolStep, effective, restrict};
pub use settings::{ToolIssue, ToolSettings};
pub use steps::{ListOrigin, ListScope, SandboxTools, sandbox_tools};
pub use warnings::SeenWarnings;
