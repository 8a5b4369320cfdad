//! SHA-256 digests of files, arguments and environments.

use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;

use data_encoding::HEXLOWER;
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

/// A SHA-256. `Display` is lower-case hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    pub fn of_bytes(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// Parses 64 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<Digest> {
        HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok().map(Digest)
    }

    /// The digest of several parts. Each part is prefixed with its length, so `ab`, `c` differs from `a`, `bc`.
    pub fn of_parts<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> Digest {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Digest(hash.finalize().into())
    }

    /// The digest of the whole content of a file, whatever the file offset. Calls `go_on` between reads.
    ///
    /// # Errors
    /// The error of read(2), or the error of `go_on`.
    pub fn of_file(file: &File, go_on: impl Fn() -> Result<(), Errno>) -> Result<Digest, Errno> {
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 256 * 1024];
        let mut at = 0;
        loop {
            let count = match file.read_at(&mut buffer, at) {
                Ok(0) => return Ok(Digest(hash.finalize().into())),
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => 0,
                Err(error) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
            };
            hash.update(&buffer[..count]);
            at += count as u64;
            go_on()?;
        }
    }

    /// The digest of all strings of an environment, sorted by name because shells export names in no fixed order. If a
    /// name occurs twice, the order of its strings counts, because programs use the first one.
    pub fn of_environment<'e>(strings: impl IntoIterator<Item = &'e [u8]>) -> Digest {
        let mut strings: Vec<&[u8]> = strings.into_iter().collect();
        strings.sort_by_key(|string| string.split(|&byte| byte == b'=').next());
        Digest::of_parts(strings)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;

    #[test]
    fn an_environment_is_the_same_in_another_order() {
        let of =
            |strings: &[&'static str]| Digest::of_environment(strings.iter().map(|string| string.as_bytes()));
        assert_eq!(of(&["A=1", "B=2"]), of(&["B=2", "A=1"]));
        assert_ne!(of(&["A=1", "A=2"]), of(&["A=2", "A=1"]));
        assert_ne!(of(&["A=1"]), of(&["A=1", "A=1"]));
        assert_ne!(of(&["A=1B"]), of(&["A=1", "B"]));
    }
}
