//! What the front knows of the operator's screen. The supervisor holds its lines back while they would damage the
//! screen.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::MemfdFlags;
use rustix::io::Errno;

/// What is on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScreenState {
    /// The cursor is at the beginning of a line.
    #[default]
    LineStart,
    /// The cursor is in a line.
    MidLine,
    /// A program has the whole screen: the alternate one is in use.
    Alternate,
    /// The cursor is hidden. If the program also reads single keys, it draws on the main screen, as Claude Code does.
    CursorHidden,
}

/// A state in memory that both processes share.
#[derive(Clone, Debug)]
pub struct SharedScreenState(Arc<OwnedFd>);

impl SharedScreenState {
    /// Creates it before the fork.
    ///
    /// # Errors
    /// The kernel's, if there is no memory file.
    pub fn new() -> Result<SharedScreenState, Errno> {
        let file = rustix::fs::memfd_create("guard-screen", MemfdFlags::CLOEXEC)?;
        let shared = SharedScreenState(Arc::new(file));
        shared.set(ScreenState::default());
        Ok(shared)
    }

    /// Says what is on the screen now.
    pub fn set(&self, state: ScreenState) {
        let byte = match state {
            ScreenState::LineStart => 0,
            ScreenState::MidLine => 1,
            ScreenState::Alternate => 2,
            ScreenState::CursorHidden => 3,
        };
        // If the kernel has no memory, the old state stays.
        let _ = rustix::io::pwrite(&*self.0, &[byte], 0);
    }

    /// Returns what is on the screen.
    pub fn get(&self) -> ScreenState {
        let mut byte = [0];
        match rustix::io::pread(&*self.0, &mut byte, 0) {
            Ok(1) if byte[0] == 1 => ScreenState::MidLine,
            Ok(1) if byte[0] == 2 => ScreenState::Alternate,
            Ok(1) if byte[0] == 3 => ScreenState::CursorHidden,
            _ => ScreenState::LineStart,
        }
    }
}
