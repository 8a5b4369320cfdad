//! The results of a run, as a file and as a table.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::bench_runner::{BenchRunner, ShippedPolicy, Tier};
use crate::histogram::Histogram;
use crate::machine::Machine;
use crate::measure::Series;
use crate::rows::{Goal, Row};
use crate::stats::{median, quantile};
use crate::units::nanoseconds;

/// The results of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The measured machine.
    pub machine: Machine,
    /// The guard's `--version`.
    pub guard: String,
    /// The number of rounds of each row.
    pub rounds: usize,
    /// The rows.
    pub rows: Vec<ReportRow>,
    /// What could not be measured, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportRow {
    /// The row's name.
    pub name: String,
    /// A description of the work.
    pub what: String,
    /// The results of each way, native first.
    pub ways: Vec<Figures>,
}

/// The results of one row in one way. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The way's name.
    pub way: String,
    /// The median over all rounds, for one call or command.
    pub median: f64,
    /// The ratio to the native median; `None` for the native way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The quartiles of the ratios of single rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<(f64, f64)>,
    /// The goal, if the row has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<ReportGoal>,
    /// For calls: the median latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50: Option<f64>,
    /// For calls: the 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    /// For calls: lower bounds of the buckets, with counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Histogram>,
}

/// A goal, and whether it is met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportGoal {
    /// `≤1.15` or `≤4 ms`.
    pub text: String,
    /// Whether it is met.
    pub met: bool,
}

impl ReportRow {
    /// Compares measurements with the goals. Empty if the native way was not measured.
    pub fn new(row: &Row, measured: &[(BenchRunner, Series)]) -> ReportRow {
        let native = measured.iter().find(|(way, _)| *way == BenchRunner::Native).map(|(_, series)| series);
        let ways = measured.iter().filter_map(|(way, series)| figures(row, *way, series, native));
        ReportRow { name: row.name.to_owned(), what: row.what.to_owned(), ways: ways.collect() }
    }
}

fn figures(row: &Row, way: BenchRunner, series: &Series, native: Option<&Series>) -> Option<Figures> {
    let time = median(&series.each)?;
    let native = native.filter(|_| way != BenchRunner::Native);
    let ratio = native.and_then(|native| Some(time / median(&native.each)?));
    let goal = match way {
        BenchRunner::Guard(Tier::Kernel) => row.kernel,
        BenchRunner::Shipped(ShippedPolicy::Coding) => Some(row.goal),
        BenchRunner::Native
        | BenchRunner::Guard(_)
        | BenchRunner::Shipped(_)
        | BenchRunner::Bare(_)
        | BenchRunner::Peer(_) => None,
    };
    let spread = native.and_then(|native| {
        let ratios: Vec<f64> = series.each.iter().zip(&native.each).map(|(own, other)| own / other).collect();
        Some((round(quantile(&ratios, 0.25)?), round(quantile(&ratios, 0.75)?)))
    });
    Some(Figures {
        way: way.to_string(),
        median: round(time),
        ratio: ratio.map(round),
        spread,
        goal: goal.and_then(|goal| report_goal(goal, time, ratio)),
        p50: median(&series.p50),
        p99: median(&series.p99),
        histogram: series.histogram.clone(),
    })
}

fn report_goal(goal: Goal, time: f64, ratio: Option<f64>) -> Option<ReportGoal> {
    match goal {
        Goal::Ratio(most) => Some(ReportGoal { text: format!("≤{most}"), met: ratio? <= most }),
        Goal::Milliseconds(most) => {
            Some(ReportGoal { text: format!("≤{most} ms"), met: time <= most * 1e6 })
        }
    }
}

/// Rounds to four digits: more would be noise in a committed file.
fn round(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// The rows as a table for humans.
pub fn table(report: &Report) -> String {
    let mut text =
        format!("{:<40} {:<10} {:>9} {:>7} {:>13}  goal\n", "", "", "median", "ratio", "middle half");
    for line in &report.rows {
        for (index, figures) in line.ways.iter().enumerate() {
            let what = if index == 0 { line.what.as_str() } else { "" };
            let time = nanoseconds(figures.median);
            let ratio = figures.ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
            let spread = figures.spread.map_or(String::new(), |(low, high)| format!("{low:.2}–{high:.2}"));
            let goal = figures
                .goal
                .as_ref()
                .map_or(String::new(), |goal| format!("{} {}", goal.text, if goal.met { '✓' } else { '✗' }));
            let way = &figures.way;
            let row = format!("{what:<40} {way:<10} {time:>9} {ratio:>7} {spread:>13}  {goal}");
            let _ = writeln!(text, "{}", row.trim_end());
        }
    }
    text
}

/// The latencies of single calls, for humans. They include the time to read the clock.
pub fn latencies(report: &Report) -> String {
    let mut text = format!("{:<40} {:<10} {:>9} {:>9}  calls by latency\n", "", "", "p50", "p99");
    for line in &report.rows {
        for figures in &line.ways {
            let (Some(p50), Some(p99), Some(histogram)) = (figures.p50, figures.p99, &figures.histogram)
            else {
                continue;
            };
            let what = if figures.ratio.is_none() { line.what.as_str() } else { "" };
            let (p50, p99, bars) = (nanoseconds(p50), nanoseconds(p99), histogram.bars());
            let _ = writeln!(text, "{what:<40} {:<10} {p50:>9} {p99:>9}  {bars}", figures.way);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Report, ReportRow, latencies, table};
    use crate::bench_runner::{BenchRunner, ShippedPolicy, Tier};
    use crate::histogram::Histogram;
    use crate::machine::Machine;
    use crate::measure::Series;
    use crate::rows::all;

    fn series(each: &[f64]) -> Series {
        Series { each: each.to_vec(), ..Series::default() }
    }

    fn line(name: &str, measured: &[(BenchRunner, Series)]) -> ReportRow {
        let rows = all();
        ReportRow::new(rows.iter().find(|row| row.name == name).unwrap(), measured)
    }

    fn report(rows: Vec<ReportRow>) -> Report {
        let machine = Machine {
            processor: "none".into(),
            processors: 1,
            memory_mib: 1,
            kernel: "6.18".into(),
            files: "tmpfs".into(),
        };
        Report { machine, guard: "openclaw-guard 0".into(), rounds: 3, rows, left_out: Vec::new() }
    }

    #[test]
    fn a_ratio_is_that_of_medians_and_meets_its_own_goal() {
        let native = series(&[1_000.0, 1_000.0, 9_000.0]);
        let measured = [
            (BenchRunner::Native, native),
            (BenchRunner::Shipped(ShippedPolicy::Coding), series(&[6_000.0, 6_500.0, 7_000.0])),
            (BenchRunner::Guard(Tier::Kernel), series(&[1_600.0, 1_510.0, 1_000.0])),
        ];
        let line = line("open", &measured);
        let ratios: Vec<_> = line.ways.iter().map(|figures| figures.ratio).collect();
        assert_eq!(ratios, [None, Some(6.5), Some(1.51)]);
        let met: Vec<_> =
            line.ways.iter().map(|figures| figures.goal.as_ref().map(|goal| goal.met)).collect();
        assert_eq!(met, [None, Some(true), Some(false)]);
        assert_eq!(line.ways[1].spread, Some((0.7778, 6.5)));
    }

    #[test]
    fn the_start_has_a_goal_in_milliseconds_and_the_kernel_tier_one_only_where_it_says_so() {
        let start = line(
            "start",
            &[
                (BenchRunner::Native, series(&[4e5])),
                (BenchRunner::Shipped(ShippedPolicy::Coding), series(&[4.1e6])),
            ],
        );
        let goal = start.ways[1].goal.as_ref().unwrap();
        assert_eq!((goal.text.as_str(), goal.met), ("≤4 ms", false));
        let stat = line(
            "stat",
            &[(BenchRunner::Native, series(&[4e2])), (BenchRunner::Guard(Tier::Kernel), series(&[4e2]))],
        );
        assert_eq!(stat.ways[1].goal, None);
    }

    #[test]
    fn a_report_comes_back_from_json_and_names_no_path() {
        let mut histogram = Histogram::default();
        histogram.add(5_000);
        let calls = Series { p50: vec![4e3], p99: vec![9e3], histogram: Some(histogram), ..series(&[5e3]) };
        let report = report(vec![
            line(
                "open",
                &[
                    (BenchRunner::Native, series(&[1e3])),
                    (BenchRunner::Shipped(ShippedPolicy::Coding), calls),
                ],
            ),
            line("gcc", &[]),
        ]);
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
        assert!(
            latencies(&report).contains("  4.00 µs   9.00 µs  4.10 µs ▁ 8.19 µs"),
            "{}",
            latencies(&report)
        );
        assert!(
            table(&report).contains("coding       5.00 µs    5.00     5.00–5.00  ≤6.5 ✓"),
            "{}",
            table(&report)
        );
    }
}
