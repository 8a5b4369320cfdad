//! Renders a held call as a single line.

use guard_policy::approval::{OVERSIZED, TRUNCATED, display_text};
use guard_policy::text::process_name;

use super::question::{Process, Question, Repeat, Subject};

/// A question in words. Secrets are masked, and characters that act on a terminal are escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// A program with its arguments, quoted for a shell. For a file, `[write] PATH`, with the change if the file would
    /// run outside the guard. For a host, `[connect] HOST:PORT (TLS)`.
    pub command: String,
    /// Where the program would run.
    pub cwd: Option<String>,
    /// The real path of the program or the file; a host and its port.
    pub resolved_path: String,
    /// `exec.ask` as far as it matters here: whether an approval may hold for later calls.
    pub ask: &'static str,
}

/// Renders a question. Returns `None` if the text would be cut: nobody can approve what they do not see.
pub fn words(question: &Question) -> Option<Words> {
    let (command, path, cwd) = match &question.subject {
        Subject::Exec(exec) => {
            // Assignments precede the command, as in a shell. Arguments contain no NUL, so quoting cannot fail.
            let words = exec.program_variables.iter().chain(&exec.argv);
            let line = shlex::bytes::try_join(words.map(Vec::as_slice)).ok()?;
            (line, &exec.executable.path[..], Some(display_text(&exec.cwd)))
        }
        Subject::File { path, access, change, .. } => {
            let mut line = [format!("[{}] ", access.word()).into_bytes(), path.clone()].concat();
            for text in change.iter().flat_map(|change| &change.lines) {
                line.extend([b" | ", text.as_bytes()].concat());
            }
            (line, &path[..], None)
        }
        Subject::Host(host) => {
            let line = format!("[connect] {} ({})", host.authority, host.way()).into_bytes();
            (line, host.authority.as_bytes(), None)
        }
    };
    let (command, resolved_path) = (display_text(&command), display_text(path));
    let is_whole = |text: &str| !text.ends_with(TRUNCATED) && text != OVERSIZED;
    let are_whole = [&command, &resolved_path].into_iter().chain(&cwd).all(|text| is_whole(text));
    are_whole.then_some(Words {
        command,
        cwd,
        resolved_path,
        ask: match question.repeat {
            Repeat::Allowed => "on-miss",
            Repeat::AskedEachTime => "always",
        },
    })
}

/// The asking processes, the caller first: `vim 4242 < bash 4100`. Names that could pass for several processes are quoted.
pub fn asked_by(processes: &[Process]) -> String {
    processes
        .iter()
        .map(|by| named(&display_text(by.name.as_bytes()), by.pid))
        .collect::<Vec<_>>()
        .join(" < ")
}

/// One of the asking processes.
pub fn named(name: &str, pid: i32) -> String {
    format!("{} {pid}", process_name(name))
}

/// Quotes text as a shell does.
pub fn quoted(text: &str) -> String {
    // The displayed text has no NUL, so quoting cannot fail.
    shlex::try_quote(text).map_or_else(|_| format!("{text:?}"), std::borrow::Cow::into_owned)
}
