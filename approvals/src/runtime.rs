//! The thread that expires questions and runs the routes. The first question starts it, because most runs ask nothing.

use std::io;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use guard_openclaw::gateway::{Credentials, GatewaySettings};
use guard_openclaw::tasks::restart_task_on_panic;
use guard_policy::Page;
use guard_policy::approval::Route;
use guard_shim::failpoints::{Fallible, fail_point};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::decision::Refusal;
use super::event::Log;
use super::lifecycle::{Going, Lifecycle, RunningProcess};
use super::manager::{AskOutcome, Manager};
use super::page_lock::served;
use super::persist::GrantStore;
use super::question::{Id, Question};
use super::routes::gateway;
use super::routes::guard_socket::{Purpose, Server, Socket};
use super::routes::notify::Notifier;
use super::routes::openclaw_socket::{Endpoint, Find, Probe, SocketAsker};
use super::settings::Settings;
use super::surroundings::Surroundings;

/// How long the guard waits at its end for the gateway to hear of withdrawn questions, and for replies to be sent.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Asks humans on behalf of the workers.
pub struct Approvals {
    manager: Manager,
    around: Surroundings,
    find: Find,
    probe: Probe,
    started: OnceLock<Result<(), Arc<io::Error>>>,
    handle: OnceLock<Handle>,
    ending: Arc<Notify>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Approvals {
    /// Creates the approvals without starting their thread.
    pub fn new(settings: Settings, log: impl Log + 'static, around: Surroundings) -> Approvals {
        let (state, home) = (around.state.clone(), around.home.clone());
        let find: Find = Arc::new(move || Endpoint::find(&state, &home));
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

    /// Asks, and returns at once with the call's id.
    pub fn ask(&self, question: Question) -> (Id, AskOutcome) {
        let request = Arc::new(self.manager.create(question));
        let asked = match self.start() {
            Ok(()) => {
                self.look_for_routes();
                self.manager.register(&request)
            }
            Err(why) => AskOutcome::Refused(Refusal::Broken(why.to_string())),
        };
        (request.id, asked)
    }

    /// Reports to the manager which routes could bring an answer now, so that a question does not wait if nobody can
    /// answer it. At the first question the guard's own socket is too new to have a watcher. So this looks for a watcher
    /// that holds the page's lock or listens on the approvals socket.
    fn look_for_routes(&self) {
        self.manager.reach(Route::Cli, served(&self.around.state) != Page::Down);
        // A gateway that is configured and does not answer is asked all the same: the tree may be the reason.
        let is_absent = || self.access(false)().is_err_and(|why| why.is_absence());
        let has_gateway =
            self.manager.wants(Route::Gateway) && (self.manager.names(Route::Gateway) || !is_absent());
        self.manager.reach(Route::Gateway, has_gateway);
        self.probe.report(&self.manager, &self.find, &self.around.is_member);
    }

    /// Reports on a started program until it ends.
    pub fn follow(&self, id: Id, command: String, process: RunningProcess) {
        // The program was asked about, so the thread is running.
        if let Some(handle) = self.handle.get() {
            let notice = self.manager.running_notice();
            handle.spawn(follow(self.manager.clone(), id, command, process, notice));
        }
    }

    /// Starts the thread unless it is already running.
    ///
    /// # Errors
    /// Why the thread cannot run. It is not tried again.
    pub fn start(&self) -> Result<(), Arc<io::Error>> {
        let started = self.started.get_or_init(|| self.spawn().map_err(Arc::new));
        started.clone()
    }

    fn spawn(&self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (manager, around) = (self.manager.clone(), self.around.clone());
        let socket =
            manager.wants(Route::Cli).then(|| Socket::bind(&around.state, Purpose::Approvals)).transpose();
        let socket = socket.unwrap_or_else(|error| {
            (around.warn)(format!(
                "openclaw-guard: cannot create the control socket, so `openclaw-guard approvals` cannot answer: {error}"
            ));
            None
        });
        let link = around.terminal.as_ref().filter(|_| manager.wants(Route::Terminal));
        let link = link.map(|link| link.try_clone()).transpose()?;
        if let Some(link) = &link {
            link.set_nonblocking(true)?;
            // The first question arrives before the thread runs.
            manager.reach(Route::Terminal, true);
        }
        let _ = self.handle.set(runtime.handle().clone());
        let time = manager.clone().expire_loop();
        let grant_store = GrantStore::new(&around.state).with_gateway(around.sync.clone());
        let client = SocketAsker::new(
            manager.clone(),
            grant_store.clone(),
            Arc::clone(&self.find),
            Arc::clone(&around.is_member),
            Arc::clone(&around.warn),
        );
        let line = Arc::new(gateway::Connection::new(self.access(false)));
        let gateway = gateway::GatewayAsker::new(manager.clone(), grant_store.clone(), line, &around);
        let session = around.session_key.clone();
        let session =
            session.map(|key| gateway::SessionReporter::new(manager.clone(), self.access(true), key));
        let notifier = Notifier::new(manager.clone(), Arc::clone(&around.warn));
        let ending = Arc::clone(&self.ending);
        let thread = std::thread::Builder::new().name("approvals".into()).spawn(move || {
            runtime.block_on(async move {
                let server = Server::new(manager.clone(), grant_store, around.is_member);
                let replying = server.clone();
                match link.map(tokio::net::UnixStream::from_std) {
                    Some(Ok(link)) => {
                        let (terminal, manager) =
                            (tokio::spawn(server.clone().run_terminal(link)), manager.clone());
                        tokio::spawn(async move {
                            // Whatever ended the task, nobody can answer on the terminal any more.
                            let _ = terminal.await;
                            manager.reach(Route::Terminal, false);
                        });
                    }
                    Some(Err(_)) => manager.reach(Route::Terminal, false),
                    None => {}
                }
                if let Some(socket) = socket.map(Arc::new) {
                    tokio::spawn(restart_task_on_panic(move || server.clone().run(Arc::clone(&socket))));
                }
                tokio::spawn(restart_task_on_panic(move || client.clone().run()));
                let gateway_route = gateway.clone();
                tokio::spawn(restart_task_on_panic(move || gateway_route.clone().run()));
                if let Some(session) = session {
                    tokio::spawn(restart_task_on_panic(move || session.clone().run()));
                }
                tokio::spawn(restart_task_on_panic(move || notifier.clone().run()));
                fail_point(Fallible::Approvals, || b"");
                tokio::select! { () = time => {} () = ending.notified() => {} }
                // The manager is closed by now. Give the gateway time to withdraw its questions, and to reply to
                // the last answer: the command may have ended before "always" was saved.
                let _ =
                    timeout(SHUTDOWN_TIMEOUT, async { tokio::join!(gateway.idle(), replying.idle()) }).await;
            });
            // A pending name lookup or a hanging disk must not delay the guard's end.
            runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        })?;
        *self.thread.lock() = Some(thread);
        Ok(())
    }

    /// Finds the way to OpenClaw's gateway. Connects as an administrator only if the settings ask for that: asking
    /// questions needs no administrator, and OpenClaw 2026.7.35 counts every connected administrator as somebody who
    /// could answer.
    fn access(&self, as_admin: bool) -> gateway::Find {
        let (manager, state) = (self.manager.clone(), self.around.state.clone());
        let is_member = Arc::clone(&self.around.is_member);
        Arc::new(move || {
            let settings = manager.gateway();
            let settings = GatewaySettings { admin: settings.admin && as_admin, ..settings };
            Credentials::find(&settings, &state).map(|access| access.apart_from(&is_member))
        })
    }

    /// Ends the thread if it runs. Remaining waiters learn that nobody can answer, and the socket's name is removed.
    pub fn stop(&self) {
        self.ending.notify_one();
        let thread = self.thread.lock().take();
        // If the thread panicked, that has closed the manager.
        let _ = thread.map(JoinHandle::join);
    }
}

/// Reports on a program until it ends. Does not reap the process: that is for its parent.
async fn follow(manager: Manager, id: Id, command: String, mut process: RunningProcess, notice: Duration) {
    let report = |going| manager.report(Lifecycle { id, command: command.clone(), going });
    let ending = match timeout(notice, &mut process).await {
        Ok(ending) => ending,
        Err(_) => {
            report(Going::Running);
            process.await
        }
    };
    report(Going::Finished(ending));
}
