//! Where the gateway is, as whom the guard comes, and with what: found anew before each connection, for a token may change.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use super::endpoint::{Endpoint, Wire};
use super::openclaw::{Config, Found};
use super::secret::{self, Kind, Secret};
use super::wanted::Wanted;
use super::{config, listens};
use crate::text::shown;

/// What a client that asks must have.
pub const APPROVALS: &str = "operator.approvals";
/// What may read and change OpenClaw's own approvals store.
pub const ADMIN: &str = "operator.admin";

const URL: &str = "OPENCLAW_GATEWAY_URL";
const TOKEN: &str = "OPENCLAW_GATEWAY_TOKEN";
const PASSWORD: &str = "OPENCLAW_GATEWAY_PASSWORD";

/// Where to go, and what to say there.
#[derive(Clone, Debug)]
pub struct Access {
    pub(super) endpoint: Endpoint,
    pub(super) secret: Option<Secret>,
    pub(super) scopes: Vec<&'static str>,
    pub(super) allow_insecure: bool,
}

/// Why nobody can be asked at a gateway: what was looked for and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAccess {
    /// A url that is none.
    #[error("{source_}: {why}")]
    Url { source_: String, why: String },
    /// What was named has no secret.
    #[error("{at}: no token for the gateway: {why}")]
    Secret { at: String, why: String },
}

impl Access {
    /// By guard.json, the guard's own environment and openclaw.json, in this order. `state` is the real path of the state
    /// directory, `home` what `~` means.
    ///
    /// # Errors
    /// What was looked for and where.
    pub fn find(wanted: &Wanted, state: &Path, home: &Path) -> Result<Access, NoAccess> {
        Access::find_in(wanted, state, home, &|name| env::var_os(name))
    }

    /// The same in an environment that is given.
    pub(super) fn find_in(
        wanted: &Wanted,
        state: &Path,
        home: &Path,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Access, NoAccess> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let file = variable("OPENCLAW_CONFIG_PATH").map_or_else(|| config(state), Into::into);
        let config = Config::read(&file);
        let (endpoint, place) = endpoint(wanted, &config, &file, &variable)?;
        let secret = match &wanted.token_file {
            Some(Ok(path)) => Some(secret::of_file(path)),
            Some(Err(why)) => Some(Err(why.clone())),
            None => of_environment(&config, &variable).or_else(|| of_config(&config, place, &variable)),
        };
        let secret = secret.transpose().map_err(|why| NoAccess::Secret { at: endpoint.to_string(), why })?;
        if secret.is_none() {
            let why = match config.problem() {
                Some(problem) => problem,
                None => format!(
                    "guard.json names no approvals.gateway.tokenFile, {TOKEN} and {PASSWORD} are not in the guard's environment, and {} has none{}",
                    config.file,
                    if place == Place::Elsewhere { " for this url" } else { "" }
                ),
            };
            return Err(NoAccess::Secret { at: endpoint.to_string(), why });
        }
        let scopes = if wanted.admin { vec![ADMIN, APPROVALS] } else { vec![APPROVALS] };
        Ok(Access { endpoint, secret, scopes, allow_insecure: wanted.allow_insecure })
    }

    /// Where it is, for people.
    pub fn endpoint(&self) -> String {
        self.endpoint.to_string()
    }
}

/// Whose the gateway is, by openclaw.json: only for that one are its secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The one on this host.
    Local,
    /// The one of `gateway.remote`.
    Remote,
    /// Another.
    Elsewhere,
}

fn endpoint(
    wanted: &Wanted,
    config: &Config,
    file: &Path,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<(Endpoint, Place), NoAccess> {
    let remote = config.is_remote().then(|| config.text("gateway.remote.url")).flatten();
    let named = match (&wanted.url, variable(URL)) {
        (Some(url), _) => Some(("approvals.gateway.url of guard.json".to_owned(), url.clone())),
        (None, Some(url)) => {
            Some((format!("{URL} of the guard's environment"), url.to_string_lossy().into_owned()))
        }
        (None, None) => remote.map(|url| (format!("gateway.remote.url of {}", config.file), url.to_owned())),
    };
    if let Some((source_, url)) = named {
        let endpoint = Endpoint::parse(&url).map_err(|why| NoAccess::Url {
            source_: format!("{source_} ({})", shown(url.as_bytes())),
            why,
        })?;
        let is_remote =
            remote.and_then(|url| Endpoint::parse(url).ok()).is_some_and(|remote| remote == endpoint);
        let place = match () {
            () if is_remote => Place::Remote,
            () if endpoint.is_loopback() && !config.is_remote() => Place::Local,
            () => Place::Elsewhere,
        };
        return Ok((endpoint, place));
    }
    let tls = config.at("gateway.tls.enabled").and_then(serde_json::Value::as_bool) == Some(true);
    let wire = if tls { Wire::Tls } else { Wire::Plain };
    let port = listens::find_in(file, variable("OPENCLAW_GATEWAY_PORT")).likeliest();
    Ok((Endpoint::local(wire, port), Place::Local))
}

type Search = Option<Result<Secret, String>>;

fn of_environment(config: &Config, variable: &dyn Fn(&str) -> Option<OsString>) -> Search {
    kinds(config).into_iter().find_map(|kind| {
        let name = if kind == Kind::Token { TOKEN } else { PASSWORD };
        Some(secret::of_variable(kind, name, variable(name)?))
    })
}

fn of_config(config: &Config, place: Place, variable: &dyn Fn(&str) -> Option<OsString>) -> Search {
    let above = match place {
        Place::Local => "gateway.auth",
        Place::Remote => "gateway.remote",
        Place::Elsewhere => return None,
    };
    kinds(config).into_iter().find_map(|kind| {
        let path = format!("{above}.{}", if kind == Kind::Token { "token" } else { "password" });
        let source = format!("{path} of {}", config.file);
        match config.secret(&path) {
            Found::Nothing => None,
            Found::Text(text) => Some(Secret::new(kind, text, source)),
            Found::Variable(name) => Some(match variable(&name) {
                Some(value) => secret::of_variable(kind, &name, value),
                None => Err(format!(
                    "{source} names the variable {}, which is not in the guard's environment",
                    shown(name.as_bytes())
                )),
            }),
            Found::Elsewhere => Some(Err(format!(
                "{source} is a reference that only OpenClaw can look up: name an approvals.gateway.tokenFile, or set {TOKEN}"
            ))),
        }
    })
}

/// Which to look for first.
fn kinds(config: &Config) -> [Kind; 2] {
    match config.text("gateway.auth.mode") {
        Some("password") => [Kind::Password, Kind::Token],
        _ => [Kind::Token, Kind::Password],
    }
}
