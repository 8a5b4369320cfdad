use std::collections::BTreeSet;

use super::*;
use crate::blocks::{X32, X86_64, returned};
use crate::bpf::{Call, interpret};
use crate::table::{Is, Rule, Test};

/// AUDIT_ARCH_I386 and AUDIT_ARCH_AARCH64 of linux/audit.h.
const I386: u32 = 0x4000_0003;
const AARCH64: u32 = 0xc000_00b7;
const GARBAGE: u64 = 0xdead_beef_0000_0000;

fn all_options() -> Vec<Options> {
    let mut all = Vec::new();
    for bits in 0..8 {
        all.push(Options {
            unix_datagram: bits & 1 != 0,
            allow_ptrace: bits & 2 != 0,
            scoped_signals: bits & 4 != 0,
        });
    }
    all
}

/// What the table says, without the filter's detours.
fn expected(options: &Options, number: u32, arguments: &[u64; 6]) -> Action {
    let Some(row) = table::entry(number) else { return Action::Errno(libc::ENOSYS) };
    match row.decision.under(options) {
        Decision::Always(action) => action,
        Decision::First(rules, otherwise) => rules
            .iter()
            .find(|rule| rule.when.iter().all(|test| holds(test, arguments)))
            .map_or(otherwise, |rule| rule.then),
        Decision::Option(..) => panic!("an option is left in {}", row.name),
    }
}

fn holds(test: &Test, arguments: &[u64; 6]) -> bool {
    let value = (arguments[usize::from(test.argument)] & 0xffff_ffff) as u32;
    match test.is {
        Is::OneOf(values) => values.contains(&value),
        Is::Masked { mask, value: wanted } => value & mask == wanted,
        Is::AnyOf(bits) => value & bits != 0,
        Is::NoneOf(bits) => value & bits == 0,
    }
}

fn native(number: u32, arguments: [u64; 6]) -> Call {
    Call { number, architecture: X86_64, arguments }
}

fn check(program: &Program, options: &Options, number: u32, arguments: [u64; 6]) {
    let got = interpret(program.instructions(), &native(number, arguments));
    let wanted = returned(expected(options, number, &arguments));
    let name = table::name(number).unwrap_or("unknown");
    assert_eq!(got, wanted, "{name} ({number}) {arguments:x?} under {options:?}: {got:#x}, not {wanted:#x}");
}

/// The values of an argument that a decision tells apart, and their neighbours.
fn interesting(rules: &[Rule], argument: u8) -> Vec<u64> {
    let mut values = BTreeSet::from([0u32, 1, 2, 3, 0x7fff_ffff, 0x8000_0000, u32::MAX]);
    for test in rules.iter().flat_map(|rule| rule.when).filter(|test| test.argument == argument) {
        match test.is {
            Is::OneOf(known) => {
                values.extend(known.iter().flat_map(|v| [*v, v.wrapping_add(1), v.wrapping_sub(1)]));
            }
            Is::Masked { mask, value } => values.extend([value, mask, !mask, value | !mask]),
            Is::AnyOf(bits) | Is::NoneOf(bits) => {
                values.extend([bits, !bits]);
                values.extend((0..32).map(|bit| 1 << bit).flat_map(|bit| [bit, bit & bits, !bit]));
            }
        }
    }
    values.into_iter().flat_map(|value| [u64::from(value), u64::from(value) | GARBAGE]).collect()
}

#[test]
fn every_number_gets_what_the_table_says() {
    for options in all_options() {
        let program = build(&options).unwrap();
        for number in (0..=600).chain([1000, 4096, 65_535, X32 - 1, u32::MAX]) {
            check(&program, &options, number, [0; 6]);
            check(&program, &options, number, [u64::MAX; 6]);
        }
    }
}

#[test]
fn arguments_decide_as_the_table_says() {
    for options in all_options() {
        let program = build(&options).unwrap();
        for row in table::entries() {
            let Decision::First(rules, _) = row.decision.under(&options) else { continue };
            let tested: BTreeSet<u8> =
                rules.iter().flat_map(|rule| rule.when).map(|test| test.argument).collect();
            let mut calls = vec![[GARBAGE | 0x5a; 6]];
            for argument in tested {
                let values = interesting(rules, argument);
                calls = calls
                    .iter()
                    .flat_map(|call| {
                        values.iter().map(|value| {
                            let mut call = *call;
                            call[usize::from(argument)] = *value;
                            call
                        })
                    })
                    .collect();
            }
            for arguments in calls {
                check(&program, &options, row.number, arguments);
            }
        }
    }
}

#[test]
fn random_arguments_decide_as_the_table_says() {
    let options = Options::default();
    let program = build(&options).unwrap();
    let mut state = 0x1234_5678_9abc_def0_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for row in table::entries() {
        for _ in 0..100 {
            check(&program, &options, row.number, std::array::from_fn(|_| random()));
        }
    }
}

#[test]
fn whatever_is_not_x86_64_is_killed() {
    let program = build(&Options::default()).unwrap();
    let run = |number, architecture| {
        interpret(program.instructions(), &Call { number, architecture, arguments: [0; 6] })
    };
    for architecture in [I386, AARCH64, 0, u32::MAX, 0x3e, 0x8000_003e] {
        for number in (0..=500).chain([X32, X32 + 59, u32::MAX]) {
            assert_eq!(
                run(number, architecture),
                libc::SECCOMP_RET_KILL_PROCESS,
                "{architecture:#x} {number}"
            );
        }
    }
    for number in (0..=1023).map(|number| X32 | number).chain([X32 << 1, u32::MAX - 1]) {
        assert_eq!(run(number, X86_64), libc::SECCOMP_RET_KILL_PROCESS, "{number:#x}");
    }
}

#[test]
fn minus_one_is_no_call() {
    let program = build(&Options::default()).unwrap();
    let answer = interpret(program.instructions(), &native(u32::MAX, [0; 6]));
    assert_eq!(answer, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32);
}

#[test]
fn no_mark_is_left() {
    for options in all_options() {
        for instruction in build(&options).unwrap().instructions() {
            let returns = instruction.code == 0x06;
            let action = instruction.k & libc::SECCOMP_RET_ACTION_FULL;
            assert!(!returns || action != libc::SECCOMP_RET_TRACE, "{:#x}", instruction.k);
        }
    }
}

#[test]
fn rules_longer_than_a_jump_are_refused() {
    static MANY: [u32; 300] = [7; 300];
    static RULES: [Rule; 1] =
        [Rule { when: &[Test { argument: 0, is: Is::OneOf(&MANY) }], then: Action::Allow }];
    let decision = Decision::First(&RULES, Action::Notify);
    assert_eq!(blocks::replace_marks(&mut Vec::new(), &[decision]), Err(300));
}

/// The time of a start. `cargo test --release -p guard-shim -- --ignored --nocapture building`
#[test]
#[ignore = "measures"]
fn building_takes_less_than_two_milliseconds() {
    let options = Options { scoped_signals: true, ..Options::default() };
    let mut times: Vec<_> = (0..200)
        .map(|_| {
            let start = std::time::Instant::now();
            build(&options).unwrap();
            start.elapsed()
        })
        .collect();
    times.sort();
    println!(
        "{} instructions, median {:?}, longest {:?}",
        build(&options).unwrap().instructions().len(),
        times[100],
        times[199]
    );
    assert!(times[100].as_micros() < 2000);
}
