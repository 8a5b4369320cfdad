//! What the operator sees: what was observed, what is left out, what changes, and what to do next.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use guard_policy::learn::{LeftOut, Merge, Observation, Proposal, ReachedHosts, Used, Why};
use guard_policy::text::{shown, shown_json};
use guard_policy::{Outcome, Policy, decide};
use guard_supervisor::config::Paths;
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;
use serde_json::{Value, json};

use super::LearnArgs;
use super::calls::ObservedCalls;
use super::target::{OutputTarget, TargetOutcome};
use crate::charset::fitted;

/// How many entries of a list are shown.
const MAX_SHOWN: usize = 25;

/// The data of the report.
pub struct Summary<'t> {
    /// How the command ended; none for calls of tools.
    pub ended: Option<Exit>,
    pub is_cut: bool,
    pub observations: &'t [Observation],
    pub reached: &'t ReachedHosts,
    pub proposal: &'t Proposal,
    pub merge: Option<&'t Merge>,
    pub in_force: &'t Policy,
    pub home: &'t Path,
}

/// Announces the run.
pub fn start(options: &Options, command: &[OsString]) {
    if !options.quiet {
        eprintln!(
            "openclaw-guard: learning from {}: the guard denies it only the files of the guard and of OpenClaw",
            words(command)
        );
    }
}

/// Says what the log has.
pub fn calls(options: &Options, calls: &ObservedCalls) {
    if !options.quiet {
        eprintln!(
            "openclaw-guard: learning from {} lines about calls of agent {}'s tools; {} other lines name no file or host, or only a part of one",
            calls.learned,
            shown(options.agent.as_bytes()),
            calls.others
        );
    }
}

fn words(command: &[OsString]) -> String {
    let words = command.iter().map(|word| String::from_utf8_lossy(word.as_bytes()).into_owned());
    let words: Vec<String> = words.collect();
    let quoted = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "));
    shown(quoted.as_bytes())
}

impl Summary<'_> {
    /// The addresses that were reached without the guard's proxy.
    fn directly(&self) -> impl ExactSizeIterator<Item = String> {
        self.reached.directly.iter().map(SocketAddr::to_string)
    }

    fn count(&self, used: Used) -> usize {
        self.observations.iter().filter(|seen| seen.used.meets(used)).count()
    }

    /// The entries that are left out and that the command would miss.
    fn touched(&self) -> impl Iterator<Item = &LeftOut> {
        self.proposal.left_out.iter().filter(|left| left.why != Why::There)
    }

    /// A path, written as patterns are.
    fn path(&self, path: &[u8]) -> String {
        let home = self.home.as_os_str().as_bytes();
        match path
            .strip_prefix(home)
            .filter(|rest| home.len() > 1 && (rest.is_empty() || rest.starts_with(b"/")))
        {
            Some(rest) => shown(&[b"~", rest].concat()),
            None => shown(path),
        }
    }

    /// How many observations the policy in force would deny, and how many it would ask about.
    fn of_policy_in_force(&self) -> (usize, usize) {
        let mut counts = (0, 0);
        let paths = self.proposal.observations.iter().map(|seen| outcome(self.in_force, seen));
        for outcome in paths.chain(self.reached.outcomes(self.in_force)) {
            match outcome {
                Outcome::Deny => counts.0 += 1,
                Outcome::Ask => counts.1 += 1,
                Outcome::Allow => {}
            }
        }
        counts
    }

    /// Prints the observations to standard error.
    pub fn summary(&self, options: &Options, paths: &Paths) {
        let line = |text: String| eprintln!("openclaw-guard: {text}");
        let hosts = match self.reached.by_name.len() + self.reached.directly.len() {
            0 => String::new(),
            1 => "1 host, ".to_owned(),
            count => format!("{count} hosts, "),
        };
        let seen = format!(
            "seen: {} programs, {} files read, {} written, {hosts}{} left out",
            self.count(Used::STARTED),
            self.count(Used::READ),
            self.count(Used::WRITTEN),
            self.touched().count()
        );
        line(match self.ended {
            None => seen,
            Some(Exit::Signal(signal)) => format!("the session was ended by signal {signal}; {seen}"),
            Some(Exit::Command(status)) => format!("the session ended with status {status}; {seen}"),
            Some(_) => format!("the session ended; {seen}"),
        });
        if self.is_cut {
            line("the record is full: the policy lacks the last part of the session".to_owned());
        }
        if options.quiet {
            return;
        }
        let in_force = if paths.policy.exists() {
            paths.policy.display().to_string()
        } else {
            "the built-in policy".to_owned()
        };
        let (refused, asked) = self.of_policy_in_force();
        line(format!(
            "{} would have denied {refused} of these and asked about {asked}",
            shown(in_force.as_bytes())
        ));
        self.list(
            "used, but left out of the policy:",
            left_out(self.touched()).iter().map(|(left, more)| {
                let more = if *more > 0 { format!(" and {more} beside it") } else { String::new() };
                self.line(left, &more)
            }),
        );
        let Some(merge) = self.merge else {
            self.list(
                "reached without the guard's proxy, so the policy has no network.web:",
                self.directly(),
            );
            return;
        };
        let conflicts = merge.conflicts.iter().map(|conflict| {
            format!("{}: {} denies it", shown(conflict.requested.as_bytes()), shown(conflict.by.as_bytes()))
        });
        self.list("not added, because the policy denies it:", conflicts);
        let refused = merge.refused.iter();
        self.list("used, but still denied by the policy:", refused.map(|left| self.line(left, "")));
        let unused = merge.unused.iter().map(|rule| shown(rule.as_bytes()));
        self.list("in the policy, but not needed by this session:", unused);
    }

    fn line(&self, left: &LeftOut, more: &str) -> String {
        let why = left.why.text();
        format!("{}{more} ({}): {}", self.path(&left.path), left.used.words(), shown(why.as_bytes()))
    }

    fn list(&self, title: &str, lines: impl ExactSizeIterator<Item = String>) {
        let count = lines.len();
        if count == 0 {
            return;
        }
        eprintln!("openclaw-guard: {title}");
        lines.take(MAX_SHOWN).for_each(|line| eprintln!("  {line}"));
        if count > MAX_SHOWN {
            eprintln!("  {} and {} more (--json lists all)", fitted("…"), count - MAX_SHOWN);
        }
    }

    /// Prints the result; a policy or JSON goes to standard output.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub fn result(
        &self,
        options: &Options,
        arguments: &LearnArgs,
        target: &OutputTarget,
        written: TargetOutcome,
    ) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if arguments.json {
            // Serializing strings and numbers cannot fail.
            let json = serde_json::to_string_pretty(&self.json(written)).unwrap_or_default();
            writeln!(out, "{}", shown_json(&json))?;
        } else if matches!(target, OutputTarget::Stdout) {
            out.write_all(self.proposal.text.as_bytes())?;
        }
        out.flush()?;
        let line = |text: String| {
            if !options.quiet {
                eprintln!("openclaw-guard: {text}");
            }
        };
        // The name stays as the operator wrote it, because it is part of the next command to type.
        let Some(name) = arguments.output.as_ref().filter(|_| !matches!(target, OutputTarget::Stdout)) else {
            return Ok(());
        };
        let name = shown(name.as_os_str().as_bytes());
        match written {
            TargetOutcome::Done if arguments.calls => line(format!(
                "wrote {name}; to have the gate decide by it: openclaw-guard --policy {name} gate serve"
            )),
            TargetOutcome::Done => line(format!(
                "wrote {name}; to run the command under it: openclaw-guard --policy {name} -- {}",
                words(&arguments.command)
            )),
            TargetOutcome::Needless => line(format!("{name} needs no change")),
            TargetOutcome::Refused => {
                eprintln!("openclaw-guard: {name} is unchanged; --yes changes it without asking")
            }
        }
        Ok(())
    }

    fn json(&self, written: TargetOutcome) -> Value {
        let merge = self.merge;
        let status = match self.ended {
            Some(Exit::Command(status)) => i32::from(status),
            Some(Exit::Signal(signal)) => 128 + signal,
            _ => 0,
        };
        let (refused, asked) = self.of_policy_in_force();
        let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        let rules =
            self.proposal.rules.iter().map(|(pattern, permission)| (pattern.clone(), json!(permission)));
        let left_out = |left: &LeftOut| json!({ "path": text(&left.path), "used": left.used.words(), "why": left.why.text() });
        json!({
            "status": status,
            "counts": {
                "programs": self.count(Used::STARTED),
                "read": self.count(Used::READ),
                "written": self.count(Used::WRITTEN),
                "leftOut": self.touched().count(),
                "refusedInForce": refused,
                "askedInForce": asked,
            },
            "isCut": self.is_cut,
            "rules": rules.collect::<serde_json::Map<_, _>>(),
            "programs": self.proposal.programs,
            "deny": self.proposal.deny,
            "hosts": {
                "seen": self.reached.by_name.keys().collect::<Vec<_>>(),
                "directly": self.directly().collect::<Vec<_>>(),
                "allowedDomains": self.proposal.network.domains,
                "connectAllow": self.proposal.network.addresses,
            },
            "leftOut": self.touched().map(left_out).collect::<Vec<_>>(),
            "conflicts": merge.map_or(&[][..], |merge| &merge.conflicts).iter().map(|conflict| {
                json!({ "wanted": conflict.requested, "by": conflict.by })
            }).collect::<Vec<_>>(),
            "refused": merge.map_or(&[][..], |merge| &merge.refused).iter().map(left_out).collect::<Vec<_>>(),
            "unused": merge.map_or(&[][..], |merge| &merge.unused),
            "written": written == TargetOutcome::Done,
            "policy": merge.map_or(&self.proposal.text, |merge| &merge.text),
        })
    }
}

/// The strictest outcome of all that was done with a path.
fn outcome(policy: &Policy, seen: &Observation) -> Outcome {
    seen.requests().map(|request| decide(policy, &request).outcome).min().unwrap_or(Outcome::Allow)
}

/// Groups the paths that were left out for the same reason in the same directory. Returns the first path of each
/// group, and how many more there are.
fn left_out<'l>(all: impl Iterator<Item = &'l LeftOut>) -> Vec<(&'l LeftOut, usize)> {
    let mut lines: Vec<(&LeftOut, usize)> = Vec::new();
    let mut known: BTreeMap<(&[u8], &Why), usize> = BTreeMap::new();
    for left in all {
        let end = left.path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        let group = match left.why {
            Why::Outside => &left.path[..end],
            Why::Process => b"/proc",
            // Any other path is listed separately.
            _ => &left.path[..],
        };
        match known.get(&(group, &left.why)) {
            Some(at) => lines[*at].1 += 1,
            None => {
                known.insert((group, &left.why), lines.len());
                lines.push((left, 0));
            }
        }
    }
    lines
}
