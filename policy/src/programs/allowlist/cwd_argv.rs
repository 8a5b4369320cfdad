//! The `argPattern` of entries that "allow always" makes: these arguments in this directory (OpenClaw
//! 2026.9.6).

use sha2::{Digest, Sha256};

use crate::Exec;
use crate::paths::normalize;
use crate::programs::name::{basename, is_of};
use crate::text::hex;

/// The prefix of such an `argPattern`; the digest follows in lower-case hexadecimal.
pub(crate) const CWD_ARGV: &str = "sha256:cwd-argv:v1:";

/// Returns the `argPattern` of these arguments (without the program's own name) in this current directory.
///
/// OpenClaw hashes only text. Arguments that are not UTF-8 are hashed as bytes.
pub fn cwd_argv_pattern(cwd: &[u8], arguments: &[Vec<u8>]) -> String {
    CWD_ARGV.to_owned() + &hex(&hashed(cwd, arguments).finalize())
}

/// Returns the `argPattern` of a start: a hash of the arguments, the directory and, if the program was called by a name
/// that is not its own, that name. A program may do something else by another name (git, busybox, coreutils), so an
/// entry that OpenClaw made, which knows no name, counts for the program's own name only. An `argPattern` with a name
/// never equals a hash of OpenClaw's, so OpenClaw asks.
pub fn exec_pattern(exec: &Exec<'_>) -> String {
    let arguments = exec.argv.get(1..).unwrap_or_default();
    let mut hash = hashed(exec.cwd, arguments);
    if let Some(name) = other_name(exec) {
        hash.update("argv0\0");
        sized(&mut hash, name);
    }
    CWD_ARGV.to_owned() + &hex(&hash.finalize())
}

/// Whether the program is called by its own name.
pub fn is_by_own_name(exec: &Exec<'_>) -> bool {
    other_name(exec).is_none()
}

/// The name by which the program was called, if that is not its own. A file with a version in its name also goes by the
/// name without the version: `python3` for `python3.11`.
fn other_name<'e>(exec: &Exec<'e>) -> Option<&'e [u8]> {
    let own = basename(exec.path);
    let called = basename(exec.argv.first().map_or(&[][..], Vec::as_slice));
    let is_version = || match (str::from_utf8(own), str::from_utf8(called)) {
        (Ok(own), Ok(called)) => !called.is_empty() && is_of(own, &[called]),
        _ => false,
    };
    (called != own && !is_version()).then_some(called)
}

fn hashed(cwd: &[u8], arguments: &[Vec<u8>]) -> Sha256 {
    let mut hash = Sha256::new();
    sized(&mut hash, &normalize::posix(cwd));
    hash.update(format!("{}\0", arguments.len()));
    for argument in arguments {
        sized(&mut hash, argument);
    }
    hash
}

/// Hashes a text after its length, which distinguishes `["a b"]` from `["a", "b"]`.
fn sized(hash: &mut Sha256, bytes: &[u8]) {
    hash.update(format!("{}\0", bytes.len()));
    hash.update(bytes);
    hash.update(b"\0");
}
