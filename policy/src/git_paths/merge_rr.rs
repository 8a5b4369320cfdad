//! `MERGE_RR`: for each file with conflicts, a name of the conflict and the path (git's rerere.c, `read_rr`).

use super::{GitPathsError, check_path};

/// Checks each line: hexadecimal digits, perhaps `.` and a number, a tab, the path, and a NUL.
///
/// # Errors
/// What is wrong.
pub(super) fn check(bytes: &[u8]) -> Result<(), GitPathsError> {
    let Some(lines) = bytes.strip_suffix(b"\0") else {
        return if bytes.is_empty() { Ok(()) } else { Err(GitPathsError::CutShort) };
    };
    for line in lines.split(|byte| *byte == 0) {
        let tab = line.iter().position(|byte| *byte == b'\t').ok_or(GitPathsError::NoPath)?;
        let (id, path) = (&line[..tab], &line[tab + 1..]);
        let digits = id.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let variant = id[digits..].strip_prefix(b".");
        let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        if digits < 40 || !(id.len() == digits || variant.is_some_and(is_number)) {
            return Err(GitPathsError::NoConflict);
        }
        check_path(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_in_the_work_tree_are_fine() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        for fine in [String::new(), format!("{id}\ta/b\0"), format!("{id}.12\ta\0{id}\tb\tc\0")] {
            assert_eq!(check(fine.as_bytes()), Ok(()), "{fine:?}");
        }
        for bad in [
            format!("{id}\t../.ssh/id_rsa\0"),
            format!("{id}\t/etc/passwd\0"),
            format!("{id}\ta\0{id}\t.git/config\0"),
            format!("{id}\ta"),
            format!("{id}\0"),
            format!("../{id}\ta\0"),
            format!("{id}/x\ta\0"),
            format!("{id}.\ta\0"),
            "\0".to_owned(),
        ] {
            assert!(check(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }
}
