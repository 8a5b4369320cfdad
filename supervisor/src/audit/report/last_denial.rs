//! The session's last denial, for the tree itself: `openclaw-guard why --last` inside the guard.
//!
//! The tree cannot read the log. It opens [`LAST_DENIAL`], a path at which no file exists, and the guard answers the
//! held call with a text. The text says what the line on stderr said, and exists only where such lines are wanted.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use guard_policy::text::{process_name, shown};
use parking_lot::Mutex;
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

use crate::audit::DecisionEvent;
use crate::kernel::errno::from_io;
use crate::resolve::link_to;

/// The name that the tree opens to read the text.
pub const LAST_DENIAL: &str = "/.openclaw-guard/last-denial";

/// What was denied last.
#[derive(Clone, Debug, Default)]
pub(super) struct LastDenial(Arc<Mutex<Option<String>>>);

impl LastDenial {
    /// Remembers a denial. `verb` says whether the call was denied or, with `--observe`, would have been.
    pub(super) fn remember(&self, event: &DecisionEvent, verb: &str) {
        *self.0.lock() = Some(explanation(event, verb));
    }

    /// Returns the text in unnamed memory that nobody can change.
    ///
    /// # Errors
    /// ENOENT if nothing was denied; the kernel's, if it cannot provide the memory.
    pub(super) fn open(&self) -> Result<OwnedFd, Errno> {
        let text = self.0.lock().clone().ok_or(Errno::NOENT)?;
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut file = File::from(memfd_create(c"last-denial", flags)?);
        file.write_all(text.as_bytes()).map_err(from_io)?;
        fcntl_add_seals(&file, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
        // A new file description: it begins at offset 0, and cannot be written.
        rustix::fs::open(link_to(file.as_fd()), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
    }
}

fn explanation(event: &DecisionEvent, verb: &str) -> String {
    let mut text = format!("{verb} {} {}\n", event.operation.word(), shown(&event.path));
    let mut add = |name: &str, line: &str| {
        let _ = writeln!(text, "  {name:<9} {line}");
    };
    let chain: Vec<_> =
        event.chain.iter().map(|(pid, name)| format!("{} {pid}", process_name(name))).collect();
    add("asked by", &if chain.is_empty() { event.pid.to_string() } else { chain.join(" < ") });
    for (at, argument) in event.argv.iter().enumerate() {
        add(&format!("argv[{at}]"), &shown(argument));
    }
    let rule = event.reason.rule();
    add("rule", &shown(rule.as_bytes()));
    if event.reason.text != rule {
        add("", &shown(event.reason.text.as_bytes()));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use guard_policy::{Outcome, Reason, Source};

    use super::*;
    use crate::audit::Operation;

    fn event() -> DecisionEvent {
        DecisionEvent {
            pid: 7,
            chain: vec![(7, "cat".to_owned()), (5, "a b".to_owned())],
            operation: Operation::Read,
            path: b"/x\n".to_vec(),
            argv: vec![b"cat".to_vec(), b"\x1b[2J".to_vec()],
            outcome: Outcome::Deny,
            reason: Reason::new(Source::Global, "p", "a rule", "why"),
            micros: 1,
        }
    }

    #[test]
    fn it_says_what_was_denied_in_characters_that_act_on_nothing() {
        assert_eq!(
            explanation(&event(), "denied"),
            "denied read /x\\u{A}\n  asked by  cat 7 < 'a b' 5\n  argv[0]   cat\n  argv[1]   \\u{1B}[2J\n  \
             rule      a rule\n            why\n"
        );
    }

    #[test]
    fn it_can_be_read_and_not_written() {
        let last = LastDenial::default();
        assert_eq!(last.open().unwrap_err(), Errno::NOENT);
        last.remember(&event(), "denied");
        let mut file = File::from(last.open().unwrap());
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("denied read /x"), "{text}");
        let link = link_to(file.as_fd());
        let written =
            rustix::fs::open(&link, OFlags::RDWR, Mode::empty()).map(|fd| rustix::io::write(fd, b"x"));
        assert!(!matches!(written, Ok(Ok(_))), "{written:?}");
    }
}
