//! The command from its release to the end of its tree: what the reaper reports goes on to the front.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use guard_approvals::Approvals;
use guard_openclaw::peer::process_tree::Tree;
use guard_policy::text::shown;
use guard_shim::{LaunchReport, Stage};

use super::message::{CommandEnd, Message, ProcessMessage, ToldToEnd};
use super::{detach_stdio, ending};
use crate::audit::report::{Reporter, print};
use crate::judge::consent;

/// The exit status of a guard that failed.
pub const FAILED: u8 = 125;
/// A command that was released, until the reaper has nothing more to report.
pub struct RunningCommand<'a> {
    /// Its name, as it was given.
    pub name: OsString,
    /// The connection to the child, over which it reports an exec that failed.
    pub ours: OwnedFd,
    /// All that it starts.
    pub tree: Tree,
    /// Whether the tree ends with the command.
    pub kill_on_exit: bool,
    /// The reporter, whose lines are written before the end is reported.
    pub reporter: &'a Reporter,
    /// The approvals, if there are any.
    pub approvals: Option<&'a Approvals>,
}

impl RunningCommand<'_> {
    /// Passes the reaper's messages on to the front, until the tree is gone.
    pub fn follow(&self, mut from_reaper: File, to_front: &mut Option<File>) {
        while let Some(message) = ProcessMessage::receive(&mut from_reaper) {
            match message {
                ProcessMessage::Started(_) | ProcessMessage::Leads(_) | ProcessMessage::Remains => {
                    send(to_front, message);
                }
                ProcessMessage::Ended(end) => {
                    self.report_end(end, to_front);
                    if self.kill_on_exit {
                        return end_tree(&self.tree, from_reaper);
                    }
                }
                ProcessMessage::ToldToEnd(ToldToEnd(signal)) => {
                    if let Some(approvals) = self.approvals {
                        consent::end_questions(approvals.manager(), signal);
                    }
                }
            }
        }
    }

    /// Reports the command's end to the front, after all lines about it.
    fn report_end(&self, end: CommandEnd, to_front: &mut Option<File>) {
        // The report is not read earlier: that would wait for the exec, which may wait for a human while signals must
        // be passed on.
        let refused = guard_shim::read_report(self.ours.as_fd());
        let end = refused.map_or(end, |report| CommandEnd::Status(explain(&self.name, report)));
        self.reporter.flush();
        self.reporter.quiet();
        self.reporter.flush();
        // A reader that waits for the end of the command's output must not wait for the supervisor.
        detach_stdio([false, false, true]);
        send(to_front, ProcessMessage::Ended(end));
    }
}

/// Sends a message to the front. Fails only if the front is gone, which does not matter.
pub fn send(to_front: &mut Option<File>, message: ProcessMessage) {
    if let Some(front) = to_front {
        let _ = message.send(front);
    }
}

/// Kills members of the tree until the reaper reports the end of the tree by closing its pipe.
fn end_tree(tree: &Tree, from_reaper: File) {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let again = PollTimeout::try_from(Duration::from_millis(10)).unwrap_or(PollTimeout::ZERO);
    loop {
        ending::kill_members(tree);
        if poll(&mut [PollFd::new(from_reaper.as_fd(), PollFlags::POLLIN)], again)
            .is_ok_and(|ready| ready > 0)
        {
            return;
        }
    }
}

/// Prints why the command did not start, and returns the guard's exit status.
pub fn explain(name: &OsString, report: LaunchReport) -> u8 {
    if report.stage != Stage::Exec {
        print(&format!("openclaw-guard: {report}{}", advice(report)));
        return FAILED;
    }
    let error = rustix::io::Errno::from_raw_os_error(report.errno);
    print(&format!("openclaw-guard: {}: {}", shown(name.as_bytes()), std::io::Error::from(error)));
    match report.errno {
        libc::ENOENT | libc::ENOTDIR => 127,
        _ => 126,
    }
}

/// Returns a hint for the operator if the child could not be set up.
fn advice(report: LaunchReport) -> &'static str {
    match (report.stage, report.errno) {
        (Stage::Filter, libc::EBUSY) => {
            " (another guard or supervisor is in force here already: run outside of it)"
        }
        (Stage::Filter, libc::EINVAL) => " (Linux 5.19 or newer is needed)",
        _ => "",
    }
}
