//! Panics: faults of the guard itself. The call in progress is refused, whoever made it; everything else goes on.
//!
//! A worker that panicked is replaced, and a thread that watches or writes is restarted. If neither is safe, the
//! supervisor ends: then the kernel answers every call, held or new, with ENOSYS.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::time::Duration;

use guard_policy::text::shown;

use crate::audit::report::print;

/// How long a panicked thread waits before it restarts: the cause may still be there.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

thread_local! {
    /// Whether the caller of [`caught`] reports panics in this thread.
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
    static LAST: RefCell<Option<Panic>> = const { RefCell::new(None) };
}

/// A panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panic {
    /// The name of the thread.
    pub thread: String,
    /// The location and message of the panic.
    pub text: String,
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an error in the guard itself: {}", shown(self.text.as_bytes()))
    }
}

impl Panic {
    fn from_hook(info: &PanicHookInfo<'_>) -> Panic {
        let message = payload_text(info.payload());
        let text = match info.location() {
            Some(location) => format!("{}:{}: {message}", location.file(), location.line()),
            None => message.to_owned(),
        };
        Panic { thread: thread(), text }
    }
}

fn payload_text(payload: &dyn Any) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a word")
}

fn thread() -> String {
    std::thread::current().name().unwrap_or("unnamed").to_owned()
}

/// Installs a hook that prints a panic as one line on stderr, and nothing if it is [`caught`].
pub fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        let fault = Panic::from_hook(info);
        // A thread that is ending no longer has thread locals.
        if CAUGHT.try_with(Cell::get) == Ok(true) {
            let _ = LAST.try_with(|last| last.replace(Some(fault)));
        } else {
            print(&format!("openclaw-guard: {fault}"));
        }
    }));
}

/// Runs `work` and returns its panic as the error, which the caller reports.
///
/// # Errors
/// The panic.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    let before = CAUGHT.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    CAUGHT.set(before);
    done.map_err(|payload| {
        let unknown = || Panic { thread: thread(), text: payload_text(&*payload).to_owned() };
        LAST.take().unwrap_or_else(unknown)
    })
}

/// Runs `work`, and restarts it whenever it panics. Returns when `work` returns.
pub fn restart_on_panic(mut work: impl FnMut(), report: impl Fn(&Panic)) {
    while let Err(fault) = caught(&mut work) {
        report(&fault);
        std::thread::sleep(RETRY_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_panics_is_restarted() {
        let (mut rounds, reported) = (0, RefCell::new(Vec::new()));
        let work = || {
            rounds += 1;
            assert!(rounds > 2, "round {rounds}");
        };
        restart_on_panic(work, |fault| reported.borrow_mut().push(fault.text.clone()));
        assert_eq!((rounds, reported.into_inner()), (3, vec!["round 1".to_owned(), "round 2".to_owned()]));
    }

    #[test]
    fn a_fault_does_not_write_to_the_terminal_as_it_likes() {
        let fault = Panic { thread: "worker".to_owned(), text: "x\x1b]0;y\x07\nz".to_owned() };
        assert!(!fault.to_string().contains(char::is_control), "{fault}");
    }
}
