//! The cost, at the start, of finding out what the kernel may be left to decide: `cargo bench -p guard-bench`.
#![allow(missing_docs)]

use std::collections::HashMap;
use std::hint::black_box;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use criterion::{Criterion, criterion_group, criterion_main};
use guard_policy::{Document, Host, Name, NameKind, Overrides, Policy};
use serde_json::json;

fn host() -> Host<'static> {
    Host {
        always_denied: vec![b"/home/u/.openclaw".to_vec()],
        temp_dirs: vec![b"/tmp".to_vec()],
        ..Host::bare(b"/home/u", b"/home/u/work")
    }
}

/// A usual system: 200 names in /etc, 60 in the home directory, of them every second a directory.
fn disk() -> HashMap<Vec<u8>, Vec<Name>> {
    let name = |name: &str, kind| Name { name: name.into(), kind };
    let directories =
        |names: &str| -> Vec<Name> { names.split(' ').map(|path| name(path, NameKind::Directory)).collect() };
    let numbered = |count: usize| {
        let kind = |i| if i % 2 == 0 { NameKind::Directory } else { NameKind::File };
        (0..count).map(move |i| Name { name: format!("name{i}").into(), kind: kind(i) })
    };
    let mut top = directories("boot etc home opt root run srv tmp usr var");
    top.extend(["bin", "lib", "proc", "sys"].map(|link| name(link, NameKind::Other)));
    top.push(name("dev", NameKind::Mixed));
    let mut etc = directories("ssh ssl pki ld.so.conf.d systemd terminfo");
    etc.extend(["passwd", "group", "hosts"].map(|file| name(file, NameKind::File)));
    etc.extend(numbered(200));
    let mut home = directories(".openclaw .ssh .cargo .rustup .cache .config .local .npm work");
    home.extend(numbered(60));
    let devices = ["null", "zero", "full", "random", "urandom"].map(|device| name(device, NameKind::File));
    HashMap::from([
        (b"/".to_vec(), top),
        (b"/etc".to_vec(), etc),
        (b"/etc/ssl".to_vec(), directories("certs private")),
        (b"/home".to_vec(), directories("u v")),
        (b"/home/u".to_vec(), home),
        (b"/home/u/.cargo".to_vec(), directories("bin git registry")),
        (b"/home/u/.cache".to_vec(), numbered(40).collect()),
        (b"/home/u/.config".to_vec(), directories("git gcloud gh fontconfig")),
        (b"/dev".to_vec(), devices.to_vec()),
    ])
}

/// The names in a directory of this machine, without regard to mounts.
fn listed(directory: &[u8]) -> Option<Vec<Name>> {
    let entries = std::fs::read_dir(std::ffi::OsStr::from_bytes(directory)).ok()?;
    let named = |entry: std::fs::DirEntry| {
        let kind = match entry.file_type().ok()? {
            kind if kind.is_dir() && !entry.path().starts_with("/sys") => NameKind::Directory,
            kind if kind.is_file() => NameKind::File,
            _ => NameKind::Other,
        };
        Some(Name { name: entry.file_name().into_vec(), kind })
    };
    Some(entries.flatten().filter_map(named).collect())
}

fn tiers(c: &mut Criterion) {
    let everything = json!({ "version": 1, "permissions": { "filesystem": { "rules": { "/**": "rwx" } } } });
    let everything = Document::parse("guard.json", &everything.to_string()).expect("a valid document");
    let everything =
        Policy::compile(&everything, "main", &host(), &Overrides::default()).expect("a valid policy");
    let builtin = Policy::without_file("main", &host(), &Overrides::default());
    let disk = disk();
    let mut group = c.benchmark_group("tiers");
    for (name, policy) in [("builtin", &builtin), ("everything", &everything)] {
        group.bench_function(format!("{name}/made-up"), |b| {
            b.iter(|| black_box(policy).tiers(&|directory| disk.get(directory).cloned()));
        });
        group.bench_function(format!("{name}/here"), |b| b.iter(|| black_box(policy).tiers(&listed)));
    }
    group.finish();
}

criterion_group!(benches, tiers);
criterion_main!(benches);
