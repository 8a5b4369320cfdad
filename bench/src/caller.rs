//! The caller: a program that makes one kind of call many times and prints the latencies.
//!
//! It is started in the same way natively and under a guard, so it measures what a program can notice.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::ValueEnum;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::histogram::Histogram;
use crate::stats::{median, quantile};

/// The call that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Operation {
    /// getpid(2), as a system call.
    Getpid,
    /// stat(2), as C libraries do it: newfstatat.
    Stat,
    /// open(2) for reading, as C libraries do it (openat), and close(2).
    Open,
    /// open(2) of a new file in the directory given, and close(2).
    Create,
    /// open(2) of what does not exist.
    Missing,
    /// A new process that runs the program given, to its end.
    Exec,
}

/// The output of a caller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Nanoseconds for one call, without reading the clock between calls: the median over the parts of a loop.
    pub each: f64,
    /// The median latency in nanoseconds, including reading the clock.
    pub p50: f64,
    /// The 99th percentile of the latency in nanoseconds, including reading the clock.
    pub p99: f64,
    /// The latencies of all calls in the second loop.
    pub histogram: Histogram,
}

/// The loop is timed in this many parts, so that a single interruption does not distort the median.
const PARTS: usize = 20;

/// Makes the call `2 * count` times, after a warm-up.
///
/// # Errors
/// If a call fails or has the wrong result.
pub fn run(operation: Operation, path: &Path, count: usize) -> Result<Latency, Error> {
    match operation {
        Operation::Getpid => measure(count, |_| {
            let _ = rustix::process::getpid();
            Ok(())
        }),
        Operation::Stat => measure(count, |_| {
            rustix::fs::statat(CWD, path, AtFlags::empty())
                .map(drop)
                .map_err(|error| failed("stat", path, error))
        }),
        Operation::Open => measure(count, |_| open_and_close(path)),
        Operation::Create => create(path, count),
        Operation::Missing => measure(count, |_| match open_file(path, OFlags::RDONLY) {
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(failed("open", path, error)),
            Ok(_) => Err(Error::new(format!("{} is there and should not be", path.display()))),
        }),
        Operation::Exec => measure(count, |_| {
            let status = Command::new(path).stdin(Stdio::null()).status();
            match status {
                Ok(status) if status.success() => Ok(()),
                Ok(status) => Err(Error::new(format!("{}: {status}", path.display()))),
                Err(error) => Err(Error::new(format!("{}: {error}", path.display()))),
            }
        }),
    }
}

/// Creates files. Their names are prepared before the clock runs.
fn create(directory: &Path, count: usize) -> Result<Latency, Error> {
    let names: Vec<PathBuf> =
        (0..count * 2 + warm_up(count)).map(|index| directory.join(format!("new{index}"))).collect();
    measure(count, |index| open(&names[index], OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL))
}

/// Opens a file for reading, and closes it.
///
/// # Errors
/// If that fails.
pub fn open_and_close(path: &Path) -> Result<(), Error> {
    open(path, OFlags::RDONLY)
}

fn open(path: &Path, flags: OFlags) -> Result<(), Error> {
    open_file(path, flags).map(drop).map_err(|error| failed("open", path, error))
}

fn open_file(path: &Path, flags: OFlags) -> Result<rustix::fd::OwnedFd, Errno> {
    rustix::fs::openat(CWD, path, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o644))
}

fn failed(call: &str, path: &Path, error: Errno) -> Error {
    Error::new(format!("{call} {}: {error}", path.display()))
}

fn warm_up(count: usize) -> usize {
    count / 10 + 1
}

/// Calls `act` with 0, 1, … and times it: first as a loop in parts, then each call.
fn measure(count: usize, mut act: impl FnMut(usize) -> Result<(), Error>) -> Result<Latency, Error> {
    let mut index = 0;
    let mut next = || {
        index += 1;
        act(index - 1)
    };
    for _ in 0..warm_up(count) {
        next()?;
    }
    let mut parts = Vec::new();
    for part in 0..PARTS {
        let length = count * (part + 1) / PARTS - count * part / PARTS;
        let start = Instant::now();
        for _ in 0..length {
            next()?;
        }
        if length > 0 {
            parts.push(start.elapsed().as_nanos() as f64 / length as f64);
        }
    }
    let mut histogram = Histogram::default();
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        next()?;
        let took = start.elapsed().as_nanos();
        histogram.add(took as u64);
        all.push(took as f64);
    }
    let (each, p50, p99) = (median(&parts), quantile(&all, 0.5), quantile(&all, 0.99));
    let (Some(each), Some(p50), Some(p99)) = (each, p50, p99) else {
        return Err(Error::new("a caller needs at least one call to make"));
    };
    Ok(Latency { each, p50, p99, histogram })
}

#[cfg(test)]
mod tests {
    use super::{Operation, run};

    #[test]
    fn each_operation_counts_its_calls() {
        let directory = tempfile::tempdir().unwrap();
        let (new, file) = (directory.path().join("new"), directory.path().join("file"));
        std::fs::create_dir(&new).unwrap();
        std::fs::write(&file, "").unwrap();
        let missing = directory.path().join("missing");
        for (operation, path, count) in [
            (Operation::Getpid, &file, 100),
            (Operation::Stat, &file, 100),
            (Operation::Open, &file, 100),
            (Operation::Create, &new, 30),
            (Operation::Missing, &missing, 100),
            (Operation::Exec, &"/bin/true".into(), 2),
        ] {
            let latency = run(operation, path, count).unwrap();
            assert_eq!(latency.histogram.count(), count as u64, "{operation:?}");
            assert!(latency.p50 <= latency.p99, "{operation:?}");
        }
        assert_eq!(std::fs::read_dir(&new).unwrap().count(), 30 * 2 + 4);
    }

    #[test]
    fn a_call_that_goes_wrong_is_no_measurement() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing");
        for operation in [Operation::Stat, Operation::Open, Operation::Create, Operation::Exec] {
            let error = run(operation, &missing, 10).unwrap_err().to_string();
            assert!(error.contains("missing"), "{operation:?}: {error}");
        }
        assert!(run(Operation::Missing, directory.path(), 10).is_err());
        assert!(run(Operation::Exec, "/bin/false".as_ref(), 1).is_err());
        assert!(run(Operation::Getpid, directory.path(), 0).is_err());
    }
}
