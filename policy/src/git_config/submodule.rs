//! Configurations of submodules, which lie in the git directory of the repository around them.

/// The number of directories from a submodule's git directory up to the work tree around it, counting the latter.
/// `None` if the configuration is not below `.git/modules`.
pub(crate) fn module_depth(config: &[u8]) -> Option<usize> {
    let names: Vec<&[u8]> = config.split(|byte| *byte == b'/').collect();
    let git = names.iter().position(|name| name.eq_ignore_ascii_case(b".git"))?;
    let inside = &names[git + 1..];
    (inside.len() > 2 && inside[0] == b"modules").then_some(inside.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_from_a_submodule_to_the_work_tree_is_counted() {
        assert_eq!(module_depth(b"/a/.git/modules/sub/config"), Some(3));
        assert_eq!(module_depth(b"/a/.git/modules/x/y/config"), Some(4));
        for other in ["/a/.git/config", "/a/.git/modules/config", "/a/modules/x/config"] {
            assert_eq!(module_depth(other.as_bytes()), None, "{other}");
        }
    }
}
