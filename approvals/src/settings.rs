//! The settings of guard.json for approvals.

use std::collections::BTreeSet;
use std::time::Duration;

use guard_openclaw::gateway::GatewaySettings;
use guard_policy::Policy;
use guard_policy::approval::{Forwarding, Route};

use super::routes::notify::Program;

/// The settings of guard.json for approvals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `exec.timeoutMs`.
    pub timeout: Duration,
    /// `exec.runningNoticeMs`.
    pub running_notice: Duration,
    /// `approvals.maxPending`.
    pub max_pending: usize,
    /// `approvals.routes`; `None` stands for all routes.
    pub routes: Option<Vec<Route>>,
    /// `approvals.notify`.
    pub notify: Option<Program>,
    /// `approvals.gateway`.
    pub gateway: GatewaySettings,
    /// `approvals.exec`.
    pub forwarding: Forwarding,
}

impl Settings {
    /// The settings of a policy.
    pub fn from_policy(policy: &Policy) -> Settings {
        Settings {
            timeout: Duration::from_millis(policy.timeout_ms()),
            running_notice: Duration::from_millis(policy.running_notice_ms()),
            max_pending: policy.approvals().max_pending(),
            routes: policy.approvals().routes().map(<[Route]>::to_vec),
            notify: Program::from_policy(policy),
            gateway: GatewaySettings::from_policy(policy),
            forwarding: policy.approvals().forwarding().clone(),
        }
    }

    /// Whether `approvals.routes` lets this route answer.
    pub fn wants(&self, route: Route) -> bool {
        self.routes.as_ref().is_none_or(|routes| routes.contains(&route))
    }

    /// Whether `approvals.routes` names this route.
    pub fn names(&self, route: Route) -> bool {
        self.routes.as_ref().is_some_and(|routes| routes.contains(&route))
    }

    /// Whether a route could bring an answer, if the routes in `reachable` can be reached.
    pub fn opens(&self, reachable: &BTreeSet<Route>, route: Route) -> bool {
        self.wants(route) && reachable.contains(&route)
    }
}
