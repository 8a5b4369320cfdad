//! `approvals` of guard.json: how a human is asked.

use schemars::JsonSchema;
use serde::Serialize;

mod forwarding;
mod gateway;
mod url;

pub(crate) use forwarding::ForwardingMode;
pub use forwarding::{Forwarding, Recipient, ThreadId, TurnSource};
pub use gateway::{Fingerprint, GatewayRoute, TokenFileError};
pub use url::{GatewayHost, GatewayUrl, GatewayUrlError, Scheme};

/// A route to a human.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Route {
    /// `openclaw-guard approvals`.
    Cli,
    /// A prompt on the operator's terminal.
    Terminal,
    /// Programs of the operator that listen on a socket.
    Socket,
    /// OpenClaw's gateway.
    Gateway,
}

impl Route {
    /// Every route.
    pub const ALL: [Route; 4] = [Route::Cli, Route::Terminal, Route::Socket, Route::Gateway];

    /// Every value, as written in `guard.json`.
    pub const NAMES: [&'static str; 4] = ["cli", "terminal", "socket", "gateway"];

    /// The value's name in `guard.json`.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Parses the name used in `guard.json`.
    pub fn from_name(name: &str) -> Option<Route> {
        Route::ALL.into_iter().find(|route| route.as_str() == name)
    }
}

/// The default of `maxPending`.
const DEFAULT_MAX_PENDING: usize = 16;

/// `approvals`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct Approvals {
    /// The routes to a human. Default: every route, cli only while somebody watches. If no route can be reached,
    /// `exec.askFallback` decides at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) routes: Option<Vec<Route>>,
    /// How many questions may wait for an answer. Further ones are denied. Default: 16.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub(crate) max_pending: Option<u64>,
    /// A program with its arguments that the guard runs for each new question.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) notify: Option<Vec<String>>,
    /// The OpenClaw gateway that gets the questions, and how to log in there.
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) gateway: GatewayRoute,
    /// The chats to which the gateway forwards questions.
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) exec: Forwarding,
}

fn is_empty<T: Default + PartialEq>(section: &T) -> bool {
    *section == T::default()
}

impl Approvals {
    /// The upper limit of `maxPending`: more cards than anybody reads. It bounds memory use.
    pub const MAX_PENDING: u64 = 1024;

    /// `routes`; `None` means every route.
    pub fn routes(&self) -> Option<&[Route]> {
        self.routes.as_deref()
    }

    /// `maxPending`.
    pub fn max_pending(&self) -> usize {
        self.max_pending.and_then(|most| usize::try_from(most).ok()).unwrap_or(DEFAULT_MAX_PENDING)
    }

    /// `notify`: a program and its arguments.
    pub fn notify(&self) -> Option<&[String]> {
        self.notify.as_deref()
    }

    /// Warnings about settings that may not do what the operator meant.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut remarks = self.exec.remarks();
        let has_no_gateway = self.routes().is_some_and(|routes| !routes.contains(&Route::Gateway));
        if has_no_gateway && !is_empty(&self.gateway) {
            remarks.push(
                "approvals.gateway: has no effect, because approvals.routes has no \"gateway\"".to_owned(),
            );
        }
        if self.gateway.allow_insecure()
            && self.gateway.url().is_none_or(|url| url.scheme() == Scheme::Wss || url.is_loopback())
        {
            remarks.push("approvals.gateway.allowInsecure: is only for a ws url of another host".to_owned());
        }
        remarks
    }

    /// `gateway`.
    pub fn gateway(&self) -> &GatewayRoute {
        &self.gateway
    }

    /// `exec`.
    pub fn forwarding(&self) -> &Forwarding {
        &self.exec
    }
}
