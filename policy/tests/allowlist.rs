//! Tests of allowlist entries: names, arguments, order, skills.

use crate::common::{self, HOME, compile, exec, exec_as, host};
use guard_policy::{
    Document, Exec, Outcome, Overrides, Policy, Request, Role, cwd_argv_pattern, decide, exec_pattern,
};
use serde_json::{Value, json};

/// The file map lets everything run, so only the allowlist decides; nothing is asked.
fn policy(entries: Value) -> Policy {
    compile(&json!({
        "version": 1,
        "exec": { "ask": "off", "carriers": [], "safeBins": [] },
        "permissions": { "filesystem": { "rules": { "/**": "r-x", "/w/**": "rwx" } } },
        "agents": { "main": { "allowlist": entries } },
    }))
}

fn allowed(policy: &Policy, path: &str, argv: &[&str]) -> bool {
    exec_as(policy, path, argv, Role::Program).outcome == Outcome::Allow
}

/// Which entry allows.
fn by(policy: &Policy, path: &str, argv: &[&str]) -> String {
    let verdict = exec_as(policy, path, argv, Role::Program);
    assert_eq!(verdict.outcome, Outcome::Allow, "{path} {argv:?}");
    verdict.reason.path.into_owned()
}

#[test]
fn a_name_is_for_what_was_called_by_its_name() {
    let policy = policy(json!([{ "pattern": "rg" }, { "pattern": "py*" }]));
    assert!(allowed(&policy, "/usr/bin/rg", &["rg", "x"]));
    assert!(allowed(&policy, "/opt/rg", &["rg"]));
    assert!(!allowed(&policy, "/usr/bin/rg", &["/usr/bin/rg", "x"]));
    assert!(!allowed(&policy, "/usr/bin/rg", &[]));
    // The file's own name counts, not the name by which it was called.
    assert!(!allowed(&policy, "/usr/bin/sh", &["rg"]));
    assert!(allowed(&policy, "/usr/bin/python3.11", &["python3"]));
    // The tree could have put anything there.
    assert!(!allowed(&policy, "/w/rg", &["rg"]));
    // The kernel names an interpreter by its path.
    let interpreter = exec_as(&policy, "/usr/bin/python3.11", &["/usr/bin/python3", "x"], Role::Interpreter);
    assert_eq!(interpreter.outcome, Outcome::Allow);
}

#[test]
fn an_expression_is_found_in_the_arguments() {
    let policy = policy(json!([
        { "pattern": "/usr/bin/git", "argPattern": "^(status|log)( --oneline)?$" },
        { "pattern": "/usr/bin/a", "argPattern": "b c" },
        { "pattern": "/usr/bin/nul", "argPattern": "^status\u{0}-s\u{0}$" },
        { "pattern": "/usr/bin/none", "argPattern": "^\u{0}\u{0}$" },
        { "pattern": "/usr/bin/empty", "argPattern": "^$" },
        { "pattern": "/usr/bin/broken", "argPattern": "[" },
    ]));
    assert!(allowed(&policy, "/usr/bin/git", &["git", "status"]));
    assert!(allowed(&policy, "/usr/bin/git", &["git", "log", "--oneline"]));
    assert!(!allowed(&policy, "/usr/bin/git", &["git", "push"]));
    assert!(!allowed(&policy, "/usr/bin/git", &["status"]));
    assert!(!allowed(&policy, "/usr/bin/git", &["git", "status", ""]));
    // One argument or two: the text is the same. With a NUL in the pattern it is not.
    assert!(allowed(&policy, "/usr/bin/a", &["a", "b c"]));
    assert!(allowed(&policy, "/usr/bin/a", &["a", "x", "b", "c", "y"]));
    assert!(allowed(&policy, "/usr/bin/nul", &["nul", "status", "-s"]));
    assert!(!allowed(&policy, "/usr/bin/nul", &["nul", "status -s"]));
    assert!(allowed(&policy, "/usr/bin/none", &["none"]));
    assert!(!allowed(&policy, "/usr/bin/none", &["none", ""]));
    assert!(allowed(&policy, "/usr/bin/empty", &["empty"]));
    assert!(allowed(&policy, "/usr/bin/empty", &["empty", ""]));
    assert!(!allowed(&policy, "/usr/bin/broken", &["broken", "["]));
    let argv = [b"empty".to_vec(), b"\xff".to_vec()];
    let request = Exec { path: b"/usr/bin/a", argv: &argv, cwd: HOME, role: Role::Program };
    assert_eq!(decide(&policy, &Request::Exec(request)).outcome, Outcome::Deny);
}

#[test]
fn a_hash_is_for_these_arguments_in_this_directory() {
    let pattern = cwd_argv_pattern(HOME, &[b"-n".to_vec(), b"x y".to_vec()]);
    let policy =
        policy(json!([{ "pattern": "/usr/bin/rg", "argPattern": pattern, "source": "allow-always" }]));
    assert!(allowed(&policy, "/usr/bin/rg", &["rg", "-n", "x y"]));
    assert!(allowed(&policy, "/usr/bin/rg", &["/usr/bin/rg", "-n", "x y"]));
    assert!(!allowed(&policy, "/usr/bin/rg", &["rg", "-n", "x", "y"]));
    assert!(!allowed(&policy, "/usr/bin/fd", &["rg", "-n", "x y"]));
    let argv = ["rg", "-n", "x y"].map(|word| word.as_bytes().to_vec());
    let elsewhere = Exec { path: b"/usr/bin/rg", argv: &argv, cwd: b"/", role: Role::Program };
    assert_eq!(decide(&policy, &Request::Exec(elsewhere)).outcome, Outcome::Deny);
}

/// A program that acts by its name does something else by another one.
#[test]
fn a_hash_is_for_the_name_that_the_program_was_called_by() {
    let of = |path: &str, name: &str| {
        let argv = [name, "x"].map(|word| word.as_bytes().to_vec());
        exec_pattern(&Exec { path: path.as_bytes(), argv: &argv, cwd: HOME, role: Role::Program })
    };
    let openclaws = cwd_argv_pattern(HOME, &[b"x".to_vec()]);
    for (path, name) in [
        ("/usr/bin/git", "git"),
        ("/usr/bin/git", "/usr/bin/git"),
        ("/usr/bin/python3.11", "python3"),
        ("/usr/bin/vim.basic", "/usr/bin/vim"),
    ] {
        assert_eq!(of(path, name), openclaws, "{path} {name}");
    }
    for (path, name) in [
        ("/usr/bin/git", "git-upload-pack"),
        ("/usr/bin/git", ""),
        ("/usr/bin/git", "gi"),
        ("/bin/busybox", "wget"),
        ("/usr/bin/python3", "python3.11"),
    ] {
        assert_ne!(of(path, name), openclaws, "{path} {name}");
        let entry = |pattern: &str| {
            policy(json!([{ "pattern": path, "argPattern": pattern, "source": "allow-always" }]))
        };
        assert!(!allowed(&entry(&openclaws), path, &[name, "x"]), "{path} {name}");
        let own = entry(&of(path, name));
        assert!(allowed(&own, path, &[name, "x"]), "{path} {name}");
        assert!(!allowed(&own, path, &[path, "x"]) && !allowed(&own, path, &["other", "x"]), "{path} {name}");
    }
}

#[test]
fn entries_that_older_releases_generated_do_not_count() {
    let entries = json!([
        { "pattern": "/usr/bin/rg", "source": "allow-always" },
        { "pattern": "/usr/bin/rg", "source": "allow-always", "argPattern": "^x$" },
        { "pattern": "/usr/bin/rg", "argPattern": "sha256:argv:00" },
        { "pattern": "=command:0123456789abcdef", "source": "allow-always" },
        { "pattern": "*", "source": "allow-always" },
        { "pattern": "*", "argPattern": "x" },
    ]);
    let policy = policy(entries);
    assert!(!allowed(&policy, "/usr/bin/rg", &["rg", "x"]));
    assert!(!allowed(&policy, "/usr/bin/=command:0123456789abcdef", &["=command:0123456789abcdef"]));
    assert_eq!(policy.warnings().len(), 6, "{:?}", policy.warnings());
    for (i, warning) in policy.warnings().iter().enumerate() {
        assert!(warning.starts_with(&format!("agents.main.allowlist[{i}]: ")), "{warning}");
    }
}

#[test]
fn an_entry_with_arguments_is_the_reason_before_one_without() {
    let policy = policy(json!([
        { "pattern": "/usr/bin/**" },
        { "pattern": "/usr/bin/git", "argPattern": "^status$" },
        { "pattern": "*" },
    ]));
    assert_eq!(by(&policy, "/usr/bin/git", &["git", "status"]), "agents.main.allowlist[1]");
    assert_eq!(by(&policy, "/usr/bin/git", &["git", "push"]), "agents.main.allowlist[0]");
    assert_eq!(by(&policy, "/opt/x", &["x"]), "agents.main.allowlist[2]");
}

/// Without a kernel, the path is as the caller wrote it.
#[test]
fn a_written_path_is_compared_as_written_by_a_pattern_without_wildcards() {
    let policy =
        policy(json!([{ "pattern": "/usr/bin/*" }, { "pattern": "/opt/../x/y" }, { "pattern": "/a/*/b" }]));
    assert!(allowed(&policy, "/usr/lib/../bin/rg", &["rg"]));
    assert!(!allowed(&policy, "/usr/bin/../sbin/x", &["x"]));
    assert!(allowed(&policy, "/opt/../x/y", &["y"]));
    assert!(!allowed(&policy, "/x/y", &["y"]));
    assert!(allowed(&policy, "/a//b", &["b"]));
    assert!(!allowed(&policy, "usr/bin/rg", &["rg"]));
}

#[test]
fn the_reason_names_a_symbolic_link() {
    let mut host = host();
    host.realpath = &|path| match path {
        b"/usr/bin/python3" => Some(b"/usr/bin/python3.11".to_vec()),
        b"/bin/ls" => Some(b"/usr/bin/ls".to_vec()),
        b"/bin" => Some(b"/usr/bin".to_vec()),
        _ => Some(path.to_vec()),
    };
    let text = json!({ "version": 1, "agents": { "main": { "allowlist": [
        { "pattern": "/usr/bin/python3" }, { "pattern": "/bin/ls" }, { "pattern": "/usr/bin/rg" },
    ] } } });
    let document = Document::parse("x", &text.to_string()).unwrap();
    let policy = Policy::compile(&document, "main", &host, &Overrides::default()).unwrap();
    let expected = "agents.main.allowlist[0]: \"/usr/bin/python3\" is a link to /usr/bin/python3.11; programs \
                    are compared by their real path: use that";
    assert_eq!(policy.warnings(), [expected]);
}

#[test]
fn skills_count_where_they_are_and_when_asked_for() {
    let document = |auto: bool| {
        json!({
            "version": 1,
            "exec": { "ask": "off", "autoAllowSkills": auto, "skills": { "bins": [
                { "name": "gog", "resolvedPath": "/opt/gog" }, { "name": "mine", "resolvedPath": "/w/mine" },
            ] } },
            "permissions": { "filesystem": { "rules": { "/**": "r-x", "/w/**": "rwx" } } },
            "agents": { "other": { "exec": { "autoAllowSkills": false } } },
        })
    };
    let on = compile(&document(true));
    assert_eq!(by(&on, "/opt/gog", &["gog", "--any"]), "exec.skills.bins[0]");
    assert!(!allowed(&on, "/usr/bin/gog", &["gog"]));
    assert!(!allowed(&on, "/opt/gog/x", &["gog"]));
    // The tree could put anything there.
    assert!(!allowed(&on, "/w/mine", &["mine"]));
    let verdict = exec(&on, &["/w/mine"]);
    assert_eq!(
        verdict.reason.rule(),
        "exec.security \"allowlist\": exec.skills.bins[1] names it, but does not count: the guarded tree may write it \
         (permissions.filesystem.rules \"/w/**\": \"rwx\")"
    );
    assert!(!allowed(&compile(&document(false)), "/opt/gog", &["gog"]));
    let other = Document::parse("x", &document(true).to_string()).unwrap();
    let other = Policy::compile(&other, "other", &host(), &Overrides::default()).unwrap();
    assert_eq!(exec(&other, &["/opt/gog"]).outcome, Outcome::Deny);
}

#[test]
fn a_pattern_that_only_looks_like_a_star_is_a_name() {
    // ECMAScript does not trim U+0085, so this is a name, which no program has.
    assert!(!allowed(&policy(json!([{ "pattern": "\u{85}*" }])), "/usr/bin/rg", &["/usr/bin/rg"]));
    assert!(allowed(&policy(json!([{ "pattern": "\u{feff}* " }])), "/usr/bin/rg", &["/usr/bin/rg"]));
}

#[test]
fn each_entry_can_be_looked_at_by_itself() {
    let entries = json!([
        { "pattern": "/usr/bin/git", "argPattern": "^status$" },
        { "pattern": "/usr/bin/rg" },
        { "pattern": "rg" },
        { "pattern": "/opt/*" },
        { "pattern": "*" },
        { "pattern": " " },
    ]);
    let document = json!({
        "version": 1,
        "permissions": { "filesystem": { "rules": { "/**": "r-x" } } },
        "agents": { "main": { "allowlist": entries } },
    });
    let document = common::parse(&document.to_string()).unwrap();
    let policy = Policy::compile(&document, "main", &host(), &Overrides::default()).unwrap();
    let matching = |i: usize, argv: &[&str], path: &str| {
        let argv: Vec<_> = argv.iter().map(|word| word.as_bytes().to_vec()).collect();
        let exec = Exec { path: path.as_bytes(), argv: &argv, cwd: HOME, role: Role::Program };
        policy.entry_matches(&format!("agents.main.allowlist[{i}]"), &exec)
    };
    assert!(matching(0, &["git", "status"], "/usr/bin/git"));
    assert!(!matching(0, &["git", "push"], "/usr/bin/git"), "another entry lets it");
    assert!(matching(1, &["/usr/bin/rg"], "/usr/bin/rg"));
    assert!(!matching(2, &["/usr/bin/rg"], "/usr/bin/rg"));
    assert!(matching(2, &["rg"], "/usr/bin/rg"));
    assert!(matching(4, &["x"], "/srv/x"));
    assert!(!matching(5, &["x"], "/srv/x"));

    let explained = policy.explain(Some(&document));
    let shown: Vec<_> = explained
        .iter()
        .filter(|setting| setting.path.starts_with("agents.main.allowlist["))
        .map(|setting| (setting.name.as_str(), setting.value.as_str(), setting.note.as_str()))
        .collect();
    let entry = |name: &'static str| (name, "entry", "");
    let limited = ("/usr/bin/git", "entry", "with the arguments of its argPattern");
    assert_eq!(shown[..5], [limited, entry("/usr/bin/rg"), entry("rg"), entry("/opt/*"), entry("*")]);
    assert_eq!(shown.len(), 6, "the blank one is shown too, as one that is not in force");

    // Only a pattern without wildcards can name a missing file.
    let missing = |exists: &dyn Fn(&[u8]) -> bool| policy.lint(&document, exists);
    assert_eq!(missing(&|_| true), [""; 0]);
    assert_eq!(
        missing(&|path| path == b"/usr/bin/git"),
        ["agents.main.allowlist[1]: there is no file /usr/bin/rg"]
    );
}
