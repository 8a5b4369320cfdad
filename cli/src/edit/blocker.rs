//! Finds what blocks a request although rules and allowlists permit it, what would have to change, and why that may be
//! unwise.

use guard_policy::Source;
use guard_supervisor::audit::Operation;

/// What blocks the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedBy {
    /// What to do; or that nothing helps, and what to do instead.
    pub change: String,
    /// The risk of doing it.
    pub unwise: Option<&'static str>,
}

impl BlockedBy {
    fn new(change: impl Into<String>) -> BlockedBy {
        BlockedBy { change: change.into(), unwise: None }
    }

    fn unwise(self, why: &'static str) -> BlockedBy {
        BlockedBy { unwise: Some(why), ..self }
    }
}

const SECRETS: &str = "the tree can send elsewhere what it can read";

/// Whether a verdict is that of a sandbox without a container, by its place.
pub fn is_of_sandbox(path: &str) -> bool {
    path.starts_with("sandbox[") || path == "sandbox.network"
}

/// Finds it by the verdict's source, place and text.
pub fn blocked_by(source: Source, path: &str, text: &str, operation: Option<Operation>) -> BlockedBy {
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    match source {
        Source::Openclaw => {
            return BlockedBy::new(
                "change OpenClaw's own approvals with OpenClaw (exec-approvals.json in the state directory, or the gateway's): \
                 they can only tighten guard.json",
            );
        }
        Source::Project => {
            let file = path.split_once(": ").map_or(path, |(file, _)| file);
            return BlockedBy::new(format!(
                "change {file} yourself, outside of the guard: it is the project's own policy and takes away from yours"
            ));
        }
        Source::Template if path.contains("filesystem.deny[") => {
            return BlockedBy::new(
                "guard.json extends this template, and its denials hold: write it out with `openclaw-guard init --force \
                 --template NAME`, and remove the denial there",
            )
            .unwise(SECRETS);
        }
        Source::Template => {
            let key = path.split_once(": ").map_or(path, |(_, key)| key);
            return BlockedBy::new(format!(
                "set {key} in guard.json, which counts before the template that it extends"
            ));
        }
        Source::Operator => {
            return BlockedBy::new(
                "remove --exec-security, --exec-ask, OC_EXEC_SECURITY and OC_EXEC_ASK: the command line or the environment \
                 tightens the policy",
            );
        }
        _ => {}
    }
    if let Some(set) = path.strip_prefix("permissions.persistence.") {
        return BlockedBy::new(format!(
            "\"permissions\": {{ \"persistence\": {{ \"{set}\": false }} }} in guard.json allows writing it; it is \
             safer to make this change yourself, outside of the guard"
        ))
        .unwise("a file there runs later, outside of the guard");
    }
    if is_of_sandbox(path) {
        return BlockedBy::new(
            "change the session's sandbox in openclaw.json (`openclaw-guard sandbox explain` shows it), or run the command \
             without one: a sandbox takes away from the policy, and `allow` does not change that",
        );
    }
    match path {
        "network.connect.gateway" => BlockedBy::new(
            "\"network\": { \"connect\": { \"gateway\": \"allow\" } } in guard.json",
        )
        .unwise("a program that reaches the gateway and has its token can answer the guard's questions"),
        "network.connect.ports" => BlockedBy::new("add the port to network.connect.ports in guard.json"),
        "network.connect.allow" => BlockedBy::new("add the address to network.connect.allow in guard.json")
            .unwise("servers at such addresses trust every program on this machine or link"),
        "network.connect.private" => {
            BlockedBy::new("add the address or its network to network.connect.allow in guard.json")
        }
        "network.web.allowedDomains" => {
            BlockedBy::new("add the host to network.web.allowedDomains in guard.json")
        }
        "network.web" if text.starts_with("with network.web") => BlockedBy::new(
            "have the program use the guard's proxy (HTTPS_PROXY), which network.web makes the only way to other hosts",
        ),
        "network.web" => BlockedBy::new(
            "nothing: a program that asks the guard's proxy for one host must then send only what is for that host",
        ),
        path if path.starts_with("network.web.denied") => {
            BlockedBy::new(format!("remove it from {path} in guard.json"))
        }
        "approvals.gateway.tokenFile" => {
            BlockedBy::new("nothing: no policy can allow the guarded tree to open the gateway's token")
        }
        "exec.roots" => BlockedBy::new(
            "add the program's directory to exec.roots in guard.json, and restart a running guard",
        ),
        path if path.starts_with("network.connect.deny") => {
            BlockedBy::new("remove it from network.connect.deny in guard.json")
        }
        path if path.starts_with("builtin.deny[") && text.ends_with("holds secrets") => BlockedBy::new(
            "run `openclaw-guard init`, and allow it in the new guard.json: the built-in policy denies it",
        )
        .unwise(SECRETS),
        path if path.starts_with("builtin.deny[") => BlockedBy::new(
            "nothing: no policy can allow the guarded tree to use the files of the guard or of OpenClaw; do it outside of the guard",
        ),
        "builtin.policies" => BlockedBy::new(
            "change it yourself, outside of the guard: it was the policy of an earlier run, and may be that of the next",
        ),
        "builtin.page" => {
            BlockedBy::new("nothing: no policy can allow the guarded tree to answer its own questions")
        }
        path if path.starts_with("builtin.gate") => BlockedBy::new(
            "nothing: the gate denies such a call whatever the policy; call the tool in another way",
        ),
        path if path.starts_with("builtin.") => {
            BlockedBy::new("run `openclaw-guard init`, and allow it in the new guard.json")
        }
        path if ["maxReadBytes", "maxSizeBytes"].contains(&&*last(path)) => BlockedBy::new(format!(
            "raise {path} in guard.json, or have the program read a part of the file that you put beside it"
        )),
        path if last(path) == "strictInlineEval" => {
            BlockedBy::new(format!("answer the question each time, or set {path} to false"))
                .unwise("nobody can see what code does before it runs")
        }
        path if ["security", "mode"].contains(&&*last(path)) => {
            BlockedBy::new(format!("change {path} in guard.json: \"allowlist\" allows the listed programs"))
        }
        path if last(path) == "ask" => BlockedBy::new(format!(
            "change {path} in guard.json: \"on-miss\" asks only about what no rule allows"
        )),
        "" => refused(text, operation),
        path => BlockedBy::new(format!("{path} in guard.json")),
    }
}

/// For a refusal that no policy made.
fn refused(text: &str, operation: Option<Operation>) -> BlockedBy {
    if text.starts_with("not below exec.roots") {
        return BlockedBy::new(format!("{text} in guard.json, and restart a running guard"));
    }
    if text.contains("chmod +r") {
        return BlockedBy::new("make the file readable (chmod +r), so that it can be checked");
    }
    match operation {
        Some(Operation::Trace) => {
            BlockedBy::new("\"exec\": { \"allowPtrace\": true } in guard.json, and restart the guard")
                .unwise("a process that traces another can do everything that it may do")
        }
        Some(Operation::Signal) => BlockedBy::new("nothing: the tree reaches only its own processes"),
        Some(Operation::Ioctl) => {
            BlockedBy::new("nothing: such requests affect more than the file; do it outside of the guard")
        }
        Some(Operation::Connect | Operation::Bind) => {
            BlockedBy::new("nothing: the tree reaches only its own servers by abstract socket names")
        }
        _ => BlockedBy::new("nothing: no policy allows it; do it outside of the guard"),
    }
}
