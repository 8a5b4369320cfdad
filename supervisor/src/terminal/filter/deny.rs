//! Decides which sequences of the command the operator's terminal must not get.
//!
//! There are three kinds: sequences that make the terminal type text chosen by the command, which the
//! operator's shell may read next; those that reach beyond the screen (clipboard, printer, programs in the
//! terminal); and those that move the screen away from under a prompt. Queries pass if the answer is numbers
//! or the terminal's own name.

use super::Text;
use crate::terminal::sequence::Csi;

/// Returns whether an escape sequence of two or more bytes is refused. Control sequences and strings are
/// handled below.
pub fn escape(bytes: &[u8]) -> bool {
    match bytes {
        // Replies with C1 controls; a character set other than Unicode; xterm's memory lock, which keeps
        // lines from scrolling.
        [_, b' ', b'G'] | [_, b'%', b'@'] | [_, b'l'] => true,
        _ => false,
    }
}

/// Returns whether a control sequence is refused.
pub fn csi(bytes: &[u8]) -> bool {
    let Some(csi) = Csi::read(bytes) else { return true };
    let has = |number| csi.numbers().contains(&number);
    match csi.name() {
        // Types the title or the icon's name (XTWINOPS).
        (None, b"", b't') => matches!(csi.number(0), 20 | 21),
        // Types a checksum of the screen's content (DECRQCRA).
        (None, b"*", b'y') => true,
        // Sends output to the printer instead of the screen (MC).
        (None | Some(b'?'), b"", b'i') => true,
        // Sends output to the status line instead of the screen (DECSASD, DECSSDT).
        (None, b"$", b'}' | b'~') => true,
        // Locks the keyboard (KAM).
        (None, b"", b'h') => has(2),
        // Tektronix mode; VT52 mode, in which a prompt could not be drawn.
        (Some(b'?'), b"", b'h') => has(38),
        (Some(b'?'), b"", b'l') => has(2),
        _ => false,
    }
}

/// Returns whether a string is refused, judged by its first part. `is_whole`: whether that is all of it.
pub fn string(kind: Text, body: &[u8], is_whole: bool) -> bool {
    let asks = || !is_whole || body.contains(&b'?');
    match kind {
        Text::Osc => {
            let (number, rest) = match body.iter().position(|byte| *byte == b';') {
                Some(at) => (&body[..at], &body[at + 1..]),
                None => (body, &[][..]),
            };
            let number = number.iter().try_fold(0u32, |number, digit| {
                let digit = digit.is_ascii_digit().then(|| u32::from(digit - b'0'))?;
                Some(number.saturating_mul(10).saturating_add(digit))
            });
            match number {
                // The clipboard; the same in kitty.
                Some(52 | 5522) => true,
                // Calls into Emacs and Vim.
                Some(51) => true,
                // The font's name, which can be set; kitty's colours and notifications, whose names are typed
                // back in replies.
                Some(21 | 50 | 99) => asks(),
                Some(1337) => !harmless_of_iterm(rest),
                Some(_) => false,
                // The Linux console's palette sequence has no end that other terminals would see.
                None => true,
            }
        }
        // Pictures, and the names of capabilities, which are typed back in hexadecimal.
        Text::Dcs => !is_picture(body) && !body.starts_with(b"+q"),
        // kitty's pictures.
        Text::Apc => !body.starts_with(b"G"),
        Text::Title => false,
        Text::Other => true,
    }
}

/// Returns whether this iTerm2 sequence is harmless: pictures and marks. Others copy, fetch, open, or type
/// values back.
fn harmless_of_iterm(body: &[u8]) -> bool {
    const NAMES: [&[u8]; 9] = [
        b"File=",
        b"MultipartFile=",
        b"FilePart=",
        b"FileEnd",
        b"SetMark",
        b"CursorShape=",
        b"CurrentDir=",
        b"RemoteHost=",
        b"ShellIntegrationVersion=",
    ];
    NAMES.iter().any(|name| body.starts_with(name))
}

/// Returns whether this is a sixel picture: numbers, then `q`.
fn is_picture(body: &[u8]) -> bool {
    let numbers = body.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    body.get(numbers) == Some(&b'q')
}
