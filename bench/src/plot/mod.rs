//! `guard-bench plot`: pictures of the results.

mod svg;

use crate::cli::Plot;
use crate::error::{Context, Error};
use crate::report::{Figures, Report};
use crate::results::read;
use crate::scale::{Results, work::Rate};
use svg::{Bar, Group, Line, bars, lines};

/// Draws what there are results for.
///
/// # Errors
/// When results cannot be read or a picture not be written.
pub fn run(options: &Plot) -> Result<(), Error> {
    let (from, to) = (&options.results, &options.pictures);
    std::fs::create_dir_all(to).context(|| to.display().to_string())?;
    let mut pictures = Vec::new();
    for name in ["overhead", "peers"] {
        if let Some(report) = read::<Report>(&from.join(format!("{name}.json")))? {
            pictures.push((name, ratios(&report)));
            if name == "peers" {
                pictures.push(("latency", latency(&report, "open")));
            }
        }
    }
    if let Some(results) = read::<Results>(&from.join("scale.json"))? {
        pictures.extend(growth(&results));
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

/// How many times the native time each row takes in each way.
fn ratios(report: &Report) -> String {
    let bar = |figures: &Figures| Some(Bar { name: figures.way.clone(), value: figures.ratio? });
    let group = |line: &crate::report::Line| Group {
        name: line.what.clone(),
        bars: line.ways.iter().filter_map(bar).collect(),
    };
    let groups: Vec<_> = report.rows.iter().map(group).collect();
    bars("times the native time", &groups)
}

/// How many of the calls of a row took how long.
fn latency(report: &Report, name: &str) -> String {
    let ways = report.rows.iter().find(|line| line.name == name).map_or(&[][..], |line| &line.ways);
    let curve = |figures: &Figures| {
        let histogram = figures.histogram.as_ref()?;
        let all: u64 = histogram.buckets().map(|(_, count)| count).sum();
        let mut left = all;
        let points = histogram.buckets().map(|(bound, count)| {
            let point = (bound as f64 / 1e3, 100.0 * left as f64 / all as f64);
            left -= count;
            point
        });
        Some(Line { name: figures.way.clone(), points: points.collect() })
    };
    let curves: Vec<_> = ways.iter().filter_map(curve).collect();
    lines(("µs for one open and close", "% of calls that took so long or longer"), &curves)
}

fn growth(results: &Results) -> Vec<(&'static str, String)> {
    let of = |name: &str, points: Vec<(usize, f64)>| Line {
        name: name.to_owned(),
        points: points.into_iter().map(|(n, value)| (n as f64, value)).collect(),
    };
    let callers = |native: bool, value: fn(&Rate) -> f64| {
        let rate = |pair: &crate::scale::Pair<Rate>| value(if native { &pair.native } else { &pair.guarded });
        results.callers.iter().map(|pair| (pair.n, rate(pair))).collect()
    };
    let thousands = |rate: &Rate| rate.per_second / 1e3;
    let p99 = |rate: &Rate| rate.p99 / 1e3;
    let processes = |value: fn(&crate::scale::Processes) -> f64| {
        results.processes.iter().map(|own| (own.n, value(own))).collect()
    };
    let rules = |value: fn(&crate::scale::Rules) -> f64| {
        results.rules.iter().map(|own| (own.n, value(own))).collect()
    };
    let depth = |native: bool| {
        let value = |pair: &crate::scale::Pair<f64>| if native { pair.native } else { pair.guarded };
        results.depth.iter().map(|pair| (pair.n, value(pair) / 1e3)).collect()
    };
    vec![
        (
            "throughput",
            lines(
                ("callers", "thousand open + close in a second"),
                &[of("native", callers(true, thousands)), of("guarded", callers(false, thousands))],
            ),
        ),
        (
            "tail",
            lines(
                ("callers", "µs, 99 of 100 calls"),
                &[of("native", callers(true, p99)), of("guarded", callers(false, p99))],
            ),
        ),
        (
            "processes",
            lines(
                ("processes at the same time", "µs to start one"),
                &[
                    of("native", processes(|own| own.native / 1e3)),
                    of("guarded", processes(|own| own.guarded / 1e3)),
                ],
            ),
        ),
        (
            "resident",
            lines(
                ("processes at the same time", "MiB of the guard's own"),
                &[of("guard", processes(|own| own.resident as f64 / 1024.0))],
            ),
        ),
        (
            "rules",
            lines(
                ("rules", "µs"),
                &[of("open + close", rules(|own| own.open / 1e3)), of("start", rules(|own| own.start / 1e3))],
            ),
        ),
        (
            "depth",
            lines(
                ("components of the path", "µs for open + close"),
                &[of("native", depth(true)), of("guarded", depth(false))],
            ),
        ),
    ]
}
