//! Getting let in: the gateway's challenge, `connect`, and what it says to that.

use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::access::{APPROVALS, Access};
use super::dial::{Socket, said};
use super::frames::{Frame, Refused, read, request};
use super::hello::{Hello, Issued};
use super::problem::{Lost, OpenError};
use super::secret::Kind;

/// A longer message is no greeting, in bytes: that of OpenClaw 2026.9.6 has 18 KiB.
const LONGEST: usize = 1 << 20;
/// The id of the first request of each connection.
const ID: &str = "connect";

/// Gets let in.
///
/// # Errors
/// Why that is not done.
pub async fn greet(access: &Access, socket: &mut Socket) -> Result<Hello, OpenError> {
    let at = || access.endpoint.to_string();
    let lost = |lost| OpenError::Lost { at: at(), lost };
    let _nonce = challenge(socket).await.map_err(lost)?;
    let connect = request(ID, "connect", &params(access));
    let sent = socket.send(Message::text(connect)).await;
    sent.map_err(|error| lost(Lost::Failed(error.to_string())))?;
    let payload = match answer(socket).await.map_err(lost)? {
        Ok(payload) => payload,
        Err(refused) => {
            let next = advice(access, &refused);
            return Err(OpenError::Refused { at: at(), refused: Box::new(refused), next });
        }
    };
    let (hello, Issued { .. }) =
        Hello::read(payload, now()).map_err(|why| OpenError::NoGateway { at: at(), why })?;
    if !hello.grants(APPROVALS) {
        let (scope, granted, next) = (APPROVALS, hello.scopes, None);
        return Err(OpenError::MissingScope { at: at(), scope, granted, next });
    }
    Ok(hello)
}

/// The nonce of the challenge, with which every gateway begins.
async fn challenge(socket: &mut Socket) -> Result<String, Lost> {
    loop {
        if let Frame::Event(event) = next(socket).await?
            && event.event == "connect.challenge"
        {
            let nonce = event.payload.get("nonce").and_then(Value::as_str).filter(|nonce| !nonce.is_empty());
            return nonce
                .map(str::to_owned)
                .ok_or_else(|| Lost::Broken("a challenge without a nonce".to_owned()));
        }
    }
}

async fn answer(socket: &mut Socket) -> Result<Result<Value, Refused>, Lost> {
    loop {
        match next(socket).await? {
            Frame::Answer { id, answer } if id == ID => return Ok(answer),
            _ => {}
        }
    }
}

async fn next(socket: &mut Socket) -> Result<Frame, Lost> {
    loop {
        let Some(text) = said(socket.next().await)? else { continue };
        if text.len() > LONGEST {
            return Err(Lost::Broken(format!("a greeting of more than {} KiB", LONGEST >> 10)));
        }
        return read(&text).map_err(Lost::Broken);
    }
}

fn params(access: &Access) -> Value {
    let mut params = json!({
        "minProtocol": 3,
        "maxProtocol": 4,
        "client": {
            // A gateway knows the ids that there are, and takes no other (OpenClaw 2026.9.6).
            "id": "gateway-client",
            "displayName": "openclaw-guard",
            "version": env!("CARGO_PKG_VERSION"),
            "platform": "linux",
            "mode": "backend",
        },
        "role": "operator",
        "scopes": access.scopes,
        "caps": [],
    });
    if let Some(secret) = &access.secret {
        let key = if secret.kind == Kind::Token { "token" } else { "password" };
        params["auth"] = json!({ key: secret.text() });
    }
    params
}

/// What somebody who reads of a refusal can do.
fn advice(access: &Access, refused: &Refused) -> Option<String> {
    let source = access.secret.as_ref().map(|secret| secret.source.as_str());
    match refused.detail()? {
        "AUTH_TOKEN_MISMATCH" | "AUTH_PASSWORD_MISMATCH" => {
            Some(format!("what was tried is {}: it must be the gateway's own", source?))
        }
        _ => None,
    }
}

/// Milliseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
