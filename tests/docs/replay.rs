//! Replays every transcript as the documents have it, each document in its own home.
//!
//! A document's comments contain its preparations (`guard_tests::steps`). Its home starts as a copy of
//! `homes/NAME`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;

use guard_tests::{Shell, copy_guard, ended, lasting_directory, sources, steps};
use tempfile::TempDir;

use crate::commands::is_elsewhere;
use crate::documents::document;

/// Documents, each with the test that replays it.
macro_rules! replayed {
    ($($test:ident => $name:literal,)*) => {
        /// The documents that are replayed here.
        pub const REPLAYED: &[&str] = &[$($name,)*];
        $(
            #[test]
            fn $test() {
                replay($name);
            }
        )*
    };
}

replayed! {
    the_readme => "README.md",
    approvals => "docs/approvals.md",
    audit => "docs/audit.md",
    doctor => "docs/doctor.md",
    learn => "docs/learn.md",
    network => "docs/network.md",
    policy => "docs/policy.md",
    sandbox => "docs/sandbox.md",
    sessions => "docs/sessions.md",
    templates => "docs/templates.md",
    tools => "docs/tools.md",
    why => "docs/why.md",
}

/// Fills a directory for the operator's PATH: the guard and, if the document shows the repository's `make`, a
/// make that builds nothing, since the tests are built already.
fn programs(bin: &Path, makes: bool) {
    fs::create_dir(bin).expect("a directory");
    copy_guard(&bin.join("openclaw-guard"));
    if !makes {
        return;
    }
    let make =
        format!("#!/bin/sh\nexec /usr/bin/make -o build GUARD={}/openclaw-guard \"$@\"\n", bin.display());
    fs::write(bin.join("make"), make).expect("a script");
    assert_eq!(ended(Command::new("chmod").arg("+x").arg(bin.join("make"))).status, 0);
}

fn copied(from: &Path, to: &Path) {
    let copy = ended(Command::new("cp").arg("-r").arg(from).arg(to));
    assert_eq!(copy.status, 0, "{copy:?}");
}

/// Returns where a document's home is made. OpenClaw mounts nothing from below root's home, where the checkout may lie.
fn directory_for(name: &str) -> Option<TempDir> {
    let directory = lasting_directory(env!("CARGO_TARGET_TMPDIR"))?;
    if name == "docs/sandbox.md" && directory.path().starts_with("/root") {
        return Some(
            tempfile::Builder::new().prefix("guard-home-").tempdir_in("/var/lib").expect("a directory"),
        );
    }
    Some(directory)
}

fn replay(name: &str) {
    let Some(directory) = directory_for(name) else { return };
    let root = directory.path().canonicalize().expect("a real path");
    let (home, bin) = (root.join("home"), root.join("bin"));
    let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).expect("a name").to_lowercase();
    let skeleton = sources().join("docs/homes").join(stem);
    if skeleton.exists() {
        copied(&skeleton, &home);
    } else {
        fs::create_dir(&home).expect("a directory");
    }
    for directory in ["openclaw-guard", ".ssh"] {
        fs::create_dir(home.join(directory)).expect("a directory");
    }
    for part in ["Makefile", "scripts"] {
        copied(&sources().join("..").join(part), &home.join("openclaw-guard"));
    }
    fs::write(home.join(".ssh/id_rsa"), "secret\n").expect("a key");
    programs(&bin, name == "README.md");

    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
    let mut shell = Shell::new(&home, &[("PATH", &path), ("LANG", "C.UTF-8"), ("USER", "u")]);
    // Nothing leaves this host: a request to example.org goes to localhost:1, which refuses it.
    shell.call("localhost:1", "example.org");
    let collector = Collector::start();
    shell.call(&collector.address, "localhost:4318");
    let steps = steps(&document(name).text);
    assert!(!steps.is_empty(), "{name} has no transcript");
    let here = steps.iter().filter(|step| !is_elsewhere(name, &step.command));
    let differences: Vec<String> = here.filter_map(|step| shell.replay(step).err()).collect();
    assert!(differences.is_empty(), "{name}:\n{}", differences.join("\n"));
}

/// An HTTP server that accepts every request.
struct Collector {
    address: String,
}

impl Collector {
    fn start() -> Collector {
        let listener = TcpListener::bind("localhost:0").expect("a socket");
        let address = format!("localhost:{}", listener.local_addr().expect("an address").port());
        thread::spawn(move || listener.incoming().flatten().for_each(|connection| drop(taken(connection))));
        Collector { address }
    }
}

/// Reads one request, and answers it.
fn taken(mut connection: TcpStream) -> std::io::Result<()> {
    let mut head = BufReader::new(connection.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        head.read_line(&mut line)?;
        match line.to_ascii_lowercase().strip_prefix("content-length:") {
            Some(number) => length = number.trim().parse().unwrap_or(0),
            None if line.trim().is_empty() => break,
            None => {}
        }
    }
    head.read_exact(&mut vec![0; length])?;
    connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
}
