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

const SECRETS: &str = "what the tree can read, it can also send somewhere";

/// Finds it by the verdict's source, place and text.
pub fn blocked_by(source: Source, path: &str, text: &str, operation: Option<Operation>) -> BlockedBy {
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    match source {
        Source::Openclaw => {
            return BlockedBy::new(
                "OpenClaw's own approvals say so, and they only ever tighten: change them with OpenClaw (exec-approvals.json in \
                 the state directory, or the gateway's)",
            );
        }
        Source::Operator => {
            return BlockedBy::new(
                "the command line or the environment tightens the policy: leave out --exec-security, --exec-ask, OC_EXEC_SECURITY \
                 and OC_EXEC_ASK",
            );
        }
        _ => {}
    }
    if let Some(set) = path.strip_prefix("permissions.persistence.") {
        return BlockedBy::new(format!(
            "\"permissions\": {{ \"persistence\": {{ \"{set}\": false }} }} in guard.json lets it be written; better do it \
             yourself, outside of the guard"
        ))
        .unwise("what is written there runs later outside of the guard");
    }
    match path {
        "network.connect.gateway" => {
            BlockedBy::new("\"network\": { \"connect\": { \"gateway\": \"allow\" } } in guard.json")
                .unwise("whoever reaches the gateway with its token can answer what the guard asks")
        }
        "network.connect.ports" => BlockedBy::new("add the port to network.connect.ports in guard.json"),
        "approvals.gateway.tokenFile" => {
            BlockedBy::new("nothing: no policy opens the gateway's token to the tree that it guards")
        }
        "exec.roots" => BlockedBy::new(
            "add the program's directory to exec.roots in guard.json; a guard that runs must be started again",
        ),
        path if path.starts_with("network.connect.deny") => {
            BlockedBy::new("take it out of network.connect.deny in guard.json")
        }
        path if path.starts_with("builtin.deny[") && text.ends_with("holds secrets") => BlockedBy::new(
            "the policy without a guard.json denies it: `openclaw-guard init` makes one, in which it may be allowed",
        )
        .unwise(SECRETS),
        path if path.starts_with("builtin.deny[") => BlockedBy::new(
            "nothing: what guards the tree is out of its reach, whatever the policy; do it outside of the guard",
        ),
        "builtin.page" => BlockedBy::new("nothing: what answers for the tree is out of its reach, whatever the policy"),
        path if path.starts_with("builtin.") => {
            BlockedBy::new("`openclaw-guard init` makes a guard.json, in which it may be allowed")
        }
        path if last(path) == "strictInlineEval" => {
            BlockedBy::new(format!("code in arguments is asked for each time: answer, or set {path} to false"))
                .unwise("what code does is seen when it is done, not before")
        }
        path if ["security", "mode"].contains(&&*last(path)) => {
            BlockedBy::new(format!("{path} in guard.json; \"allowlist\" lets start what is listed"))
        }
        path if last(path) == "ask" => {
            BlockedBy::new(format!("{path} in guard.json: \"on-miss\" asks only for what no rule allows"))
        }
        "" => refused(text, operation),
        path => BlockedBy::new(format!("{path} in guard.json")),
    }
}

/// For a refusal that no policy made.
fn refused(text: &str, operation: Option<Operation>) -> BlockedBy {
    if text.starts_with("not below exec.roots") {
        return BlockedBy::new(format!("{text} in guard.json; a guard that runs must be started again"));
    }
    if text.contains("chmod +r") {
        return BlockedBy::new("make the file readable (chmod +r), so that it can be checked");
    }
    match operation {
        Some(Operation::Trace) => {
            BlockedBy::new("\"exec\": { \"allowPtrace\": true } in guard.json, and a new start of the guard")
                .unwise("a process that traces another can do whatever that may")
        }
        Some(Operation::Signal) => BlockedBy::new("nothing: the tree reaches its own processes alone"),
        Some(Operation::Ioctl) => {
            BlockedBy::new("nothing: such requests act on more than the file; do it outside of the guard")
        }
        Some(Operation::Connect | Operation::Bind) => BlockedBy::new(
            "nothing: the tree reaches servers by names that are no paths only where they are its own",
        ),
        _ => BlockedBy::new("nothing: no policy allows it; do it outside of the guard"),
    }
}
