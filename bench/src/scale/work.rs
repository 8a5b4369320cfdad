//! The guarded workloads of `scale`: programs that repeat one operation and print what it took.

use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::caller::open_and_close;
use crate::error::{Context, Error};
use crate::stats::quantile;

/// The results of all callers together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rate {
    /// Calls per second, by all callers.
    pub per_second: f64,
    /// The median latency in nanoseconds.
    pub p50: f64,
    /// The 99th percentile of the latency in nanoseconds.
    pub p99: f64,
}

impl Rate {
    fn from_latencies(latencies: &[f64], took: Duration) -> Result<Rate, Error> {
        let missing = || Error::new("not one call was made");
        Ok(Rate {
            per_second: (latencies.len() as f64 / took.as_secs_f64()).round(),
            p50: quantile(latencies, 0.5).ok_or_else(missing)?.round(),
            p99: quantile(latencies, 0.99).ok_or_else(missing)?.round(),
        })
    }
}

/// Opens and closes a file in `threads` threads, for `time`.
///
/// # Errors
/// When a call fails.
pub fn crowd(path: &Path, threads: usize, time: Duration) -> Result<Rate, Error> {
    let barrier = Barrier::new(threads);
    let began = Instant::now();
    let one = || {
        barrier.wait();
        let (start, mut latencies) = (Instant::now(), Vec::new());
        while start.elapsed() < time {
            latencies.push(timed(path)?);
        }
        Ok::<_, Error>(latencies)
    };
    let all: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    let took = began.elapsed();
    let mut latencies = Vec::new();
    for thread in all {
        latencies.extend(thread.map_err(|_| Error::new("a caller panicked"))??);
    }
    // The measured time, not the given one: on few processors some threads start only after others have ended.
    Rate::from_latencies(&latencies, took)
}

/// Opens a file at intervals. With a greedy `beside`, another process opens files in a loop meanwhile.
///
/// # Errors
/// When a call fails.
pub fn now_and_then(path: &Path, count: usize, beside: Beside) -> Result<Rate, Error> {
    let greedy = match beside {
        Beside::Nobody => None,
        Beside::Greedy => {
            let program = std::env::current_exe().context(|| "cannot find this program".into())?;
            let greedy = Command::new(program).arg("greedy").arg(path).stdin(Stdio::piped()).spawn();
            Some(greedy.context(|| "cannot start another caller".into())?)
        }
    };
    let (start, mut latencies) = (Instant::now(), Vec::new());
    for _ in 0..count {
        std::thread::sleep(Duration::from_millis(1));
        latencies.push(timed(path)?);
    }
    let took = start.elapsed();
    if let Some(mut greedy) = greedy {
        end(&mut greedy)?;
    }
    Rate::from_latencies(&latencies, took)
}

/// Who else calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Beside {
    /// Nobody.
    Nobody,
    /// A process that opens in a loop.
    Greedy,
}

/// Opens in a loop, until standard input ends.
///
/// # Errors
/// When a call fails.
pub fn greedy(path: &Path) -> Result<(), Error> {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = std::io::stdin().read_line(&mut String::new());
            ended.store(true, Ordering::Relaxed);
        });
        while !ended.load(Ordering::Relaxed) {
            open_and_close(path)?;
        }
        Ok(())
    })
}

/// Starts `count` waiting processes, prints how many nanoseconds that took, and ends them on request.
///
/// # Errors
/// When one cannot be started.
pub fn sleepers(count: usize) -> Result<(), Error> {
    let start = Instant::now();
    let mut all = Vec::new();
    for _ in 0..count {
        let sleeper =
            Command::new("/bin/sleep").arg("1000").stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        all.push(sleeper.context(|| "/bin/sleep".into())?);
    }
    print(start.elapsed().as_nanos())?;
    for mut sleeper in all {
        let _ = sleeper.kill();
        let _ = sleeper.wait();
    }
    Ok(())
}

/// Makes some calls and prints a number, then `count` calls and a number again, so that the guard can be inspected each
/// time.
///
/// # Errors
/// When a call fails.
pub fn steady(path: &Path, count: usize) -> Result<(), Error> {
    for count in [1_000, count] {
        for _ in 0..count {
            open_and_close(path)?;
        }
        print(count as u128)?;
    }
    Ok(())
}

/// Prints a number, and waits for the answer.
fn print(number: u128) -> Result<(), Error> {
    println!("{number}");
    std::io::stdout().flush().context(|| "standard output".into())?;
    std::io::stdin().lock().read_line(&mut String::new()).context(|| "standard input".into())?;
    Ok(())
}

fn timed(path: &Path) -> Result<f64, Error> {
    let start = Instant::now();
    open_and_close(path)?;
    Ok(start.elapsed().as_nanos() as f64)
}

fn end(child: &mut Child) -> Result<(), Error> {
    drop(child.stdin.take());
    let status = child.wait().context(|| "another caller".into())?;
    if status.success() { Ok(()) } else { Err(Error::new(format!("another caller: {status}"))) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Beside, crowd, now_and_then};

    #[test]
    fn callers_count_their_calls() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for threads in [1, 3] {
            let rate = crowd(file.path(), threads, Duration::from_millis(5)).unwrap();
            assert!(rate.per_second > 0.0 && rate.p50 <= rate.p99);
        }
        assert!(now_and_then(file.path(), 3, Beside::Nobody).is_ok());
        assert!(now_and_then(file.path(), 0, Beside::Nobody).is_err());
        let missing = file.path().with_extension("missing");
        assert!(crowd(&missing, 2, Duration::from_millis(5)).is_err());
    }
}
