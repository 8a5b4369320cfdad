//! Reports to the session that started the guard how approved programs go on. Each report is an OpenClaw `system-event`,
//! which the session's agent reads in its next turn. Sending it needs operator.admin (OpenClaw 2026.7.35, 2026.9.6).

use std::sync::Arc;
use std::time::Duration;

use guard_openclaw::gateway::{ADMIN, Link};
use guard_policy::approval::display_text;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;

use super::line::Find;
use crate::event::QuestionChange;
use crate::lifecycle::Lifecycle;
use crate::manager::Manager;

const METHOD: &str = "system-event";
/// How long a report may take. After that it is dropped: nothing waits for it.
const IO_TIMEOUT: Duration = Duration::from_secs(10);

/// Reports to one session.
#[derive(Clone)]
pub struct SessionReporter {
    manager: Manager,
    /// Finds the gateway and connects as an administrator.
    find: Find,
    key: String,
}

impl SessionReporter {
    /// Reports to the session with this key.
    pub fn new(manager: Manager, find: Find, key: String) -> SessionReporter {
        SessionReporter { manager, find, key }
    }

    /// Runs for ever, one report at a time. Events beyond the manager's backlog are dropped.
    pub async fn run(self) {
        let (_, mut events) = self.manager.subscribe();
        loop {
            match events.recv().await {
                Ok(event) => match event.what {
                    QuestionChange::Lifecycle(lifecycle) if self.manager.gateway().admin => {
                        let _ = timeout(IO_TIMEOUT, self.send(&lifecycle)).await;
                    }
                    _ => {}
                },
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// Sends one report over its own connection: OpenClaw 2026.7.35 counts every connected administrator as somebody
    /// who could answer.
    async fn send(&self, lifecycle: &Lifecycle) {
        let find = Arc::clone(&self.find);
        // Reading the disk may block.
        let Ok(Ok(access)) = tokio::task::spawn_blocking(move || find()).await else { return };
        // Without a connection or the scope, the report stays in the audit log: no question depends on it.
        let Ok(link) = Link::open(&access).await else { return };
        if !link.hello().grants(ADMIN) {
            return;
        }
        let text = display_text(lifecycle.to_string().as_bytes());
        let _ = link.call(METHOD, json!({"text": text, "sessionKey": self.key})).await;
    }
}
