//! Tells the session that started the guard how the programs go on that were asked for: OpenClaw's `system-event`, which
//! the session's agent reads with its next turn. It needs operator.admin (OpenClaw 2026.7.35, 2026.9.6).

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
/// How long telling may take. Then it is not told: nothing waits for it.
const IO_TIMEOUT: Duration = Duration::from_secs(10);

/// Tells one session.
#[derive(Clone)]
pub struct SessionReporter {
    manager: Manager,
    /// As an administrator.
    find: Find,
    key: String,
}

impl SessionReporter {
    /// The session of this key.
    pub fn new(manager: Manager, find: Find, key: String) -> SessionReporter {
        SessionReporter { manager, find, key }
    }

    /// Tells for ever, one thing after the other. What happens meanwhile beyond what is kept for it is not told.
    pub async fn run(self) {
        let (_, mut events) = self.manager.subscribe();
        loop {
            match events.recv().await {
                Ok(event) => match event.what {
                    QuestionChange::Told(told) if self.manager.gateway().admin => {
                        let _ = timeout(IO_TIMEOUT, self.send(&told)).await;
                    }
                    _ => {}
                },
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// By a connection that ends with it: 2026.7.35 takes whoever is connected as an administrator for somebody who answers.
    async fn send(&self, told: &Lifecycle) {
        let find = Arc::clone(&self.find);
        // The disk may be slow.
        let Ok(Ok(access)) = tokio::task::spawn_blocking(move || find()).await else { return };
        // Without a connection, or without the scope, it stays in the audit log: no question depends on it.
        let Ok(link) = Link::open(&access).await else { return };
        if !link.hello().grants(ADMIN) {
            return;
        }
        let text = display_text(told.to_string().as_bytes());
        let _ = link.call(METHOD, json!({"text": text, "sessionKey": self.key})).await;
    }
}
