//! Tests of proposals: what they contain, and what they never contain.

mod hosts;
mod properties;

use std::collections::{BTreeMap, BTreeSet};

use guard_policy::learn::{
    FinalState, LeftOut, Observation, Proposal, ReachedHosts, Session, Used, Why, Width, merge, propose,
};
use guard_policy::{
    Access, Document, Exec, Host, Outcome, Overrides, PersistenceSites, Policy, Request, Role, decide,
};

const WIDTHS: [Width; 3] = [Width::Tight, Width::Normal, Width::Wide];

/// A host as they are: a project, a toolchain on PATH, the guard's own directory.
fn host() -> Host<'static> {
    Host {
        path_dirs: vec![b"/usr/bin".to_vec(), b"/home/u/tools/node/bin".to_vec()],
        always_denied: vec![b"/home/u/.openclaw".to_vec()],
        temp_dirs: vec![b"/tmp".to_vec(), b"/var/tmp".to_vec()],
        persistence_sites: PersistenceSites {
            workspaces: vec![b"/home/u/work".to_vec()],
            ..PersistenceSites::default()
        },
        ..Host::bare(b"/home/u", b"/home/u/work")
    }
}

fn seen(path: &str, used: Used, final_state: FinalState) -> Observation {
    Observation { path: path.as_bytes().to_vec(), used, final_state }
}

fn read(path: &str) -> Observation {
    seen(path, Used::READ, FinalState::File)
}

fn wrote(path: &str) -> Observation {
    seen(path, Used::READ | Used::WRITTEN | Used::MADE, FinalState::File)
}

fn ran(path: &str) -> Observation {
    seen(path, Used::STARTED | Used::READ, FinalState::File)
}

/// Written or run, and gone.
fn gone(path: &str, used: Used) -> Observation {
    seen(path, used | Used::WRITTEN | Used::MADE, FinalState::Nothing)
}

/// What a build does.
fn build() -> Vec<Observation> {
    vec![
        ran("/usr/bin/bash"),
        ran("/usr/bin/git"),
        ran("/usr/lib/gcc/x86_64-linux-gnu/12/cc1"),
        seen("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", Used::LOADED | Used::MAPPED, FinalState::File),
        seen("/usr/lib/x86_64-linux-gnu/libc.so.6", Used::READ | Used::MAPPED, FinalState::File),
        ran("/home/u/.rustup/toolchains/stable/bin/rustc"),
        seen(
            "/home/u/.rustup/toolchains/stable/lib/librustc.so",
            Used::READ | Used::MAPPED,
            FinalState::File,
        ),
        read("/home/u/.cargo/config.toml"),
        wrote("/home/u/.cargo/.package-cache"),
        wrote("/home/u/.cargo/registry/src/x/lib.rs"),
        wrote("/home/u/.cache/pip/http/abc"),
        read("/home/u/.gitconfig"),
        read("/home/u/work/src/main.rs"),
        read("/home/u/work/src/lib.rs"),
        wrote("/home/u/work/target/debug/deps/a.o"),
        ran("/home/u/work/target/debug/build/a-1234/build-script-build"),
        gone("/home/u/work/.git/index.lock", Used::READ),
        gone("/tmp/rustcAbC123/lib.rmeta", Used::READ),
        gone("/tmp/rustcAbC123", Used::READ),
        read("/etc/ssl/openssl.cnf"),
        read("/etc/gitconfig"),
        read("/etc/passwd"),
        read("/sys/fs/cgroup/cpu.max"),
    ]
}

/// A session of the default agent that reached no other host.
fn session<'a>(observations: &'a [Observation], host: &'a Host<'a>) -> Session<'a> {
    static NONE: ReachedHosts = ReachedHosts { by_name: BTreeMap::new(), directly: BTreeSet::new() };
    Session { observations, reached: &NONE, host, caches: &[], agent: "main" }
}

fn proposed(observations: &[Observation], host: &Host<'_>, width: Width) -> Proposal {
    propose(&session(observations, host), width).expect("a proposal")
}

fn policy(text: &str, host: &Host<'_>) -> Policy {
    let document =
        Document::parse("guard.json", text).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"));
    Policy::compile(&document, "main", host, &Overrides::default()).expect("a policy")
}

fn allows(policy: &Policy, path: &str, access: Access) -> bool {
    decide(policy, &Request::File { path: path.as_bytes(), access }).outcome == Outcome::Allow
}

fn starts(policy: &Policy, path: &str) -> bool {
    let argv = [path.as_bytes().to_vec()];
    let exec = Exec { path: path.as_bytes(), argv: &argv, cwd: b"/home/u/work", role: Role::Program };
    decide(policy, &Request::Exec(exec)).outcome == Outcome::Allow
        && policy.within_exec_roots(path.as_bytes())
}

fn left<'l>(proposal: &'l Proposal, path: &str) -> Option<&'l LeftOut> {
    proposal.left_out.iter().find(|left| left.path == path.as_bytes())
}

#[test]
fn a_build_becomes_few_lines() {
    let proposal = proposed(&build(), &host(), Width::Normal);
    assert_eq!(proposal.left_out, []);
    let expected = r#"{
  "version": 1,
  "exec": {
    "security": "allowlist",
    // What no rule or entry covers is denied; "on-miss" would ask about it.
    "ask": "off",
    // Shells and similar programs that were seen: the programs that they start are judged on their own.
    "carriers": ["bash"],
    "safeBins": []
  },
  "permissions": {
    "filesystem": {
      "rules": {
        // project
        "~/work/**": "rwx",
        // toolchains
        "~/.rustup/**": "r-x",
        // caches
        "~/.cache/pip/**": "rw-",
        "~/.cargo/.package-cache": "rw-",
        "~/.cargo/registry/**": "rw-",
        // temporary files
        "/tmp/**": "rw-",
        // system
        "/etc/gitconfig": "r--",
        "/etc/ssl/**": "r--",
        "/usr/**": "r-x",
        "/sys/**": "r--",
        // files of the home
        "~/.cargo/config.toml": "r--",
        "~/.gitconfig": "r--"
      },
      // secrets, before every rule
      "deny": [
        "~/.ssh", "~/.gnupg", "~/.aws", "/etc/ssl/private"
      ],
      "default": "---"
    }
  },
  "agents": {
    "main": {
      "allowlist": [
        // project
        { "pattern": "~/work/**" },
        // toolchains
        { "pattern": "~/.rustup/toolchains/stable/bin/rustc" },
        // system
        { "pattern": "/usr/bin/git" },
        { "pattern": "/usr/lib/gcc/x86_64-linux-gnu/12/cc1" }
      ]
    }
  }
}
"#;
    assert_eq!(proposal.text, expected);
}

#[test]
fn the_same_build_runs_again_with_other_names() {
    for width in [Width::Normal, Width::Wide] {
        let policy = policy(&proposed(&build(), &host(), width).text, &host());
        for path in [
            "/tmp/rustcZ/x",
            "/home/u/work/.git/HEAD.lock",
            "/home/u/work/target/debug/incremental/a/s-1/x.o",
        ] {
            assert!(allows(&policy, path, Access::READ | Access::WRITE), "{width:?} {path}");
        }
        assert!(starts(&policy, "/home/u/work/target/debug/build/b-1/build-script-build"));
    }
}

#[test]
fn paths_that_were_not_seen_are_refused() {
    for width in WIDTHS {
        let policy = policy(&proposed(&build(), &host(), width).text, &host());
        for path in [
            "/home/u/x",
            "/home/u/other/main.rs",
            "/home/u/.cargo/config.toml",
            "/usr/bin/git",
            "/etc/passwd",
        ] {
            assert!(!allows(&policy, path, Access::WRITE), "{width:?} {path}");
        }
        for path in ["/home/u/.ssh/id_rsa", "/home/u/other/main.rs", "/home/u/x", "/srv/data", "/root/x"] {
            assert!(!allows(&policy, path, Access::READ), "{width:?} {path}");
        }
        assert_eq!(starts(&policy, "/usr/bin/curl"), width == Width::Wide);
        assert_eq!(starts(&policy, "/usr/bin/head"), width == Width::Wide);
        assert!(starts(&policy, "/usr/bin/git") && starts(&policy, "/usr/bin/bash"));
        assert_eq!(starts(&policy, "/usr/bin/zsh"), width == Width::Wide);
    }
}

#[test]
fn secrets_are_reported_and_left_out() {
    let mut observations = build();
    let set = |set: &str| Why::Persistence(set.to_owned());
    let cases = [
        (read("/home/u/.ssh/id_rsa"), Why::Secret),
        (read("/home/u/.netrc"), Why::Secret),
        (read("/home/u/work/.env"), Why::Secret),
        (read("/home/u/work/deploy/server.pem"), Why::Secret),
        (wrote("/home/u/.openclaw/guard.json"), Why::Guard),
        (wrote("/home/u/.bashrc"), set("shell")),
        (wrote("/home/u/work/.envrc"), set("direnv")),
        (wrote("/home/u/other/notes.txt"), Why::Outside),
        (wrote("/home/u/notes.txt"), Why::Outside),
        (wrote("/srv/notes.txt"), Why::Outside),
        (read("/home/other/x"), Why::OtherHome),
        (gone("/tmp/doctestXyZ/rust_out", Used::STARTED), Why::Temporary),
        (seen("/tmp/ssh-1/agent.2", Used::SPOKEN_TO, FinalState::File), Why::Socket),
        (read("/proc/1234/status"), Why::Process),
    ];
    observations.extend(cases.iter().map(|(seen, _)| seen.clone()));
    let proposal = proposed(&observations, &host(), Width::Normal);
    for (seen, why) in &cases {
        let path = std::str::from_utf8(&seen.path).unwrap();
        assert_eq!(left(&proposal, path).map(|left| &left.why), Some(why), "{path}");
    }
    let policy = policy(&proposal.text, &host());
    for path in ["/home/u/work/.env", "/home/u/work/deploy/server.pem", "/home/u/.netrc"] {
        assert!(!allows(&policy, path, Access::READ), "{path}");
    }
    // A file that the session created is not a secret of the operator.
    let own = proposed(&[wrote("/home/u/work/target/test.key")], &host(), Width::Normal);
    assert_eq!(own.left_out, []);
}

#[test]
fn no_home_is_opened_however_much_of_it_was_read() {
    let mut observations: Vec<Observation> = (0..30).map(|i| read(&format!("/home/u/file-{i}"))).collect();
    observations.extend((0..30).map(|i| read(&format!("/home/u/Documents/file-{i}"))));
    observations.extend((0..30).map(|i| read(&format!("/home/u/.config/tool-{i}/settings"))));
    observations.extend((0..30).map(|i| read(&format!("/home/u/Documents/book/page-{i}"))));
    for width in WIDTHS {
        let proposal = proposed(&observations, &host(), width);
        let deep: Vec<&str> = proposal
            .rules
            .iter()
            .map(|(pattern, _)| pattern.as_str())
            .filter(|pattern| pattern.ends_with('*'))
            .collect();
        assert_eq!(deep, ["~/Documents/book/**"], "{width:?}");
    }
}

#[test]
fn where_the_work_is_the_home_nothing_there_is_written() {
    let host = Host { persistence_sites: PersistenceSites::default(), ..Host::bare(b"/home/u", b"/home/u") };
    let proposal = proposed(&[wrote("/home/u/new"), read("/home/u/a/b")], &host, Width::Wide);
    assert_eq!(left(&proposal, "/home/u/new").map(|left| &left.why), Some(&Why::Outside));
    assert_eq!(
        proposal.rules.iter().map(|(pattern, _)| pattern.as_str()).collect::<Vec<_>>(),
        ["~/a/b", "~/new"]
    );
}

/// Settings, or a repository of them, are not given away as a project.
#[test]
fn no_project_holds_places_of_secrets() {
    for cwd in ["/home/u/.config", "/home/u/.config/app", "/etc"] {
        let mut host = Host { cwd: cwd.as_bytes(), ..host() };
        host.persistence_sites.workspaces = vec![b"/home/u/.config".to_vec(), b"/etc".to_vec()];
        let seen = [wrote("/home/u/.config/settings"), wrote("/home/u/.config/app/made"), wrote("/etc/x")];
        for width in [Width::Tight, Width::Normal, Width::Wide] {
            let proposal = proposed(&seen, &host, width);
            let policy = policy(&proposal.text, &host);
            let is_work = cwd == "/home/u/.config/app";
            assert_eq!(
                allows(&policy, "/home/u/.config/app/made", Access::WRITE),
                is_work,
                "{}",
                proposal.text
            );
            for path in ["/home/u/.config/settings", "/home/u/.config/other", "/etc/x", "/etc/y"] {
                assert!(!allows(&policy, path, Access::WRITE), "{path}: {}", proposal.text);
            }
        }
    }
}

#[test]
fn a_project_is_the_repository_where_that_was_written() {
    let persistence_sites = PersistenceSites {
        workspaces: vec![b"/home/u/repo/part".to_vec(), b"/home/u/repo".to_vec()],
        ..PersistenceSites::default()
    };
    let host = Host { persistence_sites, ..Host::bare(b"/home/u", b"/home/u/repo/part") };
    let only_part = [wrote("/home/u/repo/part/x"), read("/home/u/repo/Cargo.toml")];
    let rules = |observations: &[Observation]| {
        let rules = proposed(observations, &host, Width::Normal).rules;
        rules.into_iter().map(|(pattern, permission)| format!("{pattern} {permission}")).collect::<Vec<_>>()
    };
    // Nothing was started, so nothing that is built there is.
    assert_eq!(rules(&only_part), ["~/repo/part/** rw-", "~/repo/** r--"]);
    let both = [only_part.to_vec(), vec![wrote("/home/u/repo/Cargo.lock")]].concat();
    assert_eq!(rules(&both), ["~/repo/** rw-"]);
    let built = [both, vec![ran("/home/u/repo/out")]].concat();
    assert_eq!(rules(&built), ["~/repo/** rwx"]);
}

#[test]
fn a_home_in_a_temporary_directory_stays_a_home() {
    let host = Host { temp_dirs: vec![b"/tmp".to_vec()], ..Host::bare(b"/tmp/h", b"/tmp/h/work") };
    let observations = [
        wrote("/tmp/x1"),
        gone("/tmp/y", Used::READ),
        wrote("/tmp/h/work/a"),
        read("/tmp/h/.ab"),
        read("/tmp/h"),
    ];
    for width in WIDTHS {
        let proposal = proposed(&observations, &host, width);
        assert_eq!(proposal.left_out, [], "{width:?}\n{}", proposal.text);
        let policy = policy(&proposal.text, &host);
        assert!(allows(&policy, "/tmp/z", Access::WRITE) && allows(&policy, "/tmp/h/.ab", Access::READ));
        assert!(
            !allows(&policy, "/tmp/h/other", Access::READ) && !allows(&policy, "/tmp/h/.ab", Access::WRITE)
        );
    }
}

#[test]
fn names_that_no_pattern_matches_alone_are_reported() {
    let odd = [read("/home/u/a*b"), read("/home/u/work/a*b"), ran("/home/u/bin2/what?")];
    let mut odd = odd.to_vec();
    odd.push(Observation { path: b"/srv/a/\xff".to_vec(), used: Used::READ, final_state: FinalState::File });
    let proposal = proposed(&odd, &host(), Width::Normal);
    let left: Vec<(&[u8], &Why)> =
        proposal.left_out.iter().map(|left| (left.path.as_slice(), &left.why)).collect();
    let expected: [(&[u8], &Why); 3] = [
        (b"/home/u/a*b", &Why::Unnamable),
        (b"/home/u/bin2/what?", &Why::Unnamable),
        (b"/srv/a/\xff", &Why::Unnamable),
    ];
    assert_eq!(left, expected);
}

#[test]
fn a_merge_adds_what_is_missing_and_keeps_the_rest() {
    let text = r#"{
  // ours
  "version": 1,
  "exec": { "ask": "off" },
  "permissions": {
    "filesystem": {
      "rules": {
        "/usr/**": "r-x", // the system
        "/opt/**": "r-x",
        "~/work/**": "rw-"
      },
      "deny": ["~/.gitconfig"]
    }
  },
  "agents": { "main": { "allowlist": [{ "pattern": "/usr/bin/git", "argPattern": "^status" }, { "pattern": "/usr/bin/make" }] } }
}
"#;
    let host = host();
    let observations = build();
    let session = session(&observations, &host);
    let proposal = propose(&session, Width::Normal).expect("a proposal");
    let merged = merge("guard.json", text, &session, &proposal).expect("a merge");
    for comment in ["// ours", "// the system"] {
        assert!(merged.text.contains(comment));
    }
    let conflicts: Vec<(&str, &str)> =
        merged.conflicts.iter().map(|conflict| (conflict.requested.as_str(), conflict.by.as_str())).collect();
    assert_eq!(
        conflicts,
        [
            ("\"~/.gitconfig\": \"r--\"", "permissions.filesystem.deny[\"~/.gitconfig\"]"),
            ("\"~/work/**\": \"rwx\"", "permissions.filesystem.rules[\"~/work/**\"]"),
            (
                "program /home/u/work/target/debug/build/a-1234/build-script-build",
                "permissions.filesystem.rules[\"~/work/**\"]"
            ),
            ("program /usr/bin/git", "agents.main.allowlist[0].argPattern"),
        ]
    );
    let policy = policy(&merged.text, &host);
    assert!(starts(&policy, "/home/u/.rustup/toolchains/stable/bin/rustc"));
    assert!(!starts(&policy, "/home/u/work/x") && !allows(&policy, "/home/u/.gitconfig", Access::READ));
    assert!(
        allows(&policy, "/tmp/x", Access::WRITE) && allows(&policy, "/etc/ssl/openssl.cnf", Access::READ)
    );
    assert!(!allows(&policy, "/etc/ssl/private/key", Access::READ));
    assert_eq!(
        merged.unused,
        ["agents.main.allowlist \"/usr/bin/make\"", "permissions.filesystem.rules \"/opt/**\": \"r-x\""]
    );
    // A second merge adds nothing.
    let again = merge("guard.json", &merged.text, &session, &proposal).expect("a merge");
    assert_eq!((again.text == merged.text, again.added.len()), (true, 0));
}

#[test]
fn the_order_in_which_paths_were_seen_does_not_count() {
    let paths = [seen("/etc/ssl", Used::READ, FinalState::Nothing), read("/etc/ssl/a")];
    let other = [paths[1].clone(), paths[0].clone()];
    let host = host();
    for width in WIDTHS {
        assert_eq!(proposed(&paths, &host, width).text, proposed(&other, &host, width).text, "{width:?}");
    }
}

#[test]
fn a_path_that_needs_no_rule_is_not_reported_as_secret() {
    let left_out = |path| proposed(&[read(path)], &host(), Width::Normal).left_out.len();
    assert_eq!((left_out("/proc/self/.env"), left_out("/srv/.env")), (0, 1));
}

#[test]
fn a_file_where_a_directory_was_is_learned() {
    let file = seen("/home/u/.cache/pip", Used::WRITTEN, FinalState::File);
    let below = seen("/home/u/.cache/pip/a/a", Used::MAPPED, FinalState::Nothing);
    let proposal = proposed(&[file, below], &host(), Width::Normal);
    assert_eq!(proposal.left_out, []);
    assert!(allows(&policy(&proposal.text, &host()), "/home/u/.cache/pip", Access::WRITE));
}
