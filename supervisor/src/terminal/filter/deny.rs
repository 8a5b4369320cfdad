//! Decides which sequences of the command the operator's terminal must not get.
//!
//! There are three kinds: sequences that make the terminal type text chosen by the command, which the
//! operator's shell may read next; those that reach beyond the screen (clipboard, printer, programs in the
//! terminal, and files that the terminal itself opens, writes or removes: nobody judges that call); and those
//! that move the screen away from under a prompt, or change it in a way that `modes` cannot follow. Queries
//! pass if the answer is numbers or the terminal's own name.

use super::Text;
use crate::terminal::sequence::Csi;

/// Returns whether an escape sequence of two or more bytes is refused. Control sequences and strings are
/// handled below.
pub fn escape(bytes: &[u8]) -> bool {
    match bytes {
        // Replies with C1 controls; a character set other than Unicode; xterm's memory lock, which keeps
        // lines from scrolling; text that erasing a line leaves (SPA); Terminology's own sequences, which open files (its
        // README, "Escape codes").
        [_, b' ', b'G'] | [_, b'%', b'@'] | [_, b'l'] | [_, b'V'] | [_, b'}'] => true,
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
        // The same, and pages of which the terminal shows another one than is written (DECPCCM).
        (Some(b'?'), b"", b'l') => has(2) || has(64),
        // Restores modes that the terminal has saved, which the guard would not know (XTRESTORE). The mouse hides nothing.
        (Some(b'?'), b"", b'r') => !csi.numbers().iter().all(|mode| (1000..=1016).contains(mode)),
        // Default colours, by other numbers than those of xterm (DECAC, DECATC).
        (None, b",", b'|' | b'}') => true,
        _ => false,
    }
}

/// Returns whether a string is refused, judged by its first part. `is_whole` says whether this part is the whole string.
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
                // ConEmu's macros and programs (its "ANSI X3.64 and Xterm 256 Colors"); the rest are notifications.
                Some(9) => matches!(rest.split(|byte| *byte == b';').next(), Some(b"6" | b"7")),
                // The clipboard; the same in kitty.
                Some(52 | 5522) => true,
                // Calls into Emacs and Vim.
                Some(51) => true,
                // A background picture of urxvt(7), xterm's log (ctlseqs), kitty's file transfer.
                Some(20 | 46 | 5113) => true,
                // Colours; a sequence may ask for some of them and set the others, which `modes` would not note.
                Some(4 | 5) => {
                    let fields = || rest.split(|byte| *byte == b';');
                    let asks_by_number = fields().step_by(2).any(|number| number.contains(&b'?'));
                    let may_go_on = !is_whole && body.contains(&b'?');
                    may_go_on || asks_by_number || asks_and_sets(fields().skip(1).step_by(2))
                }
                // A colour; in mintty (CtrlSeqs, "Background image") also a picture's file after one of these signs.
                Some(10..=19) => {
                    let is_file =
                        |colour: &[u8]| matches!(colour.first(), Some(b'_' | b'%' | b'*' | b'+' | b'='));
                    let colours = || rest.split(|byte| *byte == b';');
                    !is_whole || colours().any(is_file) || asks_and_sets(colours())
                }
                // Default colours in kitty, whose names are also typed back in replies; the same in urxvt(7).
                Some(21 | 39 | 49) => true,
                // The font's name, which can be set. iTerm2's sequences had this number before they had 1337.
                Some(50) => asks() || rest.contains(&b'=') && !harmless_of_iterm(rest, is_whole),
                // kitty's notifications, whose names are typed back in replies.
                Some(99) => asks(),
                Some(1337) => !harmless_of_iterm(rest, is_whole),
                Some(_) => false,
                // The Linux console's palette sequence has no end that other terminals would see.
                None => true,
            }
        }
        // Pictures pass. So do the names of capabilities, which are typed back in hexadecimal.
        Text::Dcs => !is_picture(body) && !body.starts_with(b"+q"),
        // kitty's pictures.
        Text::Apc => !body.strip_prefix(b"G").is_some_and(|picture| is_sent(picture, is_whole)),
        Text::Title => false,
        Text::Other => true,
    }
}

/// Returns whether some of these colours are asked for, and others may be set.
fn asks_and_sets<'a>(mut colours: impl Iterator<Item = &'a [u8]> + Clone) -> bool {
    colours.clone().any(|colour| colour.contains(&b'?')) && !colours.all(|colour| colour == b"?")
}

/// Returns whether this iTerm2 sequence is harmless: pictures and marks. Others copy, fetch, open, or type
/// values back.
fn harmless_of_iterm(body: &[u8], is_whole: bool) -> bool {
    const FILES: [&[u8]; 2] = [b"File=", b"MultipartFile="];
    // Parts of a file whose beginning was refused belong to nothing.
    const NAMES: [&[u8]; 7] = [
        b"FilePart=",
        b"FileEnd",
        b"SetMark",
        b"CursorShape=",
        b"CurrentDir=",
        b"RemoteHost=",
        b"ShellIntegrationVersion=",
    ];
    match FILES.iter().find_map(|name| body.strip_prefix(*name)) {
        Some(file) => is_inline(file, is_whole),
        None => NAMES.iter().any(|name| body.starts_with(name)),
    }
}

/// Returns whether a file of iTerm2 is shown. Without `inline=1` it is a download: the terminal writes it under
/// the name in the sequence (iTerm2, "Images").
fn is_inline(file: &[u8], is_whole: bool) -> bool {
    let Some(arguments) = head(file, b':', is_whole) else { return false };
    let mut is_shown = false;
    for argument in arguments.split(|byte| *byte == b';') {
        let end = argument.iter().position(|byte| *byte == b'=').unwrap_or(argument.len());
        let is_named = argument[..end].trim_ascii().eq_ignore_ascii_case(b"inline");
        if is_named && argument != b"inline=1" {
            return false;
        }
        is_shown |= is_named;
    }
    is_shown
}

/// Returns whether the sequence itself contains this picture of kitty's (`t=d`, the default). Otherwise its data
/// is the name of a file or of shared memory, which the terminal opens, and removes (`t=t`, `t=s`). The key counts
/// in any place and in any part of a picture (kitty, "Terminal graphics protocol"); unknown forms are refused.
fn is_sent(picture: &[u8], is_whole: bool) -> bool {
    let Some(keys) = head(picture, b';', is_whole) else { return false };
    keys.split(|byte| *byte == b',').all(|key| match key {
        [] | [b't', b'=', b'd'] => true,
        [b't', ..] => false,
        [name, b'=', value @ ..] => {
            let is_value = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
            name.is_ascii_alphabetic() && value.iter().all(is_value)
        }
        _ => false,
    })
}

/// Returns the bytes before a sign, or all without one. None if the sign may be still to come, or if there are
/// controls among the bytes: some terminals read on without them.
fn head(body: &[u8], sign: u8, is_whole: bool) -> Option<&[u8]> {
    let head = match body.iter().position(|byte| *byte == sign) {
        Some(at) => &body[..at],
        None if is_whole => body,
        None => return None,
    };
    (!head.iter().any(u8::is_ascii_control)).then_some(head)
}

/// Returns whether this is a sixel picture: numbers, then `q`.
fn is_picture(body: &[u8]) -> bool {
    let numbers = body.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    body.get(numbers) == Some(&b'q')
}
