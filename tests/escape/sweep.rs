//! Every system call there is, made with what is closed in every argument.
//!
//! Only under the whole guard, whose tree has no capabilities: natively, or without a layer, a call would do what it was asked
//! for, whatever that is, and the tests may be root's. The same program shows natively that it reaches what is closed, by the
//! few calls whose effect is known.

use std::fmt::Write;

use guard_tests::{Arena, layers_off};

use crate::attempt::{Outside, attacks, attempt, c};
use crate::surface::calls;

/// `work/calls`: what the program is to make.
fn list(arena: &Arena) -> Outside {
    let mut text = String::new();
    for (number, call) in calls() {
        if matches!(call.swept, "free" | "named" | "nobody") {
            writeln!(text, "{number} {}", call.swept).expect("memory");
        }
    }
    let highest = guard_shim::table::HIGHEST;
    // The first gap, what comes next, and numbers of other kernels.
    for number in
        (337..345).chain(420..424).chain(highest + 1..highest + 12).chain([512, 547, 1000, 0x3fff_ffff])
    {
        writeln!(text, "{number} free").expect("memory");
    }
    // As x32 and as i386 would have them.
    for number in [0, 2, 59, 76, 82, 85, 87, 257, 263, 316, 322, 437, 512, 520, 545] {
        writeln!(text, "{} free", 0x4000_0000 + number).expect("memory");
    }
    arena.world.write("work/calls", text);
    Box::new(())
}

#[test]
fn every_call_with_what_is_closed() {
    // Without one of the layers the kernel would do what is asked, also of descriptor 0: that is /dev/null, and root's.
    if layers_off().is_some() {
        return;
    }
    let guarded = attempt(&c("sweep", "all").with(list).only_guarded("it would do what is asked"));
    let Some(guarded) = guarded else { return };
    let swept = calls().values().filter(|call| matches!(call.swept, "free" | "named" | "nobody")).count();
    // With the others of the list.
    let wanted = format!("swept {} calls", swept + 8 + 4 + 11 + 4 + 15);
    assert!(guarded.stdout.contains(&wanted), "not {wanted}: {}", guarded.stdout);
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
