//! Where the gateway is, as whom the guard comes, and with what: found anew before each connection, for a token may change.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use guard_policy::approval::{Fingerprint, GatewayUrl, Scheme};
use guard_policy::text::shown;

use super::identity::Identity;
use super::listens::URL;
use super::secret::{self, Secret, SecretKind};
use super::settings::GatewaySettings;
use super::tls::Trust;
use super::{config, listens};
use crate::config::{Config, REMOTE_URL, SecretInput};
use crate::ports::IsMember;

/// What a client that asks must have.
pub const APPROVALS: &str = "operator.approvals";
/// What may read and change OpenClaw's own approvals store.
pub const ADMIN: &str = "operator.admin";

/// Where openclaw.json has secrets.
pub(super) const AUTH: &str = "gateway.auth";
/// Where it has those of another host's gateway.
pub(super) const REMOTE: &str = "gateway.remote";
pub(super) const TOKEN: &str = "OPENCLAW_GATEWAY_TOKEN";
pub(super) const PASSWORD: &str = "OPENCLAW_GATEWAY_PASSWORD";

/// Where to go, and what to say there.
#[derive(Clone, Debug)]
pub struct Credentials {
    pub(super) endpoint: GatewayUrl,
    pub(super) secret: Option<Secret>,
    pub(super) scopes: Vec<&'static str>,
    pub(super) allow_insecure: bool,
    pub(super) trust: Trust,
    pub(super) identity: Identity,
    pub(super) is_member: Option<Member>,
}

/// Who may not be at the other end.
#[derive(Clone)]
pub struct Member(pub(super) IsMember);

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Member")
    }
}

/// Why nobody can be asked at a gateway: what was looked for and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAccess {
    /// What says where the gateway is, or which, does not.
    #[error("{place}: {why}")]
    Where {
        /// What should say it: a file's key, or "the gateway's url".
        place: String,
        /// What is wrong with what it says.
        why: String,
    },
    /// The guard does not know who it is.
    #[error("the identity of the guard for gateways: {0}")]
    Identity(String),
    /// There is no secret anywhere.
    #[error("{at}: no token for the gateway: {why}")]
    Nowhere {
        /// The gateway's URL.
        at: String,
        /// Where a secret was looked for.
        why: String,
    },
    /// What was named has no secret.
    #[error("{at}: no token for the gateway: {why}")]
    Secret {
        /// The gateway's URL.
        at: String,
        /// Why what was named gives none.
        why: String,
    },
}

impl NoAccess {
    /// Whether nothing is wrong but that nobody has named a gateway.
    pub fn is_absence(&self) -> bool {
        matches!(self, NoAccess::Nowhere { .. })
    }
}

impl Credentials {
    /// By guard.json, the guard's own environment and openclaw.json, in this order. `state` is the real path of the state
    /// directory.
    ///
    /// # Errors
    /// What was looked for and where.
    pub fn find(wanted: &GatewaySettings, state: &Path) -> Result<Credentials, NoAccess> {
        Credentials::find_in(wanted, state, &|name| env::var_os(name))
    }

    /// The same in an environment that is given.
    pub(super) fn find_in(
        wanted: &GatewaySettings,
        state: &Path,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Credentials, NoAccess> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let file = variable("OPENCLAW_CONFIG_PATH").map_or_else(|| config(state), Into::into);
        let config = Config::read(&file);
        let (endpoint, place) = endpoint(wanted, &config, &file, &variable)?;
        let secret = match &wanted.token_file {
            Some(Ok(path)) => Some(secret::of_file(path)),
            Some(Err(why)) => {
                Some(Err(format!("approvals.gateway.tokenFile of guard.json is not used: {why}")))
            }
            None => of_environment(&config, &variable).or_else(|| of_config(&config, place, &variable)),
        };
        let secret =
            secret.transpose().map_err(|why| NoAccess::Secret { at: endpoint.as_str().to_owned(), why })?;
        let identity = match &secret {
            Some(_) => Identity::find(state).map_err(NoAccess::Identity)?,
            // Made where there is something to do with it.
            None => {
                let known = Identity::known(state).map_err(NoAccess::Identity)?;
                let known = known.filter(|identity| identity.token(endpoint.as_str()).is_some());
                known.ok_or_else(|| nowhere(wanted, &endpoint, &config, place))?
            }
        };
        let trust = trust(wanted, &config, &endpoint, place)?;
        let scopes = if wanted.admin { vec![ADMIN, APPROVALS] } else { vec![APPROVALS] };
        let allow_insecure = wanted.allow_insecure;
        Ok(Credentials { endpoint, secret, scopes, allow_insecure, trust, identity, is_member: None })
    }

    /// With nobody of this tree at the other end, nor of another guard's.
    pub fn apart_from(self, is_member: &IsMember) -> Credentials {
        Credentials { is_member: Some(Member(Arc::clone(is_member))), ..self }
    }

    #[cfg(any(test, feature = "test-support"))]
    pub(super) fn fuzzed() -> Credentials {
        Credentials {
            endpoint: GatewayUrl::parse("ws://127.0.0.1:18789").unwrap(),
            secret: Secret::new(SecretKind::Token, "X", "a test".to_owned()).ok(),
            scopes: vec![APPROVALS],
            allow_insecure: false,
            trust: Trust::Authorities,
            identity: Identity::of_seed(&[7; 32]),
            is_member: None,
        }
    }

    /// What the gateway has issued to this device.
    pub(super) fn device_token(&self) -> Option<&str> {
        self.identity.token(self.endpoint.as_str())
    }

    /// Where it is, for people.
    pub fn endpoint(&self) -> String {
        shown(self.endpoint.as_str().as_bytes())
    }
}

/// Whose the gateway is, by openclaw.json: only for that one are its secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GatewayOwner {
    /// The one on this host.
    Local,
    /// The one of `gateway.remote`.
    Remote,
    /// Another.
    Elsewhere,
}

fn endpoint(
    wanted: &GatewaySettings,
    config: &Config,
    file: &Path,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<(GatewayUrl, GatewayOwner), NoAccess> {
    let remote = config.is_remote().then(|| config.text(REMOTE_URL)).flatten();
    let parse = |place: String, url: &str| {
        GatewayUrl::parse(url).map_err(|why| NoAccess::Where { place, why: shown(why.as_bytes()) })
    };
    let named = match (&wanted.url, variable(URL), remote) {
        (Some(url), _, _) => Some(url.clone()),
        (None, Some(url), _) => {
            Some(parse(format!("{URL} of the guard's environment"), url.to_string_lossy().trim())?)
        }
        (None, None, Some(url)) => Some(parse(format!("gateway.remote.url of {}", config.file), url)?),
        (None, None, None) => None,
    };
    if let Some(endpoint) = named {
        let is_remote = remote.is_some_and(|url| url == endpoint.as_str());
        let place = match () {
            () if is_remote => GatewayOwner::Remote,
            () if endpoint.is_loopback() && !config.is_remote() => GatewayOwner::Local,
            () => GatewayOwner::Elsewhere,
        };
        return Ok((endpoint, place));
    }
    // What it would say may be another host's.
    if let Some(why) = config.problem() {
        return Err(NoAccess::Where { place: "the gateway's url".to_owned(), why });
    }
    if config.is_remote() {
        let why = "it is not said, and gateway.mode is \"remote\"".to_owned();
        return Err(NoAccess::Where { place: format!("gateway.remote.url of {}", config.file), why });
    }
    let tls = config.at("gateway.tls.enabled").and_then(serde_json::Value::as_bool) == Some(true);
    let scheme = if tls { "wss" } else { "ws" };
    let port = listens::find_in(file, variable("OPENCLAW_GATEWAY_PORT")).likeliest();
    Ok((
        parse("the gateway's port".to_owned(), &format!("{scheme}://127.0.0.1:{port}"))?,
        GatewayOwner::Local,
    ))
}

/// Whom its certificate must convince.
fn trust(
    wanted: &GatewaySettings,
    config: &Config,
    endpoint: &GatewayUrl,
    place: GatewayOwner,
) -> Result<Trust, NoAccess> {
    const KEY: &str = "gateway.remote.tlsFingerprint";
    let configured = (place == GatewayOwner::Remote).then(|| config.text(KEY)).flatten();
    let pinned = match (wanted.fingerprint, configured) {
        (Some(fingerprint), _) => {
            Some((fingerprint, "approvals.gateway.fingerprint of guard.json".to_owned()))
        }
        (None, Some(text)) => {
            let place = format!("{KEY} of {}", config.file);
            match Fingerprint::parse(text.strip_prefix("sha256:").unwrap_or(text)) {
                Some(fingerprint) => Some((fingerprint, place)),
                None => {
                    let why = "a SHA-256 fingerprint has 64 hexadecimal digits".to_owned();
                    return Err(NoAccess::Where { place, why });
                }
            }
        }
        (None, None) => None,
    };
    match pinned {
        None => Ok(Trust::Authorities),
        Some((fingerprint, _)) if endpoint.scheme() == Scheme::Wss => Ok(Trust::Pinned(fingerprint)),
        Some((_, place)) => Err(NoAccess::Where {
            place,
            why: format!("{} has no certificate: it would be wss://", endpoint.as_str()),
        }),
    }
}

/// Where a secret was looked for.
fn nowhere(
    wanted: &GatewaySettings,
    endpoint: &GatewayUrl,
    config: &Config,
    place: GatewayOwner,
) -> NoAccess {
    let at = endpoint.as_str().to_owned();
    if let Some(why) = config.problem() {
        return NoAccess::Secret { at, why };
    }
    let for_this = if place == GatewayOwner::Elsewhere { " for this url" } else { "" };
    let why = format!(
        "guard.json names no approvals.gateway.tokenFile, {TOKEN} and {PASSWORD} are not in the guard's environment, and {} \
         has none{for_this}",
        config.file
    );
    // Somebody wants that one to be asked.
    if wanted.url.is_some() { NoAccess::Secret { at, why } } else { NoAccess::Nowhere { at, why } }
}

type Search = Option<Result<Secret, String>>;

fn of_environment(config: &Config, variable: &dyn Fn(&str) -> Option<OsString>) -> Search {
    kinds(config).into_iter().find_map(|kind| {
        let name = if kind == SecretKind::Token { TOKEN } else { PASSWORD };
        Some(secret::of_variable(kind, name, variable(name)?))
    })
}

fn of_config(config: &Config, place: GatewayOwner, variable: &dyn Fn(&str) -> Option<OsString>) -> Search {
    let above = match place {
        GatewayOwner::Local => AUTH,
        GatewayOwner::Remote => REMOTE,
        GatewayOwner::Elsewhere => return None,
    };
    kinds(config).into_iter().find_map(|kind| {
        let path = format!("{above}.{}", if kind == SecretKind::Token { "token" } else { "password" });
        let source = format!("{path} of {}", config.file);
        match config.secret(&path) {
            SecretInput::Nothing => None,
            SecretInput::Text(text) => Some(Secret::new(kind, text, source)),
            SecretInput::Variable(name) => Some(match variable(&name) {
                Some(value) => secret::of_variable(kind, &name, value),
                None => Err(format!(
                    "{source} names the variable {}, which is not in the guard's environment",
                    shown(name.as_bytes())
                )),
            }),
            SecretInput::Elsewhere => Some(Err(format!(
                "{source} is a reference that only OpenClaw can look up: name an approvals.gateway.tokenFile, or set {TOKEN}"
            ))),
        }
    })
}

/// Which to look for first.
fn kinds(config: &Config) -> [SecretKind; 2] {
    match config.text("gateway.auth.mode") {
        Some("password") => [SecretKind::Password, SecretKind::Token],
        _ => [SecretKind::Token, SecretKind::Password],
    }
}
