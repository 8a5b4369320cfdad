//! The document by which a gateway sets what runs on the node: `system.execApprovals.get` and `.set`.
//!
//! It has the form of OpenClaw's exec approvals. Here it only makes runs stricter: `security` and `ask` count where they
//! are stricter than the policy's, and entries of an allowlist allow nothing.

use guard_policy::store::{BaseHash, Store};
use guard_policy::{Ask, Security};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::InvokeError;
use crate::approvals_store::new_id;

/// The path by which a gateway shows the document.
const SHOWN: &str = "~/.openclaw/guard/node-approvals.json";
/// The document that counts if no gateway has set one.
const EMPTY: &str = "{\"version\": 1}";

/// The document that a gateway has set.
#[derive(Clone, Debug)]
pub struct NodeApprovals {
    /// The document's text; `None` if there is no document.
    text: Option<String>,
    store: Store,
}

/// A document that a gateway sets in place of the current one.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The new text.
    pub text: String,
    /// The new document.
    pub approvals: NodeApprovals,
}

/// The document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadDocument(pub String);

impl NodeApprovals {
    /// Reads the document.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: Option<String>) -> Result<NodeApprovals, BadDocument> {
        let read = Store::parse(SHOWN, text.as_deref().unwrap_or(EMPTY), &mut new_id);
        let store = read.map_err(|problem| BadDocument(problem.to_string()))?.store;
        Ok(NodeApprovals { text, store })
    }

    /// `security` for an agent, if it is set.
    pub fn security(&self, agent: &str) -> Option<Security> {
        self.store.security(agent).map(|setting| setting.value)
    }

    /// `ask` for an agent, if it is set.
    pub fn ask(&self, agent: &str) -> Option<Ask> {
        self.store.ask(agent).map(|setting| setting.value)
    }

    fn hash(&self) -> BaseHash {
        self.text.as_ref().map_or_else(BaseHash::missing, |text| BaseHash::new(text.as_bytes()))
    }

    /// Returns the answer to `system.execApprovals.get` and `.set`.
    pub fn payload(&self) -> Value {
        let mut file = self.store.to_json();
        if let Some(socket) = file.get_mut("socket").and_then(Value::as_object_mut) {
            socket.shift_remove("token");
        }
        for section in ["defaults", "agents"] {
            if file.get(section).is_none() {
                file[section] = json!({});
            }
        }
        json!({
            "path": SHOWN,
            "exists": self.text.is_some(),
            "file": file,
            "hash": self.hash().as_str(),
        })
    }

    /// Returns the document that a call of `system.execApprovals.set` asks for.
    ///
    /// # Errors
    /// The answer to a call that is malformed, or whose base is another state of the document.
    pub fn set(&self, params: Option<&str>) -> Result<Shown, InvokeError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct RawChange {
            #[serde(default)]
            file: Value,
            base_hash: Option<Value>,
        }
        let text = params.filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| InvokeError::thrown("paramsJSON required"))?;
        let malformed = |_| InvokeError::thrown("paramsJSON malformed JSON");
        let RawChange { file, base_hash } = serde_json::from_str(text).map_err(malformed)?;
        if !file.is_object() {
            return Err(InvokeError::thrown("exec approvals file required"));
        }
        let base = base_hash.as_ref().and_then(Value::as_str).unwrap_or_default().trim();
        if self.text.is_some() && base.is_empty() {
            return Err(InvokeError::thrown("exec approvals base hash required; reload and retry"));
        }
        if !base.is_empty() && base != self.hash().as_str() {
            return Err(InvokeError::thrown("exec approvals changed; reload and retry"));
        }
        let read = Store::parse("file", &file.to_string(), &mut new_id);
        let store = read.map_err(|problem| InvokeError::thrown(problem.message))?.store;
        let text = store.to_text();
        Ok(Shown { text: text.clone(), approvals: NodeApprovals { text: Some(text), store } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(before: &NodeApprovals, params: &Value) -> Result<NodeApprovals, String> {
        before.set(Some(&params.to_string())).map(|shown| shown.approvals).map_err(|error| error.message)
    }

    #[test]
    fn a_change_needs_the_hash_of_what_it_changes() {
        let none = NodeApprovals::parse(None).unwrap();
        assert_eq!(none.payload()["exists"], false);
        let file = json!({"version": 1, "defaults": {"security": "deny"}});
        let first = set(&none, &json!({"file": file})).unwrap();
        assert_eq!(first.security("main"), Some(Security::Deny));
        let payload = first.payload();
        assert_eq!(payload["file"]["defaults"]["security"], "deny");
        let why = set(&first, &json!({"file": file})).unwrap_err();
        assert_eq!(why, "Error: INVALID_REQUEST: exec approvals base hash required; reload and retry");
        let why = set(&first, &json!({"file": file, "baseHash": "bad"})).unwrap_err();
        assert_eq!(why, "Error: INVALID_REQUEST: exec approvals changed; reload and retry");
        let file = json!({"version": 1, "agents": {"a": {"ask": "always"}}});
        let second = set(&first, &json!({"file": file, "baseHash": payload["hash"]})).unwrap();
        assert_eq!((second.ask("a"), second.ask("b"), second.security("a")), (Some(Ask::Always), None, None));
        assert_ne!(second.payload()["hash"], payload["hash"]);
    }

    #[test]
    fn what_is_no_document_changes_nothing() {
        let none = NodeApprovals::parse(None).unwrap();
        for params in ["", "{", "[]", "{}", r#"{"file": 1}"#, r#"{"file": {"version": 2}}"#] {
            assert!(none.set(Some(params)).is_err(), "{params}");
        }
        assert!(NodeApprovals::parse(Some("{".to_owned())).is_err());
    }

    #[test]
    fn a_token_is_not_shown() {
        let text = r#"{"version": 1, "socket": {"path": "/s", "token": "secret"}}"#;
        let shown = NodeApprovals::parse(Some(text.to_owned())).unwrap().payload().to_string();
        assert!(!shown.contains("secret"), "{shown}");
    }
}
