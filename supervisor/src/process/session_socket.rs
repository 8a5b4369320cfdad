//! The socket of `openclaw-guard session`, and what is shown there of the start.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use guard_approvals::routes::guard_socket::{Purpose, Socket};
use guard_openclaw::approvals_store::Directory;
use guard_openclaw::ports::IsMember;
use guard_policy::Limits;

use crate::audit::report::Reporter;
use crate::audit::{MAX_DENIED_ARGV, Secrets, shortened};
use crate::config::reload::PolicySource;
use crate::session::protocol::SessionMode;
use crate::session::{self, Control, Started};

/// What `openclaw-guard session` shows of the start.
pub fn started(
    source: &PolicySource,
    argv: &[Vec<u8>],
    secrets: &Secrets,
    limits: Limits,
    mode: SessionMode,
) -> Started {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let argv: Vec<_> = shortened(argv, MAX_DENIED_ARGV).iter().map(|word| text(word)).collect();
    Started {
        session_key: source.paths.session_key.clone(),
        command: secrets.masked(&argv),
        directory: text(source.paths.cwd.as_os_str().as_bytes()),
        policy: text(source.paths.policy.as_os_str().as_bytes()),
        limits: limits.to_string(),
        mode,
    }
}

/// Listens for `openclaw-guard session`, as long as the result is kept. A guard without files in the state directory
/// does not create any there.
pub fn listen(state: &Path, is_member: IsMember, control: Control, reporter: &Reporter) -> Option<Socket> {
    let socket = Directory::open_own(state).transpose()?.and_then(|_| {
        let socket = Socket::bind(state, Purpose::Session)?;
        session::serve(&socket, is_member, control, reporter.clone())?;
        Ok(socket)
    });
    let problem = |error| {
        reporter.problem(format!(
            "openclaw-guard: cannot create the session's socket, so `openclaw-guard session` does not see it: {error}"
        ));
    };
    socket.map_err(problem).ok()
}
