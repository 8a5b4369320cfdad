//! Sample questions for tests, and peers that are processes of their own.

use std::ffi::OsStr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use guard_openclaw::gateway::GatewaySettings;
use guard_policy::analysis::BoundEntry;
use guard_policy::approval::{Forwarding, Saving};
use guard_policy::{Access, Reason, Source};

use crate::asked_host::{AskedHost, HostProtocol};
use crate::decision::{Decision, GrantWidth};
use crate::digest::Digest;
use crate::question::{Always, Exec, Executable, Process, Question, Repeat, Subject, WhichFile};
use crate::settings::Settings;

/// The default of `exec.timeoutMs`.
pub const TIMEOUT: Duration = Duration::from_secs(120);

pub fn settings() -> Settings {
    Settings {
        timeout: TIMEOUT,
        running_notice: TIMEOUT,
        max_pending: 16,
        routes: None,
        notify: None,
        gateway: GatewaySettings::default(),
        forwarding: Forwarding::default(),
    }
}

pub fn reason(rule: &'static str) -> Reason<'static> {
    Reason::new(Source::Default, "exec.security", rule, "no entry names it")
}

/// "Always" with only the narrow choice.
pub fn saves(narrow: Vec<Saving>) -> Always {
    Always::Saves { narrow, directory: Vec::new() }
}

/// A program start; `argv[0]` is the program's path.
pub fn question(argv: &[&str]) -> Question {
    let path = argv[0].as_bytes().to_vec();
    Question {
        agent: "main".to_owned(),
        session: "s".to_owned(),
        subject: Subject::Exec(Box::new(Exec {
            argv: argv.iter().map(|argument| argument.as_bytes().to_vec()).collect(),
            executable: Executable {
                sha256: Digest::of_parts([&path[..]]),
                path,
                device: 1,
                inode: argv[0].len() as u64,
            },
            script: None,
            through: Vec::new(),
            files: Vec::new(),
            inputs: Vec::new(),
            cwd: b"/work".to_vec(),
            environment: Digest::of_environment([&b"A=1"[..]]),
            program_variables: Vec::new(),
            is_outside: false,
        })),
        which: WhichFile::default(),
        asked_by: vec![Process { pid: 7, started: 1, name: "bash".to_owned() }],
        unusual: Vec::new(),
        reason: reason("allowlist miss"),
        always: saves(vec![Saving::Entry(BoundEntry {
            pattern: argv[0].to_owned(),
            arg_pattern: argv.join(" "),
        })]),
        edited_below: None,
        repeat: Repeat::Allowed,
        reach: None,
    }
}

/// A file that is read.
pub fn file(path: &str) -> Question {
    Question {
        subject: Subject::File {
            path: path.as_bytes().to_vec(),
            access: Access::READ,
            call: "open",
            change: None,
        },
        always: Always::Never("files are not saved".to_owned()),
        ..question(&["/x"])
    }
}

/// A host that is reached by TLS.
pub fn host(authority: &str) -> Question {
    Question {
        subject: Subject::Host(AskedHost {
            authority: authority.to_owned(),
            by: HostProtocol::Tls,
            addresses: Vec::new(),
            domain: None,
        }),
        always: Always::Never("hosts are not saved".to_owned()),
        ..question(&["/x"])
    }
}

pub const ALWAYS: Decision = Decision::AllowAlways(GrantWidth::Narrow);

/// Starts a Python program with its input and output in pipes. Without `python3`, prints a note and returns `None`.
pub fn python(script: &str, arguments: &[&OsStr]) -> Option<Child> {
    let mut command = Command::new("python3");
    command.args(["-c", script]).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let child = command.spawn().ok();
    if child.is_none() {
        eprintln!("skipped: no python3");
    }
    child
}
