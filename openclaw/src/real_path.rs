//! Real paths of files that need not exist.

use std::path::{Path, PathBuf};

/// Resolves a path that need not exist, as far as it exists.
pub fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        _ => path.to_owned(),
    }
}
