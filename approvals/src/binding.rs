//! What an approval is bound to, and which questions share a card.

use guard_policy::Access;

use super::asked_host::AskedHost;
use super::code_input::CodeInput;
use super::digest::Digest;
use super::question::{AskedDirectory, BoundScript, Executable, FileChange, Question, Subject, WhichFile};

/// Everything that identifies an approved call. Calls with equal bindings share one request and one answer. A grant
/// covers exactly one binding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Binding {
    agent: String,
    session: String,
    what: Bound,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Bound {
    /// A program start. Arguments and environment are kept as digests, because grants live long and arguments can be
    /// long.
    Exec {
        argv: Digest,
        environment: Digest,
        around: Box<Around>,
    },
    File {
        path: Vec<u8>,
        which: WhichFile,
        access: Access,
        call: &'static str,
        change: Option<FileChange>,
    },
    Host(AskedHost),
}

/// What a program start is bound to besides arguments and environment. All program starts on one card share it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Around {
    executable: Executable,
    script: Option<BoundScript>,
    through: Vec<BoundScript>,
    files: Vec<BoundScript>,
    inputs: Vec<CodeInput>,
    cwd: Vec<u8>,
    is_outside: bool,
}

/// What all calls on one card share: everything but arguments and environment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CardKey {
    agent: String,
    session: String,
    rule: String,
    what: OnCard,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum OnCard {
    Exec(Box<Around>),
    File {
        path: Vec<u8>,
        access: Access,
        call: &'static str,
        change: Option<FileChange>,
    },
    Host(AskedHost),
    /// The hosts that one command wants to reach.
    Hosts {
        command: (i32, u64),
    },
    /// What one command does in one directory.
    Files {
        directory: AskedDirectory,
        command: (i32, u64),
    },
}

impl Binding {
    /// The binding of a question.
    pub fn from_question(question: &Question) -> Binding {
        let what = match &question.subject {
            Subject::Exec(exec) => Bound::Exec {
                argv: Digest::of_parts(exec.argv.iter().map(Vec::as_slice)),
                environment: exec.environment,
                around: Box::new(Around {
                    executable: exec.executable.clone(),
                    script: exec.script.clone(),
                    through: exec.through.clone(),
                    files: exec.files.clone(),
                    inputs: exec.inputs.clone(),
                    cwd: exec.cwd.clone(),
                    is_outside: exec.is_outside,
                }),
            },
            Subject::File { path, access, call, change } => {
                let (which, change) = (question.which, change.clone());
                Bound::File { path: path.clone(), which, access: *access, call, change }
            }
            Subject::Host(host) => Bound::Host(host.clone()),
        };
        Binding { agent: question.agent.clone(), session: question.session.clone(), what }
    }

    /// Whether the binding is for a program start.
    pub fn is_exec(&self) -> bool {
        matches!(self.what, Bound::Exec { .. })
    }

    /// The agent that makes the call.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// The key of the card that shows `question`. `self` must be the binding of that question.
    pub fn card(&self, question: &Question) -> CardKey {
        let reach = question.reach.as_ref();
        let shared = reach.and_then(|reach| reach.directory.as_ref().zip(reach.command.as_ref()));
        let what = match (&self.what, shared) {
            (Bound::Exec { around, .. }, _) => OnCard::Exec(around.clone()),
            (Bound::Host(host), _) => match reach.and_then(|reach| reach.command.as_ref()) {
                Some(command) => OnCard::Hosts { command: command.identity() },
                None => OnCard::Host(host.clone()),
            },
            (Bound::File { .. }, Some((directory, command))) => {
                OnCard::Files { directory: directory.clone(), command: command.identity() }
            }
            (Bound::File { path, access, call, change, .. }, None) => {
                let change = change.clone();
                OnCard::File { path: path.clone(), access: *access, call, change }
            }
        };
        let rule = question.rule();
        CardKey { agent: self.agent.clone(), session: self.session.clone(), rule, what }
    }
}

impl CardKey {
    /// The agent whose calls the card lists.
    pub fn agent(&self) -> &str {
        &self.agent
    }
}

impl Binding {
    /// A digest of everything bound, for records that must have a fixed size.
    pub fn digest(&self) -> Digest {
        let number = |number: u64| number.to_le_bytes().to_vec();
        let mut parts = vec![self.agent.clone().into_bytes(), self.session.clone().into_bytes()];
        match &self.what {
            Bound::Exec { argv, environment, around } => {
                let Around { executable, script, through, files, inputs, cwd, is_outside } = &**around;
                let Executable { path, device, inode, sha256 } = executable;
                parts.extend([argv.0.to_vec(), environment.0.to_vec(), cwd.clone(), path.clone()]);
                parts.extend([number(*device), number(*inode), sha256.0.to_vec()]);
                // Start with the script that was called. A program without a script has no intermediate scripts.
                let scripts = script.iter().chain(through);
                parts.extend(scripts.flat_map(|script| [script.path.clone(), script.sha256.0.to_vec()]));
                // No script has the path `outside`, because paths are absolute.
                parts.extend(is_outside.then(|| b"outside".to_vec()));
                // An empty part separates each file from the scripts: no path is empty.
                parts.extend(
                    files.iter().flat_map(|file| [Vec::new(), file.path.clone(), file.sha256.0.to_vec()]),
                );
                // Two empty parts separate each input from the files.
                parts.extend(
                    inputs.iter().flat_map(|input| [vec![Vec::new(); 2], input.parts().to_vec()].concat()),
                );
            }
            Bound::File { path, which, access, call, change } => {
                let bits =
                    [Access::READ, Access::WRITE, Access::MAP].map(|bit| u8::from(access.contains(bit)));
                parts.extend([path.clone(), bits.to_vec(), call.as_bytes().to_vec()]);
                // Each pair is one part, which is empty if the pair is not known.
                let pair = |pair: Option<(u64, u64)>| {
                    pair.map_or_else(Vec::new, |(device, inode)| [number(device), number(inode)].concat())
                };
                parts.extend([
                    pair(which.directory),
                    pair(which.file),
                    which.born_ms.map_or_else(Vec::new, number),
                ]);
                if let Some(FileChange { lines, content }) = change {
                    parts.extend(content.map(|digest| digest.0.to_vec()));
                    parts.extend(lines.iter().map(|line| line.clone().into_bytes()));
                }
            }
            // The empty part distinguishes a host from a program and a file, whose first part is a digest or a path and
            // is never empty.
            Bound::Host(host) => {
                parts.extend([Vec::new(), host.authority.clone().into_bytes(), host.way().into_bytes()]);
            }
        }
        Digest::of_parts(parts.iter().map(Vec::as_slice))
    }
}
