//! The prepared plans that still may be approved. Each is for one run.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use guard_openclaw::node::{Plan, PolicySnapshot};
use guard_supervisor::config::node_run::RunApproval;

/// How long an approval may take: OpenClaw's own limit is half an hour.
const LIFETIME: Duration = Duration::from_secs(3600);
/// How many plans are remembered. If there are more, the oldest has to be prepared again.
const MAX_TICKETS: usize = 1024;

/// How large all remembered plans may be together, in bytes. If they are larger, the oldest has to be prepared
/// again.
const MAX_BYTES: usize = 16 << 20;

/// What was prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// The plan, as the gateway got it.
    pub plan: Plan,
    /// The variables that the command sets.
    pub env: BTreeMap<String, String>,
    /// What an approval covers, with the hashes that the files had then.
    pub covers: RunApproval,
    /// A digest of the policy.
    pub policy: String,
}

impl Ticket {
    /// About how large it is, in bytes: the arguments occur several times.
    fn size(&self) -> usize {
        let Plan { argv, cwd, command_text, command_preview, agent_id, session_key, .. } = &self.plan;
        let words: usize = argv.iter().map(String::len).sum();
        let texts = [cwd, command_preview, agent_id, session_key].into_iter().flatten().chain([command_text]);
        let env: usize = self.env.iter().map(|(name, value)| name.len() + value.len()).sum();
        4 * words + texts.map(String::len).sum::<usize>() + env + 1024
    }
}

/// The plans that were prepared.
#[derive(Debug, Default)]
pub struct Tickets(VecDeque<(Instant, Ticket)>);

impl Tickets {
    /// Remembers a plan.
    pub fn add(&mut self, ticket: Ticket) {
        self.forget(Instant::now());
        self.0.push_back((Instant::now(), ticket));
        let mut bytes: usize = self.0.iter().map(|(_, ticket)| ticket.size()).sum();
        while self.0.len() > MAX_TICKETS || bytes > MAX_BYTES {
            let Some((_, oldest)) = self.0.pop_front() else { break };
            bytes -= oldest.size();
        }
    }

    /// Returns the settings under which a plan was prepared, for a plan that has come back without them.
    pub fn snapshot(&self, plan: &Plan, env: &BTreeMap<String, String>) -> Option<PolicySnapshot> {
        let is_it = |ticket: &Ticket| {
            let snapshot = ticket.plan.policy_snapshot.clone();
            ticket.env == *env && ticket.plan == Plan { policy_snapshot: snapshot, ..plan.clone() }
        };
        self.0.iter().find(|(_, ticket)| is_it(ticket))?.1.plan.policy_snapshot.clone()
    }

    /// Takes the oldest ticket for this plan and these variables: no other run gets it.
    pub fn take(&mut self, plan: &Plan, env: &BTreeMap<String, String>) -> Option<Ticket> {
        self.forget(Instant::now());
        let at = self.0.iter().position(|(_, ticket)| ticket.plan == *plan && ticket.env == *env)?;
        self.0.remove(at).map(|(_, ticket)| ticket)
    }

    fn forget(&mut self, now: Instant) {
        while self.0.front().is_some_and(|(made, _)| now.duration_since(*made) > LIFETIME) {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(word: &str) -> Ticket {
        let plan = Plan {
            argv: vec![word.to_owned()],
            cwd: None,
            command_text: word.to_owned(),
            command_preview: None,
            agent_id: None,
            session_key: None,
            mutable_file_operand: None,
            policy_snapshot: None,
        };
        Ticket { plan, env: BTreeMap::new(), covers: RunApproval::default(), policy: String::new() }
    }

    #[test]
    fn a_plan_is_for_one_run() {
        let mut tickets = Tickets::default();
        let [one, other] = ["one", "other"].map(ticket);
        assert_eq!(tickets.take(&one.plan, &one.env), None);
        tickets.add(one.clone());
        tickets.add(one.clone());
        assert_eq!(tickets.take(&other.plan, &other.env), None);
        assert_eq!(tickets.take(&one.plan, &one.env), Some(one.clone()));
        assert_eq!(tickets.take(&one.plan, &one.env), Some(one.clone()));
        assert_eq!(tickets.take(&one.plan, &one.env), None);
        let set = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        tickets.add(one.clone());
        assert_eq!(tickets.take(&one.plan, &set), None, "the variables are others");
    }

    #[test]
    fn no_more_plans_are_kept_than_anybody_approves() {
        let mut tickets = Tickets::default();
        for at in 0..MAX_TICKETS + 10 {
            tickets.add(ticket(&at.to_string()));
        }
        assert_eq!(tickets.0.len(), MAX_TICKETS);
        assert_eq!(tickets.take(&ticket("0").plan, &BTreeMap::new()), None);
        let large = "x".repeat(1 << 20);
        for at in 0..20 {
            tickets.add(ticket(&format!("{at}{large}")));
        }
        assert!(tickets.0.len() < 5, "{}", tickets.0.len());
        for _ in 0..20 {
            let mut ticket = ticket("x");
            ticket.plan.agent_id = Some(large.clone());
            tickets.add(ticket);
        }
        assert!(tickets.0.len() < 20, "{}", tickets.0.len());
    }
}
