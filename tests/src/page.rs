//! An approvals page as every guard sees it: the content of a file that its server has locked.

use std::fs::{self, File};
use std::path::PathBuf;

use nix::fcntl::{FcntlArg, fcntl};

use crate::World;

/// A page that guards know of while this value lives, whether or not anybody listens there.
#[derive(Debug)]
pub struct Announced(#[expect(dead_code, reason = "it is locked")] File);

impl Announced {
    /// Announces the page that this file names.
    ///
    /// # Panics
    /// When another page has the file locked.
    #[must_use]
    pub fn by(file: PathBuf) -> Announced {
        let file = fs::OpenOptions::new().write(true).open(file).expect("a file");
        let (l_type, l_whence) = (nix::libc::F_WRLCK as i16, nix::libc::SEEK_SET as i16);
        let all = nix::libc::flock { l_type, l_whence, l_start: 0, l_len: 0, l_pid: 0 };
        fcntl(&file, FcntlArg::F_OFD_SETLK(&all)).expect("no other page");
        Announced(file)
    }
}

impl World {
    /// Writes the file that contains a page's address, without locking it.
    #[must_use]
    pub fn page_file(&self, text: &str) -> PathBuf {
        self.write("home/.openclaw/guard/page.lock", text)
    }
}
