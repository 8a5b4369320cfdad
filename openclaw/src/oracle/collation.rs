//! The order in which OpenClaw sorts the names of variables: JavaScript's `localeCompare`.

/// Returns the sort key of a variable's name, which must consist of `[A-Za-z0-9_()]`.
///
/// The order is the root collation of CLDR: `_ ( )`, digits, letters without regard to case. If two names are
/// equal by that, the first letter that differs decides, and a small letter sorts before its capital.
pub(super) fn sort_key(name: &str) -> (Vec<u8>, Vec<bool>) {
    let rank = |byte: u8| match byte {
        b'_' => 0,
        b'(' => 1,
        b')' => 2,
        byte => byte.to_ascii_lowercase(),
    };
    (name.bytes().map(rank).collect(), name.bytes().map(|byte| byte.is_ascii_uppercase()).collect())
}

#[cfg(test)]
mod tests {
    use super::sort_key;

    #[test]
    fn names_sort_as_locale_compare_sorts_them() {
        let sorted = [
            "_", "__", "_a", "(", "1", "a", "A", "A_", "a_b", "A(", "A)", "A0", "a1", "A1", "ab", "aB", "Ab",
            "AB", "aB_", "ab1", "b", "B",
        ];
        assert!(sorted.is_sorted_by_key(|name| sort_key(name)));
    }
}
