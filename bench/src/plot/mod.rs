//! `guard-bench plot`: draws the results.

mod svg;

use crate::cli::Plot;
use crate::error::{Context, Error};
use crate::report::{Figures, Report};
use crate::results::read;
use crate::scale::{Pair, Results};
use svg::{Named, bars, lines};

/// Draws all results that exist.
///
/// # Errors
/// If results cannot be read or a picture cannot be written.
pub fn run(options: &Plot) -> Result<(), Error> {
    let (from, to) = (&options.results, &options.pictures);
    std::fs::create_dir_all(to).context(|| to.display().to_string())?;
    let mut pictures = Vec::new();
    for name in ["overhead", "peers"] {
        if let Some(report) = read::<Report>(&from.join(format!("{name}.json")))? {
            pictures.push((name, ratios(&report)?));
            if name == "peers" {
                pictures.push(("latency", latency(&report, "open")?));
            }
        }
    }
    if let Some(results) = read::<Results>(&from.join("scale.json"))? {
        pictures.extend(growth(&results)?);
    }
    if pictures.is_empty() {
        return Err(Error::new(format!("there are no results in {}", from.display())));
    }
    for (name, picture) in pictures {
        let path = to.join(format!("{name}.svg"));
        std::fs::write(&path, picture).context(|| path.display().to_string())?;
        eprintln!("guard-bench: {}", path.display());
    }
    Ok(())
}

/// Draws the ratio to the native time, for each row and way.
fn ratios(report: &Report) -> Result<String, Error> {
    let bar = |figures: &Figures| Some((figures.way.clone(), figures.ratio?));
    let rows = report.rows.iter().map(|row| (row.what.clone(), row.ways.iter().filter_map(bar).collect()));
    bars("times the native time", &rows.collect::<Vec<_>>())
}

/// Draws the distribution of a row's latencies.
fn latency(report: &Report, name: &str) -> Result<String, Error> {
    let ways = report.rows.iter().find(|row| row.name == name).map_or(&[][..], |row| &row.ways);
    let curve = |figures: &Figures| {
        let histogram = figures.histogram.as_ref()?;
        let all = histogram.count() as f64;
        let mut left = all;
        let points = histogram.buckets().map(|(bound, count)| {
            let point = (bound as f64 / 1e3, 100.0 * left / all);
            left -= count as f64;
            point
        });
        Some((figures.way.clone(), points.collect()))
    };
    let curves: Vec<_> = ways.iter().filter_map(curve).collect();
    lines(("µs for one open and close", "% of calls that took so long or longer"), &curves)
}

type Curve = Named<Vec<(f64, f64)>>;

fn growth(results: &Results) -> Result<Vec<(&'static str, String)>, Error> {
    let Results { callers, processes, rules, depth, .. } = results;
    let at_once = "processes at the same time";
    let drawn = [
        (
            "throughput",
            ("callers", "thousand open + close in a second"),
            both(callers, |rate| rate.per_second / 1e3),
        ),
        ("tail", ("callers", "µs, 99 of 100 calls"), both(callers, |rate| rate.p99 / 1e3)),
        (
            "processes",
            (at_once, "µs to start one"),
            vec![
                curve("native", processes, |own| (own.n, own.native / 1e3)),
                curve("guarded", processes, |own| (own.n, own.guarded / 1e3)),
            ],
        ),
        (
            "resident",
            (at_once, "MiB of the guard's own"),
            vec![curve("guard", processes, |own| (own.n, own.resident as f64 / 1024.0))],
        ),
        (
            "rules",
            ("rules", "µs"),
            vec![
                curve("open + close", rules, |own| (own.n, own.open / 1e3)),
                curve("start", rules, |own| (own.n, own.start / 1e3)),
            ],
        ),
        ("depth", ("components of the path", "µs for open + close"), both(depth, |each| each / 1e3)),
    ];
    drawn.into_iter().map(|(name, scales, curves)| Ok((name, lines(scales, &curves)?))).collect()
}

fn both<T>(pairs: &[Pair<T>], value: fn(&T) -> f64) -> Vec<Curve> {
    vec![
        curve("native", pairs, |pair| (pair.n, value(&pair.native))),
        curve("guarded", pairs, |pair| (pair.n, value(&pair.guarded))),
    ]
}

fn curve<T>(name: &str, measured: &[T], point: impl Fn(&T) -> (usize, f64)) -> Curve {
    let points = measured.iter().map(point).map(|(n, value)| (n as f64, value));
    (name.to_owned(), points.collect())
}
