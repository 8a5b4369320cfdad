//! Compiles the table to a program.
//!
//! libseccomp turns the call numbers into a search tree. It cannot express "otherwise" within one system call, and
//! compares 64 bits. So a call whose arguments matter gets a mark, which is later replaced by the tests that `blocks`
//! generates.
//!
//! libseccomp only sorts numbers here: it takes those of the architecture that the guard is built for as numbers of the one
//! that it is built on, and the architecture's own number is replaced afterwards. It could translate calls to another
//! architecture by their names, but knows only those of its own age.

use std::error::Error;
use std::io::{self, Read};

use libc::sock_filter;
use libseccomp::{ScmpAction, ScmpFilterContext, ScmpSyscall};

use crate::blocks;
use crate::table::{self, Action, Architecture, FilterOptions, RowAction};

/// The program of an architecture's table for these options.
pub(crate) fn program(
    architecture: Architecture,
    options: &FilterOptions,
) -> Result<Vec<sock_filter>, Box<dyn Error>> {
    let mut conditional: Vec<RowAction> = Vec::new();
    let mut context = ScmpFilterContext::new(ScmpAction::Errno(libc::ENOSYS))?;
    context.set_act_badarch(ScmpAction::KillProcess)?;
    context.set_ctl_optimize(2)?;
    for row in table::rows(architecture) {
        let action = match row.decision.under(options) {
            RowAction::Always(Action::Errno(libc::ENOSYS)) => continue,
            RowAction::Always(action) => seccomp_action(action),
            tested => {
                let mark = conditional.iter().position(|known| *known == tested).unwrap_or_else(|| {
                    conditional.push(tested);
                    conditional.len() - 1
                });
                ScmpAction::Trace(mark as u16)
            }
        };
        context.add_rule(action, ScmpSyscall::from_raw_syscall(row.number as i32))?;
    }
    let mut body = export(&context)?;
    replace_architecture(&mut body, architecture);
    let too_long = |length| format!("the filter is too long: {length} instructions");
    blocks::replace_marks(&mut body, &conditional).map_err(too_long)?;
    Ok(blocks::guarded(architecture, &body).map_err(too_long)?)
}

/// The offset of the architecture in `struct seccomp_data`.
const ARCHITECTURE: u32 = 4;

/// Makes a program that tests for any architecture test for this one.
fn replace_architecture(body: &mut [sock_filter], architecture: Architecture) {
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let mut is_loaded = false;
    for instruction in body {
        if is_loaded && Architecture::ALL.iter().any(|other| other.audit() == instruction.k) {
            instruction.k = architecture.audit();
        }
        is_loaded = instruction.code == load && instruction.k == ARCHITECTURE;
    }
}

fn seccomp_action(action: Action) -> ScmpAction {
    match action {
        Action::Allow => ScmpAction::Allow,
        Action::Notify => ScmpAction::Notify,
        Action::Errno(errno) => ScmpAction::Errno(errno),
        Action::Answer0 => ScmpAction::Errno(0),
    }
}

fn export(context: &ScmpFilterContext) -> Result<Vec<sock_filter>, Box<dyn Error>> {
    // A pipe, because RLIMIT_FSIZE could cut a file short, and libseccomp does not check for short writes.
    let (mut reader, writer) = io::pipe()?;
    let bytes = std::thread::scope(|scope| {
        let read = scope.spawn(move || {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).map(|_| bytes)
        });
        let exported = context.export_bpf(&writer);
        drop(writer);
        let bytes = read.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
        exported.map_err(Box::<dyn Error>::from).and(bytes.map_err(Box::from))
    })?;
    Ok(bytes.chunks_exact(size_of::<sock_filter>()).map(parse).collect())
}

/// An instruction from its eight bytes.
fn parse(bytes: &[u8]) -> sock_filter {
    let code = u16::from_ne_bytes([bytes[0], bytes[1]]);
    let k = u32::from_ne_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
    sock_filter { code, jt: bytes[2], jf: bytes[3], k }
}
