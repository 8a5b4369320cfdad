//! How a held call reads on the socket.

use super::wire::ApprovalRequest;
use crate::question::Question;
use crate::text::{Words, words};

/// What is said of the side that asks, as OpenClaw's clients say `gateway` and `node`.
const HOST: &str = "openclaw-guard";

/// A question for the socket; `None` where it cannot be shown whole.
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
