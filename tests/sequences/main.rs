//! Random sequences of system calls, played natively and guarded under each choice of tiers: every result and
//! every file is the same.
//!
//! GUARD_SEQUENCES sets how many, GUARD_SEQUENCES_SEED which: a failure names the seed that reproduces it.

mod arguments;
mod calls;
mod compare;
mod known;
mod paths;
mod player;
mod vocabulary;

use compare::{Pair, compare};
use guard_tests::rounds;
use player::{Player, Side, Under};

fn variable(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} is no number: {value}")))
}

fn seed() -> u64 {
    variable("GUARD_SEQUENCES_SEED").unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
        now.as_nanos() as u64 % 1_000_000_007
    })
}

fn count(short: usize, soak: usize) -> usize {
    variable("GUARD_SEQUENCES").map_or(rounds(short, soak), |count| count as usize)
}

#[test]
fn sequences_do_the_same_guarded() {
    let player = Player::new(Under::Open, None);
    let pair = Pair { right: (&player, Side::Native), other: &player, name: "guarded" };
    compare(&pair, count(500, 10_000), seed());
}

/// Each choice of tiers; the one with all of them runs without a floor.
#[test]
fn sequences_do_the_same_in_every_tier() {
    let forms = [
        ("broker", Under::Open),
        ("broker,floored", Under::Open),
        ("broker,floored,kernel", Under::Without("floor")),
    ];
    for (tiers, under) in forms {
        let player = Player::new(under, Some(tiers));
        let name = format!("{tiers}, {under:?}");
        let pair = Pair { right: (&player, Side::Native), other: &player, name: &name };
        compare(&pair, count(60, 2000), seed());
    }
}

/// Compares the kernel's own decisions with the broker's. A policy that leaves reading to the kernel denies
/// much, and both deny the same.
#[test]
fn sequences_do_the_same_where_reading_is_not_held() {
    let broker = Player::new(Under::Plain, Some("broker"));
    for tiers in ["broker,floored", "broker,kernel", "broker,floored,kernel"] {
        let other = Player::new(Under::Plain, Some(tiers));
        let pair = Pair { right: (&broker, Side::Guarded), other: &other, name: tiers };
        compare(&pair, count(60, 2000), seed());
    }
}
