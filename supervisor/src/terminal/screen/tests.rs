use proptest::prelude::*;

use super::super::filter::Filter;
use super::*;

fn shown(text: &[u8], size: (u16, u16)) -> ScreenModel {
    let (mut filter, mut model, mut passed) =
        (Filter::default(), ScreenModel::new(size, false), Filtered::default());
    filter.feed(text, &mut passed);
    model.feed(&passed);
    model
}

/// Draws the model to a terminal that shows something else before.
fn drawn(model: &ScreenModel) -> vt100::Parser {
    let (rows, columns) = model.size();
    let mut parser = vt100::Parser::new(rows, columns, 0);
    parser.process(b"\x1b[?1049h\x1b[44;1mcovered covered covered\x1b[2;1Hcovered");
    parser.process(b"\x1b[?7l");
    parser.process(&model.rows(0..rows));
    parser.process(&model.cursor());
    parser
}

fn text(bytes: &str) -> (String, bool) {
    let model = shown(format!("\x1b[?1049h\x1b[H\x1b[2J{bytes}").as_bytes(), (4, 12));
    let drawn = drawn(&model);
    (drawn.screen().contents(), model.is_certain())
}

#[test]
fn sequences_unknown_to_vt100_are_translated() {
    for (bytes, expected) in [
        ("a\x1b[3bb", "aaaab"),
        ("\x1b(0lqk\x1b(Bx", "┌─┐x"),
        ("\x1b)0\x0elqk\x0fx", "┌─┐x"),
        ("world\r\x1b[4hhello ", "hello world"),
        ("\x1b[?7l0123456789abcdef", "0123456789af"),
        ("\x1b[2;3fx\x1b[5`y\x1b[1ez", "\n  x y\n     z"),
        ("a\x1b[Ib\x1b[Zc", "a       c"),
        ("one\x1bEtwo\x1bDthree", "one\ntwo\n   three"),
        ("a\x1b[s\x1b[3;3Hb\x1b[uc", "ac\n\n  b"),
        ("1\r\n2\r\n3\x1b[2;1H\x1b[9Lx", "1\nx"),
    ] {
        assert_eq!(text(bytes), (expected.to_owned(), true), "{bytes:?}");
    }
}

#[test]
fn sequences_that_cannot_be_modelled_make_the_screen_uncertain() {
    for bytes in [
        "\x1b[9mstruck",
        "\x1b[4:3mcurly",
        "\x1b[58;5;1mcolour",
        "\x1b]8;;http://a/\x07link",
        "\x1b#6wide",
        "\x1b#8",
        "\x1bPq~\x1b\\",
        "\x1b[41m\n\n\n\n\n",
        "\x1b[?69h",
        "\x1b[2 @",
        "\x1bHtab",
    ] {
        assert!(!text(bytes).1, "{bytes:?}");
    }
    assert!(text("\x1b[9mstruck\x1b[m\x1b[2Jnew").1);
}

#[test]
fn the_screen_that_scrolls_is_not_kept() {
    let model = shown(b"text", (4, 12));
    assert!(!model.is_tracked() && !model.is_drawn());
    let model = shown(b"\x1b[?1049hx\x1b[?1049l", (4, 12));
    assert!(!model.is_tracked() && !model.is_drawn());
    let model = shown(b"\x1b[?1049hx", (u16::MAX, u16::MAX));
    assert!(model.is_tracked() && !model.is_drawn() && !model.is_certain());
    assert!(!shown(b"\x1b[?47hx", (4, 12)).is_certain());
}

fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![0u16..30, Just(u16::MAX)];
    let csi = (number.clone(), number, proptest::sample::select(b"@ABCDEFGHIJKLMPSTXZ`abdefhlmrsu".to_vec()))
        .prop_map(|(one, two, last)| format!("\x1b[{one};{two}{}", last as char).into_bytes());
    let mode = (proptest::sample::select(vec![1, 3, 6, 7, 25, 47, 69, 1047, 1048, 1049]), any::<bool>())
        .prop_map(|(mode, set)| format!("\x1b[?{mode}{}", if set { 'h' } else { 'l' }).into_bytes());
    let text = proptest::sample::select(vec![
        "a",
        "日本",
        "e\u{301}",
        "\r\n",
        "\t",
        "\x08",
        "\n\n\n",
        "long text that wraps at the end",
        "\x0e",
        "\x0f",
        "\x1b7",
        "\x1b8",
        "\x1bM",
        "\x1bD",
        "\x1bE",
        "\x1bc",
        "\x1b(0",
        "\x1b(B",
        "\x1b[4h",
        "\u{200d}",
    ]);
    let part = prop_oneof![
        6 => csi,
        1 => mode,
        6 => text.prop_map(|text| text.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..8),
    ];
    proptest::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    /// No output of a command may end the front, whatever the size.
    #[test]
    fn no_output_ends_the_screen_model(bytes in hostile(), rows in 1u16..8, columns in 1u16..14, later in (1u16..8, 1u16..14)) {
        let bytes = [b"\x1b[?1049h", &bytes[..]].concat();
        let mut model = shown(&bytes, (rows, columns));
        model.resize(later);
        model.rows(0..rows.max(later.0));
        model.cursor();
        model.cursor_position();
    }

    /// Rows drawn from the model have the same content as the model.
    #[test]
    fn rows_are_drawn_as_they_were(bytes in hostile()) {
        let bytes = [b"\x1b[?1049h\x1b[H\x1b[2J", &bytes[..]].concat();
        let model = shown(&bytes, (6, 12));
        prop_assume!(model.is_drawn());
        let (expected, drawn) = (model.screen.as_ref().unwrap().parser.screen(), drawn(&model));
        for row in 0..6 {
            for column in 0..12 {
                let cell = |screen: &vt100::Screen| {
                    let cell = screen.cell(row, column).unwrap();
                    (cell.contents().to_owned(), cell.fgcolor(), cell.bgcolor(), cell.bold(), cell.inverse())
                };
                prop_assert_eq!(cell(expected), cell(drawn.screen()), "row {} column {}", row, column);
            }
        }
    }
}
