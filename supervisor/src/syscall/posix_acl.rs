//! Access control lists as extended attributes (acl(5); linux/posix_acl_xattr.h).

/// The attribute with a file's own list. Its entry for the owner is a part of the file's mode.
pub const ACCESS: &[u8] = b"system.posix_acl_access";
/// The attribute with the list of what is made in a directory.
pub const DEFAULT: &[u8] = b"system.posix_acl_default";

/// `POSIX_ACL_XATTR_VERSION`, ACL_USER_OBJ, and the permissions to read and to execute.
const VERSION: u32 = 2;
const USER_OBJ: u16 = 1;
const READ_AND_SEARCH: u16 = 5;

/// Whether a list keeps the owner from searching or listing a directory. A list without entries is none. What the kernel would
/// not take counts as one that does.
pub fn keeps_owner_out(list: &[u8]) -> bool {
    let Some((version, entries)) = list.split_first_chunk() else { return true };
    let (entries, rest) = entries.as_chunks::<8>();
    if u32::from_le_bytes(*version) != VERSION || !rest.is_empty() {
        return true;
    }
    let fields = entries
        .iter()
        .map(|[t0, t1, p0, p1, ..]| (u16::from_le_bytes([*t0, *t1]), u16::from_le_bytes([*p0, *p1])));
    let mut of_owner = fields.filter(|(tag, _)| *tag == USER_OBJ).map(|(_, granted)| granted).peekable();
    let has_owner = entries.is_empty() || of_owner.peek().is_some();
    !has_owner || of_owner.any(|granted| granted & READ_AND_SEARCH != READ_AND_SEARCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[(u16, u16)]) -> Vec<u8> {
        let entries = entries.iter().flat_map(|(tag, granted)| {
            [&tag.to_le_bytes()[..], &granted.to_le_bytes(), &u32::MAX.to_le_bytes()].concat()
        });
        VERSION.to_le_bytes().into_iter().chain(entries).collect()
    }

    #[test]
    fn the_owners_entry_decides() {
        assert!(!keeps_owner_out(&list(&[(1, 7), (4, 0), (0x20, 0)])));
        assert!(!keeps_owner_out(&list(&[(1, 5), (2, 0), (4, 0), (0x10, 0), (0x20, 0)])));
        assert!(!keeps_owner_out(&list(&[])));
        for granted in [0, 1, 4, 6] {
            assert!(keeps_owner_out(&list(&[(1, granted), (4, 7), (0x20, 7)])), "{granted}");
        }
        for malformed in [&b""[..], b"\x02\0\0", b"\x03\0\0\0", b"\x02\0\0\0\x01\0\x07"] {
            assert!(keeps_owner_out(malformed));
        }
        assert!(keeps_owner_out(&list(&[(4, 7), (0x20, 7)])));
    }
}
