//! How a held call reads to whoever is asked by one line of text.

use guard_policy::approval::{OVERSIZED, TRUNCATED, display_text};

use super::question::{Process, Question, Repeat, Subject};

/// A question in words. Secrets in it are masked, and what acts on a terminal is written as its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// A program with its arguments, as for a shell; `[write] PATH` for a file.
    pub command: String,
    /// Where the program would run.
    pub cwd: Option<String>,
    /// The real path of the program or the file.
    pub resolved_path: String,
    /// `exec.ask` as far as it matters: whether a yes may be for more than once.
    pub ask: &'static str,
}

/// `None` where the text would not be shown to its end: nobody can approve what they do not see.
pub fn words(question: &Question) -> Option<Words> {
    let (command, path, cwd) = match &question.subject {
        Subject::Exec(exec) => {
            // As a shell would set them. Without a NUL, which no argument can hold, this always works.
            let words = exec.telling.iter().chain(&exec.argv);
            let line = shlex::bytes::try_join(words.map(Vec::as_slice)).ok()?;
            (line, &exec.executable.path, Some(display_text(&exec.cwd)))
        }
        Subject::File { path, access, .. } => {
            ([format!("[{}] ", access.word()).into_bytes(), path.clone()].concat(), path, None)
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

/// Who asks, the caller first: `vim 4242 < bash 4100`. A process calls itself what it likes: a name of several words is
/// quoted, so that it does not look like several processes.
pub fn asked_by(processes: &[Process]) -> String {
    let each = processes.iter().map(|process| {
        let name = display_text(process.name.as_bytes());
        let name = if name.is_empty() || name.contains([' ', '<', '\'']) { quoted(&name) } else { name };
        format!("{name} {}", process.pid)
    });
    each.collect::<Vec<_>>().join(" < ")
}

/// As a shell quotes it.
pub fn quoted(text: &str) -> String {
    // What is shown has no NUL, so this always works.
    shlex::try_quote(text).map_or_else(|_| format!("{text:?}"), std::borrow::Cow::into_owned)
}
