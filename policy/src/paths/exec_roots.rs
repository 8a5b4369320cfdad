//! The exec roots: the directories where the kernel's floor allows execution.

use super::expansion::Paths;
use super::path_rules::PathRules;
use crate::Grant;
use crate::compile::builtin::minimal::LIBRARY_DIRS;

/// Returns the roots: `configured` if there are any, else those that the map lets run; always with the
/// directories of the loader and the libraries.
pub(crate) fn roots(
    configured: Option<&[Vec<u8>]>,
    map: &PathRules,
    paths: &Paths<'_>,
    warnings: &mut Vec<String>,
) -> Vec<Vec<u8>> {
    let mut roots: Vec<Vec<u8>> = match configured {
        Some(dirs) => dirs.to_vec(),
        None => from_map(map, warnings),
    };
    roots.extend(LIBRARY_DIRS.iter().map(|dir| dir.as_bytes().to_vec()));
    outermost(roots.into_iter().map(|root| (paths.realpath)(&root).unwrap_or(root)).collect())
}

/// Returns the directories that lie below none of the others, sorted.
pub(crate) fn outermost(mut directories: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    directories.sort();
    // In sorted order a parent comes before what is below it.
    let mut outer: Vec<Vec<u8>> = Vec::new();
    for directory in directories {
        if !outer.iter().any(|above| is_below(&directory, above)) {
            outer.push(directory);
        }
    }
    outer
}

fn from_map(map: &PathRules, warnings: &mut Vec<String>) -> Vec<Vec<u8>> {
    let mut roots = Vec::new();
    if map.default().r == Grant::Yes && map.default().x != Grant::No {
        roots.push(b"/".to_vec());
    }
    for entry in map.rules().iter() {
        if entry.rights.r != Grant::Yes || entry.rights.x == Grant::No {
            continue;
        }
        let literal = entry.glob.literal();
        if literal.is_empty() {
            let warning = format!(
                "{}: programs that it allows can start only below another root; name their directories \
                 in exec.roots",
                entry.reason.path
            );
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
            continue;
        }
        let end = if entry.glob.is_literal() {
            literal.len()
        } else {
            literal.iter().rposition(|b| *b == b'/').unwrap_or(0)
        };
        roots.push(if end == 0 { b"/".to_vec() } else { literal[..end].to_vec() });
    }
    roots
}

/// Returns true for `root` itself and everything below it.
pub(crate) fn is_below(path: &[u8], root: &[u8]) -> bool {
    let root = root.strip_suffix(b"/").unwrap_or(root);
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}
