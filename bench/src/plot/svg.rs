//! Two kinds of SVG pictures, grouped bars and curves, on logarithmic scales.

use std::iter::once;
use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::combinators::{LogCoord, WithKeyPoints};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::error::{Context, Error};

/// A value with its label.
pub type Named<T> = (String, T);

/// Colours that people with red-green blindness can tell apart (Okabe and Ito), and grey.
const COLOURS: [u32; 9] =
    [0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x000000, 0x999999, 0xf0e442];
const FONT: (&str, u32) = ("sans-serif", 14);

type Drawn = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Draws groups of horizontal bars. A line marks the value 1.
///
/// # Errors
/// If the picture cannot be drawn.
pub fn bars(title: &str, groups: &[Named<Vec<Named<f64>>>]) -> Result<String, Error> {
    const LEFT: i32 = 260;
    const TOP: i32 = 24;
    const BAR: f64 = 13.0;
    /// The gap between two groups, as a fraction of a bar.
    const GAP: f64 = 0.6;
    let groups: Vec<_> = groups.iter().filter(|(_, bars)| !bars.is_empty()).collect();
    let all = || groups.iter().flat_map(|(_, bars)| bars);
    let least = all().map(|bar| bar.1).fold(1.0, f64::min);
    let most = all().map(|bar| bar.1).fold(2.0, f64::max);
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in all() {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let rows = all().count() as f64 + groups.len() as f64 * GAP;
    picture((800, TOP as u32 + (rows * BAR) as u32 + 10), |root| {
        root.draw(&Text::new(title, (LEFT, 6), FONT))?;
        let mut chart = ChartBuilder::on(root)
            .margin_top(TOP)
            .margin_bottom(10)
            .margin_left(LEFT)
            .margin_right(120)
            .build_cartesian_2d((least..most).log_scale(), 0.0..rows)?;
        // Rows are counted from the top.
        let mut top = rows;
        for (name, bars) in &groups {
            let middle = (least, top - bars.len() as f64 / 2.0);
            let label = Text::new(name.clone(), (-8, 0), text(HPos::Right));
            chart.draw_series(once(EmptyElement::at(middle) + label))?;
            for (name, value) in bars {
                let (from, to) = (value.min(1.0), value.max(1.0));
                let colour = colour(names.iter().position(|known| known == name).unwrap_or(0));
                chart.draw_series(once(Rectangle::new([(from, top), (to, top - 0.85)], colour.filled())))?;
                let label = Text::new(format!("{value:.2} {name}"), (4, 0), text(HPos::Left));
                chart.draw_series(once(EmptyElement::at((to, top - 0.45)) + label))?;
                top -= 1.0;
            }
            top -= GAP;
        }
        chart.draw_series(once(PathElement::new([(1.0, 0.0), (1.0, rows)], BLACK)))?;
        Ok(())
    })
}

/// Draws curves over two labelled axes.
///
/// # Errors
/// If the picture cannot be drawn.
pub fn lines((across, up): (&str, &str), curves: &[Named<Vec<(f64, f64)>>]) -> Result<String, Error> {
    const SIZE: (u32, u32) = (680, 340);
    const LEGEND: u32 = 120;
    // Values without a logarithm are left out.
    let on_scale = |point: &&(f64, f64)| point.0 > 0.0 && point.1 > 0.0;
    let points = || curves.iter().flat_map(|(_, points)| points).filter(on_scale);
    let (x, y) = (range(points().map(|point| point.0)), range(points().map(|point| point.1)));
    picture(SIZE, |root| {
        if points().next().is_none() {
            return Ok(());
        }
        let mut chart = ChartBuilder::on(root)
            .margin(10)
            .margin_right(LEGEND)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(scale(x), scale(decades(y)))?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .label_style(FONT)
            .axis_desc_style(FONT)
            .x_label_formatter(&number)
            .y_label_formatter(&number)
            .x_desc(across)
            .y_desc(up)
            .draw()?;
        let legend = (SIZE.0 - LEGEND) as i32 + 10;
        for (index, (name, points)) in curves.iter().enumerate() {
            let style = colour(index).stroke_width(2);
            chart.draw_series(LineSeries::new(points.iter().filter(on_scale).copied(), style))?;
            let y = 18 + 18 * index as i32;
            root.draw(&PathElement::new([(legend, y), (legend + 14, y)], style))?;
            root.draw(&Text::new(name.as_str(), (legend + 20, y), text(HPos::Left)))?;
        }
        Ok(())
    })
}

fn colour(index: usize) -> RGBColor {
    let [_, red, green, blue] = COLOURS[index % COLOURS.len()].to_be_bytes();
    RGBColor(red, green, blue)
}

/// The style of text at one side of a point.
fn text(side: HPos) -> TextStyle<'static> {
    FONT.into_font().color(&BLACK).pos(Pos::new(side, VPos::Center))
}

fn range(values: impl Iterator<Item = f64> + Clone) -> Range<f64> {
    values.clone().fold(f64::INFINITY, f64::min)..values.fold(0.0, f64::max)
}

/// The powers of ten that enclose a range.
fn decades(range: Range<f64>) -> Range<f64> {
    10f64.powf(range.start.log10().floor())..10f64.powf(range.end.log10().ceil())
}

/// A logarithmic scale. It has ticks at powers of ten, at values in between if those are few, and at both ends if there
/// are none.
fn scale(range: Range<f64>) -> WithKeyPoints<LogCoord<f64>> {
    let ticks = ticks(&range);
    range.log_scale().with_key_points(ticks)
}

fn ticks(Range { start, end }: &Range<f64>) -> Vec<f64> {
    let (first, last) = (start.log10().floor() as i32, end.log10().ceil() as i32);
    let steps: &[f64] = if last - first > 3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let all = (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
    let on: Vec<_> = all.filter(|tick| (start * 0.999..=end * 1.001).contains(tick)).collect();
    if on.is_empty() { vec![*start, *end] } else { on }
}

/// The label of a tick, with two significant digits.
fn number(value: &f64) -> String {
    format!("{value:.1e}").parse::<f64>().unwrap_or(*value).to_string()
}

fn picture(
    size: (u32, u32),
    draw: impl FnOnce(&DrawingArea<SVGBackend<'_>, Shift>) -> Drawn,
) -> Result<String, Error> {
    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
    let drawn = root.fill(&WHITE).map_err(Into::into).and_then(|()| draw(&root));
    drawn.and_then(|()| Ok(root.present()?)).context(|| "cannot draw".into())?;
    drop(root);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{Named, bars, lines, number, ticks};

    #[test]
    fn ticks_lie_on_their_scale_and_are_short() {
        let texts = |range| ticks(&range).iter().map(number).collect::<Vec<_>>();
        assert_eq!(texts(1.0..1000.0), ["1", "2", "5", "10", "20", "50", "100", "200", "500", "1000"]);
        assert_eq!(texts(0.001..100.0), ["0.001", "0.01", "0.1", "1", "10", "100"]);
        assert_eq!(texts(3.125..4.0), ["3.1", "4"]);
    }

    #[test]
    fn pictures_hold_all_that_is_in_the_results_as_numbers() {
        let group = ("a < b & c".to_owned(), vec![("x".to_owned(), 0.5), ("y".to_owned(), 3.0)]);
        let picture = bars("times", &[group]).unwrap();
        assert!(
            picture.contains("a &lt; b &amp; c") && picture.contains("0.50 x") && picture.contains("3.00 y")
        );
        let curve = ("z".to_owned(), vec![(1.0, 2.0), (10.0, 0.0), (100.0, 20.0)]);
        let picture = picture_of(&[curve]);
        // Once for the curve, once in the legend.
        assert_eq!(picture.matches("stroke=\"#0072B2\"").count(), 2, "{picture}");
        assert!(
            picture.contains("\nz\n") && picture.contains("across") && picture.contains("up"),
            "{picture}"
        );
        for picture in [picture, picture_of(&[]), bars("none", &[]).unwrap()] {
            assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
        }
    }

    #[test]
    fn a_curve_of_one_point_is_drawn_too() {
        let curve = ("z".to_owned(), vec![(3.0, 4.0)]);
        assert!(picture_of(&[curve]).contains("\nz\n"));
    }

    fn picture_of(curves: &[Named<Vec<(f64, f64)>>]) -> String {
        lines(("across", "up"), curves).unwrap()
    }
}
