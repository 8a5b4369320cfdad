//! `guard-bench tables`: writes the results into docs/benchmarks.md, between marks in that file.

use crate::cli::Tables;
use crate::error::{Context, Error};
use crate::machine::Machine;
use crate::report::{Figures, Report};
use crate::results::read;
use crate::scale::{Results, work::Rate};
use crate::units::nanoseconds;

/// Writes the tables of all existing results into the page.
///
/// # Errors
/// If the page has no marks for a table, or a file cannot be read or written.
pub fn run(options: &Tables) -> Result<(), Error> {
    let file = |name: &str| options.results.join(format!("{name}.json"));
    let mut page = std::fs::read_to_string(&options.page).context(|| options.page.display().to_string())?;
    for name in ["overhead", "peers"] {
        if let Some(report) = read::<Report>(&file(name))? {
            page = replaced(&page, name, &(ratios(&report) + &pictures(&[name])))?;
        }
    }
    if let Some(report) = read::<Report>(&file("peers"))? {
        page = replaced(&page, "latencies", &(latencies(&report) + &pictures(&["latency"])))?;
    }
    if let Some(results) = read::<Results>(&file("scale"))? {
        let all = ["throughput", "tail", "processes", "resident", "rules", "depth"];
        page = replaced(&page, "scale", &(growth(&results) + &pictures(&all)))?;
    }
    std::fs::write(&options.page, page).context(|| options.page.display().to_string())
}

/// Links to the pictures that `plot` draws of the same results.
fn pictures(names: &[&str]) -> String {
    let picture = |name: &&str| format!("\n![{name}](benchmarks/{name}.svg)\n");
    names.iter().map(picture).collect()
}

/// The page with new text between the two marks with this name.
fn replaced(page: &str, name: &str, text: &str) -> Result<String, Error> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let missing = || Error::new(format!("the page has no place for {name}: {} … {end}", begin.trim_end()));
    let (before, rest) = page.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}{text}{end}{after}"))
}

fn machine(machine: &Machine, guard: &str, rounds: &str) -> String {
    format!(
        "{}, {} processors, {} GiB, Linux {}, files on {}; {guard}{rounds}.\n\n",
        machine.processor,
        machine.processors,
        machine.memory_mib.div_ceil(1024),
        machine.kernel,
        machine.files
    )
}

fn ratios(report: &Report) -> String {
    let mut text = machine(&report.machine, &report.guard, &format!("; medians of {} rounds", report.rounds));
    text.push_str("| | | median | ratio | middle half of rounds | goal |\n|---|---|---|---|---|---|\n");
    for line in &report.rows {
        for (index, own) in line.ways.iter().enumerate() {
            let what = if index == 0 { line.what.as_str() } else { "" };
            let ratio = own.ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
            let spread = own.spread.map_or(String::new(), |(low, high)| format!("{low:.2}–{high:.2}"));
            let goal = own
                .goal
                .as_ref()
                .map_or(String::new(), |goal| format!("{} {}", goal.text, if goal.met { '✓' } else { '✗' }));
            let (way, median) = (&own.way, nanoseconds(own.median));
            text.push_str(&format!("| {what} | {way} | {median} | {ratio} | {spread} | {goal} |\n"));
        }
    }
    for left_out in &report.left_out {
        text.push_str(&format!("\nLeft out: {left_out}.\n"));
    }
    text
}

fn latencies(report: &Report) -> String {
    let mut text = "| | | p50 | p99 |\n|---|---|---|---|\n".to_owned();
    for line in &report.rows {
        let timed = |own: &Figures| Some((own.way.clone(), nanoseconds(own.p50?), nanoseconds(own.p99?)));
        for (index, (way, p50, p99)) in line.ways.iter().filter_map(timed).enumerate() {
            let what = if index == 0 { line.what.as_str() } else { "" };
            text.push_str(&format!("| {what} | {way} | {p50} | {p99} |\n"));
        }
    }
    text
}

fn growth(results: &Results) -> String {
    let mut text = machine(&results.machine, &results.guard, &format!("; tier {}", results.tier));
    let rate = |rate: &Rate| {
        format!("{:.0}/s, p50 {}, p99 {}", rate.per_second, nanoseconds(rate.p50), nanoseconds(rate.p99))
    };
    text.push_str("| | native | guarded |\n|---|---|---|\n");
    let mut row = |what: String, native: String, guarded: String| {
        text.push_str(&format!("| {what} | {native} | {guarded} |\n"));
    };
    for pair in &results.callers {
        row(format!("{} callers", pair.n), rate(&pair.native), rate(&pair.guarded));
    }
    for own in &results.processes {
        let guarded = format!("{} each; the guard has {} KiB", nanoseconds(own.guarded), own.resident);
        row(format!("{} processes", own.n), format!("{} each", nanoseconds(own.native)), guarded);
    }
    for own in &results.rules {
        let guarded = format!("open + close {}, start {}", nanoseconds(own.open), nanoseconds(own.start));
        row(format!("{} rules", own.n), String::new(), guarded);
    }
    for pair in &results.depth {
        row(format!("path of {} components", pair.n), nanoseconds(pair.native), nanoseconds(pair.guarded));
    }
    for (pair, what) in
        results.fairness.iter().zip(["now and then, alone", "now and then, beside a greedy caller"])
    {
        row(what.to_owned(), rate(&pair.native), rate(&pair.guarded));
    }
    let memory = &results.memory;
    let grown = format!("{} KiB, then {} KiB", memory.start, memory.end);
    row(format!("memory over {} calls", memory.calls), String::new(), grown);
    text
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn a_table_takes_the_place_of_the_one_before() {
        let page = "a\n<!-- x -->\nold\n<!-- /x -->\nb\n<!-- y -->\n<!-- /y -->\n";
        let once = replaced(page, "x", "new\n").unwrap();
        assert_eq!(once, "a\n<!-- x -->\nnew\n<!-- /x -->\nb\n<!-- y -->\n<!-- /y -->\n");
        assert_eq!(replaced(&once, "x", "old\n").unwrap(), page);
        for missing in ["z", "a"] {
            assert!(replaced(page, missing, "").unwrap_err().to_string().contains(missing));
        }
    }

    #[test]
    fn the_page_has_a_place_for_each_table() {
        let page = include_str!("../../docs/benchmarks.md");
        for name in ["overhead", "peers", "latencies", "scale"] {
            replaced(page, name, "").unwrap();
        }
    }
}
