//! Makes every system call with something closed in every argument.
//!
//! Only under the whole guard, whose tree has no capabilities: natively, or with a layer off, a call would be
//! carried out, whatever it does, and the tests may run as root. Natively, the same program makes the few
//! calls whose effect is known, to show that it reaches what is closed.

use std::fmt::Write;

use guard_tests::{Arena, layers_off};

use crate::attempt::{Outside, attacks, attempt, c};
use crate::surface::calls;

/// Writes `work/calls`: the calls that the program makes.
fn list(arena: &Arena) -> Outside {
    let mut text = String::new();
    for (number, call) in calls() {
        if matches!(call.swept, "free" | "named" | "nobody") {
            writeln!(text, "{number} {}", call.swept).expect("memory");
        }
    }
    let highest = guard_shim::table::HIGHEST;
    // Numbers from the gap in the table, the next ones after its end, and numbers of other kernels.
    for number in
        (337..345).chain(420..424).chain(highest + 1..highest + 12).chain([512, 547, 1000, 0x3fff_ffff])
    {
        writeln!(text, "{number} free").expect("memory");
    }
    // Numbers of the x32 ABI, which have bit 30 set.
    for number in [0, 2, 59, 76, 82, 85, 87, 257, 263, 316, 322, 437, 512, 520, 545] {
        writeln!(text, "{} free", 0x4000_0000 + number).expect("memory");
    }
    arena.world.write("work/calls", text);
    Box::new(())
}

#[test]
fn every_call_with_what_is_closed() {
    // With a layer off the kernel would carry out the calls, also on descriptor 0: that is /dev/null, which
    // is root's.
    if layers_off().is_some() {
        return;
    }
    let guarded = attempt(&c("sweep", "all").with(list).only_guarded("it would do what is asked"));
    let Some(guarded) = guarded else { return };
    let swept = calls().values().filter(|call| matches!(call.swept, "free" | "named" | "nobody")).count();
    // The calls of the table, and the other numbers of the list.
    let expected = format!("swept {} calls", swept + 8 + 4 + 11 + 4 + 15);
    assert!(guarded.stdout.contains(&expected), "not {expected}: {}", guarded.stdout);
}

attacks! {
    opened => c("sweep", "2");
    opened_at => c("sweep", "257");
    opened_at_by_the_newest_call => c("sweep", "437");
    made => c("sweep", "85");
    truncated => c("sweep", "76");
    removed => c("sweep", "87");
    removed_at => c("sweep", "263");
    moved => c("sweep", "82");
    linked => c("sweep", "86");
    changed => c("sweep", "90");
    changed_at => c("sweep", "268");
    started => c("sweep", "59");
    started_at => c("sweep", "322");
}
