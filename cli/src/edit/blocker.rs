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

/// Whether a verdict is that of a sandbox without a container, by the verdict's place.
pub fn is_of_sandbox(path: &str) -> bool {
    path.starts_with("sandbox[") || path == "sandbox.network"
}

/// Finds what blocks a request, by the source, place and text of the verdict.
pub fn blocked_by(source: Source, path: &str, text: &str, operation: Option<Operation>) -> BlockedBy {
    by_source(source, path)
        .or_else(|| by_persistence(path))
        .or_else(|| by_sandbox(path))
        .or_else(|| by_network(path, text))
        .or_else(|| by_builtin(path, text))
        .unwrap_or_else(|| by_key(path, text, operation))
}

/// Explains a verdict that does not come from guard.json.
fn by_source(source: Source, path: &str) -> Option<BlockedBy> {
    Some(match source {
        Source::Openclaw => BlockedBy::new(
            "change OpenClaw's own approvals with OpenClaw (exec-approvals.json in the state directory, or the gateway's): \
             they can only tighten guard.json",
        ),
        Source::Project => {
            let file = path.split_once(": ").map_or(path, |(file, _)| file);
            BlockedBy::new(format!(
                "change {file} yourself, outside of the guard: it is the project's own policy and takes away from yours"
            ))
        }
        Source::Template if path.contains("filesystem.deny[") => BlockedBy::new(
            "guard.json extends this template, and its denials hold: write it out with `openclaw-guard init --force \
             --template NAME`, and remove the denial there",
        )
        .unwise(SECRETS),
        Source::Template => {
            let key = path.split_once(": ").map_or(path, |(_, key)| key);
            BlockedBy::new(format!(
                "set {key} in guard.json, which counts before the template that it extends"
            ))
        }
        Source::Operator => BlockedBy::new(
            "remove --exec-security, --exec-ask, OC_EXEC_SECURITY and OC_EXEC_ASK: the command line or the environment \
             tightens the policy",
        ),
        _ => return None,
    })
}

/// Explains a verdict of persistence.
fn by_persistence(path: &str) -> Option<BlockedBy> {
    let set = path.strip_prefix("permissions.persistence.")?;
    let change = format!(
        "\"permissions\": {{ \"persistence\": {{ \"{set}\": false }} }} in guard.json allows writing it; it is \
         safer to make this change yourself, outside of the guard"
    );
    Some(BlockedBy::new(change).unwise("a file there runs later, outside of the guard"))
}

/// Explains a verdict of a sandbox without a container.
fn by_sandbox(path: &str) -> Option<BlockedBy> {
    is_of_sandbox(path).then(|| {
        BlockedBy::new(
            "change the session's sandbox in openclaw.json (`openclaw-guard sandbox explain` shows it), or run the command \
             without one: a sandbox takes away from the policy, and `allow` does not change that",
        )
    })
}

/// Explains a verdict of `network`.
fn by_network(path: &str, text: &str) -> Option<BlockedBy> {
    Some(match path {
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
        path if path.starts_with("network.connect.deny") => {
            BlockedBy::new("remove it from network.connect.deny in guard.json")
        }
        _ => return None,
    })
}

/// Explains a verdict that is built into the guard.
fn by_builtin(path: &str, text: &str) -> Option<BlockedBy> {
    let name = path.strip_prefix("builtin.")?;
    Some(match name {
        _ if name.starts_with("deny[") && text.ends_with("holds secrets") => BlockedBy::new(
            "run `openclaw-guard init`, and allow it in the new guard.json: the built-in policy denies it",
        )
        .unwise(SECRETS),
        _ if name.starts_with("deny[") => BlockedBy::new(
            "nothing: no policy can allow the guarded tree to use the files of the guard or of OpenClaw; do it outside of the guard",
        ),
        "policies" => BlockedBy::new(
            "change it yourself, outside of the guard: it was the policy of an earlier run, and may be that of the next",
        ),
        "page" => BlockedBy::new("nothing: no policy can allow the guarded tree to answer its own questions"),
        _ if name.starts_with("gate") => BlockedBy::new(
            "nothing: the gate denies such a call whatever the policy; call the tool in another way",
        ),
        _ => BlockedBy::new("run `openclaw-guard init`, and allow it in the new guard.json"),
    })
}

/// Explains a verdict of any other key of guard.json, or of none.
fn by_key(path: &str, text: &str, operation: Option<Operation>) -> BlockedBy {
    let name = path.rsplit('.').next().unwrap_or_default();
    match (path, name) {
        ("", _) => refused(text, operation),
        ("approvals.gateway.tokenFile", _) => {
            BlockedBy::new("nothing: no policy can allow the guarded tree to open the gateway's token")
        }
        ("exec.roots", _) => BlockedBy::new(
            "add the program's directory to exec.roots in guard.json, and restart a running guard",
        ),
        (_, "maxReadBytes" | "maxSizeBytes") => BlockedBy::new(format!(
            "raise {path} in guard.json, or have the program read a part of the file that you put beside it"
        )),
        (_, "strictInlineEval") => {
            BlockedBy::new(format!("answer the question each time, or set {path} to false"))
                .unwise("nobody can see what code does before it runs")
        }
        (_, "security" | "mode") => {
            BlockedBy::new(format!("change {path} in guard.json: \"allowlist\" allows the listed programs"))
        }
        (_, "ask") => BlockedBy::new(format!(
            "change {path} in guard.json: \"on-miss\" asks only about what no rule allows"
        )),
        _ => BlockedBy::new(format!("{path} in guard.json")),
    }
}

/// Explains a refusal that no policy made.
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
