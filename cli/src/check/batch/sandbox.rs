//! Questions about OpenClaw's nodes and sandboxes: `node-match`, `sandbox-binds`, `sandbox-docker`.

use std::path::Path;

use guard_openclaw::node_match::{self, KnownNode};
use guard_openclaw::sandbox::{
    BindCheck, BindReason, BindRules, ContainerArgs, ContainerIdentity, HostDisk, Isolation, Overlap,
    SandboxRefusal, SandboxSettings, StricterReason, check,
};
use guard_policy::text::shown_json;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::sandbox::blocked_paths;

/// `node-match`: which node a name means.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeMatchQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    nodes: Vec<KnownNode>,
    query: String,
}

impl NodeMatchQuestion {
    pub fn answer(&self) -> String {
        let answer = match node_match::find(&self.nodes, &self.query) {
            Ok(id) => json!({ "nodeId": id }),
            Err(error) => json!({ "error": error.to_string() }),
        };
        line(&answer)
    }
}

/// `sandbox-binds`: whether a container may be made with these binds, network and profiles. Looks at the disk.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxBindsQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    config: ContainerSettings,
}

/// What OpenClaw's check of a container's settings takes; other settings do not matter to it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ContainerSettings {
    binds: Option<Vec<String>>,
    allowed_source_roots: Option<Vec<String>>,
    allow_sources_outside_allowed_roots: Option<bool>,
    allow_reserved_container_targets: Option<bool>,
    network: Option<String>,
    dangerously_allow_container_namespace_join: Option<bool>,
    seccomp_profile: Option<String>,
    apparmor_profile: Option<String>,
}

impl SandboxBindsQuestion {
    pub fn answer(self, home: &Path) -> String {
        let config = self.config;
        let binds = config.binds.unwrap_or_default();
        let rules = BindRules {
            allowed_source_roots: config.allowed_source_roots.unwrap_or_default(),
            allow_external_sources: config.allow_sources_outside_allowed_roots == Some(true),
            allow_reserved_targets: config.allow_reserved_container_targets == Some(true),
        };
        let isolation = Isolation {
            network: config.network.as_deref(),
            allow_container_network: config.dangerously_allow_container_namespace_join == Some(true),
            seccomp: config.seccomp_profile.as_deref(),
            apparmor: config.apparmor_profile.as_deref(),
        };
        let host = BindCheck::new(blocked_paths(home), &HostDisk);
        let refusal = check(&host, &binds, &rules, &isolation).err();
        let mut answer = json!({ "allowed": refusal.is_none() });
        if let Some(refusal) = &refusal {
            answer["error"] = refusal.to_string().into();
        }
        // OpenClaw's function for one bind says why its source is refused, if it is.
        if let [bind] = &binds[..]
            && !bind.trim().is_empty()
        {
            let reason = match &refusal {
                Some(SandboxRefusal::Bind(refused)) if matches!(refused.reason, BindReason::Stricter(_)) => {
                    Some(refused.reason.clone())
                }
                _ => host.blocked_source(bind),
            };
            answer["reason"] = reason.as_ref().map_or(Value::Null, reason_value);
        }
        line(&answer)
    }
}

fn reason_value(reason: &BindReason) -> Value {
    let overlap = |overlap: &Overlap| match overlap {
        Overlap::Targets(path) => json!({ "kind": "targets", "blockedPath": path }),
        Overlap::Covers(path) => json!({ "kind": "covers", "blockedPath": path }),
    };
    match reason {
        BindReason::Blocked(blocked) => overlap(blocked),
        BindReason::NonAbsolute(source) => json!({ "kind": "non_absolute", "sourcePath": source }),
        BindReason::OutsideAllowedRoots { source, roots } => {
            json!({ "kind": "outside_allowed_roots", "sourcePath": source, "allowedRoots": roots })
        }
        BindReason::ReservedTarget { target, reserved } => {
            json!({ "kind": "reserved_target", "targetPath": target, "reservedPath": reserved })
        }
        BindReason::Stricter(reason) => {
            let mut value = match reason {
                StricterReason::Source(path, blocked) | StricterReason::Link(path, blocked) => {
                    let mut value = overlap(blocked);
                    value["sourcePath"] = path.clone().into();
                    value
                }
                StricterReason::LinkOutside(path) => {
                    json!({ "kind": "outside_allowed_roots", "sourcePath": path })
                }
                StricterReason::Endless => json!({ "kind": "endless" }),
                StricterReason::Volume => json!({ "kind": "volume" }),
                StricterReason::Hides { target, hidden } => {
                    json!({ "kind": "hides", "targetPath": target, "hiddenPath": hidden })
                }
            };
            value["stricter"] = true.into();
            value
        }
    }
}

/// `sandbox-docker`: the settings that an agent's sandbox has, and docker's arguments. Looks at the disk.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxDockerQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    config: Value,
    agent: String,
}

/// The name of a container that is not made.
const EXAMPLE: ContainerIdentity<'_> =
    ContainerIdentity { name: "NAME", scope_key: "agent:main", created_at_ms: 0 };

impl SandboxDockerQuestion {
    pub fn answer(&self, home: &Path) -> String {
        let settings = match SandboxSettings::for_agent(&self.config, &self.agent) {
            Ok(settings) => settings,
            Err(error) => return line(&json!({ "error": error.to_string() })),
        };
        let docker = &settings.docker;
        let binds = docker.binds.clone().unwrap_or_default();
        let host = BindCheck::new(blocked_paths(home), &HostDisk);
        let mut answer = json!({ "resolved": settings });
        match check(&host, &binds, &docker.bind_rules(Vec::new()), &docker.isolation()) {
            Err(refusal) => answer["error"] = refusal.to_string().into(),
            Ok(()) => {
                let args = ContainerArgs::new(docker, &EXAMPLE);
                answer["argv"] = json!(args.argv);
                answer["env"] = json!(args.env);
            }
        }
        line(&answer)
    }
}

fn line(answer: &Value) -> String {
    shown_json(&answer.to_string()).into_owned()
}
