//! The handshake that admits the guard: the gateway's challenge, `connect`, and the gateway's answer.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::access::{APPROVALS, Credentials};
use super::dial::{Socket, message_text};
use super::frames::{Frame, Refused, read, request};
use super::hello::Hello;
use super::identity::{Identity, IdentityError};
use super::peer::{GatewayRejected, SocketPair};
use super::problem::{Disconnected, NotGateway, OpenError};
use super::role::ClientRole;
use super::secret::SecretKind;
use super::tls::Trust;
use crate::clock::now_ms;

/// The longest greeting that is accepted, in bytes. OpenClaw 2026.9.6 sends 18 KiB.
const MAX_LEN: usize = 1 << 20;
/// The id of the first request of each connection.
const ID: &str = "connect";

/// The form of `connect`: the default, or one adapted to a gateway that has refused the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// The parameter to leave out, because the gateway's release does not know it.
    without: Option<Optional>,
    /// Whether to add the token that the gateway has issued, because the gateway has refused the configured
    /// token alone.
    with_device_token: bool,
}

/// A parameter that a connection can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Optional {
    Device,
    DisplayName,
}

/// Why the guard is not admitted.
#[derive(Debug)]
pub enum NotLetIn {
    /// The guard may try once more, in this form.
    Again(Dialect),
    /// The guard must not try again.
    Never(OpenError),
}

impl From<OpenError> for NotLetIn {
    fn from(error: OpenError) -> NotLetIn {
        NotLetIn::Never(error)
    }
}

/// Performs the handshake.
///
/// # Errors
/// Why the guard is not admitted.
pub async fn greet(
    access: &Credentials,
    socket: &mut Socket,
    ends: Option<SocketPair>,
    manner: Dialect,
) -> Result<Hello, NotLetIn> {
    let at = || access.endpoint();
    let lost = |lost| OpenError::Lost { at: at(), lost };
    let challenge = challenge(socket).await.map_err(lost)?;
    // The challenge shows that the gateway has accepted the connection. No secret has been sent yet.
    if let Some(ends) = ends {
        let is_member = access.is_member.clone();
        let check = move || ends.check(is_member.as_ref().map(|member| &member.0));
        let checked = tokio::task::spawn_blocking(check).await;
        let checked = checked.unwrap_or_else(|error| Err(GatewayRejected::Failed(error.to_string())));
        checked.map_err(|rejected| OpenError::Rejected { at: at(), rejected })?;
    }
    let connect = request(ID, "connect", &params(access, manner, &challenge));
    let sent = socket.send(Message::text(connect)).await;
    sent.map_err(|error| lost(Disconnected::Failed(error.to_string())))?;
    let payload = match answer(socket).await.map_err(lost)? {
        Ok(payload) => payload,
        Err(refused) => {
            if let Some(manner) = again(access, manner, &refused) {
                return Err(NotLetIn::Again(manner));
            }
            if refused.detail() == Some("AUTH_DEVICE_TOKEN_MISMATCH")
                && let Some(token) = access.device_token().map(str::to_owned)
            {
                remember(access, move |identity, endpoint| identity.forget(endpoint, &token)).await;
            }
            let next = advice(access, &refused);
            return Err(OpenError::Refused { at: at(), refused: Box::new(refused), next }.into());
        }
    };
    let (hello, issued) =
        Hello::read(payload, now()).map_err(|error| OpenError::NoGateway { at: at(), why: error.into() })?;
    if hello.role.as_deref().is_some_and(|role| role != access.role.name()) {
        let why = NotGateway::OtherRole(access.role.name());
        return Err(OpenError::NoGateway { at: at(), why }.into());
    }
    if access.role == ClientRole::Operator && !hello.grants(APPROVALS) {
        let next = "the gateway's token gives it to a guard on the same host; elsewhere its device must be paired \
                    (`openclaw devices list`, `openclaw devices approve`)";
        let next = Some(next.to_owned());
        return Err(
            OpenError::MissingScope { at: at(), scope: APPROVALS, granted: hello.scopes, next }.into()
        );
    }
    if let Some(token) = issued.device_token {
        // If the token cannot be saved, the gateway issues it again.
        remember(access, move |identity, endpoint| identity.save(endpoint, &token)).await;
    }
    Ok(hello)
}

/// Changes the saved token of this gateway. This is done on a blocking thread, because the disk may be slow.
async fn remember(
    access: &Credentials,
    change: impl FnOnce(&Identity, &str) -> Result<(), IdentityError> + Send + 'static,
) {
    let (identity, endpoint) = (access.identity.clone(), access.endpoint.as_str().to_owned());
    let changed = tokio::task::spawn_blocking(move || change(&identity, &endpoint)).await;
    if let Ok(Err(why)) = changed {
        tracing::info!("the gateway's token for this device cannot be saved: {why}");
    }
}

/// Returns whether the messages on this socket admit the guard.
#[cfg(any(test, feature = "test-support"))]
pub async fn greeted(mut socket: Socket) -> bool {
    let access = Credentials::fuzzed();
    greet(&access, &mut socket, None, Dialect::default()).await.is_ok()
}

/// Returns how to try again, if that may help.
fn again(access: &Credentials, manner: Dialect, refused: &Refused) -> Option<Dialect> {
    let without = match refused.message.rsplit_once("unexpected property '").map(|(_, name)| name) {
        Some("device'") => Some(Optional::Device),
        Some("displayName'") => Some(Optional::DisplayName),
        _ => None,
    };
    if without.is_some() {
        return manner.without.is_none().then_some(Dialect { without, ..manner });
    }
    // Like OpenClaw's own client, the guard sends a second token only to a loopback or pinned gateway.
    let is_trusted = access.endpoint.is_loopback() || matches!(access.trust, Trust::Pinned(_));
    let may =
        is_trusted && access.secret.is_some() && access.device_token().is_some() && !manner.with_device_token;
    let is_mismatch = refused.detail() == Some("AUTH_TOKEN_MISMATCH");
    (may && is_mismatch).then_some(Dialect { with_device_token: true, ..manner })
}

/// The first message of every gateway.
struct Challenge {
    nonce: String,
    /// The gateway's clock, in milliseconds since 1970.
    ts: Option<i64>,
}

async fn challenge(socket: &mut Socket) -> Result<Challenge, Disconnected> {
    loop {
        if let Frame::Event(event) = next(socket).await?
            && event.event == "connect.challenge"
        {
            let nonce = event.payload.get("nonce").and_then(Value::as_str).filter(|nonce| !nonce.is_empty());
            let nonce = nonce
                .ok_or_else(|| Disconnected::Broken("a challenge without a nonce".to_owned()))?
                .to_owned();
            return Ok(Challenge { nonce, ts: event.payload.get("ts").and_then(Value::as_i64) });
        }
    }
}

async fn answer(socket: &mut Socket) -> Result<Result<Value, Refused>, Disconnected> {
    loop {
        match next(socket).await? {
            Frame::Answer { id, answer } if id == ID => return Ok(answer),
            _ => {}
        }
    }
}

async fn next(socket: &mut Socket) -> Result<Frame, Disconnected> {
    loop {
        let Some(text) = message_text(socket.next().await)? else { continue };
        if text.len() > MAX_LEN {
            return Err(Disconnected::Broken(format!("a greeting of more than {} KiB", MAX_LEN >> 10)));
        }
        return read(&text).map_err(|error| Disconnected::Broken(error.to_string()));
    }
}

fn params(access: &Credentials, manner: Dialect, challenge: &Challenge) -> Value {
    let is_named = manner.without != Some(Optional::DisplayName);
    let mut params = access.role.params(&access.scopes, is_named);
    let device_token = access.device_token().filter(|_| access.secret.is_none() || manner.with_device_token);
    let mut auth = serde_json::Map::new();
    // The token that the signature covers.
    let mut token = device_token.unwrap_or_default();
    if let Some(secret) = &access.secret {
        let key = match secret.kind {
            SecretKind::Token => {
                token = secret.text();
                "token"
            }
            SecretKind::Password => "password",
        };
        auth.insert(key.to_owned(), json!(secret.text()));
    }
    if let Some(device_token) = device_token {
        auth.insert("deviceToken".to_owned(), json!(device_token));
    }
    params["auth"] = Value::Object(auth);
    if manner.without != Some(Optional::Device) {
        // The gateway's time is used, because the local clock may be wrong.
        let signed_at = challenge.ts.unwrap_or_else(now);
        let claim = access.role.claim(&access.scopes, signed_at, token, &challenge.nonce);
        let device = access.identity.sign(&claim);
        params["device"] = json!(device);
    }
    params
}

/// Returns what the operator can do about a refusal.
fn advice(access: &Credentials, refused: &Refused) -> Option<String> {
    let source = match &access.secret {
        Some(secret) => secret.source.as_str(),
        None => "the token that it once issued to this device",
    };
    Some(match refused.detail()? {
        "AUTH_TOKEN_MISMATCH" | "AUTH_PASSWORD_MISMATCH" | "AUTH_DEVICE_TOKEN_MISMATCH" => {
            format!(
                "the guard used {source}: it must be the gateway's own (gateway.auth of its openclaw.json)"
            )
        }
        "AUTH_TOKEN_MISSING" | "AUTH_TOKEN_NOT_CONFIGURED" => {
            format!("it requires a token, and {source} is not one")
        }
        "AUTH_PASSWORD_MISSING" | "AUTH_PASSWORD_NOT_CONFIGURED" => {
            format!("it requires a password, and {source} is not one")
        }
        "PAIRING_REQUIRED" => {
            let id = access.identity.id();
            format!("approve it with `openclaw devices list` and `openclaw devices approve`: its id is {id}")
        }
        "AUTH_RATE_LIMITED" => {
            "there were too many attempts with a wrong token: wait some minutes".to_owned()
        }
        "PROTOCOL_MISMATCH" => "the guard supports protocols 3 and 4".to_owned(),
        detail if detail.starts_with("DEVICE_AUTH") => {
            format!(
                "its clock or its copy of the guard's key differs: remove guard/{} in the state directory; the guard then creates a new one",
                access.role.identity()
            )
        }
        _ => return None,
    })
}

/// Returns the time in milliseconds since 1970.
fn now() -> i64 {
    i64::try_from(now_ms()).unwrap_or(i64::MAX)
}
