//! The forms of a path under which it is denied to the tree.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use guard_openclaw::real_path::real;

use super::realpath::Links;

/// Returns each path as written (made absolute) and its real path.
pub(super) fn both_forms(paths: &[&PathBuf]) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for path in paths {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let real = real(&absolute);
        for path in [absolute, real] {
            let path = path.into_os_string().into_vec();
            if !forms.contains(&path) {
                forms.push(path);
            }
        }
    }
    forms
}

/// Returns both forms of a path, and each link on the way.
pub(super) fn forms_and_links(path: &PathBuf) -> Vec<Vec<u8>> {
    let mut forms = both_forms(&[path]);
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
    forms.extend(Links::default().trail(absolute.as_os_str().as_bytes()));
    forms.sort_unstable();
    forms.dedup();
    forms
}
