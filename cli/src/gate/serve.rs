//! `openclaw-guard gate serve`: a thread for each question, with limits of its time and its length.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use guard_approvals::routes::Peer;
use guard_approvals::routes::guard_socket::Socket;
use guard_openclaw::ids;
use guard_openclaw::peer::nested_guard::{guard_above, is_guard};
use guard_openclaw::ports::IsMember;
use guard_policy::Outcome;
use guard_policy::environment::Variable;
use guard_policy::text::shown;
use guard_supervisor::audit::{Context, PolicyChange, Record, Secrets, ToolCaller, ToolEvent, Writer};
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{self, Disk, Paths, environment};
use guard_supervisor::exit::Exit;
use guard_supervisor::run;
use parking_lot::Mutex;

use super::judge::{CallJudge, Judged, Part, by_gate};
use super::plugin::{self, PluginState};
use super::protocol::{Answer, MAX_QUESTION, Question};
use super::sources::{Changed, Sources};
use super::{GateError, SOCKET, ServeArgs, socket};

/// How long a peer may take to send its question, and then to take the answer. The plugin waits as long for both
/// together.
const IO_TIMEOUT: Duration = Duration::from_secs(5);
/// The most questions at a time.
const MAX_PEERS: usize = 64;
/// The most lines about one call, besides the one that decided.
const MAX_OBSERVED: usize = 64;
/// How long to wait when no connection can be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What the threads share.
struct Service {
    sources: Sources,
    paths: Paths,
    env: Vec<Variable>,
    writer: Mutex<Writer>,
    context: Context,
    must_log: bool,
    is_observing: bool,
    is_unattended: bool,
    is_wrapped: bool,
    is_quiet: bool,
    peers: AtomicUsize,
}

/// Serves until a signal ends the process.
///
/// # Errors
/// Why the gate cannot be served.
pub fn serve(options: &Options, mut paths: Paths, arguments: &ServeArgs) -> Result<Exit, GateError> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    if let Some(guard) = guard_above(own) {
        return Err(GateError::Inside(guard));
    }
    if options.agent_is_named {
        return Err(GateError::Agent);
    }
    let sources = Sources::read(options, &paths).map_err(GateError::Config)?;
    let policy = config::policy(options, &paths, Disk::Used)?;
    if !options.quiet {
        for warning in policy.warnings() {
            eprintln!("openclaw-guard: {}", shown(warning.as_bytes()));
        }
    }
    let writer = run::writer(options, &mut paths, policy.audit())?;
    let path = super::shown_path(&socket(&paths));
    let failed = |error| GateError::Socket { path: path.clone(), error };
    let socket = Socket::bind_only(&paths.state_directory, SOCKET).map_err(failed)?;
    let Some(socket) = socket else { return Err(GateError::Runs(path)) };
    let listener = socket.blocking().map_err(failed)?;
    let service = Arc::new(Service {
        sources,
        env: environment::of_command(&policy, &paths.state_directory).env,
        must_log: writer.must_log(),
        writer: Mutex::new(writer),
        context: Context {
            session: ids::random().simple().to_string()[..16].to_owned(),
            agent: String::new(),
            session_key: None,
            run: None,
            node: None,
            secrets: Secrets::of_environment(),
        },
        is_observing: options.observe,
        is_unattended: options.unattended,
        is_wrapped: arguments.wrapped,
        is_quiet: options.quiet,
        peers: AtomicUsize::new(0),
        paths,
    });
    service.greet(&path);
    loop {
        match listener.accept() {
            Ok((stream, _)) => service.begin(stream),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Usually the descriptors are used up.
            Err(_) => std::thread::sleep(ACCEPT_PAUSE),
        }
    }
}

impl Service {
    fn greet(&self, path: &str) {
        let plugin = plugin::state(&self.paths.state_directory);
        if plugin != PluginState::AsInstalled {
            self.report(Changed { path: self.plugin_path(), applied: false, text: plugin.to_string() });
        }
        if !self.is_quiet {
            eprintln!("openclaw-guard: the gate answers at {path}");
        }
    }

    fn plugin_path(&self) -> String {
        super::shown_path(&plugin::directory(&self.paths.state_directory))
    }

    /// Serves a peer on a thread of its own.
    fn begin(self: &Arc<Self>, stream: UnixStream) {
        let busy = self.peers.fetch_add(1, Ordering::SeqCst) >= MAX_PEERS;
        let service = Arc::clone(self);
        let work = move || {
            let peer = PeerCount(&service);
            service.serve_peer(stream, busy);
            drop(peer);
        };
        // If no thread can start, the plugin gets no answer and blocks the call.
        if std::thread::Builder::new().name("question".to_owned()).spawn(work).is_err() {
            self.peers.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn serve_peer(&self, mut stream: UnixStream, busy: bool) {
        // The reason is not sent: a process of a tree learns nothing here.
        let nobody: IsMember = Arc::new(|_| false);
        let Ok(peer) = Peer::from_stream(&stream, &nobody) else { return };
        // A guard connects on behalf of its tree.
        if is_guard(peer.pid) {
            return;
        }
        let began = Instant::now();
        let answer = match read_line(&mut stream, began + IO_TIMEOUT) {
            Ok(_) if busy => refusal("too many calls are waiting for an answer"),
            Ok(line) => self.answer(&line, peer.pid, began),
            Err(Unread::TooLong) => refusal("the call is longer than 4 MiB"),
            Err(Unread::Gone) => return,
        };
        let _ = stream.set_write_timeout(Some(IO_TIMEOUT));
        // If the plugin is gone, it has blocked the call already.
        let _ = stream.write_all(answer.line().as_bytes());
    }

    fn answer(&self, line: &[u8], pid: i32, began: Instant) -> Answer {
        let question: Question = match serde_json::from_slice(line) {
            Ok(question) => question,
            Err(error) => return refusal(&format!("the call cannot be read: {error}")),
        };
        let loaded = self.sources.current(|changed| self.report(changed));
        let judge = CallJudge {
            loaded: &loaded,
            home: &self.paths.home,
            state: &self.paths.state_directory,
            env: &self.env,
            is_wrapped: self.is_wrapped,
            is_unattended: self.is_unattended,
        };
        let mut judged = judge.judge(&question);
        let is_logged = self.log(&judged, &judged.part, &question, pid, began);
        if !is_logged && self.must_log && judged.part.outcome != Outcome::Deny {
            judged.part.outcome = Outcome::Deny;
            judged.part.reason = by_gate("the audit log cannot be written");
        }
        if self.is_observing {
            // `learn --calls` needs all that a call reaches for.
            for part in judged.others.iter().filter(|part| part.is_meant).take(MAX_OBSERVED) {
                self.log(&judged, part, &question, pid, began);
            }
            judged.part.outcome = Outcome::Allow;
        }
        let Part { target, outcome, reason, .. } = &judged.part;
        let subject = format!("{} {}", judged.tool, String::from_utf8_lossy(target));
        Answer::new(*outcome, reason, subject.trim_end(), judged.timeout_ms)
    }

    /// Writes the line for a part; returns whether it is in the log.
    fn log(&self, judged: &Judged, part: &Part, question: &Question, pid: i32, began: Instant) -> bool {
        let event = ToolEvent {
            pid,
            tool: judged.tool.chars().take(128).collect(),
            target: part.target.clone(),
            access: part.access,
            outcome: part.outcome,
            reason: part.reason.clone(),
            is_meant: part.is_meant,
            is_observed: self.is_observing,
            micros: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
            caller: ToolCaller {
                agent: judged.agent.clone(),
                session_key: bounded(question.session_key.as_ref()),
                run_id: bounded(question.run_id.as_ref()),
                tool_call_id: bounded(question.tool_call_id.as_ref()),
            },
        };
        self.write(&Record::Tool(Box::new(event)))
    }

    fn report(&self, changed: Changed) {
        let Changed { path, applied, text } = changed;
        let line = match (applied, text.as_str()) {
            (true, "") => format!("{path} is in force, from the next tool call on"),
            (_, text) => format!("{path}: {}", shown(text.as_bytes())),
        };
        if !self.is_quiet || !applied {
            eprintln!("openclaw-guard: {line}");
        }
        self.write(&Record::Change(PolicyChange { path, applied, text }));
    }

    fn write(&self, record: &Record) -> bool {
        let body = record.body(&self.context);
        let outcome = self.writer.lock().write(record.part(), &body);
        for problem in outcome.problems {
            eprintln!("openclaw-guard: {problem}");
        }
        outcome.is_logged
    }
}

/// Counts a peer until it is served, also if serving it panics.
struct PeerCount<'s>(&'s Service);

impl Drop for PeerCount<'_> {
    fn drop(&mut self) {
        self.0.peers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Why a question was not read.
enum Unread {
    TooLong,
    Gone,
}

/// Reads a line. Each byte counts against the same deadline.
fn read_line(stream: &mut UnixStream, deadline: Instant) -> Result<Vec<u8>, Unread> {
    let mut line = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return Err(Unread::Gone);
        }
        let length = match stream.read(&mut buffer) {
            Ok(0) => return Err(Unread::Gone),
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return Err(Unread::Gone),
        };
        let end = buffer[..length].iter().position(|&byte| byte == b'\n');
        line.extend_from_slice(&buffer[..end.unwrap_or(length)]);
        if line.len() as u64 > MAX_QUESTION {
            return Err(Unread::TooLong);
        }
        if end.is_some() {
            return Ok(line);
        }
    }
}

fn refusal(why: &str) -> Answer {
    Answer::new(Outcome::Deny, &by_gate(why), "the call", 0)
}

/// A name as the log has it: a model may choose its length.
fn bounded(name: Option<&String>) -> Option<String> {
    name.map(|name| name.chars().take(256).collect())
}
