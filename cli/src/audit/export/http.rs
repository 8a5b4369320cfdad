//! Sends one POST to a collector.

use std::time::Duration;

use guard_openclaw::gateway::{Trust, tls_over};
use guard_policy::approval::GatewayHost;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::endpoint::Endpoint;

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the collector may take to accept a batch.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest response body that is read, in bytes.
const MAX_LEN: usize = 1 << 20;
/// How much of a response is shown.
const MAX_SHOWN: usize = 200;

/// Why a batch was not accepted.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// Retrying may help; `after` is the collector's Retry-After.
    Later { why: String, after: Option<Duration> },
    /// Retrying will not help.
    Never { why: String },
}

/// Headers for every request.
pub type Headers = Vec<(HeaderName, HeaderValue)>;

/// Sends a batch; returns the collector's response body.
///
/// # Errors
/// Why the batch was not accepted.
pub async fn post(endpoint: &Endpoint, headers: &Headers, body: Vec<u8>) -> Result<Vec<u8>, Failure> {
    let later = |why: String| Failure::Later { why, after: None };
    let stream = match timeout(CONNECT_TIMEOUT, connect(endpoint)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            return Err(later(format!(
                "nobody listens there ({error}); most collectors listen on port 4318 for OTLP over HTTP"
            )));
        }
        Ok(Err(error)) => return Err(later(error.to_string())),
        Err(_) => return Err(later(format!("no connection within {} seconds", CONNECT_TIMEOUT.as_secs()))),
    };
    let answered = async {
        if endpoint.is_secure {
            let stream = tls_over(stream, &endpoint.host, Trust::AuthoritiesAlone).await;
            send(stream.map_err(|error| Failure::Never { why: error.to_string() })?, endpoint, headers, body)
                .await
        } else {
            send(stream, endpoint, headers, body).await
        }
    };
    match timeout(RESPONSE_TIMEOUT, answered).await {
        Ok(answered) => answered,
        Err(_) => Err(later(format!("no answer within {} seconds", RESPONSE_TIMEOUT.as_secs()))),
    }
}

async fn connect(endpoint: &Endpoint) -> std::io::Result<TcpStream> {
    match &endpoint.host {
        GatewayHost::Address(address) => TcpStream::connect((*address, endpoint.port)).await,
        GatewayHost::Name(name) => TcpStream::connect((name.as_str(), endpoint.port)).await,
    }
}

async fn send<S>(stream: S, endpoint: &Endpoint, headers: &Headers, body: Vec<u8>) -> Result<Vec<u8>, Failure>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let later = |error: hyper::Error| Failure::Later { why: error.to_string(), after: None };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(later)?;
    // The task ends with the sender.
    tokio::spawn(connection);
    let mut request = Request::post(endpoint.path.as_str())
        .header(HOST, endpoint.authority.as_str())
        .header(CONTENT_TYPE, "application/json");
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let request = request.body(Full::new(Bytes::from(body)));
    let request = request.map_err(|error| Failure::Never { why: error.to_string() })?;
    let response = sender.send_request(request).await.map_err(later)?;
    let status = response.status();
    let failure = failure(&response);
    let body = Limited::new(response.into_body(), MAX_LEN).collect().await;
    let body = body.map(|body| body.to_bytes().to_vec());
    match failure {
        None => body.map_err(|error| Failure::Later { why: error.to_string(), after: None }),
        Some((is_later, after, advice)) => {
            let body_line = body.map(|body| first_line(&body)).unwrap_or_default();
            let why = format!("it answers with HTTP {}{body_line}{advice}", status.as_u16());
            Err(if is_later { Failure::Later { why, after } } else { Failure::Never { why } })
        }
    }
}

/// Whether to retry, when, and what to do about the failure; `None` for a success.
fn failure<B>(response: &Response<B>) -> Option<(bool, Option<Duration>, String)> {
    let status = response.status();
    let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    // The status codes are those of the OTLP specification ("Failures").
    match status {
        _ if status.is_success() => None,
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => {
            let after = text(RETRY_AFTER).and_then(|text| text.parse().ok()).map(Duration::from_secs);
            Some((true, after, String::new()))
        }
        // Redirects are not followed: the headers may hold a token, which no other host may see.
        _ if status.is_redirection() => {
            let to = text(LOCATION).unwrap_or_else(|| "somewhere".to_owned());
            Some((
                false,
                None,
                format!("; it redirects to {to}; redirects are not followed: give that address"),
            ))
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            let advice = "; set OTEL_EXPORTER_OTLP_HEADERS to its credentials, for example authorization=Bearer%20TOKEN";
            Some((false, None, advice.to_owned()))
        }
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Some((
            false,
            None,
            "; check that it accepts OTLP over HTTP; /v1/logs is added to the address".to_owned(),
        )),
        _ => Some((false, None, String::new())),
    }
}

fn first_line(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let line: String = text.lines().next().unwrap_or_default().chars().take(MAX_SHOWN).collect();
    if line.trim().is_empty() { String::new() } else { format!(" ({})", line.trim()) }
}
