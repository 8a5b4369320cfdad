//! Two kinds of pictures as SVG: bars beside each other, and curves. Both on logarithmic scales.

use std::fmt::Write as _;

/// Bars of one thing.
pub struct Group {
    /// What.
    pub name: String,
    /// From top to bottom.
    pub bars: Vec<Bar>,
}

/// One bar.
pub struct Bar {
    /// Whose.
    pub name: String,
    /// How long.
    pub value: f64,
}

/// One curve.
pub struct Line {
    /// Whose.
    pub name: String,
    /// From left to right.
    pub points: Vec<(f64, f64)>,
}

/// Colours that differ for those who see no red or green (Okabe and Ito).
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"];

/// Horizontal bars in groups; longer is more, and a stroke stands at 1.
pub fn bars(title: &str, groups: &[Group]) -> String {
    const LEFT: f64 = 260.0;
    const WIDTH: f64 = 420.0;
    const BAR: f64 = 13.0;
    let most = groups.iter().flat_map(|group| &group.bars).map(|bar| bar.value).fold(2.0, f64::max);
    let least = groups.iter().flat_map(|group| &group.bars).map(|bar| bar.value).fold(1.0, f64::min);
    let scale = Scale { from: least, to: most, start: LEFT, length: WIDTH };
    let mut names: Vec<&str> = Vec::new();
    for bar in groups.iter().flat_map(|group| &group.bars) {
        if !names.contains(&bar.name.as_str()) {
            names.push(&bar.name);
        }
    }
    let colour =
        |name: &str| COLOURS[names.iter().position(|known| *known == name).unwrap_or(0) % COLOURS.len()];
    let mut body = String::new();
    let mut y = 30.0;
    for group in groups.iter().filter(|group| !group.bars.is_empty()) {
        let middle = y + group.bars.len() as f64 * BAR / 2.0 + 4.0;
        text(&mut body, (LEFT - 8.0, middle), "end", &group.name);
        for bar in &group.bars {
            let (one, end) = (scale.at(1.0), scale.at(bar.value));
            let (x, width) = (one.min(end), (end - one).abs().max(1.0));
            let colour = colour(&bar.name);
            let _ = writeln!(
                body,
                r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{:.1}" fill="{colour}"/>"#,
                BAR - 2.0
            );
            text(
                &mut body,
                (one.max(end) + 4.0, y + 10.0),
                "start",
                &format!("{:.2} {}", bar.value, bar.name),
            );
            y += BAR;
        }
        y += 8.0;
    }
    let one = scale.at(1.0);
    let _ = writeln!(body, r##"<path d="M{one:.1} 24V{y:.1}" stroke="#333"/>"##);
    text(&mut body, (LEFT, 16.0), "start", title);
    picture(LEFT + WIDTH + 120.0, y + 10.0, &body)
}

/// Curves over a horizontal and a vertical scale, which are named.
pub fn lines((across, up): (&str, &str), curves: &[Line]) -> String {
    const LEFT: f64 = 64.0;
    const TOP: f64 = 32.0;
    const WIDTH: f64 = 460.0;
    const HEIGHT: f64 = 260.0;
    let points = || curves.iter().flat_map(|curve| &curve.points).filter(|(x, y)| *x > 0.0 && *y > 0.0);
    let range = |value: fn(&(f64, f64)) -> f64| {
        let values = || points().map(value);
        (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max))
    };
    if points().next().is_none() {
        return picture(LEFT + WIDTH, TOP, "");
    }
    let ((left, right), (low, high)) = (range(|point| point.0), range(|point| point.1));
    let x = Scale { from: left, to: right, start: LEFT, length: WIDTH };
    let y = Scale { from: decade_below(low), to: decade_above(high), start: TOP + HEIGHT, length: -HEIGHT };
    let mut body = String::new();
    for tick in y.ticks() {
        let at = y.at(tick);
        let _ = writeln!(body, r##"<path d="M{LEFT} {at:.1}h{WIDTH}" stroke="#ddd"/>"##);
        text(&mut body, (LEFT - 6.0, at + 4.0), "end", &number(tick));
    }
    for tick in x.ticks() {
        text(&mut body, (x.at(tick), TOP + HEIGHT + 16.0), "middle", &number(tick));
    }
    text(&mut body, (LEFT + WIDTH / 2.0, TOP + HEIGHT + 34.0), "middle", across);
    text(&mut body, (8.0, 16.0), "start", up);
    for (index, curve) in curves.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let inside: Vec<_> = curve.points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).collect();
        let path: Vec<_> =
            inside.iter().map(|point| format!("{:.1},{:.1}", x.at(point.0), y.at(point.1))).collect();
        let _ = writeln!(
            body,
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"/>"#,
            path.join(" ")
        );
        let at = TOP + 8.0 + index as f64 * 16.0;
        let _ = writeln!(
            body,
            r#"<rect x="{:.1}" y="{:.1}" width="12" height="4" fill="{colour}"/>"#,
            LEFT + WIDTH + 10.0,
            at - 6.0
        );
        text(&mut body, (LEFT + WIDTH + 26.0, at), "start", &curve.name);
    }
    picture(LEFT + WIDTH + 120.0, TOP + HEIGHT + 44.0, &body)
}

/// From values to places, by their logarithms.
struct Scale {
    from: f64,
    to: f64,
    start: f64,
    length: f64,
}

impl Scale {
    fn at(&self, value: f64) -> f64 {
        let span = (self.to / self.from).ln();
        // A scale of one value only.
        let share = if span > 0.0 { (value / self.from).ln() / span } else { 0.0 };
        self.start + share * self.length
    }

    /// Powers of ten on the scale, with what lies between where those are few, and both ends where there is none.
    fn ticks(&self) -> Vec<f64> {
        let (first, last) = (self.from.log10().floor() as i32, self.to.log10().ceil() as i32);
        let steps: &[f64] = if last - first > 3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let all = (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        let on: Vec<_> = all.filter(|tick| (self.from * 0.999..=self.to * 1.001).contains(tick)).collect();
        if on.is_empty() { vec![self.from, self.to] } else { on }
    }
}

fn decade_below(value: f64) -> f64 {
    10f64.powf(value.log10().floor())
}

fn decade_above(value: f64) -> f64 {
    10f64.powf(value.log10().ceil())
}

fn number(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

fn text(body: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(body, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#);
}

fn picture(width: f64, height: f64, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{body}</svg>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::{Bar, Group, Line, Scale, bars, lines};

    #[test]
    fn a_scale_goes_from_end_to_end_and_its_ticks_lie_on_it() {
        let scale = Scale { from: 1.0, to: 1000.0, start: 10.0, length: 300.0 };
        let places = [1.0, 10.0, 1000.0].map(|value| scale.at(value).round());
        assert_eq!(places, [10.0, 110.0, 310.0]);
        assert_eq!(scale.ticks(), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]);
        let narrow = Scale { from: 3.0, to: 4.0, start: 0.0, length: 1.0 };
        assert_eq!(narrow.ticks(), [3.0, 4.0]);
        assert_eq!(Scale { from: 3.0, to: 3.0, start: 7.0, length: 1.0 }.at(3.0), 7.0);
    }

    #[test]
    fn pictures_hold_all_that_is_in_the_results_as_numbers() {
        let group = Group {
            name: "a < b & c".to_owned(),
            bars: vec![Bar { name: "x".to_owned(), value: 0.5 }, Bar { name: "y".to_owned(), value: 3.0 }],
        };
        let picture = bars("times", &[group]);
        assert!(
            picture.contains("a &lt; b &amp; c") && picture.contains("0.50 x") && picture.contains("3.00 y")
        );
        let curve = Line { name: "z".to_owned(), points: vec![(1.0, 2.0), (10.0, 0.0), (100.0, 20.0)] };
        let picture = picture_of(&[curve]);
        assert_eq!(picture.matches("<polyline").count(), 1);
        for picture in [picture, picture_of(&[]), bars("none", &[])] {
            assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
        }
    }

    fn picture_of(curves: &[Line]) -> String {
        lines(("across", "up"), curves)
    }
}
