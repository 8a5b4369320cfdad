//! Sets of UTF-16 code units, as ranges.

pub(super) type Set = Vec<(u16, u16)>;

pub(super) const DIGITS: &[(u16, u16)] = &[(0x30, 0x39)];
pub(super) const WORDS: &[(u16, u16)] = &[(0x30, 0x39), (0x41, 0x5a), (0x5f, 0x5f), (0x61, 0x7a)];
/// WhiteSpace and LineTerminator (ECMA-262, 12.2 and 12.3), in order.
pub(super) const SPACES: &[(u16, u16)] = &[
    (0x09, 0x0d),
    (0x20, 0x20),
    (0xa0, 0xa0),
    (0x1680, 0x1680),
    (0x2000, 0x200a),
    (0x2028, 0x2029),
    (0x202f, 0x202f),
    (0x205f, 0x205f),
    (0x3000, 0x3000),
    (0xfeff, 0xfeff),
];
/// What `.` does not match.
pub(super) const LINE_ENDS: &[(u16, u16)] = &[(0x0a, 0x0a), (0x0d, 0x0d), (0x2028, 0x2029)];

/// Returns the same units as sorted ranges that do not touch.
pub(super) fn ordered(mut set: Set) -> Set {
    set.sort_unstable();
    let mut apart = Set::new();
    for (low, high) in set {
        match apart.last_mut() {
            Some((_, end)) if low <= end.saturating_add(1) => *end = high.max(*end),
            _ => apart.push((low, high)),
        }
    }
    apart
}

/// Returns all units that are in none of these ranges, which are sorted and do not touch.
pub(super) fn complement(set: &[(u16, u16)]) -> Set {
    let (mut rest, mut next) = (Set::new(), Some(0u16));
    for (low, high) in set {
        if let Some(start) = next.filter(|start| start < low) {
            rest.push((start, low - 1));
        }
        next = high.checked_add(1);
    }
    rest.extend(next.map(|start| (start, u16::MAX)));
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_complement_of_a_complement_is_the_set() {
        for set in [DIGITS, WORDS, SPACES, LINE_ENDS] {
            assert_eq!(complement(&complement(set)), set);
            assert_eq!(ordered(set.iter().rev().chain(set).copied().collect()), set);
        }
        assert_eq!(complement(&[(0, 0xffff)]), []);
        assert_eq!(complement(&[]), [(0, 0xffff)]);
        assert_eq!(
            ordered(vec![(5, 6), (0, 9), (10, 10), (0xffff, 0xffff), (12, 0xffff)]),
            [(0, 10), (12, 0xffff)]
        );
    }
}
