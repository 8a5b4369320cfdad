//! The dynamic loader run as a program: `ld-linux-x86-64.so.2 /path/program` runs the operand.

use guard_policy::{Exec, Role};
use rustix::io::Errno;

use super::{ExecPlan, find, runnable};
use crate::audit::Operation;
use crate::syscall::Request;

/// Options of glibc's loader that take a value (ld.so(8), glibc 2.41).
const WITH_VALUE: [&[u8]; 7] = [
    b"--library-path",
    b"--inhibit-rpath",
    b"--audit",
    b"--preload",
    b"--argv0",
    b"--glibc-hwcaps-prepend",
    b"--glibc-hwcaps-mask",
];
const WITHOUT_VALUE: [&[u8]; 1] = [b"--inhibit-cache"];
/// Options that print what the operand is and what it needs. [`LISTING_VARIABLE`] does the same (ldd(1)).
const LISTING: [&[u8]; 2] = [b"--verify", b"--list"];
const LISTING_VARIABLE: &[u8] = b"LD_TRACE_LOADED_OBJECTS=";
/// Options that print something and run nothing.
const INFORMATION: [&[u8]; 4] = [b"--help", b"--version", b"--list-tunables", b"--list-diagnostics"];

/// Whether a program without a loader of its own may be a loader, judging by the names that glibc and musl use.
fn is_loader(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    (name.starts_with(b"ld-") && name.windows(3).any(|part| part == b".so"))
        || name == b"ld.so"
        || name == b"libc.so"
}

/// Whether a loader is glibc's, by the name that it has on every architecture.
fn is_of_glibc(path: &[u8]) -> bool {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default().starts_with(b"ld-linux")
}

/// The action that a loader is asked for.
#[derive(Debug, PartialEq, Eq)]
enum Operand<'a> {
    None,
    /// Only inspected, not run.
    Listed(&'a [u8], &'a [Vec<u8>]),
    Program(&'a [u8], &'a [Vec<u8>]),
    Unclear,
}

fn operand<'a>(argv: &'a [Vec<u8>], environment: &[Vec<u8>]) -> Operand<'a> {
    let mut listed = environment.iter().any(|variable| variable.starts_with(LISTING_VARIABLE));
    let mut at = 1;
    while let Some(argument) = argv.get(at) {
        match &argument[..] {
            option if INFORMATION.contains(&option) => return Operand::None,
            option if WITH_VALUE.contains(&option) => at += 2,
            option if WITHOUT_VALUE.contains(&option) => at += 1,
            option if LISTING.contains(&option) => (listed, at) = (true, at + 1),
            option if option.starts_with(b"-") => return Operand::Unclear,
            program if listed => return Operand::Listed(program, &argv[at..]),
            program => return Operand::Program(program, &argv[at..]),
        }
    }
    Operand::None
}

/// Judges the program that a loader is asked to run. The loader opens it later, by name: so the name must be the real
/// path, in a place where the tree cannot put another file.
///
/// # Errors
/// EACCES if it may not run.
pub fn judge_operand<'p>(
    request: &Request<'p, '_>,
    steps: &mut ExecPlan<'p>,
    path: &[u8],
    argv: &[Vec<u8>],
    environment: &[Vec<u8>],
    cwd: &[u8],
) -> Result<(), Errno> {
    if !is_loader(path) {
        return Ok(());
    }
    match operand(argv, environment) {
        Operand::None => Ok(()),
        // Except in ordinary mode, glibc's loader ends before the operand's first instruction (elf/rtld.c, dl_main). It
        // opens the operand as any program opens a file, and maps it only if it has `x`.
        Operand::Listed(..) if is_of_glibc(path) => Ok(()),
        Operand::Unclear => {
            request.guard.refuse(request.caller, Operation::Exec, path, "a loader with unknown options")
        }
        Operand::Program(written, argv) | Operand::Listed(written, argv) => {
            let (object, real) = find(request, libc::AT_FDCWD, written, 0)?.into_object()?;
            let _file = runnable(request, &object, &real)?;
            steps.judge(request, Exec { path: &real, argv, cwd, role: Role::Program }, &object)?;
            if real != written || request.guard.policy().writable(&real) {
                let text = "start the program itself: the file that the loader opens could change";
                request.guard.refuse(request.caller, Operation::Exec, &real, text)?;
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_loaders() {
        for name in
            ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1", "/lib/ld-2.31.so", "/usr/bin/ld.so"]
        {
            assert!(is_loader(name.as_bytes()), "{name}");
        }
        assert!(!is_loader(b"/usr/bin/ld"));
        assert!(!is_loader(b"/usr/sbin/ldconfig"));
    }

    #[test]
    fn the_operand_is_behind_the_options() {
        let argv = |text: &str| text.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        let none: &[Vec<u8>] = &[];
        let line = argv("ld.so --argv0 ls --library-path /x /usr/bin/curl -s");
        assert_eq!(operand(&line, none), Operand::Program(b"/usr/bin/curl", &line[5..]));
        assert_eq!(operand(&argv("ld.so --version"), none), Operand::None);
        assert_eq!(operand(&argv("ld.so --new-option /usr/bin/curl"), none), Operand::Unclear);
        assert_eq!(operand(&argv("ld.so"), none), Operand::None);
    }

    #[test]
    fn an_option_or_the_variable_only_lists() {
        let argv = |text: &str| text.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        for line in ["ld.so --list /usr/bin/curl", "ld.so --inhibit-cache --verify /usr/bin/curl"] {
            assert!(matches!(operand(&argv(line), &[]), Operand::Listed(b"/usr/bin/curl", _)), "{line}");
        }
        // Arguments after the operand belong to the operand.
        assert!(matches!(operand(&argv("ld.so /usr/bin/curl --list"), &[]), Operand::Program(..)));
        let line = argv("ld.so /usr/bin/curl");
        assert!(matches!(operand(&line, &argv("A=b LD_TRACE_LOADED_OBJECTS=1")), Operand::Listed(..)));
        assert!(matches!(operand(&line, &argv("XLD_TRACE_LOADED_OBJECTS=1 LD_TRACE")), Operand::Program(..)));
    }
}
