//! The guard and real gateways of OpenClaw, of two releases: only `make test-full` runs these. And the node host with a
//! gateway of the test.

/// Makes the tests of a file, one for each release.
macro_rules! for_each_release {
    ($($name:ident),+ $(,)?) => {
        mod v2026_9_6 {
            $(#[test] fn $name() { super::$name(guard_tests::gateway::Release::Current); })+
        }
        mod v2026_7_35 {
            $(#[test] fn $name() { super::$name(guard_tests::gateway::Release::Older); })+
        }
    };
}

mod agent;
mod answers;
mod card;
mod files;
mod gate;
mod governing;
mod guarded;
mod harness;
mod load;
mod nobody;
mod node_attacks;
mod node_beside;
mod node_clock;
mod node_gateway;
mod node_host;
mod node_pairing;
mod node_real;
mod node_strain;
mod restarts;
mod sandbox_real;
mod setup;
mod together;
mod tools_real;
mod world;
