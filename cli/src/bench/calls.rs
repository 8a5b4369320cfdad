//! The calls that are measured, made as a guarded program makes them.

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

/// How many times each call is made in one run.
const CALLS: u32 = 2000;
const PROGRAMS: u32 = 40;

/// Makes the calls. Prints each one's name and its duration in nanoseconds, separated by a tab.
///
/// # Errors
/// When a call fails that should succeed, or the output cannot be written.
pub fn measure() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut time = |name: &str, calls: u32, call: &mut dyn FnMut() -> std::io::Result<()>| {
        call()?;
        let start = Instant::now();
        for _ in 0..calls {
            call()?;
        }
        writeln!(out, "{name}\t{}", start.elapsed().as_nanos() as f64 / f64::from(calls))
    };
    time("stat", CALLS, &mut || {
        black_box(std::fs::symlink_metadata("/usr/bin/env")?);
        Ok(())
    })?;
    time("open and close, system", CALLS, &mut || File::open("/usr/bin/env").map(drop))?;
    time("open, missing", CALLS, &mut || {
        let _ = black_box(File::open("/usr/bin/openclaw-guard.none"));
        Ok(())
    })?;
    let name = format!(".openclaw-guard-bench.{}", std::process::id());
    let make = || OpenOptions::new().write(true).create(true).truncate(true).open(&name).map(drop);
    // Skipped where the current directory is not writable.
    if make().is_ok() {
        let measured = time("create and close, here", CALLS, &mut || make());
        std::fs::remove_file(&name)?;
        measured?;
    }
    time("start and end a program", PROGRAMS, &mut || {
        Command::new("/usr/bin/true").stdin(Stdio::null()).status().map(drop)
    })
}
