//! Compiles the table to seccomp filters: one program for each combination of options.
//!
//! Why: docs/decisions.md, "The filters are built together with the guard"

mod blocks;
mod search;
#[path = "../src/table/mod.rs"]
#[expect(dead_code, reason = "the names of calls are for the crate itself")]
mod table;

use std::error::Error;
use std::fmt::Write;
use std::path::PathBuf;
use std::{env, fs};

use libc::sock_filter;
use table::{Architecture, FilterOptions};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=src/table");
    // What is built, not what builds it.
    let target = env::var("CARGO_CFG_TARGET_ARCH")?;
    let architecture = Architecture::from_name(&target).ok_or("there is no table for this processor")?;
    let mut text = String::new();
    for number in 0..FilterOptions::CHOICES {
        let options = choice(number);
        assert_eq!(options.number(), number, "{options:?}");
        writeln!(text, "&[")?;
        for sock_filter { code, jt, jf, k } in search::program(architecture, &options)? {
            writeln!(text, "i({code}, {jt}, {jf}, {k}),")?;
        }
        writeln!(text, "],")?;
    }
    let to = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?).join("programs.rs");
    Ok(fs::write(to, format!("[\n{text}]\n"))?)
}

/// The options with this number.
fn choice(number: usize) -> FilterOptions {
    let is_set = |bit: usize| number >> bit & 1 != 0;
    FilterOptions {
        unix_datagram: is_set(0),
        allow_ptrace: is_set(1),
        scoped_signals: is_set(2),
        kernel_reads: is_set(3),
        kernel_writes: is_set(4),
        no_network: is_set(5),
    }
}
