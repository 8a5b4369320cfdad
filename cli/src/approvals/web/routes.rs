//! The routes, and the handler of each.

use std::convert::Infallible;
use std::fmt::{Display, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::header::{CONTENT_TYPE, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::Stream;
use guard_approvals::decision::Decision;
use guard_openclaw::clock::now_ms;
use guard_supervisor::config::options::Options;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, oneshot, watch};
use tokio::time::timeout;

use super::super::watch::event::{Choice, Unanswered, WatchEvent};
use super::super::watch::queue::Key;
use super::admission::{self, Admitted, KnownBrowser};
use super::assets::{self, Asset};
use super::history::{self, HistoryQuery};
use super::origin::{OPEN, Refused, RequestOrigin};
use super::reply::{html, object, problem};
use super::sessions::SessionRef;
use super::state::AppState;
use super::{SnapshotJson, headers, rules};

/// The longest body of an answer, in bytes.
const MAX_LEN: usize = 16 * 1024;
/// How long the body may take to arrive, and how long a guard may take to reply: the guard may wait for the
/// disk.
const IO_TIMEOUT: Duration = Duration::from_secs(15);
/// How often a page is sent a beat while nothing changes.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);

/// All routes.
pub fn all(app: Arc<AppState>) -> Router {
    let mut routes = Router::new()
        .route("/", get(page))
        .route(OPEN, get(open))
        .route("/events", get(events))
        .route("/answer", post(answer))
        .route("/history", get(history))
        .route("/policy", get(policy))
        .route("/leave", post(log_out));
    for Asset { path, kind, text } in assets::ALL {
        routes = routes.route(path, get(async || (StatusCode::OK, [(CONTENT_TYPE, *kind)], *text)));
    }
    routes
        .fallback(async || problem(StatusCode::NOT_FOUND, "nothing", "there is no such page"))
        .method_not_allowed_fallback(async || {
            problem(StatusCode::METHOD_NOT_ALLOWED, "method", "this needs another method")
        })
        .layer(DefaultBodyLimit::max(MAX_LEN))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&app), admission::check))
        .layer(axum::middleware::map_response(headers::set))
        .with_state(app)
}

/// The routes for a rejected peer: every request gets the reason.
pub fn turned_away(why: &str) -> Router {
    let text = format!("{why}\n");
    Router::new()
        .fallback(async move || (StatusCode::FORBIDDEN, [(CONTENT_TYPE, assets::TEXT)], text.clone()))
        .layer(axum::middleware::map_response(headers::set))
}

async fn page(known: Result<KnownBrowser, Refused>) -> Response {
    match known {
        Ok(_) => html(StatusCode::OK, assets::PAGE),
        Err(_) => html(StatusCode::FORBIDDEN, assets::CLOSED),
    }
}

/// Reads files on a thread that may block.
async fn read<T: Send + 'static>(
    app: &AppState,
    _: &Admitted,
    read: impl FnOnce(&Options) -> T + Send + 'static,
) -> Option<T> {
    // The semaphore is never closed.
    let _reader = app.readers.acquire().await.ok()?;
    let options = app.options.clone();
    tokio::task::spawn_blocking(move || read(&options)).await.ok()
}

/// Sends an answer, and waits for the result.
async fn choose(app: &AppState, _: &Admitted, answer: AnswerBody) -> Result<String, Unanswered> {
    let AnswerBody { guard, id, version, decision } = answer;
    let decision: Decision = decision.parse().map_err(Unanswered::NoDecision)?;
    let (outcome, result) = oneshot::channel();
    let choice = Choice { key: Key { pid: guard, id }, version, decision, outcome };
    app.events.send(WatchEvent::Chosen(choice)).map_err(|_| Unanswered::Gone)?;
    match timeout(IO_TIMEOUT, result).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(Unanswered::Ending),
        Err(_) => Err(Unanswered::Unconfirmed),
    }
}

#[derive(Deserialize)]
struct LoginToken {
    token: String,
}

async fn open(
    State(app): State<Arc<AppState>>,
    head: HeaderMap,
    token: Result<Query<LoginToken>, axum::extract::rejection::QueryRejection>,
) -> Response {
    match RequestOrigin::from_headers(&head) {
        RequestOrigin::Here => {}
        RequestOrigin::FromElsewhere => return html(StatusCode::OK, assets::LOGIN),
        RequestOrigin::Nobody => return html(StatusCode::FORBIDDEN, assets::CLOSED),
    }
    let now = Instant::now();
    let opened = token
        .ok()
        .and_then(|Query(LoginToken { token })| app.sessions(|sessions| sessions.open(&token, now)));
    let Some(opened) = opened else { return html(StatusCode::FORBIDDEN, assets::CLOSED) };
    let cookie =
        format!("{}={}; HttpOnly; SameSite=Strict; Path=/", app.origin().cookie(), opened.cookie.text());
    // Browsers do not send a fragment to any server.
    let location = format!("/#{}", opened.key.text());
    (StatusCode::SEE_OTHER, [(SET_COOKIE, cookie), (LOCATION, location)]).into_response()
}

async fn events(State(app): State<Arc<AppState>>, admitted: Admitted) -> Response {
    let Ok(permit) = Arc::clone(&app.pages).try_acquire_owned() else {
        return problem(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many pages are open: close one");
    };
    Sse::new(event_stream(app.snapshot.clone(), admitted.session().clone(), permit)).into_response()
}

/// Sends a snapshot (event `board`) at once and after each change, and a beat in between, each with this host's time.
/// Ends with the session.
fn event_stream(
    mut snapshot: watch::Receiver<SnapshotJson>,
    session: SessionRef,
    permit: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Event, Infallible>> {
    snapshot.mark_changed();
    futures_util::stream::unfold((snapshot, session, permit), async |(mut snapshot, mut session, permit)| {
        let event = tokio::select! {
            // Nothing is ever sent on this channel; it closes when the session ends.
            _ = session.alive.changed() => return None,
            changed = timeout(HEARTBEAT_INTERVAL, snapshot.changed()) => match changed {
                Ok(Ok(())) => Event::default().event("board").data(&*snapshot.borrow_and_update()),
                Ok(Err(_)) => return None,
                Err(_) => Event::default().event("beat"),
            },
        };
        Some((Ok(event.id(now_ms().to_string())), (snapshot, session, permit)))
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerBody {
    guard: u32,
    id: String,
    version: u64,
    decision: String,
}

async fn answer(State(app): State<Arc<AppState>>, admitted: Admitted, body: Bytes) -> Response {
    let answer: AnswerBody = match serde_json::from_slice(&body) {
        Ok(answer) => answer,
        Err(error) => {
            let mut message = "an answer needs guard, id, version and decision: ".to_owned();
            let _ = write!(message, "{error}");
            return problem(
                StatusCode::BAD_REQUEST,
                "answer",
                &guard_policy::text::shown(message.as_bytes()),
            );
        }
    };
    match choose(&app, &admitted, answer).await {
        Ok(message) => {
            object(StatusCode::OK, &json!({"said": guard_policy::text::shown(message.as_bytes())}))
        }
        Err(why) => {
            let code = match why {
                Unanswered::Gone => "gone",
                Unanswered::Changed => "changed",
                Unanswered::Refused(_)
                | Unanswered::NoDecision(_)
                | Unanswered::Ending
                | Unanswered::Unconfirmed => "refused",
            };
            problem(StatusCode::CONFLICT, code, &guard_policy::text::shown(why.to_string().as_bytes()))
        }
    }
}

async fn history(
    State(app): State<Arc<AppState>>,
    admitted: Admitted,
    query: Result<Query<HistoryQuery>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Ok(Query(query)) = query else {
        return problem(StatusCode::BAD_REQUEST, "history", "before must be the time of a line");
    };
    json_reply(read(&app, &admitted, move |options| history::read(options, &query)).await)
}

async fn policy(State(app): State<Arc<AppState>>, admitted: Admitted) -> Response {
    json_reply(read(&app, &admitted, rules::read).await)
}

fn json_reply<T: Serialize>(read: Option<Result<T, impl Display>>) -> Response {
    match read {
        Some(Ok(value)) => object(StatusCode::OK, &value),
        Some(Err(error)) => {
            let why = guard_policy::text::shown(error.to_string().as_bytes());
            problem(StatusCode::INTERNAL_SERVER_ERROR, "read", &why)
        }
        None => problem(StatusCode::INTERNAL_SERVER_ERROR, "read", "the guard failed: see its audit log"),
    }
}

async fn log_out(State(app): State<Arc<AppState>>, admitted: Admitted) -> Response {
    app.sessions(|sessions| sessions.end(admitted.session()));
    let cookie = format!("{}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0", app.origin().cookie());
    (StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response()
}
