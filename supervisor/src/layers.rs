//! Switches that the tests use to show that each layer carries weight.
//!
//! Without the cargo feature `test-layers` every layer is on and there is nothing to switch: `is_off` is a constant.
//! With it, GUARD_TEST_LAYERS_OFF in the guard's own environment names the layers that are off, with commas.

use guard_shim::filter::Program;

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
pub fn filter(program: Program) -> Program {
    program
}

/// The filter without what a test has switched off.
#[cfg(feature = "test-layers")]
pub fn filter(program: Program) -> Program {
    use guard_shim::filter::Part;
    let parts = [(Layer::Refusals, Part::Refusals), (Layer::Holds, Part::Holds)];
    let off = parts.into_iter().filter(|(layer, _)| is_off(*layer));
    off.fold(program, |program, (_, part)| program.letting(part))
}
