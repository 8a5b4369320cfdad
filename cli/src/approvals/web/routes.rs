//! What is answered to which request.

use std::convert::Infallible;
use std::fmt::Write as _;
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

use super::super::watch::event::{Choice, News, Unanswered};
use super::super::watch::queue::Key;
use super::admission::{self, Admitted, Known};
use super::assets::{self, Asset};
use super::history::{self, Wanted};
use super::origin::{Arrival, OPEN, Refused};
use super::reply::{html, object, problem};
use super::sessions::Found;
use super::state::Desk;
use super::{Board, headers, rules};

/// A longer answer is none.
const LONGEST: usize = 16 * 1024;
/// How long one may take to be said, and a guard to take it: it may wait for a disk.
const SLOWEST: Duration = Duration::from_secs(15);
/// How often a page is told that it is still connected.
const BEAT: Duration = Duration::from_secs(5);

/// All of them.
pub fn all(desk: Arc<Desk>) -> Router {
    let mut routes = Router::new()
        .route("/", get(page))
        .route(OPEN, get(open))
        .route("/events", get(events))
        .route("/answer", post(answer))
        .route("/history", get(history))
        .route("/policy", get(policy))
        .route("/leave", post(leave));
    for Asset { path, kind, text } in assets::ALL {
        routes = routes.route(path, get(async || (StatusCode::OK, [(CONTENT_TYPE, *kind)], *text)));
    }
    routes
        .fallback(async || problem(StatusCode::NOT_FOUND, "nothing", "there is nothing here"))
        .method_not_allowed_fallback(async || {
            problem(StatusCode::METHOD_NOT_ALLOWED, "method", "this is asked for in another way")
        })
        .layer(DefaultBodyLimit::max(LONGEST))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&desk), admission::check))
        .layer(axum::middleware::map_response(headers::set))
        .with_state(desk)
}

/// For whoever is turned away: whatever they ask for.
pub fn turned_away(why: &str) -> Router {
    let text = format!("{why}\n");
    Router::new()
        .fallback(async move || (StatusCode::FORBIDDEN, [(CONTENT_TYPE, assets::TEXT)], text.clone()))
        .layer(axum::middleware::map_response(headers::set))
}

async fn page(known: Result<Known, Refused>) -> Response {
    match known {
        Ok(_) => html(StatusCode::OK, assets::PAGE),
        Err(_) => html(StatusCode::FORBIDDEN, assets::CLOSED),
    }
}

/// Reads files, on a thread that may wait for a disk.
async fn read<T: Send + 'static>(
    desk: &Desk,
    _: &Admitted,
    read: impl FnOnce(&Options) -> T + Send + 'static,
) -> Option<T> {
    // It is never closed.
    let _reader = desk.readers.acquire().await.ok()?;
    let options = desk.options.clone();
    tokio::task::spawn_blocking(move || read(&options)).await.ok()
}

/// Has something answered, and waits for what comes of it.
async fn choose(desk: &Desk, _: &Admitted, answer: Answer) -> Result<String, Unanswered> {
    let Answer { guard, id, version, decision } = answer;
    let decision: Decision = decision.parse().map_err(Unanswered::Refused)?;
    let (outcome, told) = oneshot::channel();
    let choice = Choice { key: Key { pid: guard, id }, version, decision, outcome };
    desk.news.send(News::Chosen(choice)).map_err(|_| Unanswered::Gone)?;
    let silence = |why: &str| Unanswered::Refused(why.to_owned());
    match timeout(SLOWEST, told).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(silence("openclaw-guard is ending")),
        Err(_) => Err(silence("the guard does not say whether it has taken the answer: see what waits")),
    }
}

#[derive(Deserialize)]
struct Token {
    token: String,
}

async fn open(
    State(desk): State<Arc<Desk>>,
    head: HeaderMap,
    token: Result<Query<Token>, axum::extract::rejection::QueryRejection>,
) -> Response {
    match Arrival::of(&head) {
        Arrival::Here => {}
        Arrival::FromElsewhere => return html(StatusCode::OK, assets::DOOR),
        Arrival::Nobody => return html(StatusCode::FORBIDDEN, assets::CLOSED),
    }
    let now = Instant::now();
    let opened =
        token.ok().and_then(|Query(Token { token })| desk.sessions(|sessions| sessions.open(&token, now)));
    let Some(opened) = opened else { return html(StatusCode::FORBIDDEN, assets::CLOSED) };
    let cookie =
        format!("{}={}; HttpOnly; SameSite=Strict; Path=/", desk.origin().cookie(), opened.cookie.text());
    // A fragment is told to no server.
    let place = format!("/#{}", opened.key.text());
    (StatusCode::SEE_OTHER, [(SET_COOKIE, cookie), (LOCATION, place)]).into_response()
}

async fn events(State(desk): State<Arc<Desk>>, admitted: Admitted) -> Response {
    let Ok(place) = Arc::clone(&desk.pages).try_acquire_owned() else {
        return problem(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many pages are open: close one");
    };
    Sse::new(told(desk.board.clone(), admitted.session().clone(), place)).into_response()
}

/// The board at once, and again when it changes; a beat in between, each with the time here. Ends with the session.
fn told(
    mut board: watch::Receiver<Board>,
    session: Found,
    place: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Event, Infallible>> {
    board.mark_changed();
    futures_util::stream::unfold((board, session, place), async |(mut board, mut session, place)| {
        let event = tokio::select! {
            // It is never sent to: it ends.
            _ = session.alive.changed() => return None,
            changed = timeout(BEAT, board.changed()) => match changed {
                Ok(Ok(())) => Event::default().event("board").data(&*board.borrow_and_update()),
                Ok(Err(_)) => return None,
                Err(_) => Event::default().event("beat"),
            },
        };
        Some((Ok(event.id(now_ms().to_string())), (board, session, place)))
    })
}

/// What is sent for an answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    guard: u32,
    id: String,
    version: u64,
    decision: String,
}

async fn answer(State(desk): State<Arc<Desk>>, admitted: Admitted, body: Bytes) -> Response {
    let answer: Answer = match serde_json::from_slice(&body) {
        Ok(answer) => answer,
        Err(error) => {
            let mut message = "an answer has guard, id, version and decision: ".to_owned();
            let _ = write!(message, "{error}");
            return problem(
                StatusCode::BAD_REQUEST,
                "answer",
                &guard_policy::text::shown(message.as_bytes()),
            );
        }
    };
    match choose(&desk, &admitted, answer).await {
        Ok(said) => object(StatusCode::OK, &json!({"said": guard_policy::text::shown(said.as_bytes())})),
        Err(why) => {
            let code = match why {
                Unanswered::Gone => "gone",
                Unanswered::Changed => "changed",
                Unanswered::Refused(_) => "refused",
            };
            problem(StatusCode::CONFLICT, code, &guard_policy::text::shown(why.to_string().as_bytes()))
        }
    }
}

async fn history(
    State(desk): State<Arc<Desk>>,
    admitted: Admitted,
    wanted: Result<Query<Wanted>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Ok(Query(wanted)) = wanted else {
        return problem(StatusCode::BAD_REQUEST, "history", "before is the number of a line");
    };
    said(read(&desk, &admitted, move |options| history::read(options, &wanted)).await)
}

async fn policy(State(desk): State<Arc<Desk>>, admitted: Admitted) -> Response {
    said(read(&desk, &admitted, rules::read).await)
}

fn said<T: Serialize>(read: Option<Result<T, String>>) -> Response {
    match read {
        Some(Ok(value)) => object(StatusCode::OK, &value),
        Some(Err(why)) => problem(StatusCode::INTERNAL_SERVER_ERROR, "read", &why),
        None => problem(StatusCode::INTERNAL_SERVER_ERROR, "read", "the guard failed: see its audit log"),
    }
}

async fn leave(State(desk): State<Arc<Desk>>, admitted: Admitted) -> Response {
    desk.sessions(|sessions| sessions.leave(admitted.session()));
    let cookie = format!("{}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0", desk.origin().cookie());
    (StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response()
}
