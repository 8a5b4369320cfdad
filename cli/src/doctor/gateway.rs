//! Checks whether questions reach anyone at OpenClaw's gateway.

use std::time::Duration;

use guard_approvals::reply::{self, GatewayReply};
use guard_openclaw::gateway::{ADMIN, CallError, Credentials, GatewaySettings, Link};
use guard_openclaw::ids;
use guard_policy::Policy;
use guard_policy::approval::Route;
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{self, Disk, Paths};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::DoctorError;
use super::finding::{Findings, Section};

/// How long the gateway may take to reply.
const IO_TIMEOUT: Duration = Duration::from_secs(10);
/// How long until the question expires at the gateway, if it is not withdrawn.
const WAIT_TIMEOUT: Duration = Duration::from_secs(5);
/// The command in the test question. It never runs, whatever the answer.
const COMMAND: &str = "true # openclaw-guard doctor: a test, nothing runs";

/// Connects to the gateway; asks a question only if `asks` is set.
///
/// # Errors
/// When no policy is in force.
pub fn check(options: &Options, asks: bool) -> Result<Findings, DoctorError> {
    let paths = Paths::find(options)?;
    let policy = config::policy(options, &paths, Disk::Used)?;
    let mut findings = Findings::about(Section::Gateway);
    route(&policy, &mut findings);
    let access = match Credentials::find(&GatewaySettings::from_policy(&policy), &paths.state_directory) {
        Ok(access) => access,
        Err(why) => {
            let fix = "name a file with the gateway's token: \"approvals\": {\"gateway\": {\"tokenFile\": \"~/…\"}}";
            findings.problem("gateway", why.to_string(), fix);
            return Ok(findings);
        }
    };
    findings.ok("gateway", access.endpoint());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(DoctorError::Runtime)?.block_on(ask(&policy, &access, asks, &mut findings));
    Ok(findings)
}

fn route(policy: &Policy, findings: &mut Findings) {
    if !has(policy, Route::Gateway) {
        let fix = "add \"gateway\" to approvals.routes";
        findings.problem(
            "routes",
            "approvals.routes does not list \"gateway\": the guard asks nobody there",
            fix,
        );
        return;
    }
    let others = others(policy);
    let names = |text: &str| format!("gateway, {text}");
    findings.ok("routes", if others.is_empty() { "gateway alone".to_owned() } else { names(&others) });
}

fn has(policy: &Policy, route: Route) -> bool {
    policy.approvals().routes().is_none_or(|routes| routes.contains(&route))
}

/// The other approval routes, for people.
fn others(policy: &Policy) -> String {
    let others = Route::ALL.into_iter().filter(|route| *route != Route::Gateway && has(policy, *route));
    others.map(Route::as_str).collect::<Vec<_>>().join(", ")
}

async fn ask(policy: &Policy, access: &Credentials, asks: bool, findings: &mut Findings) {
    let link = match Link::open(access).await {
        Ok(link) => link,
        Err(error) => return findings.problem("connection", error.to_string(), ""),
    };
    let hello = link.hello();
    findings.ok("version", format!("OpenClaw {}, protocol {}", hello.version, hello.protocol));
    findings.ok("scopes", hello.scopes.join(", "));
    if policy.approvals().gateway().admin() && !hello.grants(ADMIN) {
        let fix = "use the gateway's own token, or remove approvals.gateway.admin";
        let text =
            format!("the gateway does not grant {ADMIN}: the guard cannot read the gateway's own approvals");
        findings.warning("admin", text, fix);
    }
    if !asks {
        let text = "no test question was sent (--no-question): it is unknown whether anybody would answer";
        return findings.warning("question", text, "run it without --no-question");
    }
    let id = ids::random().to_string();
    let params = json!({
        "id": id,
        "command": COMMAND,
        "host": "openclaw-guard",
        "twoPhase": true,
        "timeoutMs": WAIT_TIMEOUT.as_millis() as u64,
    });
    match timeout(IO_TIMEOUT, link.call("exec.approval.request", params)).await {
        Ok(Ok(payload)) => answered(policy, &id, &payload, findings),
        Ok(Err(error)) => findings.problem("question", refused(&error), "look at the gateway's log"),
        Err(_) => findings.problem(
            "question",
            "the gateway did not accept the test question in time",
            "look at the gateway's log",
        ),
    }
    let resolve = link.call("exec.approval.resolve", json!({"id": id, "decision": "deny"}));
    // If nobody was asked, there is nothing to withdraw.
    let _ = timeout(IO_TIMEOUT, resolve).await;
}

fn refused(error: &CallError) -> String {
    format!("the gateway did not accept the test question: {error}")
}

fn answered(policy: &Policy, id: &str, payload: &Value, findings: &mut Findings) {
    match reply::read(id, payload) {
        Ok(GatewayReply::Accepted | GatewayReply::Decided(_)) => {
            let way = match payload.get("deliveryRoute").and_then(Value::as_str) {
                Some("approval-client") | None => "an approval client is connected",
                Some("forwarder" | "turn-source") => "they go to a chat",
                Some(_) => "they wait there",
            };
            findings.ok("question", format!("questions reach the gateway: {way}"));
        }
        Ok(GatewayReply::Nobody(_)) => {
            const TEXT: &str = "questions would reach nobody: no approval client is connected to the gateway";
            const FIX: &str = "open the Control UI, or an app of OpenClaw";
            match others(policy).as_str() {
                "" => {
                    let fallback = policy.ask_fallback().as_str();
                    findings.problem(
                        "question",
                        format!("{TEXT}, so exec.askFallback decides: {fallback}"),
                        FIX,
                    );
                }
                others => {
                    findings.warning("question", format!("{TEXT}; the other routes are: {others}"), FIX)
                }
            }
        }
        Err(why) => findings.problem("question", format!("the gateway's reply cannot be read: {why}"), ""),
    }
}
