//! `decide`, the one function that answers every question to the policy.

use crate::codex_config;
use crate::git_config::{Around, changed_keys, key_diff, module_depth};
use crate::git_paths;
use crate::paths::link_targets::decide_link;
use crate::paths::persistence::Set;
use crate::paths::read_bound::judge_size;
use crate::programs::name::basename;
use crate::programs::{Listed, Writers};
use crate::text::shown;
use crate::verdict::CompiledReason;
use crate::{
    Access, Ask, Exec, GitPathsContent, Grant, Outcome, OwnGitParts, Policy, Reason, Request, Security, Site,
    Source, Verdict,
};

/// Answers a request. Total: every policy and every request give a verdict.
pub fn decide<'p>(policy: &'p Policy, request: &Request<'_>) -> Verdict<'p> {
    match request {
        Request::File { path, access } => decide_file(policy, path, *access, None),
        Request::FileAt { path, access, site } => decide_file(policy, path, *access, Some(*site)),
        Request::Link(link) => decide_link(policy, link),
        Request::Sized { path, size } => decide_size(policy, path, *size),
        Request::GitConfig { path, old, new, own } => decide_git_config(policy, path, old, new, *own),
        Request::CodexConfig { path, old, new } => decide_codex_config(policy, path, old, new),
        Request::GitPaths { path, content, new } => decide_git_paths(path, *content, new),
        Request::Exec(exec) => decide_exec(policy, exec),
        Request::Connect(connection) => policy.network.connect(connection),
        Request::Web(request) => policy.network.web(request),
        Request::Lookup(name) => policy.network.lookup(name),
        Request::Sockets => policy.network.sockets(),
        Request::Bind { address, transport, page, is_beside } => {
            policy.network.bind(*address, *transport, *page, *is_beside)
        }
    }
}

fn verdict(outcome: Outcome, reason: &CompiledReason) -> Verdict<'_> {
    Verdict { outcome, reason: reason.to_reason() }
}

fn outcome(grant: Grant) -> Outcome {
    match grant {
        Grant::No => Outcome::Deny,
        Grant::Ask => Outcome::Ask,
        Grant::Yes => Outcome::Allow,
    }
}

fn decide_file<'p>(policy: &'p Policy, path: &[u8], access: Access, site: Option<Site>) -> Verdict<'p> {
    let found = if access.contains(Access::WRITE) {
        policy.map.find_at(path, site)
    } else if access.contains(Access::MAP) {
        policy.map.find_library(path)
    } else {
        // Persistence withholds only `w`.
        policy.map.find_at(path, Some(Site::Own))
    };
    // The strictest of the wanted bits decides, and is the reason.
    let (grant, reason) = [
        (Access::READ, found.rights.r, found.r),
        (Access::WRITE, found.rights.w, found.w),
        (Access::MAP, found.rights.x, found.x),
    ]
    .into_iter()
    .filter(|(bit, ..)| access.contains(*bit))
    .map(|(_, grant, reason)| (grant, reason))
    .min_by_key(|(grant, _)| *grant)
    .unwrap_or((Grant::No, found.r));
    let would_run_outside = access.contains(Access::WRITE) && found.is_kept_from_writing();
    // Whoever is asked must learn that the file would run outside the guard.
    let reason = if would_run_outside && grant == Grant::Ask { found.w } else { reason };
    let verdict = verdict(outcome(grant), reason);
    // An attempt on what would run outside is always worth a line, also where a rule denies it anyway.
    let is_kept = || access.contains(Access::WRITE) && policy.map.is_kept(path, site);
    match policy.map.quiet_reason(path).filter(|_| !is_kept()) {
        Some(quiet) => quietly(verdict, quiet),
        None => verdict,
    }
}

fn decide_size<'p>(policy: &'p Policy, path: &[u8], size: u64) -> Verdict<'p> {
    let verdict = judge_size(policy.read_bound.as_ref(), &policy.map, path, size);
    match policy.map.quiet_reason(path) {
        Some(quiet) => quietly(verdict, quiet),
        None => verdict,
    }
}

/// Denies what is not allowed, without a question and without a line. A denial keeps its reason, which says what to change.
fn quietly<'p>(verdict: Verdict<'p>, quiet: &'p CompiledReason) -> Verdict<'p> {
    let reason = match verdict.outcome {
        Outcome::Allow => return verdict,
        Outcome::Ask => quiet.to_reason(),
        Outcome::Deny => verdict.reason,
    };
    Verdict { outcome: Outcome::Deny, reason: reason.quietly() }
}

/// Judges the content alone: whether the path may be written is another request.
fn decide_git_config(
    policy: &Policy,
    path: &[u8],
    old: &[u8],
    new: &[u8],
    own: OwnGitParts<'_>,
) -> Verdict<'static> {
    let shapes = policy.map.protected().shapes();
    let this_host = shapes.this_host();
    let asks = || shapes.asks(Set::Git) && key_diff(path, old, new, own, this_host).is_ok();
    // A submodule of the operator's must keep its work tree: with another one, hooks and files would be elsewhere.
    let around = Around { depth: module_depth(path).filter(|_| own.directory), this_host };
    let (outcome, rule) = match changed_keys(old, new, around, own.remotes) {
        Ok(names) if names.is_empty() => (Outcome::Allow, "no key changes".to_owned()),
        Ok(names) => (Outcome::Allow, format!("only keys that run nothing change: {}", names.join(", "))),
        Err(refusal) if asks() => (Outcome::Ask, format!("{}: {}", refusal.subject, refusal.why)),
        Err(refusal) => {
            let todo = "make this change yourself, outside the guard";
            (Outcome::Deny, format!("{}: {}; {todo}", refusal.subject, refusal.why))
        }
    };
    let text = format!("git's new configuration: {rule}");
    let rule = format!("builtin persistence \"git\": {rule}");
    Verdict { outcome, reason: Reason::new(Source::Builtin, "permissions.persistence.git", rule, text) }
}

/// Allows a change if persistence is the only reason to ask about it, and the content shows that nothing new runs.
/// Denies every other change: then the verdict on the path counts, whatever the new content is.
fn decide_codex_config<'p>(policy: &'p Policy, path: &[u8], old: &[u8], new: &[u8]) -> Verdict<'p> {
    let of_path = decide_file(policy, path, Access::WRITE, None);
    let is_own = path.strip_prefix(policy.home.as_slice()) == Some(codex_config::PATH);
    let is_granted = || policy.map.find(path).granted_write() == Grant::Yes;
    let asks = of_path.outcome == Outcome::Ask && of_path.reason.is_persistence();
    let names = (is_own && asks && is_granted()).then(|| codex_config::changed_keys(old, new)).flatten();
    let rule = match names {
        None => return Verdict { outcome: Outcome::Deny, ..of_path },
        Some(names) if names.is_empty() => "no key changes".to_owned(),
        Some(names) => format!("only keys that run nothing change: {}", names.join(", ")),
    };
    let text = format!("Codex's new configuration: {rule}");
    let rule = format!("builtin persistence \"agents\": {rule}");
    let reason = Reason::new(Source::Builtin, "permissions.persistence.agents", rule, text);
    Verdict { outcome: Outcome::Allow, reason }
}

fn decide_git_paths<'p>(path: &[u8], content: GitPathsContent, new: &[u8]) -> Verdict<'p> {
    let (outcome, rule) = match git_paths::check(content, new) {
        Ok(()) => (Outcome::Allow, "it names only files of the work tree".to_owned()),
        Err(error) => (Outcome::Deny, error.to_string()),
    };
    let name = basename(path);
    let text = format!("git's {} as it would be: {rule}", shown(name));
    let rule = format!("builtin persistence \"git\": {rule}");
    Verdict { outcome, reason: Reason::new(Source::Builtin, "permissions.persistence.git", rule, text) }
}

fn decide_exec<'p>(policy: &'p Policy, exec: &Exec<'_>) -> Verdict<'p> {
    let programs = &policy.programs;
    let reasons = &programs.reasons;
    if programs.security == Security::Deny {
        return verdict(Outcome::Deny, &reasons.denied);
    }
    let found = policy.map.find_program(exec.path);
    let (start, by) = found.start();
    if start == Grant::No {
        return verdict(Outcome::Deny, by);
    }
    match programs.listed(exec, Writers::new(&policy.map, &found)) {
        Listed::Miss => {
            let outcome = if programs.ask == Ask::Off { Outcome::Deny } else { Outcome::Ask };
            Verdict { outcome, reason: programs.missed(exec, &found) }
        }
        Listed::Code(reason) => verdict(Outcome::Ask, reason),
        Listed::Carrier(_) | Listed::Yes(_) if start == Grant::Ask => verdict(Outcome::Ask, by),
        Listed::Yes(_) if programs.ask == Ask::Always => verdict(Outcome::Ask, &reasons.always),
        Listed::Carrier(reason) | Listed::Yes(reason) => verdict(Outcome::Allow, reason),
    }
}

impl Policy {
    /// What *ask* becomes where nobody can be asked, by `exec.askFallback`. A verdict that asks
    /// nothing is returned as it is: the fallback never lifts a denial.
    pub fn fallback<'p>(&'p self, request: &Request<'_>, verdict: Verdict<'p>) -> Verdict<'p> {
        if verdict.outcome != Outcome::Ask {
            return verdict;
        }
        let fallback = self.programs.fallback;
        let allowed = match request {
            // Without an answer, nothing is written that would run outside the guard.
            _ if verdict.reason.is_persistence() => false,
            Request::File { .. } | Request::FileAt { .. } => fallback == Security::Full,
            // Without an answer these are denied, whatever `exec.askFallback` says.
            Request::Connect(_)
            | Request::Bind { .. }
            | Request::Web(_)
            | Request::Lookup(_)
            | Request::Sockets
            | Request::Link(_)
            | Request::GitPaths { .. }
            | Request::Sized { .. }
            | Request::GitConfig { .. }
            | Request::CodexConfig { .. } => false,
            Request::Exec(exec) => {
                let found = self.map.find_program(exec.path);
                let listed = self.programs.listed(exec, Writers::new(&self.map, &found));
                match (fallback, listed) {
                    // Without an answer, code in arguments never runs.
                    (Security::Deny, _) | (_, Listed::Code(_)) => false,
                    (Security::Full, _) => true,
                    (Security::Allowlist, Listed::Miss) => false,
                    (Security::Allowlist, _) => found.start().0 == Grant::Yes,
                }
            }
        };
        if allowed {
            let reason = self.programs.reasons.fallback.to_reason();
            Verdict { outcome: Outcome::Allow, reason }
        } else {
            // The reason for asking says more than that nobody answered.
            Verdict { outcome: Outcome::Deny, ..verdict }
        }
    }
}
