//! The thread on which time is kept and routes run: started by the first question, for most runs ask nothing.

use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use guard_openclaw::gateway::{Access, Wanted};
use guard_openclaw::tasks::kept_up_task;
use guard_policy::approval::Route;
use guard_shim::failpoints::{Fallible, may_fall};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::decision::Refusal;
use super::event::Log;
use super::lifecycle::{Going, Process, Told};
use super::manager::{Asked, Manager};
use super::persist::Keeper;
use super::question::{Id, Question};
use super::routes::gateway;
use super::routes::guard_socket::{Server, Socket};
use super::routes::notify::Notifier;
use super::routes::openclaw_socket::{Client, Find, Meeting, Probe};
use super::settings::Settings;
use super::surroundings::Surroundings;

/// How long the guard's end waits for the gateway to hear of it.
const FAREWELL: Duration = Duration::from_secs(2);

/// Asking a human, for the workers.
pub struct Approvals {
    manager: Manager,
    around: Surroundings,
    find: Find,
    probe: Probe,
    started: OnceLock<Result<(), String>>,
    handle: OnceLock<Handle>,
    ending: Arc<Notify>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Approvals {
    /// Nothing runs yet.
    pub fn new(settings: Settings, log: impl Log + 'static, around: Surroundings) -> Approvals {
        let (state, home) = (around.state.clone(), around.home.clone());
        let find: Find = Arc::new(move || Meeting::find(&state, &home));
        let manager = Manager::new(settings, log);
        Approvals {
            manager,
            around,
            find,
            probe: Probe::default(),
            started: OnceLock::new(),
            handle: OnceLock::new(),
            ending: Arc::default(),
            thread: Mutex::default(),
        }
    }

    /// The manager, for routes.
    pub fn manager(&self) -> &Manager {
        &self.manager
    }

    /// Asks, and returns at once, with the call's id.
    pub fn ask(&self, question: Question) -> (Id, Asked) {
        let request = Arc::new(self.manager.create(question));
        let asked = match self.start() {
            Ok(()) => {
                self.probe.tell(&self.manager, &self.find, &self.around.is_member);
                self.manager.register(&request)
            }
            Err(why) => Asked::Refused(Refusal::Broken(why)),
        };
        (request.id, asked)
    }

    /// Tells of a program that has started, until its end.
    pub fn follow(&self, id: Id, command: String, process: Process) {
        // It was asked for: so the thread runs.
        if let Some(handle) = self.handle.get() {
            let notice = self.manager.running_notice();
            handle.spawn(follow(self.manager.clone(), id, command, process, notice));
        }
    }

    /// Starts the thread, once.
    ///
    /// # Errors
    /// Why there is none; it is not tried again.
    pub fn start(&self) -> Result<(), String> {
        let started = self.started.get_or_init(|| self.spawn().map_err(|error| error.to_string()));
        started.clone()
    }

    fn spawn(&self) -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (manager, around) = (self.manager.clone(), self.around.clone());
        let socket = manager.wants(Route::Cli).then(|| Socket::bind(&around.state)).transpose();
        let socket = socket.unwrap_or_else(|error| {
            (around.complain)(format!(
                "openclaw-guard: no control socket, `openclaw-guard approvals` cannot answer: {error}"
            ));
            None
        });
        let link = around.terminal.as_ref().filter(|_| manager.wants(Route::Terminal));
        let link = link.map(|link| link.try_clone()).transpose()?;
        if let Some(link) = &link {
            link.set_nonblocking(true)?;
            // The first question is put before the thread runs.
            manager.reach(Route::Terminal, true);
        }
        let _ = self.handle.set(runtime.handle().clone());
        let time = manager.clone().keep_time();
        let keeper = Keeper::new(&around.state).with_gateway(around.follower.clone());
        let client = Client::new(
            manager.clone(),
            keeper.clone(),
            Arc::clone(&self.find),
            Arc::clone(&around.is_member),
            Arc::clone(&around.complain),
        );
        self.manager.reach(Route::Gateway, true);
        let line = Arc::new(gateway::Line::new(self.access(false)));
        let gateway = gateway::Client::new(manager.clone(), keeper.clone(), line, &around);
        let session = around.session_key.clone();
        let session = session.map(|key| gateway::Session::new(manager.clone(), self.access(true), key));
        let notifier = Notifier::new(manager.clone(), Arc::clone(&around.complain));
        let ending = Arc::clone(&self.ending);
        let thread = std::thread::Builder::new().name("approvals".into()).spawn(move || {
            runtime.block_on(async move {
                let server = Server::new(manager.clone(), keeper, around.is_member);
                match link.map(tokio::net::UnixStream::from_std) {
                    Some(Ok(link)) => {
                        let (terminal, manager) =
                            (tokio::spawn(server.clone().run_terminal(link)), manager.clone());
                        tokio::spawn(async move {
                            // However it ended, nobody answers there any more.
                            let _ = terminal.await;
                            manager.reach(Route::Terminal, false);
                        });
                    }
                    Some(Err(_)) => manager.reach(Route::Terminal, false),
                    None => {}
                }
                if let Some(socket) = socket.map(Arc::new) {
                    tokio::spawn(kept_up_task(move || server.clone().run(Arc::clone(&socket))));
                }
                tokio::spawn(kept_up_task(move || client.clone().run()));
                let asking = gateway.clone();
                tokio::spawn(kept_up_task(move || asking.clone().run()));
                if let Some(session) = session {
                    tokio::spawn(kept_up_task(move || session.clone().run()));
                }
                tokio::spawn(kept_up_task(move || notifier.clone().run()));
                may_fall(Fallible::Approvals, b"");
                tokio::select! { () = time => {} () = ending.notified() => {} }
                // The manager is closed by now. What waits at the gateway is taken back, where it can be told.
                let _ = timeout(FAREWELL, gateway.idle()).await;
            });
            // A name that is looked up, or a disk that does not answer, must not hold the guard's end.
            runtime.shutdown_timeout(FAREWELL);
        })?;
        *self.thread.lock() = Some(thread);
        Ok(())
    }

    /// Finds the way to OpenClaw's gateway, as an administrator only where that is asked for: whoever asks questions need be
    /// none, and 2026.7.35 takes every administrator that is connected for somebody who answers.
    fn access(&self, as_admin: bool) -> gateway::Find {
        let (manager, state) = (self.manager.clone(), self.around.state.clone());
        let is_member = Arc::clone(&self.around.is_member);
        Arc::new(move || {
            let wanted = manager.gateway();
            let wanted = Wanted { admin: wanted.admin && as_admin, ..wanted };
            Access::find(&wanted, &state).map(|access| access.apart_from(&is_member))
        })
    }

    /// Ends the thread, where there is one: whoever waits still is told that nobody can answer, and the socket's name
    /// goes.
    pub fn stop(&self) {
        self.ending.notify_one();
        let thread = self.thread.lock().take();
        // One that panicked has closed the manager by that.
        let _ = thread.map(JoinHandle::join);
    }
}

/// Tells of a program until its end. It waits for nothing but that: the process has a parent of its own.
async fn follow(manager: Manager, id: Id, command: String, mut process: Process, notice: Duration) {
    let tell = |going| manager.tell(Told { id, command: command.clone(), going });
    let ending = match timeout(notice, &mut process).await {
        Ok(ending) => ending,
        Err(_) => {
            tell(Going::Running);
            process.await
        }
    };
    tell(Going::Finished(ending));
}
