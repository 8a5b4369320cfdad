//! The keys that make a terminal send signals.

use nix::sys::signal::Signal;
use rustix::termios::{LocalModes, SpecialCodeIndex, Termios};

/// Finds the keys that will make the inner terminal signal its foreground group.
#[derive(Debug, Default)]
pub struct Keys {
    /// Whether the last key makes the next one literal (VLNEXT).
    literal: bool,
}

impl Keys {
    /// Returns the signals that a terminal with these modes sends for these keys.
    pub fn signals(&mut self, typed: &[u8], modes: &Termios) -> Vec<Signal> {
        let mut signals = Vec::new();
        if !modes.local_modes.contains(LocalModes::ISIG) {
            self.literal = false;
            return signals;
        }
        // 0 is _POSIX_VDISABLE.
        let is = |key: u8, index| key != 0 && modes.special_codes[index] == key;
        let quotes = modes.local_modes.contains(LocalModes::ICANON | LocalModes::IEXTEN);
        for &key in typed {
            if std::mem::take(&mut self.literal) {
                continue;
            }
            if is(key, SpecialCodeIndex::VINTR) {
                signals.push(Signal::SIGINT);
            } else if is(key, SpecialCodeIndex::VQUIT) {
                signals.push(Signal::SIGQUIT);
            } else {
                self.literal = quotes && is(key, SpecialCodeIndex::VLNEXT);
            }
        }
        signals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::pty::tests::modes;

    #[test]
    fn control_c_and_backslash_are_signals() {
        let mut keys = Keys::default();
        assert_eq!(keys.signals(b"a\x03b\x1c", &modes()), [Signal::SIGINT, Signal::SIGQUIT]);
        // A suspend is noticed when the command stops.
        assert_eq!(keys.signals(b"\x1a", &modes()), []);
    }

    #[test]
    fn a_quoted_key_is_a_key() {
        let mut keys = Keys::default();
        assert_eq!(keys.signals(b"\x16\x03", &modes()), []);
        assert_eq!(keys.signals(b"\x16", &modes()), []);
        assert_eq!(keys.signals(b"\x03\x03", &modes()), [Signal::SIGINT]);
    }

    #[test]
    fn raw_terminals_send_no_signals() {
        let mut raw = modes();
        raw.make_raw();
        assert_eq!(Keys::default().signals(b"\x03", &raw), []);
    }
}
