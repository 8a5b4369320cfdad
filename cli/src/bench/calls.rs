//! The calls that are measured, as a caller sees them.

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

/// How often each call is made in one run.
const CALLS: u32 = 2000;
const PROGRAMS: u32 = 40;

/// Makes them, and prints for each its name and the nanoseconds that it takes, with a tab between.
///
/// # Errors
/// When one fails that should not, or nothing can be printed.
pub fn measure() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut tell = |name: &str, calls: u32, call: &mut dyn FnMut() -> std::io::Result<()>| {
        call()?;
        let start = Instant::now();
        for _ in 0..calls {
            call()?;
        }
        writeln!(out, "{name}\t{}", start.elapsed().as_nanos() as f64 / f64::from(calls))
    };
    tell("stat", CALLS, &mut || {
        black_box(std::fs::symlink_metadata("/usr/bin/env")?);
        Ok(())
    })?;
    tell("open and close, system", CALLS, &mut || File::open("/usr/bin/env").map(drop))?;
    tell("open, missing", CALLS, &mut || {
        let _ = black_box(File::open("/usr/bin/openclaw-guard.none"));
        Ok(())
    })?;
    let name = format!(".openclaw-guard-bench.{}", std::process::id());
    let make = || OpenOptions::new().write(true).create(true).truncate(true).open(&name).map(drop);
    // Where the current directory may not be written there is nothing to measure.
    if make().is_ok() {
        let measured = tell("create and close, here", CALLS, &mut || make());
        std::fs::remove_file(&name)?;
        measured?;
    }
    tell("start and end a program", PROGRAMS, &mut || {
        Command::new("/usr/bin/true").stdin(Stdio::null()).status().map(drop)
    })
}
