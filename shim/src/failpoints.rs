//! Switches for tests, to show that each layer of enforcement has an effect.
//!
//! Without the cargo feature `test-layers` every layer is on, and `is_layer_off` is a constant. With the feature, a
//! program that calls `read_switches` at its start obeys two variables of its own environment. In any other program every
//! layer is on.
//!
//! GUARD_TEST_LAYERS_OFF lists the layers that are off, separated by commas. Some are features of a newer kernel, without
//! which older kernels work: `landlock-N` leaves Landlock's ABI N.
//!
//! GUARD_TEST_FAULTS injects panics into the guard: with `open:NAME,audit:NAME` these places panic whenever they handle
//! something that contains NAME.

use crate::filter::FilterProgram;

/// A layer of enforcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// `broker`: the supervisor performs the calls it allows. Off: it replies CONTINUE, and the kernel reads the
    /// arguments again.
    Broker,
    /// `refusals`: the calls that the filter fails by itself.
    #[cfg(feature = "test-layers")]
    Refusals,
    /// `holds`: the calls that the filter holds for the supervisor.
    #[cfg(feature = "test-layers")]
    Holds,
    /// `verify`: the check at PTRACE_EVENT_EXEC.
    Verify,
    /// `floor`: Landlock, and leaving calls to the kernel under it.
    Floor,
    /// `domain`: Landlock alone. Calls are left to the kernel as if Landlock were on.
    Domain,
    /// `wake-up`: replying on the caller's processor (Linux 6.6).
    WakeUp,
    /// `procmap-query`: looking up a single mapping (Linux 6.11).
    ProcmapQuery,
}

/// A place where a test can cause a panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallible {
    /// `open`: the open handler, with a path.
    Open,
    /// `exec`: the exec handler, with a path.
    Exec,
    /// `verify`: the check at PTRACE_EVENT_EXEC, with the program's path.
    Verify,
    /// `connect`: the connect handler, with a path.
    Connect,
    /// `rename`: the rename handler, with a path, while it holds the rename lock.
    Rename,
    /// `asking`: a worker that is about to ask a human, with the subject.
    Asking,
    /// `answer`: a worker that is about to reply, with the call's name.
    Answer,
    /// `worker`: a worker between two calls, with the last call's name.
    Worker,
    /// `report`: the printing thread, with a line.
    Report,
    /// `audit`: the logging thread, with a path.
    Audit,
    /// `policy`: the thread that reloads the policy, with its text.
    Policy,
    /// `watch`: the thread that watches waiting workers, once.
    Watch,
    /// `floor`: the thread that watches hierarchies, once.
    Floor,
    /// `approvals`: the thread of the approvals, once.
    Approvals,
}

/// What the tests' own program has read from its environment.
#[cfg(feature = "test-layers")]
struct Switches {
    layers_off: String,
    faults: String,
}

#[cfg(feature = "test-layers")]
static SWITCHES: std::sync::OnceLock<Switches> = std::sync::OnceLock::new();

/// Makes this program obey the switches in its environment. Only the tests' own program calls this, before anything else.
#[cfg(feature = "test-layers")]
pub fn read_switches() {
    SWITCHES.get_or_init(|| Switches {
        layers_off: std::env::var("GUARD_TEST_LAYERS_OFF").unwrap_or_default(),
        faults: std::env::var("GUARD_TEST_FAULTS").unwrap_or_default(),
    });
}

/// Panics if a test asks for it. Only then is the subject computed.
#[cfg(not(feature = "test-layers"))]
#[inline(always)]
pub fn fail_point<'s>(_: Fallible, _: impl FnOnce() -> &'s [u8]) {}

/// Panics if a test asks for it. Only then is the subject computed.
#[cfg(feature = "test-layers")]
pub fn fail_point<'s>(what: Fallible, subject: impl FnOnce() -> &'s [u8]) {
    use std::sync::atomic::{AtomicBool, Ordering};
    static FELL: AtomicBool = AtomicBool::new(false);
    let Some(switches) = SWITCHES.get() else { return };
    let name = format!("{what:?}").to_lowercase();
    let named =
        switches.faults.split(',').filter_map(|part| part.split_once(':')).find(|(of, _)| *of == name);
    let Some((_, part)) = named else { return };
    let subject = subject();
    let falls = match part {
        "" => !FELL.swap(true, Ordering::SeqCst),
        part => subject.windows(part.len()).any(|window| window == part.as_bytes()),
    };
    assert!(!falls, "a test wants {name} to fall at {}", String::from_utf8_lossy(subject));
}

/// Whether a test has switched the layer off.
#[cfg(not(feature = "test-layers"))]
pub const fn is_layer_off(_: Layer) -> bool {
    false
}

/// Whether a test has switched the layer off.
#[cfg(feature = "test-layers")]
pub fn is_layer_off(layer: Layer) -> bool {
    let name = match layer {
        Layer::Broker => "broker",
        Layer::Refusals => "refusals",
        Layer::Holds => "holds",
        Layer::Verify => "verify",
        Layer::Floor => "floor",
        Layer::Domain => "domain",
        Layer::WakeUp => "wake-up",
        Layer::ProcmapQuery => "procmap-query",
    };
    off().any(|part| part == name)
}

/// The newest version of Landlock that may be used; 0 for none.
#[cfg(not(feature = "test-layers"))]
pub const fn landlock_limit() -> u8 {
    u8::MAX
}

/// The newest version of Landlock that may be used; 0 for none.
#[cfg(feature = "test-layers")]
pub fn landlock_limit() -> u8 {
    off().find_map(|part| part.strip_prefix("landlock-")?.parse().ok()).unwrap_or(u8::MAX)
}

#[cfg(feature = "test-layers")]
fn off() -> impl Iterator<Item = &'static str> {
    SWITCHES.get().into_iter().flat_map(|switches| switches.layers_off.split(','))
}

/// The filter as it is loaded.
#[cfg(not(feature = "test-layers"))]
pub fn filter(program: FilterProgram) -> FilterProgram {
    program
}

/// The filter without the parts that a test has switched off.
#[cfg(feature = "test-layers")]
pub fn filter(program: FilterProgram) -> FilterProgram {
    use crate::filter::FilterPart;
    let parts = [(Layer::Refusals, FilterPart::Refusals), (Layer::Holds, FilterPart::Holds)];
    let off = parts.into_iter().filter(|(layer, _)| is_layer_off(*layer));
    off.fold(program, |program, (_, part)| program.letting(part))
}
