//! The token or password for the gateway.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
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

/// Why a text or a file is not a secret. Each variant holds where it was found, for display.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The text has nothing but white space.
    #[error("{0} is empty")]
    Empty(String),
    /// The text is longer than [`MAX_BYTES`].
    #[error("{0} is longer than {MAX_BYTES} bytes")]
    TooLong(String),
    /// No header can carry the text.
    #[error("{0} has more than one line, or a control character in it")]
    Control(String),
    /// The content is not text.
    #[error("{0} is not UTF-8")]
    NotText(String),
    /// The file cannot be opened or read.
    #[error("{0}: {1}")]
    Unreadable(String, #[source] io::Error),
    /// The file is a directory, a FIFO, …
    #[error("{0} is not a regular file")]
    NotRegular(String),
    /// The file belongs to neither this user nor root.
    #[error("{0} belongs to another user ({1})")]
    OtherOwner(String, u32),
    /// The file's mode gives others access.
    #[error("others may read or write {0}: chmod 600 it")]
    Exposed(String),
}

impl Secret {
    /// Creates a secret from a text, without the white space around it.
    ///
    /// # Errors
    /// Why the text is not a secret.
    pub fn new(kind: SecretKind, text: &str, source: String) -> Result<Secret, SecretError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(SecretError::Empty(source));
        }
        if text.len() as u64 > MAX_BYTES {
            return Err(SecretError::TooLong(source));
        }
        if text.contains(char::is_control) {
            return Err(SecretError::Control(source));
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
pub fn of_file(path: &Path) -> Result<Secret, SecretError> {
    let source = shown(path.as_os_str().as_bytes());
    let failed = |error: io::Error| SecretError::Unreadable(source.clone(), error);
    // Without NONBLOCK, opening a FIFO would wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // A link in a path that was real must be new, so the tree may have made it.
    let file = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    let file = file.map_err(|error| failed(error.into()))?;
    let stat = fstat(&file).map_err(|error| failed(error.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(SecretError::NotRegular(source));
    }
    if stat.st_uid != geteuid().as_raw() && stat.st_uid != 0 {
        return Err(SecretError::OtherOwner(source, stat.st_uid));
    }
    if stat.st_mode & 0o077 != 0 {
        return Err(SecretError::Exposed(source));
    }
    let mut bytes = Vec::new();
    let read = File::from(file).take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(SecretError::TooLong(source));
    }
    let text = String::from_utf8(bytes).map_err(|_| SecretError::NotText(source.clone()))?;
    Secret::new(SecretKind::Token, &text, source)
}

/// Takes a secret from a variable of the guard's own environment, which no child inherits.
///
/// # Errors
/// Why the variable gives no secret.
pub fn of_variable(kind: SecretKind, name: &str, value: OsString) -> Result<Secret, SecretError> {
    let source = format!("{name} of the guard's environment");
    match value.into_string() {
        Ok(text) => Secret::new(kind, &text, source),
        Err(_) => Err(SecretError::NotText(source)),
    }
}
