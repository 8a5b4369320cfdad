//! What can be wrong with a question.

use guard_policy::tools::ToolIssue;

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum QuestionError {
    /// It is not JSON, or lacks the form that its `op` requires.
    #[error(transparent)]
    Form(#[from] serde_json::Error),
    /// A path or a directory is relative.
    #[error("{0:?} is not an absolute path")]
    NotAbsolute(String),
    /// The guard has no list of this release's tools.
    #[error("the tools of release {0} are not known")]
    UnknownRelease(String),
    /// The configuration of tools is invalid.
    #[error(transparent)]
    Tools(#[from] ToolIssue),
}
