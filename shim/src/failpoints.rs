//! Switches that the tests use to show that each layer carries weight.
//!
//! Without the cargo feature `test-layers` every layer is on and there is nothing to switch: `is_off` is a constant.
//! With it, GUARD_TEST_LAYERS_OFF in the guard's own environment names the layers that are off, with commas.
//!
//! GUARD_TEST_FAULTS is for faults of the guard itself: `open:NAME,audit:NAME` makes what is named so panic whenever it comes
//! to something that contains NAME.

use crate::filter::FilterProgram;

/// A layer of enforcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// `broker`: what was judged is done by the supervisor. Off: it is answered CONTINUE and the kernel reads again.
    Broker,
    /// `refusals`: what the filter refuses by itself.
    #[cfg(feature = "test-layers")]
    Refusals,
    /// `holds`: what the filter holds for the supervisor.
    #[cfg(feature = "test-layers")]
    Holds,
    /// `verify`: the check at PTRACE_EVENT_EXEC.
    Verify,
    /// `floor`: Landlock, and what is left to the kernel over it.
    Floor,
    /// `domain`: Landlock alone. What is left to the kernel is as if it were there.
    Domain,
}

/// What a test can make panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallible {
    /// `open`: the handler, with a path.
    Open,
    /// `exec`: the handler, with a path.
    Exec,
    /// `verify`: the check at PTRACE_EVENT_EXEC, with the program's path.
    Verify,
    /// `connect`: the handler, with a path.
    Connect,
    /// `rename`: the handler, with a path, while it holds the lock of all moves.
    Rename,
    /// `asking`: a worker that is about to ask, with what it is about.
    Asking,
    /// `answer`: a worker that holds the answer, with the call's name.
    Answer,
    /// `worker`: a worker between two calls, with the last one's name.
    Worker,
    /// `report`: the thread that prints, with a line.
    Report,
    /// `audit`: the thread that logs, with a path.
    Audit,
    /// `policy`: the thread that reads the policy again, with its text.
    Policy,
    /// `watch`: the thread that looks after workers that wait, once.
    Watch,
    /// `floor`: the thread that looks after hierarchies, once.
    Floor,
    /// `approvals`: the thread of the approval side, once.
    Approvals,
}

/// Panics where a test says so.
#[cfg(not(feature = "test-layers"))]
#[inline(always)]
pub const fn fail_point(_: Fallible, _: &[u8]) {}

/// Panics where a test says so.
#[cfg(feature = "test-layers")]
pub fn fail_point(what: Fallible, subject: &[u8]) {
    use std::sync::atomic::{AtomicBool, Ordering};
    static ALL: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    static FELL: AtomicBool = AtomicBool::new(false);
    let all = ALL.get_or_init(|| std::env::var("GUARD_TEST_FAULTS").unwrap_or_default());
    let name = format!("{what:?}").to_lowercase();
    let named = all.split(',').filter_map(|part| part.split_once(':')).find(|(of, _)| *of == name);
    let Some((_, part)) = named else { return };
    let falls = match part {
        "" => !FELL.swap(true, Ordering::SeqCst),
        part => subject.windows(part.len()).any(|window| window == part.as_bytes()),
    };
    assert!(!falls, "a test wants {name} to fall at {}", String::from_utf8_lossy(subject));
}

/// Whether a test has switched the layer off.
#[cfg(not(feature = "test-layers"))]
pub const fn is_off(_: Layer) -> bool {
    false
}

/// Whether a test has switched the layer off.
#[cfg(feature = "test-layers")]
pub fn is_off(layer: Layer) -> bool {
    static OFF: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    let off = OFF.get_or_init(|| std::env::var("GUARD_TEST_LAYERS_OFF").unwrap_or_default());
    let name = match layer {
        Layer::Broker => "broker",
        Layer::Refusals => "refusals",
        Layer::Holds => "holds",
        Layer::Verify => "verify",
        Layer::Floor => "floor",
        Layer::Domain => "domain",
    };
    off.split(',').any(|part| part == name)
}

/// The filter as it is loaded.
#[cfg(not(feature = "test-layers"))]
pub fn filter(program: FilterProgram) -> FilterProgram {
    program
}

/// The filter without what a test has switched off.
#[cfg(feature = "test-layers")]
pub fn filter(program: FilterProgram) -> FilterProgram {
    use crate::filter::FilterPart;
    let parts = [(Layer::Refusals, FilterPart::Refusals), (Layer::Holds, FilterPart::Holds)];
    let off = parts.into_iter().filter(|(layer, _)| is_off(*layer));
    off.fold(program, |program, (_, part)| program.letting(part))
}
