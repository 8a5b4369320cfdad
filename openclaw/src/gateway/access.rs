//! Finds the gateway's address, and the identity and secret for it. This is done anew before each connection, because
//! a token may change.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use guard_policy::approval::{Fingerprint, GatewayUrl, GatewayUrlError, Scheme, TokenFileError};
use guard_policy::text::shown;

use super::identity::{Identity, IdentityError};
use super::listens;
use super::listens::URL;
use super::role::{ClientRole, NodeClient};
use super::secret::{self, Secret, SecretError, SecretKind};
use super::settings::GatewaySettings;
use super::tls::Trust;
use crate::config::{Config, ConfigProblem, REMOTE_URL, SecretInput};
use crate::ports::IsMember;

/// The scope that a client needs to request approvals.
pub const APPROVALS: &str = "operator.approvals";
/// The scopes to list the nodes, and the requests of nodes to be paired.
const NODES: [&str; 2] = ["operator.read", "operator.pairing"];
/// The scope to read and change OpenClaw's own approvals store.
pub const ADMIN: &str = "operator.admin";

/// The key of openclaw.json with the secrets of this host's gateway.
pub(super) const AUTH: &str = "gateway.auth";
/// The key of openclaw.json with the secrets of another host's gateway.
pub(super) const REMOTE: &str = "gateway.remote";
pub(super) const TOKEN: &str = "OPENCLAW_GATEWAY_TOKEN";
pub(super) const PASSWORD: &str = "OPENCLAW_GATEWAY_PASSWORD";

/// The address of a gateway, and what the guard presents to it.
#[derive(Clone, Debug)]
pub struct Credentials {
    pub(super) endpoint: GatewayUrl,
    pub(super) secret: Option<Secret>,
    pub(super) role: ClientRole,
    pub(super) scopes: Vec<&'static str>,
    pub(super) allow_insecure: bool,
    pub(super) trust: Trust,
    pub(super) identity: Identity,
    pub(super) is_member: Option<Member>,
}

/// Tests whether a process belongs to a guarded tree: such a process must not be at the other end of the
/// connection.
#[derive(Clone)]
pub struct Member(pub(super) IsMember);

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Member")
    }
}

/// Why no gateway can be asked: what was looked for and where.
#[derive(Debug, thiserror::Error)]
pub enum NoAccess {
    /// A setting that locates or identifies the gateway is missing or invalid.
    #[error("{setting}: {why}")]
    Where {
        /// The setting: a file's key, or "the gateway's url".
        setting: String,
        /// What is wrong with it.
        #[source]
        why: GatewayAddressError,
    },
    /// The guard's identity cannot be read or created.
    #[error("cannot use the guard's identity for gateways: {0}")]
    Identity(#[source] IdentityError),
    /// No secret was found.
    #[error("{at}: no token for the gateway: {why}")]
    Nowhere {
        /// The gateway's URL.
        at: String,
        /// Where a secret was looked for.
        #[source]
        why: NoSecret,
    },
    /// A source of the secret yields none, or there is no secret for the gateway that guard.json names.
    #[error("{at}: no token for the gateway: {why}")]
    Secret {
        /// The gateway's URL.
        at: String,
        /// Why there is no secret.
        #[source]
        why: NoSecret,
    },
}

/// What is wrong with a setting that locates or identifies the gateway.
#[derive(Debug, thiserror::Error)]
pub enum GatewayAddressError {
    /// It is no URL of a gateway.
    #[error("{}", shown(.0.to_string().as_bytes()))]
    Url(#[from] GatewayUrlError),
    /// openclaw.json, which may have the URL, cannot be read.
    #[error(transparent)]
    Config(ConfigProblem),
    /// The gateway is another host's, and no URL is known.
    #[error("it is not set, and gateway.mode is \"remote\"")]
    NoRemote,
    /// It is no fingerprint.
    #[error("a SHA-256 fingerprint has 64 hexadecimal digits")]
    Fingerprint,
    /// It is a fingerprint, but the gateway at this URL does not speak TLS.
    #[error("{0} has no certificate: a fingerprint needs a wss:// URL")]
    NoCertificate(String),
}

/// Why there is no token or password for the gateway.
#[derive(Debug, thiserror::Error)]
pub enum NoSecret {
    /// What was found is not a secret.
    #[error(transparent)]
    Unusable(#[from] SecretError),
    /// The policy does not let the token's file be used.
    #[error("approvals.gateway.tokenFile of guard.json is not used: {0}")]
    NotVetted(#[source] TokenFileError),
    /// openclaw.json names a variable that is not set.
    #[error("{key} names the variable {}, which is not in the guard's environment", shown(name.as_bytes()))]
    Unset {
        /// The key, and its file.
        key: String,
        /// The variable.
        name: String,
    },
    /// openclaw.json has a reference of a kind that only OpenClaw knows.
    #[error(
        "{key} is a reference that only OpenClaw can look up: name an approvals.gateway.tokenFile, or set {TOKEN}"
    )]
    Reference {
        /// The key, and its file.
        key: String,
    },
    /// openclaw.json, which may have a secret, cannot be read.
    #[error(transparent)]
    Config(ConfigProblem),
    /// None of the places has a secret.
    #[error(
        "guard.json names no approvals.gateway.tokenFile, {TOKEN} and {PASSWORD} are not in the guard's environment, \
         and {config} has none{}", for_this_url(*.owner)
    )]
    Nowhere {
        /// openclaw.json.
        config: String,
        /// The gateway whose secret openclaw.json would have.
        owner: GatewayOwner,
    },
}

fn for_this_url(owner: GatewayOwner) -> &'static str {
    if owner == GatewayOwner::Elsewhere { " for this url" } else { "" }
}

impl NoAccess {
    /// Returns whether the only problem is that no gateway is configured.
    pub fn is_absence(&self) -> bool {
        matches!(self, NoAccess::Nowhere { .. })
    }
}

impl Credentials {
    /// Finds the credentials by guard.json, the guard's own environment and openclaw.json, in this order.
    /// `state` is the real path of the state directory.
    ///
    /// # Errors
    /// What was looked for and where.
    pub fn find(settings: &GatewaySettings, state: &Path) -> Result<Credentials, NoAccess> {
        Credentials::find_in(settings, state, ClientRole::Operator, &|name| env::var_os(name))
    }

    /// Does as [`Credentials::find`], for a connection as a node.
    ///
    /// # Errors
    /// What was looked for and where.
    pub fn find_for_node(
        settings: &GatewaySettings,
        state: &Path,
        node: NodeClient,
    ) -> Result<Credentials, NoAccess> {
        Credentials::find_in(settings, state, ClientRole::Node(node), &|name| env::var_os(name))
    }

    /// Does as [`Credentials::find`], with a given environment.
    pub(super) fn find_in(
        settings: &GatewaySettings,
        state: &Path,
        role: ClientRole,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Credentials, NoAccess> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let config = Config::read(&listens::config_in(state, &variable));
        let (endpoint, owner) = endpoint(settings, &config, &variable)?;
        let secret = match &settings.token_file {
            Some(Ok(path)) => Some(secret::of_file(path).map_err(NoSecret::Unusable)),
            Some(Err(error)) => Some(Err(NoSecret::NotVetted(error.clone()))),
            None => of_environment(&config, &variable).or_else(|| of_config(&config, owner, &variable)),
        };
        let secret =
            secret.transpose().map_err(|why| NoAccess::Secret { at: endpoint.as_str().to_owned(), why })?;
        let identity = match &secret {
            Some(_) => Identity::find_as(state, role.identity()).map_err(NoAccess::Identity)?,
            // Without a secret, only an identity with a token for this gateway helps, so no identity is
            // created.
            None => {
                let known = Identity::known_as(state, role.identity()).map_err(NoAccess::Identity)?;
                let known = known.filter(|identity| identity.token(endpoint.as_str()).is_some());
                known.ok_or_else(|| nowhere(settings, &endpoint, &config, owner))?
            }
        };
        let trust = trust(settings, &config, &endpoint, owner)?;
        let scopes = if role != ClientRole::Operator {
            Vec::new()
        } else if settings.admin {
            vec![ADMIN, APPROVALS]
        } else {
            vec![APPROVALS]
        };
        let allow_insecure = settings.allow_insecure;
        Ok(Credentials { endpoint, secret, role, scopes, allow_insecure, trust, identity, is_member: None })
    }

    /// Rejects a gateway that is a member of this tree. A member of another guard's tree is always rejected.
    pub fn apart_from(self, is_member: &IsMember) -> Credentials {
        Credentials { is_member: Some(Member(Arc::clone(is_member))), ..self }
    }

    /// Adds the scopes to look at nodes, [`NODES`]. Returns `None` without a secret, because no scopes can be asked
    /// for then.
    pub fn to_see_nodes(mut self) -> Option<Credentials> {
        self.scopes.extend(NODES);
        self.secret.is_some().then_some(self)
    }

    /// Returns the id of the device, by which the gateway knows it.
    pub fn device_id(&self) -> String {
        self.identity.id()
    }

    #[cfg(any(test, feature = "test-support"))]
    pub(super) fn fuzzed() -> Credentials {
        Credentials {
            endpoint: GatewayUrl::parse("ws://127.0.0.1:18789").unwrap(),
            secret: Secret::new(SecretKind::Token, "X", "a test".to_owned()).ok(),
            role: ClientRole::Operator,
            scopes: vec![APPROVALS],
            allow_insecure: false,
            trust: Trust::Authorities,
            identity: Identity::of_seed(&[7; 32]),
            is_member: None,
        }
    }

    /// Returns the token that the gateway has issued to this device.
    pub(super) fn device_token(&self) -> Option<&str> {
        self.identity.token(self.endpoint.as_str())
    }

    /// Returns the gateway's URL, for display.
    pub fn endpoint(&self) -> String {
        shown(self.endpoint.as_str().as_bytes())
    }
}

/// Which gateway of openclaw.json an endpoint is. Each gateway gets only its own secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatewayOwner {
    /// This host's gateway.
    Local,
    /// The gateway of `gateway.remote`.
    Remote,
    /// Another gateway, which gets no secret of openclaw.json.
    Elsewhere,
}

fn endpoint(
    settings: &GatewaySettings,
    config: &Config,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<(GatewayUrl, GatewayOwner), NoAccess> {
    let remote = config.is_remote().then(|| config.text(REMOTE_URL)).flatten();
    let parse = |setting: String, url: &str| {
        GatewayUrl::parse(url).map_err(|error| NoAccess::Where { setting, why: error.into() })
    };
    let named = match (&settings.url, variable(URL), remote) {
        (Some(url), _, _) => Some(url.clone()),
        (None, Some(url), _) => {
            Some(parse(format!("{URL} of the guard's environment"), url.to_string_lossy().trim())?)
        }
        (None, None, Some(url)) => Some(parse(format!("gateway.remote.url of {}", config.file), url)?),
        (None, None, None) => None,
    };
    if let Some(endpoint) = named {
        let is_remote = remote.is_some_and(|url| url == endpoint.as_str());
        let owner = match () {
            () if is_remote => GatewayOwner::Remote,
            () if endpoint.is_loopback() && !config.is_remote() => GatewayOwner::Local,
            () => GatewayOwner::Elsewhere,
        };
        return Ok((endpoint, owner));
    }
    // A file that cannot be read may name another host.
    if let Some(why) = config.problem() {
        let setting = "the gateway's url".to_owned();
        return Err(NoAccess::Where { setting, why: GatewayAddressError::Config(why.clone()) });
    }
    if config.is_remote() {
        let setting = format!("gateway.remote.url of {}", config.file);
        return Err(NoAccess::Where { setting, why: GatewayAddressError::NoRemote });
    }
    let tls = config.at("gateway.tls.enabled").and_then(serde_json::Value::as_bool) == Some(true);
    let scheme = if tls { "wss" } else { "ws" };
    let port = listens::find_in(config, variable("OPENCLAW_GATEWAY_PORT")).likeliest();
    Ok((
        parse("the gateway's port".to_owned(), &format!("{scheme}://127.0.0.1:{port}"))?,
        GatewayOwner::Local,
    ))
}

/// Returns how the gateway's certificate is verified.
fn trust(
    settings: &GatewaySettings,
    config: &Config,
    endpoint: &GatewayUrl,
    owner: GatewayOwner,
) -> Result<Trust, NoAccess> {
    const KEY: &str = "gateway.remote.tlsFingerprint";
    let configured = (owner == GatewayOwner::Remote).then(|| config.text(KEY)).flatten();
    let pinned = match (settings.fingerprint, configured) {
        (Some(fingerprint), _) => {
            Some((fingerprint, "approvals.gateway.fingerprint of guard.json".to_owned()))
        }
        (None, Some(text)) => {
            let setting = format!("{KEY} of {}", config.file);
            match Fingerprint::parse(text.strip_prefix("sha256:").unwrap_or(text)) {
                Some(fingerprint) => Some((fingerprint, setting)),
                None => return Err(NoAccess::Where { setting, why: GatewayAddressError::Fingerprint }),
            }
        }
        (None, None) => None,
    };
    match pinned {
        None => Ok(Trust::Authorities),
        Some((fingerprint, _)) if endpoint.scheme() == Scheme::Wss => Ok(Trust::Pinned(fingerprint)),
        Some((_, setting)) => Err(NoAccess::Where {
            setting,
            why: GatewayAddressError::NoCertificate(endpoint.as_str().to_owned()),
        }),
    }
}

/// Returns the error that names where a secret was looked for.
fn nowhere(
    settings: &GatewaySettings,
    endpoint: &GatewayUrl,
    config: &Config,
    owner: GatewayOwner,
) -> NoAccess {
    let at = endpoint.as_str().to_owned();
    if let Some(why) = config.problem() {
        return NoAccess::Secret { at, why: NoSecret::Config(why.clone()) };
    }
    let why = NoSecret::Nowhere { config: config.file.clone(), owner };
    // With a gateway named in guard.json, a missing secret is an error.
    if settings.url.is_some() { NoAccess::Secret { at, why } } else { NoAccess::Nowhere { at, why } }
}

type Search = Option<Result<Secret, NoSecret>>;

fn of_environment(config: &Config, variable: &dyn Fn(&str) -> Option<OsString>) -> Search {
    kinds(config).into_iter().find_map(|kind| {
        let name = if kind == SecretKind::Token { TOKEN } else { PASSWORD };
        Some(secret::of_variable(kind, name, variable(name)?).map_err(NoSecret::Unusable))
    })
}

fn of_config(config: &Config, owner: GatewayOwner, variable: &dyn Fn(&str) -> Option<OsString>) -> Search {
    let above = match owner {
        GatewayOwner::Local => AUTH,
        GatewayOwner::Remote => REMOTE,
        GatewayOwner::Elsewhere => return None,
    };
    kinds(config).into_iter().find_map(|kind| {
        let path = format!("{above}.{}", if kind == SecretKind::Token { "token" } else { "password" });
        let source = format!("{path} of {}", config.file);
        match config.secret(&path) {
            SecretInput::Nothing => None,
            SecretInput::Text(text) => Some(Secret::new(kind, text, source).map_err(NoSecret::Unusable)),
            SecretInput::Variable(name) => Some(match variable(&name) {
                Some(value) => secret::of_variable(kind, &name, value).map_err(NoSecret::Unusable),
                None => Err(NoSecret::Unset { key: source, name }),
            }),
            SecretInput::Elsewhere => Some(Err(NoSecret::Reference { key: source })),
        }
    })
}

/// Returns the kinds of secret in the order in which to look for them.
fn kinds(config: &Config) -> [SecretKind; 2] {
    match config.text("gateway.auth.mode") {
        Some("password") => [SecretKind::Password, SecretKind::Token],
        _ => [SecretKind::Token, SecretKind::Password],
    }
}
