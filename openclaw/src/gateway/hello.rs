//! What the gateway says when it lets somebody in.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

/// Where it says nothing of ticks (OpenClaw 2026.9.6).
const TICK_INTERVAL: Duration = Duration::from_secs(30);
/// What it may say: the silence of a gateway that is gone must be noticed at some time.
const TICKS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(120)];
/// What a message to it may have where it says nothing, in bytes.
const PAYLOAD: usize = 64 << 10;

/// Who lets in whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The protocol that is spoken, 3 or 4.
    pub protocol: u64,
    /// The gateway's release, such as 2026.9.6.
    pub version: String,
    /// Which run of the gateway this is.
    pub run: Run,
    /// What was granted, such as `operator.approvals`.
    pub scopes: Vec<String>,
    /// Something comes at least this often.
    pub tick: Duration,
    /// The longest message it takes, in bytes.
    pub max_payload: usize,
}

/// Which run of a gateway it is: what waited there is gone with another, as far as it does not keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run {
    /// The id of its start, from 2026.8 on.
    Boot(String),
    /// When it started, as far as that can be told, in milliseconds since 1970.
    Since(i64),
    /// It says nothing.
    Unknown,
}

impl Run {
    /// Whether it is the same run, as far as that can be told.
    pub fn is_same(&self, other: &Run) -> bool {
        // How long an answer was under way is in it.
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
    scopes: Option<Vec<String>>,
    device_token: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Policy {
    max_payload: Option<u64>,
    tick_interval_ms: Option<u64>,
}

/// What is said at the same time and is nobody else's.
pub struct Issued {
    /// A token for this device alone.
    pub device_token: Option<String>,
}

impl Hello {
    /// Reads the payload of the answer to `connect`, which has come at this time (milliseconds since 1970).
    ///
    /// # Errors
    /// Why it is none.
    pub fn read(payload: Value, now: i64) -> Result<(Hello, Issued), String> {
        // An array of the fields would be taken for the object.
        if !payload.is_object() {
            return Err("it is no object".to_owned());
        }
        let written: RawHello = serde_json::from_value(payload).map_err(|error| error.to_string())?;
        if written.r#type != "hello-ok" {
            return Err("it does not say hello-ok".to_owned());
        }
        let RawHello { protocol, server, snapshot, auth, policy, .. } = written;
        if !(3..=4).contains(&protocol) {
            return Err(format!("it wants to speak protocol {protocol}, the guard speaks 3 and 4"));
        }
        let run = match (server.boot_id, snapshot.uptime_ms) {
            (Some(id), _) if !id.is_empty() => Run::Boot(id),
            (_, Some(uptime)) if uptime >= 0.0 => Run::Since(now.saturating_sub(uptime as i64)),
            _ => Run::Unknown,
        };
        let tick =
            policy.tick_interval_ms.map_or(TICK_INTERVAL, Duration::from_millis).clamp(TICKS[0], TICKS[1]);
        let max_payload =
            policy.max_payload.map_or(PAYLOAD, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let hello = Hello {
            protocol,
            version: server.version.unwrap_or_default(),
            run,
            scopes: auth.scopes.unwrap_or_default(),
            tick,
            max_payload,
        };
        Ok((hello, Issued { device_token: auth.device_token }))
    }

    /// Whether it was granted.
    pub fn grants(&self, scope: &str) -> bool {
        self.scopes.iter().any(|granted| granted == scope)
    }
}
