//! What one decision costs: `cargo bench -p guard-bench`.
#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use guard_policy::{Access, Document, Exec, Host, Overrides, Policy, Request, Role, decide};
use serde_json::{Value, json};

fn compile(document: &Value) -> Policy {
    let document = Document::parse("guard.json", &document.to_string()).expect("a valid document");
    let host = Host {
        always_denied: vec![b"/home/u/.openclaw".to_vec()],
        ..Host::bare(b"/home/u", b"/home/u/work")
    };
    Policy::compile(&document, "main", &host, &Overrides::default()).expect("a valid policy")
}

/// A policy of so many rules, as projects, caches and secrets make them.
fn rules(count: usize) -> Policy {
    let rule = |i: usize| match i % 10 {
        0 => (format!("/home/u/work/project{i}/target/**"), "rwx"),
        1 => (format!("/opt/tool{i}/bin/tool"), "r-x"),
        2 => (format!("/srv/data{}/set{i}/*.csv", i / 100), "r--"),
        3 => (format!("**/.cache{i}/**"), "rw-"),
        4 => (format!("/home/*/.config/app{i}/**"), "r--"),
        _ => (format!("/home/u/work/project{i}/**"), "rw-"),
    };
    let rules: serde_json::Map<_, _> = (0..count).map(rule).map(|(p, r)| (p, json!(r))).collect();
    compile(&json!({
        "version": 1,
        "permissions": { "filesystem": {
            "rules": rules,
            "deny": ["~/.ssh/**", "~/.gnupg/**", "**/.env", "**/*.pem", "**/id_rsa*"],
        } },
    }))
}

fn open(c: &mut Criterion) {
    let mut group = c.benchmark_group("decide-open");
    for count in [10, 1_000, 10_000] {
        let policy = rules(count);
        let (last, tenth) = (count - count % 10 - 5, count / 100 * 10);
        let paths = [
            ("rule", format!("/home/u/work/project{last}/src/deep/below/module.rs")),
            ("component", format!("/home/v/.config/app{}/settings.json", tenth + 4)),
            ("denied", "/home/u/work/project5/deploy/.env".to_owned()),
            ("base", "/usr/lib/x86_64-linux-gnu/libc.so.6".to_owned()),
            ("default", "/var/lib/something/else/entirely".to_owned()),
        ];
        for (name, path) in paths {
            let request = Request::File { path: path.as_bytes(), access: Access::READ };
            group.bench_function(format!("{name}/{count}"), |b| {
                b.iter(|| decide(black_box(&policy), black_box(&request)));
            });
        }
    }
    group.finish();
}

fn exec(c: &mut Criterion) {
    let mut group = c.benchmark_group("decide-exec");
    let entry = |i: usize| match i % 4 {
        0 => json!({ "pattern": format!("/usr/bin/tool{i}") }),
        1 => json!({ "pattern": format!("/opt/suite{}/bin/*", i / 8) }),
        2 => json!({ "pattern": format!("/usr/bin/tool{i}"), "argPattern": "^(status|log)( --[a-z]+)*$" }),
        _ => json!({ "pattern": format!("program{i}") }),
    };
    let entries: Vec<_> = (0..1_000).map(entry).collect();
    let policy = compile(&json!({
        "version": 1,
        "permissions": { "filesystem": { "rules": { "/usr/**": "r-x", "/opt/**": "r-x" } } },
        "agents": { "main": { "allowlist": entries } },
    }));
    let argv = ["tool", "log", "--oneline"].map(|word| word.as_bytes().to_vec());
    let cases = [
        ("path", "/usr/bin/tool996"),
        ("arguments", "/usr/bin/tool998"),
        ("wildcard", "/opt/suite124/bin/x"),
        ("name", "/usr/bin/program999"),
        ("carrier", "/usr/bin/bash"),
        ("safe-bin", "/usr/bin/wc"),
        ("miss", "/usr/bin/unknown"),
    ];
    for (name, path) in cases {
        let exec = Exec { path: path.as_bytes(), argv: &argv, cwd: b"/home/u/work", role: Role::Program };
        let request = Request::Exec(exec);
        group.bench_function(format!("{name}/1000"), |b| {
            b.iter(|| decide(black_box(&policy), black_box(&request)));
        });
    }
    group.finish();
}

criterion_group!(benches, open, exec);
criterion_main!(benches);
