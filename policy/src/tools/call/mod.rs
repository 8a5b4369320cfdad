//! One call of a tool: the files, addresses and commands in its parameters, and the policy's verdict on them.
//!
//! OpenClaw's file tools run in the gateway, where no kernel asks the guard. So the parameters decide: [`needs`] reads
//! them as OpenClaw does, with each spelling that one of its releases gives to a path ([`spellings`]), and [`judge_file`] and
//! [`judge_url`] put them to the engine that the kernel asks. What cannot be read is denied.

mod file;
mod malformed;
mod needs;
mod patch;
mod spelling;
#[cfg(test)]
mod tests;
mod url;

pub use file::{CallSite, FileSize, JudgedPath, judge_file};
pub use malformed::MalformedCall;
pub use needs::{Reach, ToolNeed, needs};
pub use spelling::spellings;
pub use url::judge_url;
