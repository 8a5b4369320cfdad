//! OpenClaw on this host: its configuration, its approvals stores, and where its gateway listens.

use guard_openclaw::approvals_store::{self, File, Gateways, Stores};
use guard_openclaw::gateway::{self, Config};
use guard_policy::text::shown;
use guard_policy::{Ask, Policy, Transport};
use guard_supervisor::config::Paths;
use guard_supervisor::judge::shared_ports::servers;

use super::finding::Findings;

/// Runs all checks.
pub fn look(paths: &Paths, policy: Option<&Policy>, findings: &mut Findings) {
    let state = shown(paths.state.as_os_str().as_encoded_bytes());
    if !paths.state_directory.is_dir() {
        findings.note("state-directory", format!("there is no {state}: OpenClaw has not run here"));
    }
    let config = Config::read(&gateway::config(&paths.state));
    match config.problem() {
        Some(problem) => findings.problem("config", problem.to_string(), "openclaw doctor"),
        None if config.is_there() => {
            let by = config.text("meta.lastTouchedVersion");
            let by = by.map_or_else(String::new, |version| format!(", written by OpenClaw {version}"));
            findings.ok("config", format!("{} is read{by}", config.file));
        }
        None => findings.note("config", format!("there is no {}", config.file)),
    }
    let stores = Stores::load(&paths.state_directory);
    store(&stores.openclaw, &state, findings);
    own(&stores, paths, findings);
    listening(&config, gateway::find(&config).likeliest(), policy, findings);
}

/// Checks OpenClaw's own approvals store.
fn store(store: &File, state: &str, findings: &mut Findings) {
    const NAME: &str = "store";
    match store {
        File::Absent => findings.note(NAME, format!("there is no {state}/{}", approvals_store::NAME)),
        File::Elsewhere => findings.note(
            NAME,
            "OpenClaw keeps its approvals in a database: only the gateway can read them (approvals.gateway.admin)",
        ),
        File::Present(reading) => match reading.notes.first() {
            Some(note) => findings.warning(NAME, note.as_str(), "openclaw doctor --fix"),
            None => findings
                .ok(NAME, format!("{state}/{}: its entries count, and its modes can only tighten the policy", approvals_store::NAME)),
        },
        File::Broken(why) => findings.problem(
            NAME,
            why.as_str(),
            "repair it, or move it away and run: openclaw doctor --fix (until then no program starts)",
        ),
    }
}

/// Checks the guard's own store, and the copy of the gateway's.
fn own(stores: &Stores, paths: &Paths, findings: &mut Findings) {
    let path = shown(approvals_store::own(&paths.state_directory).as_os_str().as_encoded_bytes());
    match &stores.own {
        File::Absent | File::Elsewhere => findings.note("saved", "the guard itself has saved no \"always\""),
        File::Present(_) => findings.ok("saved", format!("{path} is in force")),
        File::Broken(why) => findings.problem("saved", why.as_str(), format!("repair or remove {path}")),
    }
    match &stores.gateways {
        Gateways::Never => {}
        Gateways::Said { .. } => {
            findings.ok("gateway-store", "the gateway's last known approvals are stored")
        }
        Gateways::Broken(why) => {
            findings.problem(
                "gateway-store",
                why.as_str(),
                "remove it: the guard then asks the gateway again",
            );
        }
    }
}

/// Checks that the gateway's port is open. Only `doctor gateway` asks the gateway anything.
fn listening(config: &Config, port: u16, policy: Option<&Policy>, findings: &mut Findings) {
    const NAME: &str = "gateway";
    const ASK: &str = "openclaw-guard doctor gateway checks whether questions reach somebody there";
    let url = policy.and_then(|policy| gateway::GatewaySettings::from_policy(policy).url);
    if let Some(url) = url {
        return findings.note(NAME, format!("{}, by guard.json; {ASK}", url.as_str()));
    }
    if config.is_remote() {
        return findings.note(NAME, format!("on another host, by {}; {ASK}", config.file));
    }
    match is_taken(port) {
        Some(true) => findings.ok(NAME, format!("somebody listens on port {port}; {ASK}")),
        // Without OpenClaw, no gateway is expected.
        _ if !config.is_there() => {
            findings.note(NAME, format!("none is configured; its default port is {port}"))
        }
        Some(false) if policy.is_some_and(|policy| policy.ask() != Ask::Off) => findings.warning(
            NAME,
            format!("nobody listens on port {port}: questions do not reach OpenClaw"),
            "openclaw gateway start, then: openclaw-guard doctor gateway",
        ),
        Some(false) => {
            findings.note(NAME, format!("nobody listens on port {port}, and the policy asks nothing"))
        }
        None => findings.note(NAME, format!("port {port}; {ASK}")),
    }
}

/// Whether a process of this host listens on the TCP port. None when that cannot be determined.
fn is_taken(port: u16) -> Option<bool> {
    Some(servers(Transport::Tcp)?.iter().any(|(address, _)| address.port() == port))
}
