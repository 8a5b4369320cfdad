//! Every question that waits, on the socket.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use guard_policy::approval::Route;
use tokio::sync::Semaphore;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::{AbortHandle, JoinSet};

use super::super::decision::{Decision, ResolveError};
use super::super::event::What;
use super::super::keep::Keeper;
use super::super::manager::Manager;
use super::super::outcome::{Listing, Resolved};
use super::super::request::{Id, Request};
use super::super::runtime::{Complain, IsMember};
use super::ask::{NoAnswer, ask};
use super::place::Find;
use super::text::asked;

/// Questions on the socket at a time; the others wait for their turn.
const MOST: usize = 64;

/// Asks on the socket.
#[derive(Clone)]
pub struct Client {
    manager: Manager,
    keeper: Keeper,
    find: Find,
    is_member: IsMember,
    complain: Complain,
    /// What was complained of last: the same again is not worth a line.
    complained: Arc<Mutex<String>>,
    places: Arc<Semaphore>,
}

impl Client {
    /// Asks what waits in this manager.
    pub fn new(
        manager: Manager,
        keeper: Keeper,
        find: Find,
        is_member: IsMember,
        complain: Complain,
    ) -> Client {
        let (complained, places) = (Arc::default(), Arc::new(Semaphore::new(MOST)));
        Client { manager, keeper, find, is_member, complain, complained, places }
    }

    /// Asks for ever. When this is dropped, every question is taken back from the socket.
    pub async fn run(self) {
        let (listings, mut events) = self.manager.subscribe();
        let mut open = Open::default();
        self.open_all(&mut open, listings);
        loop {
            let event = tokio::select! {
                event = events.recv() => event,
                Some(_) = open.tasks.join_next() => continue,
            };
            match event {
                Ok(event) => match event.what {
                    What::Requested { .. } => {
                        let all = self.manager.snapshot().into_iter().flat_map(|listing| listing.requests);
                        let new = all.map(|(request, _)| request).find(|request| request.id == event.id);
                        if let Some(request) = new {
                            self.open(&mut open, request);
                        }
                    }
                    What::Resolved { .. } | What::Expired | What::Withdrawn => open.close(&event.id),
                    _ => {}
                },
                // What was missed is in what waits now.
                Err(RecvError::Lagged(_)) => {
                    let listings = self.manager.snapshot();
                    open.keep(&listings);
                    self.open_all(&mut open, listings);
                }
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn open_all(&self, open: &mut Open, listings: Vec<Listing>) {
        for (request, _) in listings.into_iter().flat_map(|listing| listing.requests) {
            self.open(open, request);
        }
    }

    fn open(&self, open: &mut Open, request: Arc<Request>) {
        if !self.manager.wants(Route::Socket) || open.questions.contains_key(&request.id) {
            return;
        }
        let client = self.clone();
        let id = request.id;
        let question = open.tasks.spawn(async move { client.ask(&request).await });
        open.questions.insert(id, question);
    }

    async fn ask(&self, request: &Request) {
        let Some(asked) = asked(&request.question) else {
            self.grumble(format!(
                "openclaw-guard: {} is too long for the approvals socket: answer it with `openclaw-guard approvals`",
                request.id
            ));
            return;
        };
        // It is never closed.
        let Ok(_place) = self.places.acquire().await else { return };
        let complain = |problem: &NoAnswer| {
            if !matches!(problem, NoAnswer::Nobody { .. }) {
                self.grumble(format!("openclaw-guard: no answer by the approvals socket: {problem}"));
            }
        };
        let find = Arc::clone(&self.find);
        let word = ask(find, &self.is_member, &request.id.to_string(), &asked, complain).await;
        // The answer is given even if the question's end takes this task with it meanwhile.
        let client = self.clone();
        let id = request.id;
        tokio::spawn(async move { client.answer(id, word.into()).await });
    }

    async fn answer(&self, id: Id, decision: Decision) {
        let resolve = |decision| self.manager.resolve(&id.to_string(), None, decision, Route::Socket);
        let resolved = match resolve(decision) {
            // Whoever said "always" said yes to this time, and cannot be told more by this way.
            Err(error @ (ResolveError::NoAlways(_) | ResolveError::AskedEachTime(_))) => {
                (self.complain)(format!("openclaw-guard: {id} is allowed this time only: {error}"));
                resolve(Decision::AllowOnce)
            }
            resolved => resolved,
        };
        // Else somebody was faster.
        let Ok(Resolved { saves, .. }) = resolved else { return };
        for save in saves {
            let (keeper, manager) = (self.keeper.clone(), self.manager.clone());
            let kept = tokio::task::spawn_blocking(move || keeper.keep(&manager, &save)).await;
            if let Err(why) = kept.unwrap_or_else(|error| Err(error.to_string())) {
                (self.complain)(format!("openclaw-guard: {id} is allowed this time, but not saved: {why}"));
            }
        }
    }

    fn grumble(&self, problem: String) {
        let mut last = self.complained.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != problem {
            (self.complain)(problem.clone());
            *last = problem;
        }
    }
}

/// The questions on the socket, each on a connection of its own.
#[derive(Default)]
struct Open {
    questions: HashMap<Id, AbortHandle>,
    tasks: JoinSet<()>,
}

impl Open {
    fn close(&mut self, id: &Id) {
        if let Some(question) = self.questions.remove(id) {
            question.abort();
        }
    }

    /// Closes what does not wait any more.
    fn keep(&mut self, listings: &[Listing]) {
        let waits = |id: &Id| {
            listings.iter().flat_map(|listing| &listing.requests).any(|(request, _)| request.id == *id)
        };
        let gone: Vec<Id> = self.questions.keys().filter(|id| !waits(id)).copied().collect();
        gone.iter().for_each(|id| self.close(id));
    }
}
