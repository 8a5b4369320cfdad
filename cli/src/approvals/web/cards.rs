//! What the page shows of a row. All text is escaped, so that it can be shown as it is. Only the id stays unchanged: an
//! answer repeats it, and the page does not show it.

use guard_approvals::decision::Decision;
use guard_approvals::facts::{Fact, FactRank, facts, sentence};
use guard_approvals::protocol::{Approval, OneSaved, Saved};
use guard_approvals::routes::openclaw_socket::ApprovalRequest;
use guard_policy::text::shown;
use serde::Serialize;

use super::super::watch::queue::{Key, QueueRow};
use super::super::watch::row_text::{ELSEWHERE, socket_facts, socket_sentence};

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
    /// What is asked, in a sentence.
    sentence: String,
    /// Everything else that is shown, in this order.
    facts: Vec<WebFact>,
    choices: Vec<String>,
    always: Always,
}

/// A name and its text.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WebFact {
    name: String,
    text: String,
    /// Whether it stands out.
    is_warning: bool,
    /// Whether it is shown on request only.
    is_detail: bool,
}

/// What "always" would save.
#[derive(Debug, Default, Serialize)]
struct Always {
    saves: Vec<String>,
    directory: Vec<String>,
    /// Set when this process does not know where an entry is saved.
    elsewhere: Option<&'static str>,
}

impl From<Fact> for WebFact {
    fn from(fact: Fact) -> WebFact {
        WebFact {
            is_warning: fact.rank == FactRank::Warning,
            is_detail: fact.rank == FactRank::Detail,
            name: fact.name,
            text: fact.text,
        }
    }
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

    fn of_guard(key: &Key, approval: &Approval) -> WebCard {
        let texts = |saved: &[OneSaved]| saved.iter().map(|one| show(&one.text)).collect();
        WebCard {
            expires: Some(approval.expires_at_ms),
            always: match &approval.always {
                Saved::Saves { saves, directory } => {
                    Always { saves: texts(saves), directory: texts(directory), elsewhere: None }
                }
                Saved::Never { .. } => Always::default(),
            },
            ..WebCard::new(key, &approval.agent_id, &approval.operation, sentence(approval), facts(approval))
        }
    }

    fn of_socket(key: &Key, asked: &ApprovalRequest) -> WebCard {
        WebCard {
            always: Always { elsewhere: Some(ELSEWHERE), ..Always::default() },
            ..WebCard::new(
                key,
                asked.agent_id.as_deref().unwrap_or_default(),
                "socket",
                socket_sentence(asked),
                socket_facts(key, asked),
            )
        }
    }

    fn new(key: &Key, agent: &str, operation: &str, sentence: String, facts: Vec<Fact>) -> WebCard {
        WebCard {
            guard: key.pid,
            id: key.id.clone(),
            version: 0,
            name: show(&key.id.chars().take(8).collect::<String>()),
            agent: show(agent),
            since: 0,
            expires: None,
            operation: show(operation),
            sentence,
            facts: facts.into_iter().map(WebFact::from).collect(),
            choices: Vec::new(),
            always: Always::default(),
        }
    }
}

fn show(text: &str) -> String {
    shown(text.as_bytes())
}
