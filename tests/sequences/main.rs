//! Sequences of system calls that nobody thought of, natively and guarded: every result and every file is the same.
//!
//! GUARD_SEQUENCES says how many, GUARD_SEQUENCES_SEED which: a failure names the seed that leads to it again.

mod arguments;
mod calls;
mod compare;
mod known;
mod paths;
mod player;
mod vocabulary;

use guard_tests::rounds;

fn variable(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} is no number: {value}")))
}

#[test]
fn sequences_do_the_same_guarded() {
    let count = variable("GUARD_SEQUENCES").map_or(rounds(500, 10_000), |count| count as usize);
    let seed = variable("GUARD_SEQUENCES_SEED").unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
        now.as_nanos() as u64 % 1_000_000_007
    });
    compare::compare(count, seed);
}
