//! The calls that are being answered.

use std::collections::HashMap;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use guard_openclaw::node::Answer;
use parking_lot::Mutex;
use tokio::sync::watch;

/// The handle by which a call, and its run, is given up.
#[derive(Debug, Default)]
pub struct Lifeline {
    is_cut: AtomicBool,
    socket: Mutex<Option<UnixStream>>,
}

impl Lifeline {
    /// Takes the socket to the run's guard. If the run was cancelled before, it ends now.
    pub fn hold(&self, socket: &UnixStream) {
        let mut held = self.socket.lock();
        *held = socket.try_clone().ok();
        if self.is_cut() || held.is_none() {
            let _ = socket.shutdown(std::net::Shutdown::Write);
        }
    }

    /// Cancels the run: its guard ends the tree.
    pub fn cut(&self) {
        let held = self.socket.lock();
        self.is_cut.store(true, Ordering::Release);
        if let Some(socket) = &*held {
            let _ = socket.shutdown(std::net::Shutdown::Write);
        }
    }

    /// Whether the run was given up.
    pub fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Acquire)
    }
}

/// The answer to repetitions of a call; `None` until it is known.
pub type Repeated = watch::Receiver<Option<Answer>>;

/// How the node treats a call.
pub enum Begun {
    /// A new one. It can be given up from now on.
    New(watch::Sender<Option<Answer>>, Arc<Lifeline>),
    /// A repetition of a call that is being answered.
    Repeats(Repeated, Arc<Lifeline>),
    /// The gateway has made this very call already.
    Known,
}

/// The calls that are being answered.
#[derive(Debug, Default)]
pub struct Calls(Mutex<CallsInner>);

#[derive(Debug, Default)]
struct CallsInner {
    calls: HashMap<String, Arc<Lifeline>>,
    keys: HashMap<String, (Arc<Lifeline>, Repeated)>,
}

impl Calls {
    /// Begins to answer a call. `key` is equal for repetitions.
    pub fn begin(&self, id: &str, key: Option<&str>) -> Begun {
        let mut inner = self.0.lock();
        if inner.calls.contains_key(id) {
            return Begun::Known;
        }
        let lifeline = Arc::<Lifeline>::default();
        inner.calls.insert(id.to_owned(), Arc::clone(&lifeline));
        // A call that was given up has no answer that could be repeated.
        let known = key.and_then(|key| inner.keys.get(key)).filter(|(known, _)| !known.is_cut());
        if let Some((_, known)) = known {
            return Begun::Repeats(known.clone(), lifeline);
        }
        let (sender, receiver) = watch::channel(None);
        if let Some(key) = key {
            inner.keys.insert(key.to_owned(), (Arc::clone(&lifeline), receiver));
        }
        Begun::New(sender, lifeline)
    }

    /// Ends the call with this lifeline. A later call with the same id or key goes on.
    pub fn end(&self, id: &str, key: Option<&str>, lifeline: &Arc<Lifeline>) {
        let mut inner = self.0.lock();
        if inner.calls.get(id).is_some_and(|known| Arc::ptr_eq(known, lifeline)) {
            inner.calls.remove(id);
        }
        if let Some(key) = key
            && inner.keys.get(key).is_some_and(|(known, _)| Arc::ptr_eq(known, lifeline))
        {
            inner.keys.remove(key);
        }
    }

    /// Gives up a call. If its command runs, the command ends. If not, the command does not start.
    pub fn cancel(&self, id: &str) {
        let call = self.0.lock().calls.get(id).cloned();
        if let Some(call) = call {
            call.cut();
        }
    }

    /// Gives up every call, and forgets it. A call on the next connection is no repetition of a forgotten call,
    /// even while the run of that call still ends.
    pub fn cancel_all(&self) {
        let inner = std::mem::take(&mut *self.0.lock());
        inner.calls.values().for_each(|call| call.cut());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_was_given_up_is_not_one_that_is_being_answered() {
        let calls = Calls::default();
        let Begun::New(_done, first) = calls.begin("call", Some("key")) else { panic!("it is new") };
        assert!(matches!(calls.begin("call", Some("key")), Begun::Known));
        assert!(matches!(calls.begin("again", Some("key")), Begun::Repeats(..)));
        calls.cancel_all();
        assert!(first.is_cut());
        // The next connection.
        let Begun::New(_done, second) = calls.begin("call", Some("key")) else { panic!("it is new again") };
        calls.end("call", Some("key"), &first);
        assert!(matches!(calls.begin("call", None), Begun::Known));
        assert!(matches!(calls.begin("again", Some("key")), Begun::Repeats(..)));
        calls.cancel("call");
        assert!(second.is_cut());
        let Begun::New(_done, third) = calls.begin("once more", Some("key")) else {
            panic!("it is no repetition")
        };
        calls.end("call", Some("key"), &second);
        assert!(matches!(calls.begin("and again", Some("key")), Begun::Repeats(..)));
        calls.end("once more", Some("key"), &third);
        assert!(matches!(calls.begin("call", Some("key")), Begun::New(..)));
    }
}
