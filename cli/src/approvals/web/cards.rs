//! What the page shows of a row. All text is escaped, so that it can be shown as it is. Only the id stays unchanged: an
//! answer repeats it, and the page does not show it.

use guard_approvals::decision::Decision;
use guard_approvals::protocol::OneSaved;
use guard_approvals::routes::guard_socket::{Approval, Saved};
use guard_approvals::routes::openclaw_socket::ApprovalRequest;
use guard_policy::text::{process_name, shown, shown_exactly};
use serde::Serialize;

use super::super::watch::queue::{Key, QueueRow};

/// A question. Fields that the guard does not supply are left out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebCard {
    guard: u32,
    id: String,
    /// The version that an answer must name.
    version: u64,
    /// The beginning of the id, as `approvals resolve` accepts it.
    name: String,
    agent: String,
    since: u64,
    expires: Option<u64>,
    operation: String,
    call: Option<String>,
    /// A text that belongs into the first lines.
    notice: Option<String>,
    /// The real path of the program or the file; for a command from the socket, the path that it reports.
    path: Option<String>,
    /// The command text of a question from the socket.
    command: Option<String>,
    /// What would change of a file that runs outside the guard.
    change: Vec<String>,
    argv: Vec<String>,
    /// Environment variables that can make this program run another.
    environment: Vec<String>,
    cwd: Option<String>,
    /// Whether everything in it is UTF-8.
    is_text: bool,
    sha256: Option<String>,
    environment_sha256: Option<String>,
    scripts: Vec<WebScript>,
    /// What else the program may run code from.
    inputs: Vec<String>,
    /// The caller and its ancestors, the caller first.
    asked_by: Vec<Asker>,
    #[serde(rename = "because")]
    reason: Option<CardReason>,
    /// Names and values of further details.
    more: Vec<(&'static str, String)>,
    /// How many identical calls wait for this answer.
    calls: usize,
    choices: Vec<String>,
    /// The directory that an answer may be for.
    directory: Option<String>,
    /// The command that an answer may be for.
    for_command: Option<String>,
    always: Always,
}

#[derive(Debug, Serialize)]
struct WebScript {
    role: &'static str,
    path: String,
    sha256: String,
}

#[derive(Debug, Serialize)]
struct Asker {
    pid: i32,
    name: String,
}

#[derive(Debug, Serialize)]
struct CardReason {
    text: String,
    rule: String,
}

/// What "always" would save.
#[derive(Debug, Default, Serialize)]
struct Always {
    saves: Vec<String>,
    directory: Vec<String>,
    /// Why "always" is not offered.
    never: Option<String>,
    /// Set when this process does not know where an entry is saved.
    elsewhere: Option<&'static str>,
}

impl WebCard {
    /// Makes the card of a row; None when neither a guard nor a connection asks for it any more.
    pub fn from_row(key: &Key, row: &QueueRow) -> Option<WebCard> {
        let card = match (&row.approval, &row.asked) {
            (Some(approval), _) => WebCard::of_guard(key, approval),
            (None, Some(asked)) => WebCard::of_socket(key, asked),
            (None, None) => return None,
        };
        let choices = Decision::all().filter(|decision| row.can(*decision).is_ok());
        let choices = choices.map(|decision| decision.to_string()).collect();
        Some(WebCard { version: row.version, since: row.since_ms, choices, ..card })
    }

    fn bare(key: &Key) -> WebCard {
        WebCard {
            guard: key.pid,
            id: key.id.clone(),
            version: 0,
            name: show(&key.id.chars().take(8).collect::<String>()),
            agent: String::new(),
            since: 0,
            expires: None,
            operation: String::new(),
            call: None,
            notice: None,
            path: None,
            command: None,
            change: Vec::new(),
            argv: Vec::new(),
            environment: Vec::new(),
            cwd: None,
            is_text: true,
            sha256: None,
            environment_sha256: None,
            scripts: Vec::new(),
            inputs: Vec::new(),
            asked_by: Vec::new(),
            reason: None,
            more: Vec::new(),
            calls: 1,
            choices: Vec::new(),
            directory: None,
            for_command: None,
            always: Always::default(),
        }
    }

    fn of_guard(key: &Key, approval: &Approval) -> WebCard {
        let script = approval.script.iter().map(|script| ("script", script));
        let through = approval.through.iter().map(|script| ("through", script));
        let files = approval.files.iter().map(|file| ("may run", file));
        let asked_by = approval.asked_by.iter().map(|by| Asker { pid: by.pid, name: process_name(&by.name) });
        let of = |saved: &[OneSaved]| saved.iter().map(|one| show(&one.text)).collect();
        WebCard {
            agent: show(&approval.agent_id),
            expires: Some(approval.expires_at_ms),
            operation: show(&approval.operation),
            notice: approval.notice.as_deref().map(exact),
            call: approval.call.as_deref().map(show),
            path: Some(exact(&approval.resolved_path)),
            change: approval.change.iter().map(|line| show(line)).collect(),
            argv: approval.argv.iter().map(|argument| exact(argument)).collect(),
            environment: approval.environment.iter().map(|variable| exact(variable)).collect(),
            cwd: approval.cwd.as_deref().map(exact),
            is_text: approval.is_text,
            sha256: approval.sha256.as_deref().map(show),
            environment_sha256: approval.environment_sha256.as_deref().map(show),
            scripts: script
                .chain(through)
                .chain(files)
                .map(|(role, script)| WebScript {
                    role,
                    path: exact(&script.path),
                    sha256: show(&script.sha256),
                })
                .collect(),
            inputs: approval.inputs.iter().map(|input| exact(input)).collect(),
            asked_by: asked_by.collect(),
            reason: Some(CardReason { text: show(&approval.reason.text), rule: show(&approval.reason.rule) }),
            more: vec![("session", show(&approval.session))],
            calls: approval.calls,
            directory: approval.directory.as_deref().map(exact),
            for_command: approval.command_line(),
            always: match &approval.always {
                Saved::Saves { saves, directory } => {
                    Always { saves: of(saves), directory: of(directory), ..Always::default() }
                }
                Saved::Never { never } => Always { never: Some(show(never)), ..Always::default() },
            },
            ..WebCard::bare(key)
        }
    }

    fn of_socket(key: &Key, asked: &ApprovalRequest) -> WebCard {
        let more = [
            ("host", &asked.host),
            ("session", &asked.session_key),
            ("security", &asked.security),
            ("ask", &asked.ask),
        ];
        let pid = i32::try_from(key.pid).unwrap_or_default();
        WebCard {
            agent: asked.agent_id.as_deref().map(show).unwrap_or_default(),
            operation: "socket".to_owned(),
            path: asked.resolved_path.as_deref().map(show),
            command: Some(show(&asked.command)),
            cwd: asked.cwd.as_deref().map(show),
            asked_by: vec![Asker { pid, name: "on the approvals socket".to_owned() }],
            more: more
                .into_iter()
                .filter_map(|(name, value)| value.as_deref().map(|value| (name, show(value))))
                .collect(),
            always: Always { elsewhere: Some("the asker decides what it saves"), ..Always::default() },
            ..WebCard::bare(key)
        }
    }
}

fn show(text: &str) -> String {
    shown(text.as_bytes())
}

/// A text that the command chose. Escapes in it cannot be confused with what the command itself typed.
fn exact(text: &str) -> String {
    shown_exactly(text.as_bytes())
}
