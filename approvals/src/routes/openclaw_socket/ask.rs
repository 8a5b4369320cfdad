//! Asks one question until somebody answers.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use guard_openclaw::ports::IsMember;
use guard_policy::text::shown;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};

use super::super::peer::{Peer, PeerRejected};
use super::paths::{Endpoint, EndpointError, Find};
use super::wire::{ApprovalRequest, ClientMessage, Word, answer};

/// How long connecting and sending may take, as in OpenClaw's client. The answer may take as long as the question
/// waits.
const IO_TIMEOUT: Duration = Duration::from_secs(15);
/// The shortest and the longest pause between two attempts. It doubles each time.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(8)];

/// Why there is no answer yet.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// Nobody listens, or the listener has gone. This is not reported.
    #[error("{path}: nobody listens")]
    Nobody { path: String },
    #[error("{path}: {error}")]
    Failed { path: String, error: io::Error },
    #[error("{path}: {rejected}")]
    Rejected { path: String, rejected: PeerRejected },
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The thread that looks for the endpoint has failed.
    #[error("the store cannot be read")]
    Thread,
}

/// Asks again and again with the same id until somebody answers. Dropping the future closes the connection and so
/// withdraws the question.
pub async fn ask(
    find: Find,
    is_member: &IsMember,
    id: &str,
    asked: &ApprovalRequest,
    mut warn: impl FnMut(&NoAnswer),
) -> Word {
    let [mut pause, longest] = PAUSES;
    loop {
        let find = Arc::clone(&find);
        // Reading the disk may block.
        let found = tokio::task::spawn_blocking(move || find()).await;
        let outcome = match found {
            Ok(Ok(endpoint)) => once(&endpoint, is_member, id, asked).await,
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(NoAnswer::Thread),
        };
        match outcome {
            Ok(word) => return word,
            Err(problem) => warn(&problem),
        }
        sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}

async fn once(
    endpoint: &Endpoint,
    is_member: &IsMember,
    id: &str,
    asked: &ApprovalRequest,
) -> Result<Word, NoAnswer> {
    let path = || shown(endpoint.path.as_os_str().as_encoded_bytes());
    let failed = |error: io::Error| NoAnswer::Failed { path: path(), error };
    let nobody = || NoAnswer::Nobody { path: path() };
    let Some(token) = &endpoint.token else { return Err(nobody()) };
    let handle = match endpoint.open() {
        Ok(handle) => handle,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(nobody()),
        Err(error) => return Err(failed(error)),
    };
    let mut stream = match within(connect(&handle.path())).await {
        Ok(stream) => stream,
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Err(nobody()),
        Err(error) => return Err(failed(error)),
    };
    // Check the peer before sending it the token.
    Peer::from_stream(&stream, is_member)
        .map_err(|rejected| NoAnswer::Rejected { path: path(), rejected })?;
    let line = ClientMessage::request(token, id, asked);
    within(async {
        stream.write_all(&line).await?;
        stream.shutdown().await
    })
    .await
    .map_err(failed)?;
    match answer(BufReader::new(stream), id).await {
        Ok(Some(word)) => Ok(word),
        Ok(None) => Err(nobody()),
        Err(error) => Err(failed(error)),
    }
}

/// Connects. Waits while the listener's backlog is full.
async fn connect(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(PAUSES[0]).await,
            done => return done,
        }
    }
}

async fn within<T>(done: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(IO_TIMEOUT, done).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
