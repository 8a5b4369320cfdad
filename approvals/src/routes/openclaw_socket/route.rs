//! Every question that waits, on the socket.

use std::collections::HashMap;
use std::sync::Arc;

use guard_openclaw::ports::{Complain, IsMember};
use guard_policy::approval::Route;
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};

use super::super::answers::Taking;
use super::super::feed::{Change, Questions};
use super::ask::{NoAnswer, ask};
use super::place::Find;
use super::text::asked;
use crate::decision::Lack;
use crate::manager::Manager;
use crate::persist::Keeper;
use crate::question::{Id, Request};

/// Questions on the socket at a time; the others wait for their turn.
const MOST: usize = 64;

/// Asks on the socket.
#[derive(Clone)]
pub struct Client {
    taking: Taking,
    find: Find,
    is_member: IsMember,
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
        let taking = Taking::new(manager, Route::Socket, keeper, complain);
        Client { taking, find, is_member, places: Arc::new(Semaphore::new(MOST)) }
    }

    /// Asks for ever. When this is dropped, every question is taken back from the socket.
    pub async fn run(self) {
        let mut questions = Questions::of(self.taking.manager.clone());
        // Each on a connection of its own.
        let mut open: HashMap<Id, AbortHandle> = HashMap::new();
        let mut tasks = JoinSet::new();
        loop {
            let change = tokio::select! {
                change = questions.next() => change,
                Some(_) = tasks.join_next() => continue,
            };
            match change {
                Some(Change::Opened(request)) if self.taking.manager.wants(Route::Socket) => {
                    let (id, client) = (request.id, self.clone());
                    open.insert(id, tasks.spawn(async move { client.ask(&request).await }));
                }
                Some(Change::Opened(_)) => {}
                Some(Change::Closed(id, _)) => {
                    if let Some(question) = open.remove(&id) {
                        question.abort();
                    }
                }
                None => return,
            }
        }
    }

    async fn ask(&self, request: &Request) {
        let Some(asked) = asked(&request.question) else {
            self.taking.grumble(format!(
                "{} is too long for the approvals socket: answer it with `openclaw-guard approvals`",
                request.id
            ));
            self.taking.manager.give_up(request.id, Route::Socket, Lack::Failed);
            return;
        };
        // It is never closed.
        let Ok(_place) = self.places.acquire().await else { return };
        let complain = |problem: &NoAnswer| {
            if !matches!(problem, NoAnswer::Nobody { .. }) {
                self.taking.grumble(format!("no answer by the approvals socket: {problem}"));
            }
        };
        let find = Arc::clone(&self.find);
        let word = ask(find, &self.is_member, &request.id.to_string(), &asked, complain).await;
        // The answer is given even if the question's end takes this task with it meanwhile.
        let taking = self.taking.clone();
        let id = request.id;
        tokio::spawn(async move { taking.take(id, word.into()).await });
    }
}
