//! Reads `approvals.exec`.

use jsonc_parser::ast::Value;

use super::syntax::{Reader, plain};
use crate::config::approvals::{Forwarding, ForwardingMode, ThreadId, TurnSource};

pub(super) const FORWARDING: [&str; 5] = ["enabled", "mode", "agentFilter", "sessionFilter", "targets"];
pub(super) const TARGET: [&str; 4] = ["channel", "to", "accountId", "threadId"];

impl Reader<'_> {
    pub(super) fn forwarding(&mut self, value: &Value<'_>, key: &str) -> Forwarding {
        let mut forwarding = Forwarding::default();
        for (name, key, property) in self.object(value, key, Some(&FORWARDING)) {
            let value = &property.value;
            match name.as_str() {
                "enabled" => forwarding.enabled = self.boolean(value, &key),
                "mode" => {
                    forwarding.mode =
                        self.word(value, &key, &ForwardingMode::NAMES, ForwardingMode::from_name);
                }
                "agentFilter" => forwarding.agent_filter = self.strings(value, &key, |_| None),
                "sessionFilter" => forwarding.session_filter = self.strings(value, &key, |_| None),
                _ => forwarding.targets = self.targets(value, &key),
            }
        }
        forwarding
    }

    fn targets(&mut self, value: &Value<'_>, key: &str) -> Option<Vec<TurnSource>> {
        let Value::Array(array) = value else {
            self.wrong(value, key, "must be a list of { \"channel\": …, \"to\": … }");
            return None;
        };
        let elements = array.elements.iter().enumerate();
        Some(elements.filter_map(|(i, element)| self.target(element, &format!("{key}[{i}]"))).collect())
    }

    fn target(&mut self, value: &Value<'_>, key: &str) -> Option<TurnSource> {
        let before = self.problems.len();
        let (mut channel, mut to, mut account_id, mut thread_id) = (None, None, None, None);
        for (name, key, property) in self.object(value, key, Some(&TARGET)) {
            let value = &property.value;
            match name.as_str() {
                "channel" => channel = self.some_text(value, &key),
                "to" => to = self.some_text(value, &key),
                "accountId" => account_id = self.string(value, &key),
                _ => thread_id = self.thread_id(value, &key),
            }
        }
        if self.problems.len() > before {
            return None;
        }
        let (Some(channel), Some(to)) = (channel, to) else {
            self.wrong(value, key, "needs both \"channel\" and \"to\"");
            return None;
        };
        Some(TurnSource { channel, to, account_id, thread_id })
    }

    fn some_text(&mut self, value: &Value<'_>, key: &str) -> Option<String> {
        let text = self.string(value, key)?;
        if text.is_empty() {
            self.wrong(value, key, "must not be empty");
        }
        Some(text)
    }

    fn thread_id(&mut self, value: &Value<'_>, key: &str) -> Option<ThreadId> {
        let thread = match plain(value) {
            serde_json::Value::String(text) if matches!(value, Value::StringLit(_)) => {
                Some(ThreadId::Text(text))
            }
            serde_json::Value::Number(number) => Some(ThreadId::Number(number)),
            _ => None,
        };
        if thread.is_none() {
            self.wrong(value, key, "must be a string or a number");
        }
        thread
    }
}
