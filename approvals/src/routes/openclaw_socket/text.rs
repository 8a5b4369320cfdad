//! Renders a held call for the socket.

use super::wire::ApprovalRequest;
use crate::question::Question;
use crate::text::{Words, words};

/// The value of `host`; OpenClaw's own clients send `gateway` or `node`.
const HOST: &str = "openclaw-guard";

/// The request for a question; `None` if it cannot be shown in full.
pub fn approval_request(question: &Question) -> Option<ApprovalRequest> {
    let Words { command, cwd, resolved_path, ask } = words(question)?;
    Some(ApprovalRequest {
        command,
        cwd,
        host: Some(HOST.to_owned()),
        security: None,
        ask: Some(ask.to_owned()),
        agent_id: Some(question.agent.clone()),
        resolved_path: Some(resolved_path),
        session_key: Some(question.session.clone()),
    })
}
