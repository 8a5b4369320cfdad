//! Questions when the command is asked to end.

use std::time::Duration;

use guard_approvals::Manager;
use nix::sys::signal::Signal;

/// For how long nobody is asked. A signal handler may open a file that a human would be asked about, and without the
/// guard the handler would not wait.
const END_INTERVAL: Duration = Duration::from_secs(5);

/// Ends the questions, because the command gets this signal.
pub fn end_questions(manager: &Manager, signal: i32) {
    let name = Signal::try_from(signal).map_or("a signal", Signal::as_str);
    manager.refuse_for(END_INTERVAL, &format!("the command was asked to end ({name})"));
}
