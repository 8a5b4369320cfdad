use proptest::prelude::*;

use super::*;

fn sifted(chunks: &[&[u8]]) -> Vec<u8> {
    let (mut filter, mut passed) = (Filter::default(), Filtered::default());
    for chunk in chunks {
        filter.feed(chunk, &mut passed);
    }
    filter.finish(&mut passed);
    let pieces: Vec<u8> = passed.pieces().flat_map(|(_, bytes)| bytes.to_vec()).collect();
    assert_eq!(pieces, passed.bytes);
    passed.bytes
}

/// Filters a text as a whole and byte by byte.
fn both(text: &str) -> String {
    let bytes = text.as_bytes();
    let whole = sifted(&[bytes]);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(sifted(&single), whole, "{text:?}");
    String::from_utf8(whole).unwrap()
}

#[test]
fn ordinary_sequences_pass_the_filter() {
    for text in [
        "plain\r\n\ttext \u{e9} \u{65e5}\u{672c} \u{1f600}\x0e\x0f\x08\x07",
        "\x1b[1;31mred\x1b[m\x1b[2J\x1b[H\x1b[?1049h\x1b[?2004h\x1b(0\x1b(B\x1b7\x1b8\x1bM\x1bc",
        "\x1b[6n\x1b[5n\x1b[c\x1b[>c\x1b[=c\x1b[?6n\x1b[?2026$p\x1b[>q\x1b[14t\x1b[18t\x1b[22;0t\x1b[?u",
        "\x1b]0;a title\x07\x1b]2;\u{fc}ber\x1b\\\x1b]10;?\x07\x1b]11;?\x1b\\\x1b]4;1;?\x07\x1b]8;;http://a/\x1b\\",
        "\x1b]1337;File=inline=1:AAAA\x07\x1b]133;A\x07\x1b]7;file://h/\x07\x1bP+q544e\x1b\\",
        "\x1bPq#0;2;0;0;0~~\x1b\\\x1bP0;1;8q~\x1b\\\x1b_Ga=T;AAAA\x1b\\",
        "\x1b]1337;File=name=Zg==;size=3;inline=1;width=100%:AAAA\x07\x1b]1337;SetMark\x07\x1b]50;fixed\x07",
        "\x1b]1337;MultipartFile=inline=1;size=9\x07\x1b]1337;FilePart=AAAA\x07\x1b]1337;FileEnd\x07",
        "\x1b_Ga=T,f=100,t=d,i=31,z=-1,m=1;AAAA\x1b\\\x1b_Gm=0;AAAA\x1b\\\x1b_Ga=d\x1b\\\x1b]10;#fff;rgb:0/0/0\x07",
    ] {
        assert_eq!(both(text), text);
    }
}

#[test]
fn sequences_that_type_or_act_beyond_the_screen_are_dropped() {
    for text in [
        "\x1b]52;c;cm0gLXJmIH4K\x07",
        "\x1b]52;c;?\x1b\\",
        "\x1b]052;c;AAAA\x07",
        "\x1b[21t",
        "\x1b[020t",
        "\x1b[21;1t",
        "\x1b[21:1t",
        "\x05",
        "\x1b[\x0521t",
        "\x1bP$qm\x1b\\",
        "\x1bP0;1|17/0a\x1b\\",
        "\x1bPtmux;\x1b\x1b]52;c;AAAA\x07\x1b\\",
        "\x1bP1;1;1;10;0;2;24{B~\x1b\\",
        "\x1b[5i",
        "\x1b[?5i",
        "\x1b[1$}",
        "\x1b[2$~",
        "\x1b[?38h",
        "\x1b[?2l",
        "\x1b[4;2h",
        "\x1b[1;1;1;1;9;9*y",
        "\x1b]50;?\x07",
        "\x1b]51;[\"call\",\"Tapi_x\",[]]\x07",
        "\x1b]1337;ReportVariable=AAAA\x07",
        "\x1b]1337;Copy=:AAAA\x07",
        "\x1b]99;i=echo:p=?;\x1b\\",
        "\x1b]21;x=?\x1b\\",
        "\x1b^text\x1b\\",
        "\x1bXtext\x1b\\",
        "\x1b G",
        "\x1b%@",
        "\x1b]P1ff0000\x07",
    ] {
        let shown = both(&format!("a{text}b"));
        // The terminator of the tmux string is left over, and does nothing.
        let shown = shown.replace("\x1b\\", "");
        assert!(
            shown.starts_with('a') && shown.ends_with('b') && !shown.contains('\x1b'),
            "{text:?}: {shown:?}"
        );
        assert!(!shown.contains("AAAA") && !shown.contains('\x05'), "{text:?}: {shown:?}");
    }
}

#[test]
fn sequences_that_make_the_terminal_open_a_file_are_dropped() {
    for text in [
        // A download of iTerm2's.
        "\x1b]1337;File=name=LmJhc2hyYw==:AAAA\x07",
        "\x1b]1337;File=:AAAA\x1b\\",
        "\x1b]1337;File=inline=0:AAAA\x07",
        "\x1b]1337;File=inline=1;inline=0:AAAA\x07",
        "\x1b]1337;File=inline=0;inline=1:AAAA\x07",
        "\x1b]1337;File=inline=1;Inline=0:AAAA\x07",
        "\x1b]1337;File=inline=1; inline=:AAAA\x07",
        "\x1b]1337;File=inline=10:AAAA\x07",
        "\x1b]1337;File=name=inline=1:AAAA\x07",
        "\x1b]1337;File=inline=1;in\x00line=0:AAAA\x07",
        "\x1b]1337;File=size=4:inline=1;AAAA\x07",
        "\x1b]1337;MultipartFile=name=LmJhc2hyYw==;size=AAAA\x07",
        "\x1b]50;File=name=LmJhc2hyYw==:AAAA\x07",
        "\x1b]50;Copy=:AAAA\x07",
        // kitty opens a file, and removes it or the shared memory.
        "\x1b_Ga=T,t=f;AAAA\x1b\\",
        "\x1b_Gt=t,a=T;AAAA\x1b\\",
        "\x1b_Ga=q,i=1,t=s,s=1;AAAA\x1b\\",
        "\x1b_Ga=T,t=d,t=f;AAAA\x1b\\",
        "\x1b_Gt=f,t=d;AAAA\x1b\\",
        "\x1b_Gm=0,t=f;AAAA\x1b\\",
        "\x1b_Gm=1,t=t;AAAA\x1b\\",
        "\x1b_Gt=;AAAA\x1b\\",
        "\x1b_Gt;AAAA\x1b\\",
        "\x1b_Ga=T, t=f;AAAA\x1b\\",
        "\x1b_Ga=T,\x00t=f;AAAA\x1b\\",
        "\x1b_Ga=T,a\tt=f;AAAA\x1b\\",
        "\x1b_Gt=f,AAAA\x1b\\",
        // A log, background pictures, kitty's transfer of files.
        "\x1b]46;AAAA\x07",
        "\x1b]20;/AAAA\x07",
        "\x1b]11;*/AAAA\x07",
        "\x1b]10;#fff;_/AAAA\x07",
        "\x1b]5113;ac=send;AAAA\x1b\\",
    ] {
        assert_eq!(both(&format!("a{text}b")), "ab", "{text:?}");
        // A long string does not pass after its beginning, either.
        let long = text.replace("AAAA", &"A".repeat(2 * MAX_HEAD_LEN));
        assert_eq!(both(&format!("a{long}b")), "ab", "{text:?}");
    }
    // A key that comes after the part that the filter inspects.
    let late = format!("a\x1b_G{}t=f;AAAA\x1b\\b", "i=1,".repeat(MAX_HEAD_LEN));
    assert_eq!(both(&late), "ab");
    // Each part of a picture is looked at, and C1 controls do not begin a picture.
    assert_eq!(both("\x1b_Ga=T,m=1;AAAA\x1b\\\x1b_Gm=0,t=f;BBBB\x1b\\"), "\x1b_Ga=T,m=1;AAAA\x1b\\");
    assert_eq!(both("\u{9f}Gt=f;AAAA\u{9c}\u{9d}1337;File=:AAAA\u{9c}"), "Gt=f;AAAA1337;File=:AAAA");
    let shown = sifted(&[b"\x9fGt=f;AA\x9c", b"\x9d1337;File=:A\x9c"]);
    assert_eq!(String::from_utf8(shown).unwrap(), "\u{fffd}Gt=f;AA\u{fffd}\u{fffd}1337;File=:A\u{fffd}");
    // Terminology's sequences end with a NUL; without their beginning they are text.
    assert_eq!(both("\x1b}pn/AAAA\0b"), "pn/AAAA\0b");
}

/// What sets the colours and modes that hide text must be seen by `modes`, and each such sequence sets or asks.
#[test]
fn sequences_that_set_what_the_guard_would_not_note_are_dropped() {
    for text in [
        "\x1b]10;#000000;?\x1b\\",
        "\x1b]11;#000000;?\x07",
        "\x1b]10;?;#000000\x07",
        "\x1b]10;#00?\x07",
        "\x1b]4;0;#000;1;?\x07",
        "\x1b]4;?;#000\x07",
        "\x1b]5;0;#000;1;?\x07",
        "\x1b]21;foreground=#000000;background=#000000\x1b\\",
        "\x1b]39;#000000\x1b\\",
        "\x1b]49;#000000\x07",
        "\x1b[1;0;0,|",
        "\x1b[1;0;0,}",
        "\x1b[?69r",
        "\x1b[?6;1000r",
        "\x1b[?1049r",
        "\x1b[?64l",
        "\x1bV",
    ] {
        assert_eq!(both(&format!("a{text}b")), "ab", "{text:?}");
    }
    let long = "1;?;".repeat(MAX_HEAD_LEN);
    assert_eq!(both(&format!("a\x1b]4;{long}0;#000\x07b")), "ab");
    for text in [
        "\x1b]4;0;?;1;?\x07\x1b]4;0;#fff;1;#000\x07\x1b]5;0;?\x07",
        "\x1b]10;?;?\x07\x1b]10;#fff;#000\x07\x1b]104\x07\x1b]111\x07",
        "\x1b[?1001s\x1b[?1001r\x1b[?1000;1006r\x1b[?69s\x1b[2;5r\x1b[1;2s",
    ] {
        assert_eq!(both(text), text);
    }
}

#[test]
fn sequences_do_not_hide_in_others() {
    // C1 controls, raw and in UTF-8, alone and within strings.
    assert_eq!(both("a\u{9b}21tb"), "a21tb");
    assert_eq!(sifted(&[b"a\x9b21tb"]), "a\u{fffd}21tb".as_bytes());
    assert_eq!(both("\x1b]2;x\u{9c}\u{9d}52;c;AAAA\x07b"), "b");
    assert_eq!(sifted(&[b"\x1b]2;x\x9c\x9d52;c;AAAA\x07b"]), b"b");
    assert_eq!(both("\x1b]2;x\x1b]52;c;AAAA\x07b"), "b");
    assert_eq!(both("\x1b[3\x1b[21tb"), "b");
    // Controls within a sequence act, and the sequence continues.
    assert_eq!(both("\x1b[\n3\rmb"), "\n\r\x1b[3mb");
    assert_eq!(both("\x1b[3\x18mb"), "mb");
    assert_eq!(both("\x1b[3 1mb\x1b[1?mb\x1b[??1hb"), "bbb");
    assert_eq!(both(&format!("\x1b[{}mb", "1".repeat(300))), "b");
    // A string without an end is never shown.
    assert_eq!(both("a\x1b]2;title"), "a");
}

#[test]
fn long_strings_are_shown_as_they_come() {
    let picture = format!("\x1bPq{}\x1b\\b", "~".repeat(3 * MAX_HEAD_LEN));
    assert_eq!(both(&picture), picture);
    assert_eq!(both(&format!("\x1b]52;c;{}\x07b", "A".repeat(3 * MAX_HEAD_LEN))), "b");
    assert_eq!(both(&format!("\x1b]21;{}\x07b", "A".repeat(3 * MAX_HEAD_LEN))), "b");
    let (mut filter, mut passed) = (Filter::default(), Filtered::default());
    filter.feed(&picture.as_bytes()[..MAX_HEAD_LEN * 2], &mut passed);
    assert!(filter.is_within());
    assert_eq!(filter.interrupt(), b"\x18\x1b\\");
    passed.clear();
    filter.feed(&picture.as_bytes()[MAX_HEAD_LEN * 2..], &mut passed);
    assert_eq!(passed.bytes, b"b");
    assert!(!filter.is_within() && filter.interrupt().is_empty());
}

#[test]
fn titles_of_windows_are_strings_there_only() {
    let (mut filter, mut passed) = (Filter::new("screen-256color"), Filtered::default());
    filter.feed(b"\x1bka\x1b\\b", &mut passed);
    let kinds: Vec<_> = passed.pieces().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [PieceKind::String(Text::Title), PieceKind::Text]);
    assert_eq!(both("\x1bka\x1b\\b"), "\x1bka\x1b\\b");
}

fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => proptest::sample::select(vec![
            &b"\x1b["[..], b"\x1b]", b"\x1bP", b"\x1b_", b"\x1b\\", b"\x07", b"\x18", b"52;c;", b"21t", b"\x05",
            b"\xc2\x9b", b"\x9d", b"\xc2", b"\x1b", b"?38h", b"$q", b"5i", b"\xe2\x82", b"\n", b"2l", b"?",
        ]).prop_map(<[u8]>::to_vec),
        1 => proptest::collection::vec(any::<u8>(), 0..6),
    ];
    proptest::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn reads_make_no_difference(bytes in hostile(), cuts in proptest::collection::vec(1usize..9, 1..40)) {
        let mut chunks = Vec::new();
        let mut rest = &bytes[..];
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, after) = rest.split_at((*cut).min(rest.len()));
            chunks.push(chunk);
            rest = after;
        }
        prop_assert_eq!(sifted(&chunks), sifted(&[&bytes]));
    }

    /// Filtering is idempotent, so nothing refused is hidden in what passes.
    #[test]
    fn no_dropped_sequence_is_left_in_the_output(bytes in hostile()) {
        let once = sifted(&[&bytes]);
        prop_assert_eq!(&sifted(&[&once]), &once);
        prop_assert!(!once.contains(&ENQ));
    }
}
