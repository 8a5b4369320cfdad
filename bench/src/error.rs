//! Errors for humans.

use std::fmt;

/// One sentence: what failed, and where.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    /// An error with this text.
    pub fn new(text: impl Into<String>) -> Error {
        Error(text.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Adds to an error what was being done.
pub trait Context<T> {
    /// The error becomes `what: error`.
    ///
    /// # Errors
    /// The original error with this context.
    fn context(self, what: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T, E: fmt::Display> Context<T> for Result<T, E> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|error| Error(format!("{}: {error}", what())))
    }
}
