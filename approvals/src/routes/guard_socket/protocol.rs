//! The guard's own JSON Lines protocol: one request per line, one reply per line. After `subscribe`, events come in
//! between, also one per line.

use guard_policy::Reason;
use guard_policy::approval::Saving;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::code_input::CodeInput;
use crate::decision::{Decision, HALF_HOUR, Span};
use crate::event::CardRevision;
use crate::outcome::{PendingCard, answers};
use crate::question::{self, Always, PendingRequest, Process, Question, Subject};
use crate::text::named;

/// The protocol version. Requests with another version are rejected.
pub const VERSION: u64 = 1;
/// The maximum length of a request, in bytes.
pub const MAX_REQUEST_LEN: u64 = 4096;
/// The maximum length of a reply, in bytes: more than all pending questions can take.
pub const MAX_REPLY_LEN: u64 = 256 << 20;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// [`VERSION`].
    pub version: u64,
    /// The method.
    #[serde(flatten)]
    pub method: Method,
}

/// The method of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "lowercase")]
pub enum Method {
    /// Returns the pending questions.
    List,
    /// Returns the state of a question.
    Find {
        /// A prefix of its id.
        id: String,
    },
    /// Answers a question. With a revision, it answers every call that the card listed at that revision.
    Resolve {
        /// A prefix of the question's id.
        id: String,
        /// The answer: `allow-once`, `allow-30m`, `deny`.
        decision: String,
        /// The card revision that the human saw; `None` answers this question alone.
        revision: Option<u64>,
        /// For `allow-always`: the pattern to save in place of the one that `always` has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pattern: Option<String>,
    },
    /// Returns the pending questions, then the events.
    Subscribe,
}

/// A reply, or an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// [`VERSION`].
    pub version: u64,
    /// The content.
    #[serde(flatten)]
    pub body: Body,
}

/// The content of a reply or event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Body {
    /// Reply to `list`, and first reply to `subscribe`.
    Approvals {
        /// Every pending question.
        approvals: Vec<Approval>,
    },
    /// Reply to `find`.
    Found {
        /// The full id.
        id: String,
        /// The state of the question.
        state: QuestionState,
    },
    /// Reply to `resolve`.
    Resolved {
        /// The full id of the named question.
        id: String,
        /// The ids of all answered questions; empty if they already had this answer.
        answered: Vec<String>,
        /// These questions, as `list` showed them.
        #[serde(default)]
        questions: Vec<Approval>,
        /// The store of each entry or rule that "always" saved, for humans.
        saved: Vec<String>,
        /// Why something could not be saved, one sentence each.
        unsaved: Vec<String>,
    },
    /// Reply to any request.
    Error {
        /// The error code for programs, such as `APPROVAL_NOT_FOUND`.
        code: String,
        /// The reason for humans.
        message: String,
    },
    /// Event: a question is pending.
    Requested {
        /// The question.
        approval: Box<Approval>,
    },
    /// Event: an approved program has started running, has ended or was denied.
    #[serde(rename = "told")]
    Lifecycle {
        /// The question's id.
        id: String,
        /// `running`, `finished` or `denied`.
        going: String,
        /// The event as one line of text.
        text: String,
    },
    /// Event: a question is no longer pending.
    Ended {
        /// The question's id.
        id: String,
        /// How it ended.
        state: QuestionState,
    },
}

/// The state of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuestionState {
    /// It waits for an answer.
    Pending,
    /// Somebody has answered.
    Resolved {
        /// The answer.
        decision: String,
        /// The route that brought the answer, as in `approvals.routes`. Only in events.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Nobody answered in time.
    Expired,
    /// No route had anybody to ask.
    NoRoute,
    /// A route failed to ask.
    Failed,
    /// No call waits for it any more.
    Withdrawn,
}

/// A listed question. Bytes that are not UTF-8 are replaced by U+FFFD; `isText` is then false.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// A UUID. A unique prefix of it also names the question.
    pub id: String,
    /// The agent that makes the call.
    pub agent_id: String,
    /// The guard's session.
    pub session: String,
    /// When it was asked, in milliseconds since 1970.
    pub created_at_ms: u64,
    /// When it expires if nobody answers, in milliseconds since 1970.
    pub expires_at_ms: u64,
    /// The number of its card, never reused by this guard.
    pub card: u64,
    /// Increases with each change of the card.
    pub revision: u64,
    /// The number of calls that wait for the answer.
    pub calls: usize,
    /// `exec`, or the kind of file access.
    pub operation: String,
    /// The system call that accesses a file: `open`, `unlink`, `rename`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// For a file that would run outside the guard: what would change, line by line.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub change: Vec<String>,
    /// The arguments; empty for a file.
    pub argv: Vec<String>,
    /// The real path of the program or the file.
    pub resolved_path: String,
    /// Whether `argv`, `resolvedPath` and `cwd` are valid UTF-8 without replacements.
    pub is_text: bool,
    /// The real path of the current directory; `None` for a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The device number of the program's file system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<u64>,
    /// The program's inode number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inode: Option<u64>,
    /// The SHA-256 of the program's content, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The digest of the program's whole environment, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment_sha256: Option<String>,
    /// The variables that can change what the program does.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub environment: Vec<String>,
    /// Whether the program would run outside the guard.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub is_outside: bool,
    /// The script, if the program is its interpreter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptInfo>,
    /// The scripts that interpret that script.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub through: Vec<ScriptInfo>,
    /// Other files among the arguments that the program may run. Without a script, the guard cannot tell which one it runs.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub files: Vec<ScriptInfo>,
    /// The notice for the card's first lines. It says that something runs that nobody is shown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub notice: Option<String>,
    /// What a human should notice, one remark each: `push --force replaces what others have at the remote`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unusual: Vec<String>,
    /// Other sources from which the program runs code or may do so, as text: `code from standard input: a pipe`. Nothing
    /// binds their content.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub inputs: Vec<String>,
    /// The asking processes: the caller, then its parents up to the guard.
    pub asked_by: Vec<Asker>,
    /// Why it is asked: the rule that applies.
    #[serde(rename = "because")]
    pub reason: AskReason,
    /// What "always" would save.
    pub always: Saved,
    /// The widest directory for which the pattern that "always" saves may be edited; `None` if it may not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub edited_below: Option<String>,
    /// For a file: the directory that an answer may be for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub directory: Option<String>,
    /// For a host: the hosts below its domain that an answer may cover, `*.example.com`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub domain: Option<String>,
    /// For a file: the command that an answer may be for, with all that it starts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub command: Option<Asker>,
    /// The answers that the question can be given. For an answer with minutes, any number may be given.
    #[serde(default)]
    pub answers: Vec<String>,
}

/// A script that is bound by its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScriptInfo {
    /// The real path.
    pub path: String,
    /// The SHA-256 of its content, in hexadecimal digits.
    pub sha256: String,
}

/// One of the asking processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asker {
    /// The process id.
    pub pid: i32,
    /// The start time, in clock ticks since boot (field 22 of proc_pid_stat(5)).
    pub started: u64,
    /// The command name, as ps(1) shows it.
    pub name: String,
}

/// Why a question is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskReason {
    /// The origin of the rule: `agent`, `global`, `openclaw`, `saved`.
    pub source: String,
    /// The rule's place in its file: `permissions.filesystem.rules["~/work/**"]`.
    pub path: String,
    /// The rule's short form.
    pub rule: String,
    /// One sentence for a human.
    pub text: String,
}

/// What "always" would save.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", untagged)]
pub enum Saved {
    /// Something would be saved.
    Saves {
        /// What `allow-always` saves.
        saves: Vec<OneSaved>,
        /// What `allow-always-directory` saves; empty if that is not offered.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        directory: Vec<OneSaved>,
    },
    /// "always" is not offered.
    Never {
        /// The reason, for a human.
        never: String,
    },
}

/// One thing to save. An allowlist entry has an `argPattern`, a file rule has `bits`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OneSaved {
    /// The program's real path, or the pattern of a file rule.
    pub pattern: String,
    /// An entry's arguments and directory, as `sha256:cwd-argv:v1:…`; `None` for a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arg_pattern: Option<String>,
    /// The access that a rule allows: `r`, `rw`; `None` for an entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits: Option<String>,
    /// A description for a human.
    pub text: String,
}

impl Reply {
    /// A reply of this version.
    pub fn new(body: Body) -> Reply {
        Reply { version: VERSION, body }
    }

    /// An error reply.
    pub fn error(code: &str, message: impl Into<String>) -> Reply {
        Reply::new(Body::Error { code: code.to_owned(), message: message.into() })
    }

    /// The reply as a line.
    pub fn to_line(&self) -> Vec<u8> {
        // Only strings, numbers and lists: serialising them cannot fail.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

impl Approval {
    /// All questions on these cards.
    pub fn all(listings: &[PendingCard]) -> Vec<Approval> {
        let of = |listing: &PendingCard| {
            let card = listing.card;
            let requests = listing.requests.iter();
            requests.map(|(request, calls)| Approval::from_request(request, *calls, card)).collect::<Vec<_>>()
        };
        listings.iter().flat_map(of).collect()
    }

    /// Whether the question can be given this answer.
    pub fn takes(&self, decision: Decision) -> bool {
        let any_minutes = |span| if matches!(span, Span::Minutes(_)) { HALF_HOUR } else { span };
        let listed = match decision {
            Decision::AllowFor(width, span) => Decision::AllowFor(width, any_minutes(span)),
            Decision::DenyFor(width, span) => Decision::DenyFor(width, any_minutes(span)),
            decision => decision,
        };
        self.answers.contains(&listed.to_string())
    }

    /// The command that an answer may be for, as one line.
    pub fn command_line(&self) -> Option<String> {
        self.command.as_ref().map(|by| format!("{} and all that it starts", named(&by.name, by.pid)))
    }

    /// The asking processes as one line, for a human: `vim 4242 < bash 4100`. Names are escaped: a name cannot look
    /// like several processes, and cannot act on a terminal.
    pub fn askers(&self) -> String {
        self.asked_by.iter().map(|by| named(&by.name, by.pid)).collect::<Vec<_>>().join(" < ")
    }

    /// The question as JSON for programs, with the guard's pid.
    pub fn json(&self, guard: u32) -> Value {
        // Only strings, numbers and lists: serialising them cannot fail.
        let mut value = serde_json::to_value(self).unwrap_or_default();
        value["guard"] = guard.into();
        value
    }

    fn from_request(request: &PendingRequest, calls: usize, card: CardRevision) -> Approval {
        Approval {
            id: request.id.to_string(),
            created_at_ms: request.created_ms,
            expires_at_ms: request.expires_ms,
            card: card.number,
            revision: card.revision,
            calls,
            ..Approval::from_question(&request.question)
        }
    }

    /// A question that is on no card: without an id and times.
    pub fn from_question(question: &Question) -> Approval {
        let (operation, path, argv, call) = match &question.subject {
            Subject::Exec(exec) => ("exec", &exec.executable.path[..], &exec.argv[..], None),
            Subject::File { path, access, call, .. } => {
                (access.word(), &path[..], &[][..], Some((*call).to_owned()))
            }
            Subject::Host(host) => ("connect", host.authority.as_bytes(), &[][..], Some(host.way())),
        };
        let exec = match &question.subject {
            Subject::Exec(exec) => Some(exec),
            Subject::File { .. } | Subject::Host(_) => None,
        };
        let host = match &question.subject {
            Subject::Host(host) => Some(host),
            Subject::Exec(_) | Subject::File { .. } => None,
        };
        let reach = question.reach.as_ref().filter(|_| host.is_none());
        let directory = reach.and_then(|reach| reach.directory.as_ref());
        let all = argv.iter().map(Vec::as_slice).chain([path]).chain(exec.map(|exec| &exec.cwd[..]));
        Approval {
            id: String::new(),
            agent_id: question.agent.clone(),
            session: question.session.clone(),
            created_at_ms: 0,
            expires_at_ms: 0,
            card: 0,
            revision: 0,
            calls: 1,
            operation: operation.to_owned(),
            call,
            change: match &question.subject {
                Subject::File { change: Some(change), .. } => change.lines.clone(),
                _ => Vec::new(),
            },
            is_text: all.into_iter().all(|bytes| str::from_utf8(bytes).is_ok()),
            argv: argv.iter().map(|argument| text(argument)).collect(),
            resolved_path: text(path),
            cwd: exec.map(|exec| text(&exec.cwd)),
            device: exec.map(|exec| exec.executable.device),
            inode: exec.map(|exec| exec.executable.inode),
            sha256: exec.map(|exec| exec.executable.sha256.to_string()),
            environment_sha256: exec.map(|exec| exec.environment.to_string()),
            environment: exec.map_or_else(Vec::new, |exec| {
                exec.program_variables.iter().map(|string| text(string)).collect()
            }),
            is_outside: exec.is_some_and(|exec| exec.is_outside),
            script: exec.and_then(|exec| exec.script.as_ref()).map(ScriptInfo::from_script),
            through: exec
                .map_or_else(Vec::new, |exec| exec.through.iter().map(ScriptInfo::from_script).collect()),
            files: exec
                .map_or_else(Vec::new, |exec| exec.files.iter().map(ScriptInfo::from_script).collect()),
            notice: exec.and_then(|exec| exec.notice()),
            unusual: question.unusual.clone(),
            inputs: exec.map_or_else(Vec::new, |exec| exec.inputs.iter().map(CodeInput::text).collect()),
            asked_by: question.asked_by.iter().map(asker).collect(),
            reason: reason(&question.reason),
            always: saved(&question.always),
            edited_below: question.edited_below.clone(),
            directory: directory.map(|directory| text(&directory.path)),
            domain: host.and_then(|host| host.domain.clone()),
            command: reach.and_then(|reach| reach.command.as_ref()).map(asker),
            answers: answers(question).map(|decision| decision.to_string()).collect(),
        }
    }
}

impl ScriptInfo {
    fn from_script(script: &question::BoundScript) -> ScriptInfo {
        ScriptInfo { path: text(&script.path), sha256: script.sha256.to_string() }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn asker(process: &Process) -> Asker {
    Asker { pid: process.pid, started: process.started, name: process.name.clone() }
}

fn reason(reason: &Reason<'_>) -> AskReason {
    AskReason {
        source: reason.source.as_str().to_owned(),
        path: reason.path.to_string(),
        rule: reason.rule().to_owned(),
        text: reason.text.to_string(),
    }
}

fn saved(always: &Always) -> Saved {
    let all = |savings: &[Saving]| savings.iter().map(OneSaved::from_saving).collect();
    match always {
        Always::Saves { narrow, directory } => Saved::Saves { saves: all(narrow), directory: all(directory) },
        Always::Never(why) => Saved::Never { never: why.clone() },
    }
}

impl OneSaved {
    /// What a human and a program are shown of an entry or rule.
    pub fn from_saving(saving: &Saving) -> OneSaved {
        let (pattern, arg_pattern, bits) = match saving {
            Saving::Entry(entry) => (&entry.pattern, Some(entry.arg_pattern.clone()), None),
            Saving::Rule(rule) => (&rule.pattern, None, Some(rule.bits.to_string())),
            Saving::Origin(origin) => (origin, None, None),
        };
        OneSaved { pattern: pattern.clone(), arg_pattern, bits, text: saving.to_string() }
    }
}
