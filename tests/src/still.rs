//! Pictures of a terminal as SVG: one, or some that follow each other.

use std::fmt::Write;
use std::time::Duration;

use vt100::Color;

/// The size of a cell.
const WIDTH: f32 = 8.0;
const HEIGHT: f32 = 18.0;
const MARGIN: f32 = 12.0;

const INK: &str = "#d7dae0";
const PAPER: &str = "#16181d";

/// The 16 colours that have names.
const NAMED: [&str; 16] = [
    "#3b4048", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0", "#5c6370",
    "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#ffffff",
];

/// How cells are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    ink: Color,
    paper: Color,
    is_bold: bool,
    is_dim: bool,
    is_reversed: bool,
}

/// Neighbours in a row that are drawn alike.
#[derive(Clone, Debug)]
struct Run {
    column: u16,
    cells: u16,
    text: String,
    look: Look,
}

/// What a terminal shows at one time, with its colours.
#[derive(Clone, Debug)]
pub struct Still {
    columns: u16,
    rows: Vec<Vec<Run>>,
}

impl Still {
    pub(crate) fn new(screen: &vt100::Screen) -> Still {
        let (rows, columns) = screen.size();
        let row = |row| {
            let mut runs: Vec<Run> = Vec::new();
            for column in 0..columns {
                let Some(cell) = screen.cell(row, column).filter(|cell| !cell.is_wide_continuation()) else {
                    runs.last_mut().expect("the other half").cells += 1;
                    continue;
                };
                let look = Look {
                    ink: cell.fgcolor(),
                    paper: cell.bgcolor(),
                    is_bold: cell.bold(),
                    is_dim: cell.dim(),
                    is_reversed: cell.inverse(),
                };
                let text = if cell.has_contents() { cell.contents() } else { " " };
                match runs.last_mut().filter(|run| run.look == look) {
                    Some(run) => {
                        run.text.push_str(text);
                        run.cells += 1;
                    }
                    None => runs.push(Run { column, cells: 1, text: text.to_owned(), look }),
                }
            }
            runs
        };
        Still { columns, rows: (0..rows).map(row).collect() }
    }

    /// The same with another text in each run. What is right of a run stays where it is.
    #[must_use]
    pub fn with_text(mut self, changed: impl Fn(&str) -> String) -> Still {
        for run in self.rows.iter_mut().flatten() {
            let text = changed(run.text.trim_end());
            let cells = text.chars().count();
            run.text = text + &" ".repeat(usize::from(run.cells).saturating_sub(cells));
        }
        self
    }

    /// The same without blank rows at the top.
    #[must_use]
    pub fn without_blank_top(mut self) -> Still {
        let is_blank = |row: &Vec<Run>| row.iter().all(|run| run.text.trim().is_empty());
        let blank = self.rows.iter().take_while(|row| is_blank(row)).count();
        self.rows.drain(..blank);
        self
    }

    /// Each row as text.
    #[must_use]
    pub fn text(&self) -> Vec<String> {
        let row = |row: &Vec<Run>| row.iter().map(|run| run.text.as_str()).collect::<String>();
        self.rows.iter().map(|runs| row(runs).trim_end().to_owned()).collect()
    }

    /// One picture. The label says what it shows.
    #[must_use]
    pub fn svg(&self, label: &str) -> String {
        document(label, self, &self.drawn())
    }

    fn drawn(&self) -> String {
        let mut svg = String::new();
        let mut top = MARGIN;
        for run in self.rows.iter().flat_map(|row| row.iter().map(Some).chain([None])) {
            let Some(run) = run else {
                top += HEIGHT;
                continue;
            };
            let (mut ink, mut paper) =
                (name(run.look.ink).unwrap_or_else(|| INK.to_owned()), name(run.look.paper));
            if run.look.is_reversed {
                (ink, paper) = (paper.unwrap_or_else(|| PAPER.to_owned()), Some(ink));
            }
            let left = MARGIN + f32::from(run.column) * WIDTH;
            let width = f32::from(run.cells) * WIDTH;
            if let Some(paper) = paper {
                let _ = writeln!(
                    svg,
                    r#"<rect x="{left}" y="{top}" width="{width}" height="{HEIGHT}" fill="{paper}"/>"#
                );
            }
            let text = run.text.trim_end();
            if !text.is_empty() {
                let mut look = String::new();
                if ink != INK {
                    let _ = write!(look, r#" fill="{ink}""#);
                }
                if run.look.is_bold {
                    look.push_str(r#" font-weight="bold""#);
                }
                if run.look.is_dim {
                    look.push_str(r#" fill-opacity="0.6""#);
                }
                // Stretches the text to the width of its cells, whatever the font.
                let blank = run.text.chars().count() - text.chars().count();
                let wide = width - f32::from(u16::try_from(blank).expect("a row")) * WIDTH;
                let _ = writeln!(
                    svg,
                    r#"<text x="{left}" y="{}" textLength="{wide}" xml:space="preserve"{look}>{}</text>"#,
                    top + 0.75 * HEIGHT,
                    escaped(text)
                );
            }
        }
        svg
    }
}

/// Stills that are shown for some time each, one after the other, for ever. Where nothing moves, one of them is shown.
///
/// # Panics
/// If there are no stills.
#[must_use]
pub fn recording(label: &str, stills: &[(Still, Duration)], lasting: usize) -> String {
    let whole: f32 = stills.iter().map(|(_, time)| time.as_secs_f32()).sum();
    let mut body = String::from("<style>\n.still { visibility: hidden }\n");
    let _ = writeln!(body, "#still-{lasting} {{ visibility: visible }}");
    body.push_str("@media (prefers-reduced-motion: no-preference) {\n");
    let mut start = 0.0;
    for (at, (_, time)) in stills.iter().enumerate() {
        let end = start + time.as_secs_f32();
        let (from, to) = (100.0 * start / whole, 100.0 * end / whole);
        // Each step lasts until the next one.
        let _ = writeln!(
            body,
            "@keyframes still-{at} {{ 0% {{ visibility: hidden }} {from:.2}% {{ visibility: visible }} {to:.2}% {{ visibility: hidden }} }}\n\
             #still-{at} {{ animation: still-{at} {whole}s step-end infinite }}"
        );
        start = end;
    }
    body.push_str("}\n</style>\n");
    for (at, (still, _)) in stills.iter().enumerate() {
        let _ = writeln!(body, r#"<g class="still" id="still-{at}">"#);
        body.push_str(&still.drawn());
        body.push_str("</g>\n");
    }
    document(label, &stills.first().expect("a still").0, &body)
}

fn document(label: &str, size: &Still, body: &str) -> String {
    let count = f32::from(u16::try_from(size.rows.len()).expect("a terminal"));
    let (width, height) = (f32::from(size.columns) * WIDTH + 2.0 * MARGIN, count * HEIGHT + 2.0 * MARGIN);
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{}">
<rect width="100%" height="100%" rx="6" fill="{PAPER}"/>
<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="13" fill="{INK}">
{body}</g>
</svg>
"#,
        escaped(label)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The colour as SVG writes it, and nothing for the terminal's own.
fn name(color: Color) -> Option<String> {
    let level = |level: u8| if level == 0 { 0 } else { 55 + 40 * level };
    Some(match color {
        Color::Default => return None,
        Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
        Color::Idx(index @ 0..16) => NAMED[usize::from(index)].to_owned(),
        Color::Idx(index @ 16..232) => {
            let index = index - 16;
            let (red, green, blue) = (level(index / 36), level(index / 6 % 6), level(index % 6));
            format!("#{red:02x}{green:02x}{blue:02x}")
        }
        Color::Idx(index) => {
            let grey = 8 + 10 * (index - 232);
            format!("#{grey:02x}{grey:02x}{grey:02x}")
        }
    })
}
