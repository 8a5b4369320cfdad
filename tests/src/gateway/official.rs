//! The official command line, `openclaw approvals …`.

use std::process::Stdio;

use serde_json::Value;

use super::Gateway;
use crate::{Ended, ended};

/// The output of `openclaw approvals pending --json`.
#[derive(Clone, Debug)]
pub struct CliPending(pub Value);

impl CliPending {
    /// Returns the entries that contain a text.
    #[must_use]
    pub fn with(&self, text: &str) -> Vec<Value> {
        let list = self
            .0
            .as_array()
            .or_else(|| self.0["approvals"].as_array())
            .or_else(|| self.0["pending"].as_array());
        let entries = list.unwrap_or_else(|| panic!("no list: {:#}", self.0)).iter();
        entries.filter(|entry| entry.to_string().contains(text)).cloned().collect()
    }
}

impl Gateway {
    /// Runs `openclaw approvals …` of this release, with the gateway's token.
    #[must_use]
    pub fn approvals(&self, arguments: &[&str]) -> Ended {
        let mut command = self.openclaw();
        ended(command.arg("approvals").args(arguments).stdin(Stdio::null()))
    }

    /// Returns the pending questions that the command line lists.
    ///
    /// # Panics
    /// When the output is not JSON.
    #[must_use]
    pub fn cli_pending(&self) -> CliPending {
        let output = self.approvals(&["pending", "--json"]);
        CliPending(serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}")))
    }
}
