//! The picture of a prompt in README.md, drawn from a real prompt. BLESS=1 writes it.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use guard_tests::{Replies, sources};

use crate::session::{Session, world};

/// Rows and columns.
const SIZE: (u16, u16) = (14, 110);
/// The size of a cell.
const WIDTH: f32 = 8.0;
const HEIGHT: f32 = 18.0;
const MARGIN: f32 = 12.0;

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Draws the rows of a terminal, with reversed rows as bars.
fn drawn(rows: &[(String, bool)]) -> String {
    let columns = f32::from(SIZE.1) * WIDTH;
    let count = f32::from(u16::try_from(rows.len()).expect("a terminal"));
    let (width, height) = (columns + 2.0 * MARGIN, count * HEIGHT + 2.0 * MARGIN);
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="a question of openclaw-guard on a terminal">
<rect width="100%" height="100%" rx="6" fill="#16181d"/>
<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="13" fill="#d7dae0">
"##
    );
    let mut top = MARGIN;
    for (text, is_reversed) in rows {
        let (baseline, text) = (top + 0.75 * HEIGHT, text.trim_end());
        if *is_reversed {
            let _ = writeln!(
                svg,
                r##"<rect x="{MARGIN}" y="{top}" width="{columns}" height="{HEIGHT}" fill="#d7dae0"/>"##
            );
        }
        if !text.is_empty() {
            let look = if *is_reversed { r##" font-weight="bold" fill="#16181d""## } else { "" };
            // Stretches the text to the width of its cells, whatever the font.
            let wide = f32::from(u16::try_from(text.chars().count()).expect("a row")) * WIDTH;
            let _ = writeln!(
                svg,
                r#"<text x="{MARGIN}" y="{baseline}" textLength="{wide}" xml:space="preserve"{look}>{}</text>"#,
                escaped(text)
            );
        }
        top += HEIGHT;
    }
    svg + "</g>\n</svg>\n"
}

/// Replaces the placeholders of a snapshot by a home and plausible numbers.
fn readable(text: &str) -> String {
    let text = text.replace("/tmp/guard-XXXXXX/", "/home/u/").replace("999 s left", "118 s left");
    text.replace("bash 999 < bash 999", "bash 4211 < bash 4187")
}

#[test]
fn the_picture_is_of_a_real_prompt() {
    let world = world();
    let deploy = world.write("bin/deploy", fs::read("/bin/echo").expect("echo"));
    fs::set_permissions(deploy, fs::Permissions::from_mode(0o755)).expect("to change a mode");
    let mut session = Session::on(&world, SIZE, Replies::Given, "xterm-256color");
    session.line("../bin/deploy --to production");
    let picture = session.prompted();
    let text = session.snapshot(&picture);
    let rows: Vec<_> = text
        .lines()
        .map(str::to_owned)
        .chain(std::iter::repeat(String::new()))
        .zip(session.emulator.rows())
        .skip_while(|(text, _)| text.trim().is_empty())
        .map(|(text, (_, is_reversed))| (readable(&text), is_reversed))
        .collect();
    session.answer("n");
    session.unprompted();
    session.leave();
    let svg = drawn(&rows);
    let path = sources().join("../docs/prompt.svg");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, svg).expect("to write a picture");
        return;
    }
    let known = fs::read_to_string(&path).expect("a picture: BLESS=1 writes it");
    assert_eq!(svg, known, "{}: BLESS=1 writes it", path.display());
}
