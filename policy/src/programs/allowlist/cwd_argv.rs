//! The `argPattern` of entries that "allow always" makes: these arguments in this directory (OpenClaw
//! 2026.9.6).

use sha2::{Digest, Sha256};

use crate::paths::normalize;
use crate::text::hex;

/// The prefix of such an `argPattern`; the digest follows in lower-case hexadecimal.
pub(crate) const CWD_ARGV: &str = "sha256:cwd-argv:v1:";

/// Returns the `argPattern` of these arguments (without the program's own name) in this current directory.
///
/// OpenClaw hashes only text. Arguments that are not UTF-8 are hashed as bytes.
pub fn cwd_argv_pattern(cwd: &[u8], arguments: &[Vec<u8>]) -> String {
    let mut hash = Sha256::new();
    sized(&mut hash, &normalize::posix(cwd));
    hash.update(format!("{}\0", arguments.len()));
    for argument in arguments {
        sized(&mut hash, argument);
    }
    CWD_ARGV.to_owned() + &hex(&hash.finalize())
}

/// Hashes a text after its length, which distinguishes `["a b"]` from `["a", "b"]`.
fn sized(hash: &mut Sha256, bytes: &[u8]) {
    hash.update(format!("{}\0", bytes.len()));
    hash.update(bytes);
    hash.update(b"\0");
}
