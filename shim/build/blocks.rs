//! The parts of the filter that are written here: the architecture check, and the tests of arguments.
//!
//! Classic BPF, as in the kernel's Documentation/networking/filter.rst. Jumps go forward only.

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W,
    sock_filter,
};

use crate::table::{Action, Architecture, Is, RowAction, Rule, Test};

/// The bit that marks an x32 call number.
pub(crate) const X32: u32 = 0x4000_0000;

/// The offsets of the call number and the architecture in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
/// The offset of the arguments. Each has eight bytes, lower half first.
const ARGUMENTS: u32 = 16;

/// Stands for a jump to the next rule until the distance is known.
const NEXT_RULE: u8 = u8::MAX;

/// Constructs instructions.
pub(crate) struct Instruction;

impl Instruction {
    const fn load(offset: u32) -> sock_filter {
        sock_filter { code: (BPF_LD | BPF_W | BPF_ABS) as u16, jt: 0, jf: 0, k: offset }
    }

    const fn and(mask: u32) -> sock_filter {
        sock_filter { code: (BPF_ALU | BPF_AND | BPF_K) as u16, jt: 0, jf: 0, k: mask }
    }

    const fn when(test: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
        sock_filter { code: (BPF_JMP | test | BPF_K) as u16, jt, jf, k }
    }

    const fn jump(distance: u32) -> sock_filter {
        sock_filter { code: (BPF_JMP | BPF_JA) as u16, jt: 0, jf: 0, k: distance }
    }

    const fn answer(value: u32) -> sock_filter {
        sock_filter { code: (BPF_RET | BPF_K) as u16, jt: 0, jf: 0, k: value }
    }
}

/// The filter's return value for an action.
pub(crate) const fn returned(action: Action) -> u32 {
    match action {
        Action::Allow => libc::SECCOMP_RET_ALLOW,
        Action::Notify => libc::SECCOMP_RET_USER_NOTIF,
        Action::Errno(errno) => libc::SECCOMP_RET_ERRNO | (errno as u32 & libc::SECCOMP_RET_DATA),
        Action::Answer0 => libc::SECCOMP_RET_ERRNO,
    }
}

/// Goes on for a call of this architecture, and kills the process for any other. No architecture has numbers as high as those
/// of x32, so they are killed everywhere.
///
/// -1 goes on: a tracer sets it to skip a call, and no call has this number.
fn architecture_check(architecture: Architecture) -> Vec<sock_filter> {
    vec![
        Instruction::load(ARCHITECTURE),
        Instruction::when(BPF_JEQ, architecture.audit(), 1, 0),
        Instruction::answer(libc::SECCOMP_RET_KILL_PROCESS),
        Instruction::load(NUMBER),
        Instruction::when(BPF_JGE, X32, 0, 2),
        Instruction::when(BPF_JEQ, u32::MAX, 1, 0),
        Instruction::answer(libc::SECCOMP_RET_KILL_PROCESS),
    ]
}

/// The kernel's limit on the length of a program, in instructions.
const MAX_LEN: usize = 4096;

/// Puts the architecture check before a program. The error is the length of a program that is too long.
pub(crate) fn guarded(architecture: Architecture, body: &[sock_filter]) -> Result<Vec<sock_filter>, usize> {
    let mut program = architecture_check(architecture);
    program.extend(body);
    if program.len() > MAX_LEN { Err(program.len()) } else { Ok(program) }
}

/// Replaces each `return mark` by a jump to the tests of that mark, which are appended.
///
/// The error is the length of tests that exceed the range of a jump.
pub(crate) fn replace_marks(body: &mut Vec<sock_filter>, marks: &[RowAction]) -> Result<(), usize> {
    let searched = body.len();
    for (mark, decision) in marks.iter().enumerate() {
        let mark_instruction = Instruction::answer(libc::SECCOMP_RET_TRACE | mark as u32);
        let block = body.len();
        for (at, instruction) in body[..searched].iter_mut().enumerate() {
            if instruction.code == mark_instruction.code && instruction.k == mark_instruction.k {
                *instruction = Instruction::jump((block - at - 1) as u32);
            }
        }
        match *decision {
            RowAction::First(rules, otherwise) => {
                for rule in rules {
                    body.extend(tests(rule)?);
                }
                body.push(Instruction::answer(returned(otherwise)));
            }
            RowAction::Always(action) => body.push(Instruction::answer(returned(action))),
            RowAction::Option(..) => body.push(Instruction::answer(libc::SECCOMP_RET_KILL_PROCESS)),
        }
    }
    Ok(())
}

/// The tests of one rule. They return its action, or fall through to the next rule.
fn tests(rule: &Rule) -> Result<Vec<sock_filter>, usize> {
    let mut code = Vec::new();
    for test in rule.when {
        append(&mut code, test)?;
    }
    code.push(Instruction::answer(returned(rule.then)));
    let length = code.len();
    if length > usize::from(NEXT_RULE) {
        return Err(length);
    }
    for (at, instruction) in code.iter_mut().enumerate() {
        let onward = (length - at - 1) as u8;
        if instruction.jt == NEXT_RULE {
            instruction.jt = onward;
        }
        if instruction.jf == NEXT_RULE {
            instruction.jf = onward;
        }
    }
    Ok(code)
}

fn append(code: &mut Vec<sock_filter>, test: &Test) -> Result<(), usize> {
    code.push(Instruction::load(ARGUMENTS + 8 * u32::from(test.argument)));
    match test.is {
        Is::Masked { mask, value } => {
            code.push(Instruction::and(mask));
            code.push(Instruction::when(BPF_JEQ, value, 0, NEXT_RULE));
        }
        Is::AnyOf(bits) => code.push(Instruction::when(BPF_JSET, bits, 0, NEXT_RULE)),
        Is::NoneOf(bits) => code.push(Instruction::when(BPF_JSET, bits, NEXT_RULE, 0)),
        Is::OneOf(values) => {
            let length = values.len();
            if length == 0 || length > usize::from(NEXT_RULE) {
                return Err(length);
            }
            for (at, value) in values.iter().enumerate() {
                let left = (length - at - 1) as u8;
                let otherwise = if left == 0 { NEXT_RULE } else { 0 };
                code.push(Instruction::when(BPF_JEQ, *value, left, otherwise));
            }
        }
    }
    Ok(())
}
