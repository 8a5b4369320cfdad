//! The token or password for the gateway.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use guard_policy::text::shown;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::process::geteuid;

/// The longest secret that is accepted, in bytes.
const MAX_BYTES: u64 = 4096;

/// A token or a password. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    pub kind: SecretKind,
    text: String,
    /// Where it was found, for display.
    pub source: String,
}

/// How the secret is presented to the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretKind {
    /// The gateway's token (`gateway.auth.mode: "token"`).
    Token,
    /// The gateway's password.
    Password,
}

impl Secret {
    /// Creates a secret from a text, without the white space around it.
    ///
    /// # Errors
    /// Why the text is not a secret.
    pub fn new(kind: SecretKind, text: &str, source: String) -> Result<Secret, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err(format!("{source} is empty"));
        }
        if text.len() as u64 > MAX_BYTES {
            return Err(format!("{source} is longer than {MAX_BYTES} bytes"));
        }
        if text.contains(char::is_control) {
            return Err(format!("{source} has more than one line, or a control character in it"));
        }
        Ok(Secret { kind, text: text.to_owned(), source })
    }

    /// Returns the secret itself, for the gateway.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.kind, self.source)
    }
}

/// Reads the file that guard.json names, by its real path. It must be a regular file of this user or of root,
/// and nobody else may read or write it.
///
/// # Errors
/// Why the file gives no secret.
pub fn of_file(path: &Path) -> Result<Secret, String> {
    let source = shown(path.as_os_str().as_bytes());
    let failed = |error: rustix::io::Errno| format!("{source}: {}", std::io::Error::from(error));
    // Opening a FIFO would wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // A link in a real path has been created since, and may be the tree's.
    let file = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).map_err(failed)?;
    let stat = fstat(&file).map_err(failed)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(format!("{source} is not a regular file"));
    }
    if stat.st_uid != geteuid().as_raw() && stat.st_uid != 0 {
        return Err(format!("{source} belongs to another user ({})", stat.st_uid));
    }
    if stat.st_mode & 0o077 != 0 {
        return Err(format!("others may read or write {source}: chmod 600 it"));
    }
    let mut bytes = Vec::new();
    let read = File::from(file).take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("{source}: {error}"))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("{source} is longer than {MAX_BYTES} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| format!("{source} is not UTF-8"))?;
    Secret::new(SecretKind::Token, &text, source)
}

/// Takes a secret from a variable of the guard's own environment, which no child inherits.
///
/// # Errors
/// Why the variable gives no secret.
pub fn of_variable(kind: SecretKind, name: &str, value: OsString) -> Result<Secret, String> {
    let source = format!("{name} of the guard's environment");
    let text = value.into_string().map_err(|_| format!("{source} is not UTF-8"))?;
    Secret::new(kind, &text, source)
}
