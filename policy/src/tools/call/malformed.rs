//! Calls that cannot be read.

/// Why a call cannot be judged by its parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedCall {
    /// A parameter is missing or has another type.
    #[error("its parameter \"{0}\" is no text")]
    NoText(&'static str),
    /// The envelope of `apply_patch` cannot be read.
    #[error("its patch cannot be read, line {line}: {why}")]
    Patch {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// More than the gate can judge while OpenClaw waits.
    #[error("it names more than {0} files or addresses")]
    TooMany(usize),
    /// Parameters nested too deeply.
    #[error("its parameters are nested too deeply")]
    Nested,
}
