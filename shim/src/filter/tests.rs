use std::collections::BTreeSet;

use super::*;
use crate::blocks::{self, X32, returned};
use crate::bpf::{SeccompData, interpret};
use crate::table::{self, Action, Architecture, Is, RowAction, Rule, Test};

/// AUDIT_ARCH_I386, AUDIT_ARCH_ARM and AUDIT_ARCH_RISCV64 of linux/audit.h.
const OTHERS: [u32; 3] = [0x4000_0003, 0x4000_0028, 0xc000_00f3];
const GARBAGE: u64 = 0xdead_beef_0000_0000;

fn all_options() -> Vec<FilterOptions> {
    let mut all = Vec::new();
    for bits in 0..64 {
        all.push(FilterOptions {
            unix_datagram: bits & 1 != 0,
            allow_ptrace: bits & 2 != 0,
            scoped_signals: bits & 4 != 0,
            kernel_reads: bits & 8 != 0,
            kernel_writes: bits & 16 != 0,
            no_network: bits & 32 != 0,
        });
    }
    all
}

/// The table's action, computed without the filter.
fn expected(options: &FilterOptions, number: u32, arguments: &[u64; 6]) -> Action {
    let Some(row) = table::entry(number) else { return Action::Errno(libc::ENOSYS) };
    match row.decision.under(options) {
        RowAction::Always(action) => action,
        RowAction::First(rules, otherwise) => rules
            .iter()
            .find(|rule| rule.when.iter().all(|test| holds(test, arguments)))
            .map_or(otherwise, |rule| rule.then),
        RowAction::Option(..) => panic!("an option is left in {}", row.name),
    }
}

fn holds(test: &Test, arguments: &[u64; 6]) -> bool {
    let value = (arguments[usize::from(test.argument)] & 0xffff_ffff) as u32;
    match test.is {
        Is::OneOf(values) => values.contains(&value),
        Is::Masked { mask, value: expected } => value & mask == expected,
        Is::AnyOf(bits) => value & bits != 0,
        Is::NoneOf(bits) => value & bits == 0,
    }
}

/// The number of a call; `None` where this architecture does not have it.
fn number(name: &str) -> Option<u32> {
    table::named(Architecture::THIS, name).map(|row| row.number)
}

fn native(number: u32, arguments: [u64; 6]) -> SeccompData {
    SeccompData { number, architecture: Architecture::THIS.audit(), arguments }
}

fn check(program: FilterProgram, options: &FilterOptions, number: u32, arguments: [u64; 6]) {
    let got = interpret(program.instructions(), &native(number, arguments));
    let expected = returned(expected(options, number, &arguments));
    let name = table::name(number).unwrap_or("unknown");
    assert_eq!(
        got, expected,
        "{name} ({number}) {arguments:x?} under {options:?}: {got:#x}, not {expected:#x}"
    );
}

/// The values of an argument that the rules distinguish, and their neighbours.
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
        let program = FilterProgram::new(options);
        for number in (0..=600).chain([1000, 4096, 65_535, X32 - 1, u32::MAX]) {
            check(program, &options, number, [0; 6]);
            check(program, &options, number, [u64::MAX; 6]);
        }
    }
}

#[test]
fn arguments_decide_as_the_table_says() {
    for options in all_options() {
        let program = FilterProgram::new(options);
        for row in table::entries() {
            let RowAction::First(rules, _) = row.decision.under(&options) else { continue };
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
                check(program, &options, row.number, arguments);
            }
        }
    }
}

#[test]
fn random_arguments_decide_as_the_table_says() {
    let options = FilterOptions::default();
    let program = FilterProgram::new(options);
    let mut state = 0x1234_5678_9abc_def0_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for row in table::entries() {
        for _ in 0..100 {
            check(program, &options, row.number, std::array::from_fn(|_| random()));
        }
    }
}

#[test]
fn whatever_is_of_another_architecture_is_killed() {
    for options in all_options() {
        kills_what_is_foreign(FilterProgram::new(options).instructions());
    }
}

/// libseccomp checks this too; the check of our own must hold without it.
#[test]
fn a_program_that_allows_everything_kills_what_is_foreign() {
    let allow = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW };
    let program = blocks::guarded(Architecture::THIS, &[allow]).unwrap();
    kills_what_is_foreign(&program);
    for number in [0, 59, X32 - 1, u32::MAX] {
        let answer = interpret(&program, &native(number, [0; 6]));
        assert_eq!(answer, libc::SECCOMP_RET_ALLOW, "{number:#x}");
    }
}

fn kills_what_is_foreign(program: &[libc::sock_filter]) {
    let run =
        |number, architecture| interpret(program, &SeccompData { number, architecture, arguments: [0; 6] });
    let known = Architecture::ALL.into_iter().filter(|other| *other != Architecture::THIS);
    let known = known.map(Architecture::audit).chain(OTHERS);
    for architecture in known.chain([0, u32::MAX, 0x3e, 0x8000_003e, 0xb7, 0x8000_00b7]) {
        for number in (0..=500).chain([X32, X32 + 59, u32::MAX]) {
            assert_eq!(
                run(number, architecture),
                libc::SECCOMP_RET_KILL_PROCESS,
                "{architecture:#x} {number}"
            );
        }
    }
    for number in (0..=1023).map(|number| X32 | number).chain([X32 << 1, u32::MAX - 1]) {
        assert_eq!(run(number, Architecture::THIS.audit()), libc::SECCOMP_RET_KILL_PROCESS, "{number:#x}");
    }
}

#[test]
fn the_number_minus_one_is_no_system_call() {
    let program = FilterProgram::new(FilterOptions::default());
    let answer = interpret(program.instructions(), &native(u32::MAX, [0; 6]));
    assert_eq!(answer, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32);
}

#[test]
fn no_placeholder_is_left_in_a_filter() {
    for options in all_options() {
        for instruction in FilterProgram::new(options).instructions() {
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
    let decision = RowAction::First(&RULES, Action::Notify);
    assert_eq!(blocks::replace_marks(&mut Vec::new(), &[decision]), Err(300));
}

#[test]
fn there_is_a_program_for_each_choice() {
    let numbers: BTreeSet<usize> = all_options().into_iter().map(FilterOptions::number).collect();
    assert_eq!(numbers, (0..FilterOptions::CHOICES).collect());
}

#[test]
fn messages_are_held_where_they_may_name_their_receiver() {
    for options in all_options() {
        let program = FilterProgram::new(options);
        let answer = |number, arguments| interpret(program.instructions(), &native(number as u32, arguments));
        for (number, length, expected) in [
            (libc::SYS_sendmsg, 0, Action::Notify),
            (libc::SYS_sendmmsg, 0, Action::Notify),
            (libc::SYS_sendto, 16, Action::Notify),
            (libc::SYS_sendto, GARBAGE | 16, Action::Notify),
            (libc::SYS_sendto, 0, Action::Allow),
            // The length is an int.
            (libc::SYS_sendto, GARBAGE, Action::Allow),
        ] {
            assert_eq!(
                answer(number, [3, 0x7fff_0000, 0, 0, 0x7fff_1000, length]),
                returned(expected),
                "{number}"
            );
        }
    }
}

#[test]
fn an_open_that_would_set_a_set_user_id_bit_is_always_held() {
    for options in all_options() {
        for mode in [0o4755, 0o2755, 0o6000, 0o4000 | GARBAGE] {
            for flags in [libc::O_CREAT, libc::O_CREAT | libc::O_WRONLY, libc::O_TMPFILE | libc::O_WRONLY] {
                let flags = flags as u64;
                for (name, arguments) in [
                    ("open", [0, flags, mode, 0, 0, 0]),
                    ("openat", [0, 0, flags, mode, 0, 0]),
                    ("creat", [0, mode, 0, 0, 0, 0]),
                ] {
                    let Some(number) = number(name) else { continue };
                    assert_eq!(expected(&options, number, &arguments), Action::Notify, "{name} {options:?}");
                }
            }
        }
    }
    // The mode of an open that makes nothing is whatever is in the register.
    let kernel = FilterOptions { kernel_reads: true, kernel_writes: true, ..FilterOptions::default() };
    let openat = number("openat").unwrap();
    assert_eq!(expected(&kernel, openat, &[0, 0, libc::O_WRONLY as u64, 0o4755, 0, 0]), Action::Allow);
}

/// Under all options, because such a message opens a connection.
#[test]
fn no_message_call_opens_a_connection() {
    const FASTOPEN: u64 = libc::MSG_FASTOPEN as u64;
    for options in all_options() {
        let program = FilterProgram::new(options);
        for (number, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
            for others in [0, libc::MSG_NOSIGNAL as u64, GARBAGE] {
                let mut arguments = [3, 0x7fff_0000, 0, 0, 0, 0];
                arguments[flags] = FASTOPEN | others;
                let answer = interpret(program.instructions(), &native(number as u32, arguments));
                assert_eq!(answer, returned(Action::Errno(libc::EOPNOTSUPP)), "{number} {options:?}");
            }
        }
    }
}

#[test]
fn no_program_is_longer_than_the_kernel_takes() {
    let allow = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW };
    assert_eq!(
        blocks::guarded(Architecture::THIS, &vec![allow; 4096]).map(|program| program.len()),
        Err(4103)
    );
    assert_eq!(
        blocks::guarded(Architecture::THIS, &vec![allow; 4089]).map(|program| program.len()),
        Ok(4096)
    );
    for options in all_options() {
        assert!((100..=4096).contains(&FilterProgram::new(options).instructions().len()), "{options:?}");
    }
}

/// Calls by name with the relevant arguments and the expected actions, written by hand.
#[test]
fn known_calls_are_decided_as_intended() {
    const NONE: Action = Action::Errno(libc::ENOSYS);
    const EPERM: Action = Action::Errno(libc::EPERM);
    const EACCES: Action = Action::Errno(libc::EACCES);
    const EINVAL: Action = Action::Errno(libc::EINVAL);
    const EBUSY: Action = Action::Errno(libc::EBUSY);
    const NO_FAMILY: Action = Action::Errno(libc::EAFNOSUPPORT);
    const NO_PROTOCOL: Action = Action::Errno(libc::EPROTONOSUPPORT);
    const NO_TYPE: Action = Action::Errno(libc::ESOCKTNOSUPPORT);
    const NO_FASTOPEN: Action = Action::Errno(libc::EOPNOTSUPP);
    use Action::{Allow, Answer0, Notify};
    let known: &[(&str, [u64; 4], Action)] = &[
        ("open", [0, 0o2, 0, 0], Notify),
        ("open", [0, 0o10_000_000, 0, 0], Allow),
        ("open", [0o10_000_000, 0, 0o10_000_000, 0], Notify),
        ("openat", [0, 0o10_000_000, 0, 0], Notify),
        ("openat", [0, 0, 0o10_000_000, 0], Allow),
        ("mmap", [0, 4096, 5, 2], Notify),
        ("mmap", [0, 4096, 4, 0x22], Allow),
        ("mmap", [0, 4096, 3, 1], Allow),
        ("mprotect", [0, 4096, 7, 0], Notify),
        ("mprotect", [0, 4096, 3, 0], Allow),
        ("pkey_mprotect", [0, 4096, 4, 0], Notify),
        ("shmat", [0, 0, 0o100_000, 0], EPERM),
        ("shmat", [0, 0, 0o10_000, 0], Allow),
        ("ioctl", [0, 0x5412, 0, 0], EPERM),
        ("ioctl", [0, 0x1_0000_5412, 0, 0], EPERM),
        ("ioctl", [0, 0x5401, 0, 0], Allow),
        ("ioctl", [0, 0x5441, 0, 0], Notify),
        ("ioctl", [0, 0x8008_8a02, 0, 0], Allow),
        ("ioctl", [0, 0x8901, 0, 0], EPERM),
        ("ioctl", [0, 0x4008_6602, 0, 0], Notify),
        ("fcntl", [0, 8, 0, 0], Notify),
        ("fcntl", [0, 0xf_0000_000f, 0, 0], Notify),
        ("fcntl", [0, 10, 0, 0], Allow),
        ("fcntl", [0, 6, 0, 0], Allow),
        ("fcntl", [0, 37, 0, 0], Notify),
        ("fcntl", [0, 1024, 0, 0], Notify),
        ("flock", [3, 6, 0, 0], Notify),
        ("flock", [3, 8, 0, 0], Allow),
        ("clone", [17, 0, 0, 0], Allow),
        ("clone", [0x3d_0f00, 0, 0, 0], Allow),
        ("clone", [0x4111, 0, 0, 0], Allow),
        ("clone", [0x80 | 17, 0, 0, 0], Allow),
        ("clone", [0x1000_0011, 0, 0, 0], EPERM),
        ("clone", [0x0002_0011, 0, 0, 0], EPERM),
        ("clone", [0x4000_0011, 0, 0, 0], EPERM),
        ("clone", [0x8011, 0, 0, 0], EINVAL),
        ("clone", [0x0211, 0, 0, 0], EPERM),
        ("clone", [0x2011, 0, 0, 0], EPERM),
        ("clone3", [0, 0, 0, 0], NONE),
        ("unshare", [0x1000_0000, 0, 0, 0], EPERM),
        ("unshare", [0x80, 0, 0, 0], EPERM),
        ("unshare", [0x600, 0, 0, 0], Allow),
        ("prctl", [4, 0, 0, 0], Answer0),
        ("prctl", [4, 1, 0, 0], Allow),
        ("prctl", [0x5961_6d61, 1, 0, 0], Answer0),
        ("prctl", [35, 1, 0, 0], EPERM),
        ("prctl", [28, 1, 0, 0], EPERM),
        ("prctl", [38, 1, 0, 0], Allow),
        ("seccomp", [1, 8, 0, 0], EBUSY),
        ("seccomp", [1, 1, 0, 0], Allow),
        ("seccomp", [2, 8, 0, 0], Allow),
        ("personality", [0x4_0000, 0, 0, 0], Allow),
        ("personality", [0xffff_ffff, 0, 0, 0], Allow),
        ("personality", [0x40_0000, 0, 0, 0], EPERM),
        ("personality", [0x8 | 0x2_0000 | 0x800_0000, 0, 0, 0], Allow),
        ("personality", [0x8 | 0x40_0000, 0, 0, 0], EPERM),
        ("personality", [0x10_0000, 0, 0, 0], EPERM),
        ("personality", [0x1, 0, 0, 0], EPERM),
        ("socket", [1, 1, 0, 0], Allow),
        ("socket", [1, 5, 0, 0], Allow),
        ("socket", [1, 2, 0, 0], EACCES),
        ("socket", [1, 3, 0, 0], EACCES),
        ("socket", [0x1_0000_0001, 0x8_0802, 0, 0], EACCES),
        ("socket", [2, 2, 17, 0], Notify),
        ("socket", [10, 1, 0, 0], Allow),
        ("socket", [16, 3, 0, 0], Allow),
        ("socket", [16, 3, 9, 0], NO_FAMILY),
        ("socket", [17, 3, 0, 0], NO_FAMILY),
        ("socket", [0, 1, 0, 0], NO_FAMILY),
        ("socket", [40, 1, 0, 0], NO_FAMILY),
        ("socket", [2, 1, 6, 0], Allow),
        ("socket", [2, 0x8_0801, 262, 0], Allow),
        ("socket", [10, 2, 58, 0], Notify),
        ("socket", [10, 2, 136, 0], NO_PROTOCOL),
        ("socket", [2, 3, 255, 0], Allow),
        ("socket", [2, 1, 132, 0], NO_PROTOCOL),
        ("socket", [10, 0x8_0001, 256, 0], NO_PROTOCOL),
        ("socket", [2, 1, 17, 0], NO_PROTOCOL),
        ("socket", [2, 2, 6, 0], NO_PROTOCOL),
        ("socket", [2, 2, 0x1_0000_0084, 0], NO_PROTOCOL),
        ("socket", [2, 5, 0, 0], NO_TYPE),
        ("socket", [10, 5, 132, 0], NO_TYPE),
        ("socket", [2, 6, 33, 0], NO_TYPE),
        ("sendto", [3, 0, 0, 0x2000_0000], NO_FASTOPEN),
        ("sendto", [3, 0, 0x2000_0000, 0], Allow),
        ("sendto", [3, 0, 0, 0xf_2000_4000], NO_FASTOPEN),
        ("sendmsg", [3, 0, 0x2000_0040, 0], NO_FASTOPEN),
        ("sendmsg", [3, 0, 0x4000, 0x2000_0000], Notify),
        ("sendmmsg", [3, 0, 0x2000_0000, 0x2000_0000], NO_FASTOPEN),
        ("sendmmsg", [3, 0, 0x2000_0000, 0], Notify),
        ("setsockopt", [3, 6, 30, 0], NO_FASTOPEN),
        ("setsockopt", [3, 0xf_0000_0006, 0xf_0000_001e, 0], NO_FASTOPEN),
        ("setsockopt", [3, 6, 23, 0], Allow),
        ("setsockopt", [3, 41, 30, 0], Allow),
        ("setsockopt", [3, 0, 51, 0], Action::Errno(libc::ENOPROTOOPT)),
        ("setsockopt", [3, 1, 51, 0], Allow),
        ("socketpair", [1, 1, 0, 0], Allow),
        ("socketpair", [1, 2, 0, 0], EACCES),
        ("kill", [1, 9, 0, 0], Notify),
        ("prlimit64", [0, 7, 0, 0], Allow),
        ("prlimit64", [1, 7, 0, 0], Notify),
        ("sched_setaffinity", [0, 8, 0, 0], Allow),
        ("sched_setaffinity", [42, 8, 0, 0], Notify),
        ("setpriority", [0, 0, 5, 0], Allow),
        ("setpriority", [0, 1, 5, 0], Notify),
        ("setpriority", [2, 0, 5, 0], Notify),
        ("ioprio_set", [1, 0, 5, 0], Allow),
        ("ioprio_set", [3, 0, 5, 0], Notify),
        ("ptrace", [16, 1, 0, 0], Notify),
        ("getpid", [0, 0, 0, 0], Allow),
    ];
    let program = FilterProgram::new(FilterOptions::default());
    for (name, [a, b, c, d], expected) in known {
        let Some(number) = number(name) else { continue };
        let got = interpret(program.instructions(), &native(number, [*a, *b, *c, *d, 0, 0]));
        assert_eq!(got, returned(*expected), "{name} {a:#x} {b:#x} {c:#x} {d:#x}");
    }
}
