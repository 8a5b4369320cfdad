//! How a held call reads to whoever is asked by one line of text.

use guard_policy::approval::{OVERSIZED, TRUNCATED, display_text};

use super::super::request::{Question, Repeat, Subject};
use super::wire::Asked;

/// What is said of the side that asks, as OpenClaw's clients say `gateway` and `node`.
const HOST: &str = "openclaw-guard";

/// A question for the socket; `None` where its text would not be shown to its end: nobody can approve what they do not
/// see. Secrets in it are masked, and what acts on a terminal is written as its number.
pub fn asked(question: &Question) -> Option<Asked> {
    let (command, path, cwd) = match &question.subject {
        Subject::Exec(exec) => {
            // As a shell would set them. Without a NUL, which no argument can hold, this always works.
            let words = exec.telling.iter().chain(&exec.argv);
            let line = shlex::bytes::try_join(words.map(Vec::as_slice)).ok()?;
            (line, &exec.executable.path, Some(display_text(&exec.cwd)))
        }
        Subject::File { path, access, .. } => {
            ([format!("[{}] ", access.word()).into_bytes(), path.clone()].concat(), path, None)
        }
    };
    let text = display_text(&command);
    let is_whole = !text.ends_with(TRUNCATED) && text != OVERSIZED;
    is_whole.then(|| Asked {
        command: text,
        cwd,
        host: Some(HOST.to_owned()),
        security: None,
        ask: Some(
            match question.repeat {
                Repeat::Allowed => "on-miss",
                Repeat::AskedEachTime => "always",
            }
            .to_owned(),
        ),
        agent_id: Some(question.agent.clone()),
        resolved_path: Some(display_text(path)),
        session_key: Some(question.session.clone()),
    })
}
