//! JSON Lines of the guard's own: one request a line, one reply a line; after `subscribe` events come in
//! between, one a line too.

use guard_policy::approval::Saving;
use guard_policy::{Reason, Source};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::CardRevision;
use crate::outcome::PendingCard;
use crate::question::{self, Always, PendingRequest, Process, Subject};

/// The version of these lines. Another one is refused.
pub const VERSION: u64 = 1;
/// A longer request is none.
pub const MAX_REQUEST_LEN: u64 = 4096;
/// A longer reply is not read: more than all questions that can wait.
pub const MAX_REPLY_LEN: u64 = 256 << 20;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// [`VERSION`].
    pub version: u64,
    /// What is wanted.
    #[serde(flatten)]
    pub method: Method,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "lowercase")]
pub enum Method {
    /// What waits.
    List,
    /// Where a question is.
    Find {
        /// The beginning of its id.
        id: String,
    },
    /// An answer; with a revision for all that the card listed then.
    Resolve {
        /// The beginning of the question's id.
        id: String,
        /// The answer's word: `allow-once`, `allow-30m`, `deny`.
        decision: String,
        /// The revision of the card that was seen; `None` answers this question alone.
        revision: Option<u64>,
    },
    /// What waits, and then what happens.
    Subscribe,
}

/// A reply, or an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// [`VERSION`].
    pub version: u64,
    /// What is said.
    #[serde(flatten)]
    pub said: Body,
}

/// What is said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Body {
    /// To `list`, and first to `subscribe`.
    Approvals {
        /// Every question that waits.
        approvals: Vec<Approval>,
    },
    /// To `find`.
    Found {
        /// The whole id.
        id: String,
        /// Where it is.
        state: QuestionState,
    },
    /// To `resolve`.
    Resolved {
        /// The whole id of the question that was named.
        id: String,
        /// The ids of all that were answered; empty where they had been answered so before.
        answered: Vec<String>,
        /// The store that has each thing that "always" saves, for people.
        saved: Vec<String>,
        /// Why something could not be saved, a sentence each.
        unsaved: Vec<String>,
    },
    /// To anything.
    Error {
        /// The reason for programs: `APPROVAL_NOT_FOUND`.
        code: String,
        /// The reason for people.
        message: String,
    },
    /// It waits now.
    Requested {
        /// The question.
        approval: Box<Approval>,
    },
    /// How its program goes on.
    Told {
        /// The question's id.
        id: String,
        /// `running`, `finished` or `denied`.
        going: String,
        /// A line that says it.
        text: String,
    },
    /// It does not wait any more.
    Ended {
        /// Its id.
        id: String,
        /// How it ended.
        state: QuestionState,
    },
}

/// Where a question is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuestionState {
    /// It waits for an answer.
    Pending,
    /// Somebody has answered.
    Resolved {
        /// The answer's word.
        decision: String,
        /// By what way the answer came, in events: as in `approvals.routes`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Nobody answered in time.
    Expired,
    /// There was nobody to ask.
    NoRoute,
    /// It could not be asked.
    Failed,
    /// No call waits for it any more.
    Withdrawn,
}

/// A question as it is listed. Bytes that are no UTF-8 are U+FFFD here; `isText` says whether there are any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// A UUID, by whose beginning it can be named.
    pub id: String,
    /// The agent whose call it is.
    pub agent_id: String,
    /// The guard's session.
    pub session: String,
    /// When it was asked, in milliseconds since 1970.
    pub created_at_ms: u64,
    /// When it ends without an answer, in milliseconds since 1970.
    pub expires_at_ms: u64,
    /// The number of its card, never used again in this guard.
    pub card: u64,
    /// Goes up with each change of what the card lists.
    pub revision: u64,
    /// How many calls wait for the answer.
    pub calls: usize,
    /// `exec`, or how the file is used.
    pub operation: String,
    /// By which system call a file is used: `open`, `unlink`, `rename`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Empty for a file.
    pub argv: Vec<String>,
    /// The real path of the program or the file.
    pub resolved_path: String,
    /// Whether `argv`, `resolvedPath` and `cwd` are UTF-8 as they stand.
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
    /// Of the program's content, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Of the program's whole environment, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment_sha256: Option<String>,
    /// What of the environment can make another program of this one.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub environment: Vec<String>,
    /// The script, where the program is its interpreter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptInfo>,
    /// The scripts that interpret that one.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub through: Vec<ScriptInfo>,
    /// The processes that ask: the caller, then its parents up to the guard.
    pub asked_by: Vec<Asker>,
    /// The rule that made it a question.
    pub because: AskReason,
    /// What "always" would save.
    pub always: Saved,
}

/// A script that is bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScriptInfo {
    /// The real path.
    pub path: String,
    /// Of its content, in hexadecimal digits.
    pub sha256: String,
}

/// A process of the line that asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asker {
    /// The process id.
    pub pid: i32,
    /// When it started, in clock ticks since boot (field 22 of proc_pid_stat(5)).
    pub started: u64,
    /// The command name, as ps(1) shows it.
    pub name: String,
}

/// Why it is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskReason {
    /// Who wrote the rule: `agent`, `global`, `openclaw`, `saved`.
    pub source: String,
    /// Where the rule is: `permissions.filesystem.rules["~/work/**"]`.
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
    /// There is something to save.
    Saves {
        /// By `allow-always`.
        saves: Vec<OneSaved>,
        /// By `allow-always-directory`; empty where there is no such choice.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        directory: Vec<OneSaved>,
    },
    /// "always" is not offered.
    Never {
        /// Why not, for a human.
        never: String,
    },
}

/// One thing that would be saved: an entry of the allowlist has an `argPattern`, a rule for files has `bits`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OneSaved {
    /// The program's real path, or the pattern of a rule for files.
    pub pattern: String,
    /// The arguments and the directory of an entry, as `sha256:cwd-argv:v1:…`; `None` of a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arg_pattern: Option<String>,
    /// What a rule allows: `r`, `rw`; `None` of an entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits: Option<String>,
    /// For a human.
    pub text: String,
}

impl Reply {
    /// Of this version.
    pub fn new(said: Body) -> Reply {
        Reply { version: VERSION, said }
    }

    /// That something is wrong.
    pub fn error(code: &str, message: impl Into<String>) -> Reply {
        Reply::new(Body::Error { code: code.to_owned(), message: message.into() })
    }

    /// As a line.
    pub fn to_line(&self) -> Vec<u8> {
        // Strings, numbers and lists of them: nothing that could fail.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

impl Approval {
    /// Everything on these cards.
    pub fn all(listings: &[PendingCard]) -> Vec<Approval> {
        let of = |listing: &PendingCard| {
            let card = listing.card;
            let requests = listing.requests.iter();
            requests.map(|(request, calls)| Approval::from_request(request, *calls, card)).collect::<Vec<_>>()
        };
        listings.iter().flat_map(of).collect()
    }

    /// For programs, with the guard's process.
    pub fn json(&self, guard: u32) -> Value {
        // Strings, numbers and lists of them: nothing that could fail.
        let mut value = serde_json::to_value(self).unwrap_or_default();
        value["guard"] = guard.into();
        value
    }

    fn from_request(request: &PendingRequest, calls: usize, card: CardRevision) -> Approval {
        let question = &request.question;
        let (path, argv) = match &question.subject {
            Subject::Exec(exec) => (&exec.executable.path, &exec.argv[..]),
            Subject::File { path, .. } => (path, &[][..]),
        };
        let exec = match &question.subject {
            Subject::Exec(exec) => Some(exec),
            Subject::File { .. } => None,
        };
        let operation = match &question.subject {
            Subject::Exec(_) => "exec",
            Subject::File { access, .. } => access.word(),
        };
        let all = argv.iter().chain([path]).chain(exec.map(|exec| &exec.cwd));
        Approval {
            id: request.id.to_string(),
            agent_id: question.agent.clone(),
            session: question.session.clone(),
            created_at_ms: request.created_ms,
            expires_at_ms: request.expires_ms,
            card: card.number,
            revision: card.revision,
            calls,
            operation: operation.to_owned(),
            call: match &question.subject {
                Subject::Exec(_) => None,
                Subject::File { call, .. } => Some((*call).to_owned()),
            },
            is_text: all.into_iter().all(|bytes| str::from_utf8(bytes).is_ok()),
            argv: argv.iter().map(|argument| text(argument)).collect(),
            resolved_path: text(path),
            cwd: exec.map(|exec| text(&exec.cwd)),
            device: exec.map(|exec| exec.executable.device),
            inode: exec.map(|exec| exec.executable.inode),
            sha256: exec.map(|exec| exec.executable.sha256.to_string()),
            environment_sha256: exec.map(|exec| exec.environment.to_string()),
            environment: exec
                .map_or_else(Vec::new, |exec| exec.telling.iter().map(|string| text(string)).collect()),
            script: exec.and_then(|exec| exec.script.as_ref()).map(ScriptInfo::from_script),
            through: exec
                .map_or_else(Vec::new, |exec| exec.through.iter().map(ScriptInfo::from_script).collect()),
            asked_by: question.asked_by.iter().map(asker).collect(),
            because: reason(&question.because),
            always: saved(&question.always),
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

fn reason(because: &Reason<'_>) -> AskReason {
    let source = match because.source {
        Source::Agent => "agent",
        Source::Global => "global",
        Source::Default => "default",
        Source::Builtin => "builtin",
        Source::Openclaw => "openclaw",
        Source::Saved => "saved",
        Source::Operator => "operator",
    };
    AskReason {
        source: source.to_owned(),
        path: because.path.to_string(),
        rule: because.rule().to_owned(),
        text: because.text.to_string(),
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
    fn from_saving(saving: &Saving) -> OneSaved {
        let (pattern, arg_pattern, bits) = match saving {
            Saving::Entry(entry) => (&entry.pattern, Some(entry.arg_pattern.clone()), None),
            Saving::Rule(rule) => (&rule.pattern, None, Some(rule.bits.to_string())),
        };
        OneSaved { pattern: pattern.clone(), arg_pattern, bits, text: saving.to_string() }
    }
}
