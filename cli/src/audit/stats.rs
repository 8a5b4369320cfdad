//! Statistics of a log.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

use guard_policy::text::{counted, shown, shown_json};
use guard_supervisor::audit::reader::{Log, ReadError};
use jiff::Timestamp;
use serde::Serialize;

/// How many of the most frequent items are listed.
const MAX_ROWS: usize = 10;

/// The figures of a log.
#[derive(Debug, Serialize)]
pub struct Stats {
    lines: usize,
    /// The lines that were only counted, because their session had filled its share of the log.
    counted: u64,
    /// When the first and the last line were written.
    from: Option<String>,
    to: Option<String>,
    sessions: usize,
    verdicts: Vec<Count>,
    operations: Vec<Count>,
    agents: Vec<Count>,
    denied: Denied,
    programs: Vec<Count>,
}

/// What was denied most often.
#[derive(Debug, Serialize)]
struct Denied {
    paths: Vec<Count>,
    rules: Vec<Count>,
    /// The programs that asked.
    by: Vec<Count>,
}

/// How often something occurs.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Count {
    name: String,
    count: u64,
}

#[derive(Default)]
struct Counter(HashMap<String, u64>);

impl Counter {
    fn add(&mut self, name: &str) {
        self.add_times(name, 1);
    }

    fn add_times(&mut self, name: &str, times: u64) {
        match self.0.get_mut(name) {
            Some(count) => *count += times,
            None => drop(self.0.insert(name.to_owned(), times)),
        }
    }

    /// The most frequent items first; equally frequent ones by name.
    fn most(self, most: usize) -> Vec<Count> {
        let mut counts: Vec<_> = self.0.into_iter().map(|(name, count)| Count { name, count }).collect();
        counts.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.name.cmp(&other.name)));
        counts.truncate(most);
        counts
    }
}

/// Counts the lines of the log at this path.
///
/// # Errors
/// When the log cannot be read.
pub fn collect(path: &Path) -> Result<Stats, ReadError> {
    let log = Log::open(path)?;
    let (mut lines, mut counted, mut span) = (0, 0, None::<(Timestamp, Timestamp)>);
    let [mut sessions, mut verdicts, mut operations, mut agents] = [(); 4].map(|()| Counter::default());
    let [mut paths, mut rules, mut by, mut programs] = [(); 4].map(|()| Counter::default());
    for entry in log.entries() {
        let entry = entry?;
        lines += 1;
        if let Some(time) = entry.time {
            span = Some(span.map_or((time, time), |(from, to)| (from.min(time), to.max(time))));
        }
        operations.add(&entry.operation);
        if !entry.session.is_empty() {
            sessions.add(&entry.session);
            agents.add(&entry.agent);
        }
        counted += entry.counted().unwrap_or_default();
        let Some(decision) = entry.decision() else { continue };
        let times = decision.count.unwrap_or(1);
        verdicts.add_times(decision.verdict.as_str(), times);
        if entry.denial().is_some() {
            paths.add_times(&decision.path, times);
            rules.add_times(decision.reason.rule(), times);
            by.add_times(decision.chain.first().map_or("?", |parent| &parent.name), times);
        } else if decision.operation == guard_supervisor::audit::Operation::Exec {
            programs.add(&decision.path);
        }
    }
    let denied = Denied { paths: paths.most(MAX_ROWS), rules: rules.most(MAX_ROWS), by: by.most(MAX_ROWS) };
    let [from, to] =
        [span.map(|span| span.0), span.map(|span| span.1)].map(|time| time.map(|time| time.to_string()));
    let sessions = sessions.0.len();
    let [verdicts, operations, agents] =
        [verdicts, operations, agents].map(|counter| counter.most(usize::MAX));
    Ok(Stats {
        lines,
        counted,
        from,
        to,
        sessions,
        verdicts,
        operations,
        agents,
        denied,
        programs: programs.most(MAX_ROWS),
    })
}

impl Stats {
    /// Writes the figures to standard output.
    ///
    /// # Errors
    /// Returns an I/O error when the output cannot be written.
    pub fn print(&self, json: bool) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if json {
            let json = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
            return writeln!(out, "{}", shown_json(&json));
        }
        let span = match (&self.from, &self.to) {
            (Some(from), Some(to)) => format!(", {from} to {to}"),
            _ => String::new(),
        };
        let (lines, sessions) = (counted(self.lines, "line"), counted(self.sessions, "session"));
        writeln!(out, "{lines}, {sessions}{span}")?;
        if self.counted > 0 {
            writeln!(out, "{} more were only counted", self.counted)?;
        }
        let lists = [
            ("verdicts", &self.verdicts),
            ("operations", &self.operations),
            ("agents", &self.agents),
            ("denied paths", &self.denied.paths),
            ("denied by rule", &self.denied.rules),
            ("denied to", &self.denied.by),
            ("programs", &self.programs),
        ];
        for (title, counts) in lists.into_iter().filter(|(_, counts)| !counts.is_empty()) {
            writeln!(out, "{title}:")?;
            for Count { name, count } in counts {
                writeln!(out, "{count:8}  {}", shown(name.as_bytes()))?;
            }
        }
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_come_first() {
        let mut counter = Counter::default();
        ["b", "a", "c", "b", "d"].into_iter().for_each(|name| counter.add(name));
        let names: Vec<_> = counter.most(3).into_iter().map(|count| (count.name, count.count)).collect();
        assert_eq!(names, [("b".to_owned(), 2), ("a".to_owned(), 1), ("c".to_owned(), 1)]);
    }
}
