//! Real paths of files that need not exist.

use std::path::{Path, PathBuf};

/// The real path of something that need not exist: what exists of it is resolved.
pub fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        _ => path.to_owned(),
    }
}
