//! The gateway's greeting when it admits a client.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

/// The tick interval if the greeting has none (OpenClaw 2026.9.6).
const DEFAULT_TICK_INTERVAL: Duration = Duration::from_secs(30);
/// The bounds of the tick interval. With them, the silence of a dead gateway is noticed eventually.
const TICKS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(120)];
/// The longest message to the gateway if the greeting has no limit, in bytes.
const PAYLOAD: usize = 64 << 10;

/// The gateway's greeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The protocol that is spoken, 3 or 4.
    pub protocol: u64,
    /// The gateway's release, such as 2026.9.6.
    pub version: String,
    /// Which run of the gateway this is.
    pub run: Run,
    /// The role in which the guard is admitted, if the greeting says so.
    pub role: Option<String>,
    /// The granted scopes, such as `operator.approvals`.
    pub scopes: Vec<String>,
    /// The gateway sends something at least this often.
    pub tick: Duration,
    /// The longest message that the gateway accepts, in bytes.
    pub max_payload: usize,
}

/// One run of the gateway's process. Requests that waited in an earlier run are lost, unless the gateway saves them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run {
    /// The id of its start, from 2026.8 on.
    Boot(String),
    /// The approximate time of its start, in milliseconds since 1970.
    Since(i64),
    /// The greeting does not identify the run.
    Unknown,
}

impl Run {
    /// Returns whether it is the same run, as far as is known.
    pub fn is_same(&self, other: &Run) -> bool {
        // The start is computed from the arrival of an answer, whose transit takes time.
        const NEAR: u64 = 2_000;
        match (self, other) {
            (Run::Boot(one), Run::Boot(other)) => one == other,
            (Run::Since(one), Run::Since(other)) => one.abs_diff(*other) <= NEAR,
            _ => false,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawHello {
    r#type: String,
    protocol: u64,
    #[serde(default)]
    server: ServerInfo,
    #[serde(default)]
    snapshot: Snapshot,
    #[serde(default)]
    auth: Auth,
    #[serde(default)]
    policy: Policy,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ServerInfo {
    version: Option<String>,
    boot_id: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Snapshot {
    uptime_ms: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Auth {
    role: Option<String>,
    scopes: Option<Vec<String>>,
    device_token: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Policy {
    max_payload: Option<u64>,
    tick_interval_ms: Option<u64>,
}

/// The secrets that come with the greeting.
pub struct Issued {
    /// A token for this device only.
    pub device_token: Option<String>,
}

/// Why an answer to `connect` is not a greeting.
#[derive(Debug, thiserror::Error)]
pub enum HelloError {
    /// It is JSON, but not an object.
    #[error("it is no object")]
    NotObject,
    /// A field is missing, or has the wrong type.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Its `type` is not `hello-ok`.
    #[error("it does not say hello-ok")]
    OtherType,
    /// The guard does not speak this protocol.
    #[error("it uses protocol {0}; the guard supports 3 and 4")]
    Protocol(u64),
}

impl Hello {
    /// Parses the payload of the answer to `connect`, which arrived at `now` (milliseconds since 1970).
    ///
    /// # Errors
    /// Why it is not a greeting.
    pub fn read(payload: Value, now: i64) -> Result<(Hello, Issued), HelloError> {
        // serde would accept an array of the fields in place of the object.
        if !payload.is_object() {
            return Err(HelloError::NotObject);
        }
        let written: RawHello = serde_json::from_value(payload)?;
        if written.r#type != "hello-ok" {
            return Err(HelloError::OtherType);
        }
        let RawHello { protocol, server, snapshot, auth, policy, .. } = written;
        if !(3..=4).contains(&protocol) {
            return Err(HelloError::Protocol(protocol));
        }
        let run = match (server.boot_id, snapshot.uptime_ms) {
            (Some(id), _) if !id.is_empty() => Run::Boot(id),
            (_, Some(uptime)) if uptime >= 0.0 => Run::Since(now.saturating_sub(uptime as i64)),
            _ => Run::Unknown,
        };
        let tick = policy
            .tick_interval_ms
            .map_or(DEFAULT_TICK_INTERVAL, Duration::from_millis)
            .clamp(TICKS[0], TICKS[1]);
        let max_payload =
            policy.max_payload.map_or(PAYLOAD, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let hello = Hello {
            protocol,
            version: server.version.unwrap_or_default(),
            run,
            role: auth.role,
            scopes: auth.scopes.unwrap_or_default(),
            tick,
            max_payload,
        };
        Ok((hello, Issued { device_token: auth.device_token }))
    }

    /// Returns whether the gateway has granted a scope.
    pub fn grants(&self, scope: &str) -> bool {
        self.scopes.iter().any(|granted| granted == scope)
    }
}
