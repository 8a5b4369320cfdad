//! What a command may not have the operator's terminal do.
//!
//! Three kinds: what has a terminal type text that the command chose, into whatever reads next, which may be the
//! operator's shell; what reaches past the screen (clipboard, printer, programs in the terminal); and what moves the
//! screen away from under a prompt. Questions that are answered by numbers or by the terminal's own name pass.

use super::Text;
use crate::terminal::sequence::Csi;

/// Whether an escape sequence of two bytes or more, which begins neither a control sequence nor a string, is refused.
pub fn escape(bytes: &[u8]) -> bool {
    match bytes {
        // Replies with C1 controls; a character set that is not Unicode; xterm's memory lock, which holds lines fast.
        [_, b' ', b'G'] | [_, b'%', b'@'] | [_, b'l'] => true,
        _ => false,
    }
}

/// Whether a control sequence is refused.
pub fn csi(bytes: &[u8]) -> bool {
    let Some(csi) = Csi::read(bytes) else { return true };
    let has = |number| csi.numbers().contains(&number);
    match csi.name() {
        // The title and the icon's name, typed (XTWINOPS).
        (None, b"", b't') => matches!(csi.number(0), 20 | 21),
        // What is on the screen, read back (DECRQCRA).
        (None, b"*", b'y') => true,
        // To the printer instead of the screen (MC).
        (None | Some(b'?'), b"", b'i') => true,
        // To the status line instead of the screen (DECSASD, DECSSDT).
        (None, b"$", b'}' | b'~') => true,
        // The keyboard is locked (KAM).
        (None, b"", b'h') => has(2),
        // Tektronix mode; VT52 mode, in which a prompt could not be drawn.
        (Some(b'?'), b"", b'h') => has(38),
        (Some(b'?'), b"", b'l') => has(2),
        _ => false,
    }
}

/// Whether a string is refused, by its first part. `is_whole` says whether that is all of it.
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
                // The clipboard; kitty's.
                Some(52 | 5522) => true,
                // Calls into Emacs and Vim.
                Some(51) => true,
                // The font's name, which can be set; kitty's colours and notifications, whose names are typed back.
                Some(21 | 50 | 99) => asks(),
                Some(1337) => !harmless_of_iterm(rest),
                Some(_) => false,
                // The Linux console's palette has no end that other terminals would see.
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

/// Of iTerm2's own: pictures and marks. Others copy, fetch, open, and type values back.
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

/// Sixels: numbers, and `q`.
fn is_picture(body: &[u8]) -> bool {
    let numbers = body.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    body.get(numbers) == Some(&b'q')
}
