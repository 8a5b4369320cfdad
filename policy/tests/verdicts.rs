//! Tests of verdicts and their reasons.

use std::borrow::Cow;

use crate::common::{self, compile, compile_with, exec, exec_as, file, host, outcomes};
use guard_policy::{
    Access, Ask, Exec, Host, Outcome, Overrides, Policy, Request, Role, Security, Source, decide,
};
use serde_json::{Value, json};

fn map(rules: Value) -> Policy {
    with(json!({}), rules, json!([]), "---")
}

fn with(exec: Value, rules: Value, deny: Value, default: &str) -> Policy {
    compile(&json!({
        "version": 1,
        "exec": exec,
        "permissions": { "filesystem": { "rules": rules, "deny": deny, "default": default } },
        "agents": { "main": { "allowlist": [{ "pattern": "/usr/bin/git" }, { "pattern": "jq" }] } },
    }))
}

#[test]
fn the_longest_pattern_decides_and_a_tie_grants_what_both_grant() {
    let policy = map(json!({
        "~/work/**": "rw-", "~/work/bin/**": "r-x", "/srv/*a": "r-x", "/srv/b*": "?wx", "/srv/?c": "rwx",
    }));
    assert_eq!(policy.rights(b"/home/u/work/x").to_string(), "rw-");
    assert_eq!(policy.rights(b"/home/u/work").to_string(), "rw-");
    assert_eq!(policy.rights(b"/home/u/work/bin/x").to_string(), "r-x");
    assert_eq!(policy.rights(b"/srv/ba").to_string(), "?-x");
    assert_eq!(policy.rights(b"/srv/bc").to_string(), "?wx");
    let verdict = file(&policy, "/srv/ba", Access::READ);
    assert_eq!(verdict.reason.path, "permissions.filesystem.rules[\"/srv/b*\"]", "the stricter one");
}

#[test]
fn a_withheld_bit_is_final_by_a_rule_and_asked_by_the_default() {
    let policy = map(json!({ "~/work/**": "r--", "~/odd/**": "r?-" }));
    assert_eq!(outcomes(&policy, "/home/u/work/a"), "add");
    assert_eq!(outcomes(&policy, "/home/u/odd/a"), "a?d");
    assert_eq!(outcomes(&policy, "/srv/a"), "???");
    let silent = with(json!({ "ask": "off" }), json!({ "~/odd/**": "r??" }), json!([]), "-?-");
    assert_eq!(outcomes(&silent, "/home/u/odd/a"), "add");
    assert_eq!(outcomes(&silent, "/srv/a"), "ddd");
}

#[test]
fn deny_beats_every_rule_and_says_so() {
    let policy = with(
        json!({}),
        json!({ "~/**": "rwx", "~/.ssh/config": "rw-" }),
        json!(["~/.ssh/**", "**/.env", "~/secret"]),
        "---",
    );
    for path in ["/home/u/.ssh", "/home/u/.ssh/config", "/home/u/x/.env", "/home/u/secret/a\nb"] {
        assert_eq!(outcomes(&policy, path), "ddd", "{path}");
    }
    let verdict = file(&policy, "/home/u/.ssh/id_rsa", Access::READ);
    assert_eq!(verdict.reason.rule(), "permissions.filesystem.deny \"~/.ssh/**\"");
    assert_eq!(verdict.reason.source, Source::Global);
    assert_eq!(
        serde_json::to_value(&verdict).unwrap(),
        json!({ "outcome": "deny", "because": {
            "source": "global", "path": "permissions.filesystem.deny[\"~/.ssh/**\"]",
            "text": "\"~/.ssh/**\" is denied", "rule": "permissions.filesystem.deny \"~/.ssh/**\"" } })
    );
}

#[test]
fn the_state_directory_is_out_of_reach_whatever_the_rules_say() {
    let policy = with(json!({ "security": "full", "ask": "off" }), json!({ "/**": "rwx" }), json!([]), "rwx");
    assert_eq!(outcomes(&policy, "/home/u/.openclaw"), "ddd");
    assert_eq!(outcomes(&policy, "/home/u/.openclaw/openclaw.json"), "ddd");
    assert_eq!(outcomes(&policy, "/home/u/.openclaw2"), "aaa");
}

#[test]
fn a_file_without_a_real_path_is_denied() {
    let policy = with(json!({ "security": "full" }), json!({ "/**": "rwx", "**": "rwx" }), json!([]), "rwx");
    for path in ["memfd:x", "", "pipe:[1]", "a/b"] {
        assert_eq!(outcomes(&policy, path), "ddd", "{path}");
    }
    // A caller without a kernel may ask about a program by such a path; files have been resolved.
    for path in ["/a/../b", "/a/./b", "//a"] {
        assert_eq!(outcomes(&policy, path), "dda", "{path}");
    }
    let policy = with(
        json!({ "security": "full" }),
        json!({ "/blocked": "r--", "/**": "r-x" }),
        json!(["/c/**"]),
        "rwx",
    );
    for path in ["/blocked", "/a/../blocked", "/c/x/y", "/c/../c/./x", "/a/../..//c"] {
        assert_eq!(exec(&policy, &[path]).outcome, Outcome::Deny, "{path}");
    }
}

#[test]
fn the_base_serves_loaders_and_devices_but_no_programs() {
    let policy = compile(&json!({ "version": 1, "permissions": { "persistence": false } }));
    assert_eq!(policy.rights(b"/usr/lib/x86_64-linux-gnu/libc.so.6").to_string(), "r?x");
    assert_eq!(policy.rights(b"/usr/lib64/ld-linux-x86-64.so.2").to_string(), "r?x");
    assert_eq!(policy.rights(b"/usr/lib/git-core/git").to_string(), "???");
    assert_eq!(policy.rights(b"/dev/null").to_string(), "rw?");
    assert_eq!(policy.rights(b"/etc/passwd").to_string(), "r??");
    assert_eq!(policy.rights(b"/proc/self/maps").to_string(), "rw?");
    let bare = compile(&json!({ "version": 1, "exec": { "ask": "off" }, "permissions": { "base": false } }));
    assert_eq!(bare.rights(b"/dev/null").to_string(), "---");
    let based = compile(&json!({ "version": 1, "exec": { "ask": "off" } }));
    assert_eq!(based.rights(b"/dev/null").to_string(), "rw-");
    let narrowed = map(json!({ "/etc/passwd": "---" }));
    assert_eq!(narrowed.rights(b"/etc/passwd").to_string(), "---", "a rule overrides the base");
}

#[test]
fn the_reason_names_entries_that_do_not_count() {
    let policy = compile(&json!({
        "version": 1,
        "exec": { "autoAllowSkills": false },
        "permissions": { "filesystem": { "rules": { "/usr/bin/**": "r-x", "~/work/**": "rwx",
            "~/.local/bin/**": "rwx", "/opt/**": "r-x" } } },
        "agents": { "main": { "allowlist": [
            { "pattern": "/usr/bin/git", "argPattern": "^status$" }, { "pattern": "jq" },
            { "pattern": "/usr/bin/make", "argPattern": "sha256:cwd-argv:v1:0" },
        ] } },
    }));
    let why = |path: &str, argv: &[&str]| {
        let verdict = exec_as(&policy, path, argv, Role::Program);
        assert_eq!(verdict.outcome, Outcome::Ask, "{path}");
        assert_eq!(verdict.reason.path, "exec.security", "{path}: what withholds it");
        let rule = verdict.reason.rule();
        let clause = rule.strip_prefix("exec.security \"allowlist\": ").expect("the mode").to_owned();
        let text = &verdict.reason.text;
        assert!(clause.starts_with("not in") || text.ends_with(&clause), "{text}");
        clause
    };
    let tree =
        "does not count: the guarded tree may write it (permissions.filesystem.rules \"~/work/**\": \"rwx\")";
    assert_eq!(why("/home/u/work/bash", &["bash"]), format!("exec.carriers names it, but {tree}"));
    assert_eq!(why("/home/u/work/jq", &["jq"]), format!("agents.main.allowlist[1] names it, but {tree}"));
    assert_eq!(why("/home/u/work/jq", &["./jq"]), format!("agents.main.allowlist[1] names it, but {tree}"));
    // Persistence keeps ~/.local/bin, and does not make it trusted.
    let reason = why("/home/u/.local/bin/jq", &["jq"]);
    assert_eq!(
        reason,
        "agents.main.allowlist[1] names it, but does not count: the guarded tree may write it"
    );
    assert_eq!(
        why("/usr/bin/git", &["git", "push"]),
        "agents.main.allowlist[0] names it, but with other arguments"
    );
    assert_eq!(
        why("/usr/bin/make", &["make"]),
        "agents.main.allowlist[2] names it, but with other arguments or in another directory, or by another name"
    );
    let by_path = "agents.main.allowlist[1] names it, but applies only if it is started by its bare name";
    assert_eq!(why("/usr/bin/jq", &["/usr/bin/jq"]), by_path);
    assert_eq!(why("/usr/bin/head", &["head", "f"]), "\"head\" is a safe bin, but not with these arguments");
    assert_eq!(why("/opt/head", &["head"]), "\"head\" is a safe bin, but only in exec.safeBinTrustedDirs");
    assert_eq!(why("/usr/bin/perl", &["perl"]), "not in the allowlist");
}

#[test]
fn programs_need_the_allowlist_and_the_map() {
    let policy = map(json!({ "/usr/bin/**": "r-x", "/usr/bin/curl": "r--", "~/bin/**": "rwx" }));
    let outcome = |argv: &[&str]| exec(&policy, argv).outcome;
    assert_eq!(outcome(&["/usr/bin/git", "status"]), Outcome::Allow);
    let named = |path: &str| exec_as(&policy, path, &["jq"], Role::Program).outcome;
    assert_eq!(named("/usr/bin/jq"), Outcome::Allow, "by name, where the tree cannot write");
    assert_eq!(named("/home/u/bin/jq"), Outcome::Ask, "anyone could have put that there");
    assert_eq!(outcome(&["/usr/bin/perl"]), Outcome::Ask);
    assert_eq!(outcome(&["/usr/bin/curl"]), Outcome::Deny);
    assert_eq!(outcome(&["/opt/git"]), Outcome::Ask);
    let verdict = exec(&policy, &["/usr/bin/perl"]);
    assert_eq!(verdict.reason.rule(), "exec.security \"allowlist\": not in the allowlist");
    assert_eq!(verdict.reason.source, Source::Default);
    let verdict = exec(&policy, &["/usr/bin/git"]);
    assert_eq!(verdict.reason.path, "agents.main.allowlist[0]");
}

#[test]
fn carriers_run_from_where_the_tree_cannot_write() {
    let rules = json!({ "/usr/bin/**": "r-x", "~/bin/**": "rwx", "/usr/bin/zsh": "r--" });
    let policy = map(rules.clone());
    let outcome = |argv: &[&str]| exec(&policy, argv).outcome;
    assert_eq!(outcome(&["/usr/bin/bash", "-c", "true"]), Outcome::Allow);
    assert_eq!(outcome(&["/usr/bin/xargs"]), Outcome::Allow);
    assert_eq!(outcome(&["/home/u/bin/bash"]), Outcome::Ask);
    assert_eq!(outcome(&["/usr/bin/zsh"]), Outcome::Deny, "x is withheld by a rule");
    let busybox = |argv: &[&str]| exec_as(&policy, "/usr/bin/busybox", argv, Role::Program).outcome;
    assert_eq!(busybox(&["sh", "-c", "true"]), Outcome::Allow);
    assert_eq!(busybox(&["busybox", "sh"]), Outcome::Allow);
    assert_eq!(busybox(&["wget", "sh"]), Outcome::Ask);

    let only_sh = with(json!({ "carriers": ["sh"] }), rules.clone(), json!([]), "---");
    assert_eq!(exec(&only_sh, &["/usr/bin/dash"]).outcome, Outcome::Allow, "what sh resolves to");
    assert_eq!(exec(&only_sh, &["/usr/bin/env"]).outcome, Outcome::Ask);
    let none = with(json!({ "carriers": [] }), rules, json!([]), "---");
    assert_eq!(exec(&none, &["/usr/bin/bash"]).outcome, Outcome::Ask);
}

#[test]
fn security_and_ask() {
    let rules = json!({ "/usr/bin/**": "r-x", "/opt/**": "r-?" });
    let of = |exec: Value| with(exec, rules.clone(), json!([]), "---");
    let denied = of(json!({ "security": "deny", "ask": "always" }));
    for program in ["/usr/bin/git", "/usr/bin/bash", "/opt/x"] {
        assert_eq!(exec(&denied, &[program]).outcome, Outcome::Deny, "{program}");
    }
    assert_eq!(exec(&denied, &["/usr/bin/git"]).reason.rule(), "exec.security \"deny\"");
    let full = of(json!({ "security": "full", "ask": "off" }));
    assert_eq!(exec(&full, &["/usr/bin/perl"]).outcome, Outcome::Allow);
    assert_eq!(exec(&full, &["/opt/x"]).outcome, Outcome::Deny, "? with ask off");
    assert_eq!(exec(&full, &["/srv/x"]).outcome, Outcome::Deny, "the map still judges");
    let always = of(json!({ "security": "full", "ask": "always" }));
    assert_eq!(exec(&always, &["/usr/bin/git"]).outcome, Outcome::Ask);
    assert_eq!(exec(&always, &["/usr/bin/bash"]).outcome, Outcome::Allow, "carriers are not asked for");
    assert_eq!(file(&always, "/usr/bin/git", Access::READ).outcome, Outcome::Allow, "never for files");
    let silent = of(json!({ "ask": "off" }));
    assert_eq!(exec(&silent, &["/usr/bin/perl"]).outcome, Outcome::Deny);
}

#[test]
fn a_loader_needs_x_alone_and_a_loader_as_a_program_an_entry() {
    let policy = map(json!({}));
    let loader = "/usr/lib64/ld-linux-x86-64.so.2";
    assert_eq!(exec_as(&policy, loader, &["/usr/bin/git"], Role::Loader).outcome, Outcome::Allow);
    assert_eq!(exec_as(&policy, loader, &[loader, "/tmp/x"], Role::Program).outcome, Outcome::Ask);
    assert_eq!(exec_as(&policy, "/tmp/ld.so", &["/usr/bin/git"], Role::Loader).outcome, Outcome::Ask);
    let denied = with(json!({ "security": "deny" }), json!({}), json!([]), "---");
    assert_eq!(exec_as(&denied, loader, &["/usr/bin/git"], Role::Loader).outcome, Outcome::Deny);
}

#[test]
fn the_fallback_never_lifts_a_denial() {
    let rules = json!({ "/usr/bin/**": "r-x", "/usr/bin/curl": "---" });
    let after = |exec: Value, path: &str, access: Option<Access>| {
        let policy = with(exec, rules.clone(), json!([]), "---");
        let argv = [path.as_bytes().to_vec()];
        let path = path.as_bytes();
        let request = match access {
            Some(access) => Request::File { path, access },
            None => Request::Exec(guard_policy::Exec { path, argv: &argv, cwd: b"/", role: Role::Program }),
        };
        policy.fallback(&request, decide(&policy, &request)).outcome
    };
    let (deny, listed, full) = (
        json!({ "security": "full", "ask": "always", "askFallback": "deny" }),
        json!({ "security": "allowlist", "ask": "always", "askFallback": "full" }),
        json!({ "security": "full", "ask": "always", "askFallback": "full" }),
    );
    assert_eq!(after(deny.clone(), "/usr/bin/git", None), Outcome::Deny);
    assert_eq!(after(deny, "/usr/bin/bash", None), Outcome::Allow, "was never asked for");
    assert_eq!(after(listed.clone(), "/usr/bin/git", None), Outcome::Allow);
    assert_eq!(after(listed.clone(), "/usr/bin/perl", None), Outcome::Deny, "security bounds the fallback");
    assert_eq!(after(listed, "/srv/a", Some(Access::READ)), Outcome::Deny);
    assert_eq!(after(full.clone(), "/usr/bin/curl", None), Outcome::Deny);
    assert_eq!(after(full.clone(), "/usr/bin/perl", None), Outcome::Allow);
    assert_eq!(after(full, "/srv/a", Some(Access::READ)), Outcome::Allow);
}

#[test]
fn agents_come_before_all_agents_before_the_top() {
    let document = json!({
        "version": 1,
        "exec": { "security": "full", "ask": "off" },
        "permissions": { "filesystem": {
            "rules": { "/a/**": "rwx", "/b/**": "r--", "/c/**": "r--" }, "deny": ["/top"], "default": "r--" } },
        "agents": {
            "main": { "exec": { "ask": "on-miss" },
                      "permissions": { "filesystem": { "rules": { "/a/": "r--" }, "deny": ["/mine"] } } },
            "*": { "exec": { "security": "allowlist", "ask": "always" }, "allowlist": [{ "pattern": "*" }],
                   "permissions": { "filesystem": { "rules": { "/a/**": "---", "/b/**": "rw-" },
                                                    "deny": ["/all"], "default": "---" } } },
        },
    });
    let of = |agent: &str| compile_with(&document, agent, &host(), &Overrides::default());
    let main = of("main");
    assert_eq!((main.security(), main.ask(), main.agent()), (Security::Allowlist, Ask::OnMiss, "main"));
    assert_eq!(main.rights(b"/a/x").to_string(), "r--");
    assert_eq!(main.rights(b"/b/x").to_string(), "rw-");
    assert_eq!(main.rights(b"/c/x").to_string(), "r--");
    assert_eq!(main.rights(b"/d/x").to_string(), "???");
    for denied in ["/top/x", "/all/x", "/mine/x"] {
        assert_eq!(main.rights(denied.as_bytes()).to_string(), "---", "{denied}");
    }
    let verdict = file(&main, "/mine", Access::READ);
    assert_eq!(verdict.reason.rule(), "agents.main.permissions.filesystem.deny \"/mine\"");
    assert_eq!(verdict.reason.source, Source::Agent);
    let verdict = file(&main, "/d/x", Access::READ);
    assert_eq!(verdict.reason.rule(), "agents[\"*\"].permissions.filesystem.default \"---\"");

    let other = of("other");
    assert_eq!((other.security(), other.ask()), (Security::Allowlist, Ask::Always));
    assert_eq!(other.rights(b"/a/x").to_string(), "---");
    assert_eq!(other.rights(b"/mine/x").to_string(), "???");
}

#[test]
fn defaults_are_closed() {
    let policy = compile(&json!({ "version": 1 }));
    assert_eq!(policy.security(), Security::Allowlist);
    assert_eq!(policy.ask(), Ask::OnMiss);
    assert_eq!(policy.ask_fallback(), Security::Deny);
    assert_eq!((policy.timeout_ms(), policy.running_notice_ms()), (120_000, 10_000));
    assert!(policy.unix_datagram() && !policy.allow_ptrace());
    let verdict = file(&policy, "/srv/x", Access::WRITE);
    assert_eq!(verdict.reason.rule(), "permissions.filesystem.default \"---\"");
    assert_eq!(verdict.reason.source, Source::Default);
}

/// `/bin` leads to `/usr/bin`, as on most systems; `~/work/link` to `~`, as an attacker would have it.
fn merged(path: &[u8]) -> Option<Vec<u8>> {
    match path {
        b"/bin" => Some(b"/usr/bin".to_vec()),
        b"/home/u/work/link" => Some(b"/home/u".to_vec()),
        b"/home/u/keys" => Some(b"/data/keys".to_vec()),
        b"/usr" | b"/usr/bin" | b"/home" | b"/home/u" | b"/home/u/work" | b"/lib" => Some(path.to_vec()),
        _ => None,
    }
}

#[test]
fn links_in_leading_directories_are_followed_unless_the_tree_could_move_them() {
    let host = Host { realpath: &merged, ..host() };
    let policy = compile_with(
        &json!({
            "version": 1,
            "permissions": { "filesystem": {
                "rules": { "/bin/**": "r-x", "~/work/**": "rw-", "~/work/link/**": "rw-" }, "deny": ["~/keys"] } },
            "agents": { "main": { "allowlist": [{ "pattern": "/bin/git" }] } },
        }),
        "main",
        &host,
        &Overrides::default(),
    );
    assert_eq!(exec(&policy, &["/usr/bin/git"]).outcome, Outcome::Allow);
    assert_eq!(exec(&policy, &["/bin/git"]).outcome, Outcome::Allow);
    assert_eq!(outcomes(&policy, "/data/keys/a"), "ddd");
    assert_eq!(policy.rights(b"/home/u/.unknown").to_string(), "???");
    assert_eq!(
        policy.warnings(),
        ["permissions.filesystem.rules[\"~/work/link/**\"]: /home/u/work/link is a symbolic link that the \
          guarded tree may replace, so the rule does not follow it; name /home/u/** instead"]
    );
}

#[test]
fn moving_gives_no_right() {
    let policy = with(
        json!({}),
        json!({ "~/work/**": "rw-", "~/work/bin/**": "rwx", "~/drop/**": "-w-", "~/sub/**": "rw-", "~/sub/*/x/**": "r--" }),
        json!(["~/work/private/**", "**/.env"]),
        "---",
    );
    let may = |old: &str, new: &str, dir: bool| policy.may_move(old.as_bytes(), new.as_bytes(), dir);
    assert!(may("/home/u/work/a", "/home/u/work/b", false));
    assert!(may("/home/u/work/a", "/home/u/work/b", true), "a denial by name moves along");
    assert!(may("/home/u/work/bin/a", "/home/u/work/b", false));
    assert!(!may("/home/u/work/a", "/home/u/work/bin/a", false), "x would be gained");
    assert!(!may("/home/u/drop/a", "/home/u/work/a", false), "r would be gained");
    assert!(!may("/home/u/work/.env", "/home/u/work/env", false));
    assert!(!may("/home/u/work/.env", "/home/u/work/env", true));
    assert!(!may("/home/u/work", "/home/u/sub/w", true), "something below is denied there");
    assert!(!may("/home/u/sub/a", "/home/u/work/a", true), "~/sub/a/x is read only");
    assert!(may("/home/u/sub/a", "/home/u/work/a", false));
    assert!(may("/home/u/sub/a/b", "/home/u/work/b", true));
}

#[test]
fn a_directory_denied_by_its_name_does_not_move_to_another() {
    // `/a/new` itself grants nothing, as `/o/.env` does, but what is below it would be free.
    let policy = with(
        json!({}),
        json!({ "/a/**": "rwx", "/a/new": "---", "/o/**": "rwx" }),
        json!(["**/.env/**"]),
        "---",
    );
    assert!(!policy.may_move(b"/o/.env", b"/a/new", true));
    assert!(policy.may_move(b"/o/env", b"/a/new", true));
}

#[test]
fn an_allowed_verdict_borrows_its_reasons() {
    let policy = map(json!({ "/usr/bin/**": "r-x" }));
    for verdict in [
        file(&policy, "/usr/bin/git", Access::READ),
        file(&policy, "/dev/null", Access::READ | Access::WRITE),
        exec(&policy, &["/usr/bin/git"]),
        exec(&policy, &["/usr/bin/bash"]),
    ] {
        assert_eq!(verdict.outcome, Outcome::Allow);
        assert!(matches!(verdict.reason.path, Cow::Borrowed(_)));
        assert!(matches!(verdict.reason.text, Cow::Borrowed(_)));
    }
}

#[test]
fn uniform_reading() {
    let policy = with(
        json!({}),
        json!({ "/usr/**": "r-x", "~/work/**": "rw-", "~/work/x/**": "-w-", "~/odd/**": "r--" }),
        json!(["~/odd/a/**"]),
        "---",
    );
    assert!(policy.is_uniform(b"/usr", Access::READ));
    assert!(policy.is_uniform(b"/usr/share", Access::READ));
    assert!(!policy.is_uniform(b"/", Access::READ));
    assert!(!policy.is_uniform(b"/home/u/work", Access::READ));
    assert!(policy.is_uniform(b"/home/u/work/y", Access::READ));
    assert!(!policy.is_uniform(b"/home/u/odd", Access::READ));
    assert!(policy.is_uniform(b"/home/u/odd/b", Access::READ));
    assert!(!policy.is_uniform(b"/home/u/.ssh", Access::READ));
    let named = with(json!({}), json!({ "/usr/**": "r-x" }), json!(["**/.env"]), "---");
    assert!(!named.is_uniform(b"/usr", Access::READ));
}

#[test]
fn exec_roots_come_from_the_map_or_the_document() {
    let policy =
        map(json!({ "/usr/**": "r-x", "~/work/**": "rw-", "~/bin/tool": "r-?", "/opt/*/bin/**": "r-x" }));
    let shown = |p: &Policy| {
        p.exec_roots().iter().map(|r| String::from_utf8_lossy(r).into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(shown(&policy), ["/home/u/bin/tool", "/lib", "/lib64", "/opt", "/usr"]);
    assert!(policy.within_exec_roots(b"/opt/a/bin/b") && !policy.within_exec_roots(b"/optional/a"));
    let named = with(json!({ "roots": ["~/bin/", "/bin"] }), json!({ "/usr/**": "r-x" }), json!([]), "---");
    assert_eq!(
        shown(&named),
        ["/bin", "/home/u/bin", "/lib", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib"]
    );
}

#[test]
fn many_rules_decide_as_few_do() {
    let mut rules = serde_json::Map::new();
    for i in 0..3000 {
        rules.insert(format!("/srv/d{i}/**"), json!("r--"));
    }
    rules.insert("~/work/**".into(), json!("rw-"));
    rules.insert("~/work/*/x".into(), json!("r-x"));
    rules.insert("**/y".into(), json!("---"));
    let policy = map(rules.into());
    assert_eq!(policy.rights(b"/srv/d77/a/b").to_string(), "r--");
    assert_eq!(policy.rights(b"/srv/d77").to_string(), "r--");
    assert_eq!(policy.rights(b"/srv/d3000").to_string(), "???");
    assert_eq!(policy.rights(b"/home/u/work/a/x").to_string(), "r-x");
    assert_eq!(policy.rights(b"/home/u/work/y").to_string(), "rw-", "the longer pattern");
    assert_eq!(policy.rights(b"/z/y").to_string(), "---");
}

/// System programs may run, but only with an entry or as safe bins.
fn with_safe_bins(exec: Value) -> Policy {
    let mut section = json!({ "ask": "off" });
    section.as_object_mut().unwrap().extend(exec.as_object().unwrap().clone());
    let rules = json!({ "/usr/**": "r-x", "/bin/**": "r-x", "/opt/**": "rwx", "~/bin/**": "r-x" });
    compile(&json!({ "version": 1, "exec": section, "permissions": { "filesystem": { "rules": rules } } }))
}

#[test]
fn safe_bins_run_while_they_keep_to_their_input() {
    let policy = with_safe_bins(json!({}));
    let allowed = |argv: &[&str]| exec(&policy, argv).outcome == Outcome::Allow;
    assert!(allowed(&["/usr/bin/head", "-n", "5"]) && allowed(&["/bin/wc", "-l"]));
    assert!(!allowed(&["/usr/bin/head", "-n", "5", "secret"]));
    assert!(!allowed(&["/usr/bin/sort"]), "not a default one");
    assert!(!allowed(&["/usr/local/bin/head"]) && !allowed(&["/opt/head"]), "not a trusted place");
    let verdict = exec(&policy, &["/usr/bin/tr", "a", "b"]);
    assert_eq!((verdict.reason.source, verdict.reason.rule()), (Source::Default, "exec.safeBins \"tr\""));
    let interpreter = exec_as(&policy, "/usr/bin/head", &["/usr/bin/head"], Role::Interpreter);
    assert_eq!(interpreter.outcome, Outcome::Deny, "a script in head is no use of it");
    assert_eq!(exec(&with_safe_bins(json!({ "safeBins": [] })), &["/usr/bin/head"]).outcome, Outcome::Deny);
    assert_eq!(
        exec(&with_safe_bins(json!({ "security": "deny" })), &["/usr/bin/head"]).outcome,
        Outcome::Deny
    );
    assert_eq!(exec(&with_safe_bins(json!({ "ask": "always" })), &["/usr/bin/head"]).outcome, Outcome::Ask);
}

#[test]
fn safe_bins_of_the_operators_own() {
    let policy = with_safe_bins(json!({
        "safeBins": ["echo", "jq", "python3"],
        "safeBinTrustedDirs": ["/usr/bin/", "~/bin", "/opt"],
        "safeBinProfiles": { "echo": { "maxPositional": 1 } },
    }));
    let allowed = |argv: &[&str]| exec(&policy, argv).outcome == Outcome::Allow;
    assert!(allowed(&["/usr/bin/echo", "hello"]) && allowed(&["/home/u/bin/echo"]));
    assert!(!allowed(&["/usr/bin/echo", "hello", "world"]) && !allowed(&["/bin/echo"]));
    assert!(!allowed(&["/opt/echo"]), "trusted, but the tree can write it");
    assert!(allowed(&["/usr/bin/jq", ".foo"]) && !allowed(&["/usr/bin/jq", "env"]));
    assert!(!allowed(&["/usr/bin/python3"]), "no profile");
    assert!(!allowed(&["/usr/bin/head"]), "the list replaces the default one");
}

#[test]
fn an_agent_has_safe_bins_of_its_own() {
    let json = json!({
        "version": 1,
        "exec": {
            "ask": "off", "safeBins": ["wc", "echo"], "safeBinTrustedDirs": ["/usr/bin"],
            "safeBinProfiles": { "echo": { "maxPositional": 0 }, "printf": { "maxPositional": 9 } },
        },
        "permissions": { "filesystem": { "rules": { "/usr/**": "r-x", "/bin/**": "r-x" } } },
        "agents": {
            "main": { "exec": { "safeBins": ["echo", "head", "printf"], "safeBinProfiles": { "echo": { "maxPositional": 1 } } } },
            "none": { "exec": { "safeBins": [] } },
            "*": { "exec": { "safeBinTrustedDirs": ["/bin"] } },
        },
    });
    let allowed = |agent: &str, argv: &[&str]| {
        let policy = common::compile_with(&json, agent, &common::host(), &Overrides::default());
        exec(&policy, argv).outcome == Outcome::Allow
    };
    assert!(allowed("main", &["/bin/head"]) && allowed("main", &["/bin/echo", "x"]));
    assert!(allowed("main", &["/bin/printf", "x"]), "the top level's profile");
    assert!(!allowed("main", &["/bin/echo", "x", "y"]), "the agent's profile");
    assert!(!allowed("main", &["/bin/wc"]), "the agent's list replaces the top level's");
    assert!(!allowed("main", &["/usr/bin/head"]), "directories of every agent come before the top level's");
    assert!(!allowed("none", &["/bin/wc"]) && !allowed("none", &["/bin/head"]));
    assert!(allowed("other", &["/bin/wc"]) && !allowed("other", &["/bin/echo", "x"]));
    let policy = common::compile_with(&json, "main", &common::host(), &Overrides::default());
    let verdict = exec(&policy, &["/bin/head"]);
    let expected = (Source::Agent, "agents.main.exec.safeBins \"head\"");
    assert_eq!((verdict.reason.source, verdict.reason.rule()), expected);
}

#[test]
fn a_safe_bin_is_where_its_link_leads_under_the_same_name() {
    let real = |path: &[u8]| match path {
        b"/bin/head" => Some(b"/usr/bin/head".to_vec()),
        b"/usr/bin/tail" => Some(b"/usr/lib/tools/tail".to_vec()),
        b"/usr/bin/wc" => Some(b"/usr/bin/busybox".to_vec()),
        _ => None,
    };
    let host = Host { realpath: &real, ..common::host() };
    let json = json!({ "version": 1, "exec": { "ask": "off" }, "permissions": { "filesystem": { "rules": { "/usr/**": "r-x" } } } });
    let policy = common::compile_with(&json, "main", &host, &Overrides::default());
    assert_eq!(exec(&policy, &["/usr/lib/tools/tail"]).outcome, Outcome::Allow);
    assert_eq!(
        exec(&policy, &["/usr/bin/busybox", "wc"]).outcome,
        Outcome::Deny,
        "another name, another program"
    );
}

#[test]
fn a_mode_is_a_security_and_an_ask() {
    let modes = |exec: Value| {
        let policy = compile(&json!({ "version": 1, "exec": exec }));
        (policy.security(), policy.ask())
    };
    assert_eq!(modes(json!({ "mode": "deny" })), (Security::Deny, Ask::Off));
    assert_eq!(modes(json!({ "mode": "allowlist" })), (Security::Allowlist, Ask::Off));
    assert_eq!(modes(json!({ "mode": "ask" })), (Security::Allowlist, Ask::OnMiss));
    assert_eq!(modes(json!({ "mode": "auto" })), (Security::Allowlist, Ask::OnMiss));
    assert_eq!(modes(json!({ "mode": "full" })), (Security::Full, Ask::Off));
    let policy = compile(&json!({ "version": 1, "exec": { "mode": "ask" } }));
    let verdict = exec(&policy, &["/usr/bin/x"]);
    assert_eq!(verdict.reason.path, "exec.mode");
    assert_eq!(verdict.reason.rule(), "exec.mode (security allowlist): not in the allowlist");
    // Beside it, the stricter of the two holds.
    assert_eq!(modes(json!({ "mode": "full", "security": "deny" })), (Security::Deny, Ask::Off));
    assert_eq!(modes(json!({ "mode": "deny", "security": "full" })), (Security::Deny, Ask::Off));
    assert_eq!(modes(json!({ "mode": "full", "ask": "always" })), (Security::Full, Ask::Always));
    assert_eq!(modes(json!({ "mode": "ask", "ask": "off" })), (Security::Allowlist, Ask::OnMiss));
}

#[test]
fn code_in_arguments_is_asked_for_each_time() {
    let strict = |exec: Value| {
        let mut exec = exec;
        exec["strictInlineEval"] = json!(true);
        compile(&json!({
            "version": 1,
            "exec": exec,
            "permissions": { "filesystem": { "rules": { "/usr/**": "r-x", "/usr/bin/php": "r--" } } },
            "agents": { "*": { "allowlist": [{ "pattern": "/usr/bin/**" }] } },
        }))
    };
    let policy = strict(json!({ "security": "allowlist", "ask": "on-miss" }));
    let code = [
        &["/usr/bin/python3.11", "-c", "1"][..],
        &["/usr/bin/python3", "-Ic", "1"],
        &["/usr/bin/node", "--eval=1"],
        &["/usr/bin/perl", "-ne", "1"],
        &["/usr/bin/mawk", "1"],
        &["/usr/bin/sed", "e"],
        &["/usr/bin/make", "--eval=x"],
    ];
    for argv in code {
        let verdict = exec(&policy, argv);
        assert_eq!(
            (verdict.outcome, &*verdict.reason.path),
            (Outcome::Ask, "exec.strictInlineEval"),
            "{argv:?}"
        );
    }
    // By another name it is still what it is, and by the name of one it may be one.
    let argv = [&b"x"[..], b"-c", b"1"].map(<[u8]>::to_vec);
    let request = |path: &'static str| {
        Request::Exec(Exec { path: path.as_bytes(), argv: &argv, cwd: b"/", role: Role::Program })
    };
    assert_eq!(decide(&policy, &request("/usr/bin/python3")).outcome, Outcome::Ask);
    assert_eq!(exec_as(&policy, "/usr/bin/busybox", &["awk", "1"], Role::Program).outcome, Outcome::Ask);
    // A carrier is judged by what it starts; a script is a file.
    for argv in [
        &["/usr/bin/bash", "-c", "x"][..],
        &["/usr/bin/xargs", "python3", "-c", "1"],
        &["/usr/bin/find", ".", "-exec", "sh", "-c", "x", ";"],
        &["/usr/bin/python3", "script.py", "--check"],
        &["/usr/bin/awk", "-f", "x.awk"],
    ] {
        assert_eq!(exec(&policy, argv).outcome, Outcome::Allow, "{argv:?}");
    }
    assert_eq!(
        exec(&policy, &["/usr/bin/php", "-r", "1"]).outcome,
        Outcome::Deny,
        "no question where x is withheld"
    );
    // Whatever else the policy says, and no silence is a yes.
    for modes in [
        json!({ "security": "full", "ask": "off", "askFallback": "full" }),
        json!({ "security": "allowlist", "ask": "off", "askFallback": "allowlist" }),
        json!({ "security": "full", "ask": "always", "askFallback": "full" }),
    ] {
        let policy = strict(modes);
        let verdict = decide(&policy, &request("/usr/bin/python3"));
        assert_eq!(verdict.outcome, Outcome::Ask);
        assert_eq!(policy.fallback(&request("/usr/bin/python3"), verdict).outcome, Outcome::Deny);
    }
    assert_eq!(
        exec(&strict(json!({ "security": "deny" })), &["/usr/bin/python3", "-c", "1"]).outcome,
        Outcome::Deny
    );
    let off = compile(&json!({
        "version": 1,
        "exec": { "strictInlineEval": true, "security": "full" },
        "permissions": { "filesystem": { "default": "r-x" } },
        "agents": { "main": { "exec": { "strictInlineEval": false } } },
    }));
    assert_eq!(exec(&off, &["/usr/bin/python3", "-c", "1"]).outcome, Outcome::Allow);
}

/// A program can read its own file: one that is put over the beginning of a file that may not be read would print the rest.
#[test]
fn a_start_needs_r_where_the_tree_may_write() {
    let policy = with(
        json!({ "security": "full", "ask": "on-miss" }),
        json!({
            "/a/**": "-wx", "/b/**": "-?x", "/c/**": "--x", "/d/**": "?wx", "/e/**": "rwx", "/f/**": "r?x", "/g/**": "?-x",
        }),
        json!([]),
        "---",
    );
    let of = |path: &str| {
        let verdict = exec_as(&policy, path, &[path], Role::Program);
        (verdict.outcome, verdict.reason.path.into_owned())
    };
    let rule = |name: &str| format!("permissions.filesystem.rules[\"/{name}/**\"]");
    for (name, outcome) in [("a", Outcome::Deny), ("b", Outcome::Deny), ("d", Outcome::Ask)] {
        assert_eq!(of(&format!("/{name}/x")), (outcome, rule(name)), "{name}");
    }
    for name in ["c", "e", "f", "g"] {
        assert_eq!(of(&format!("/{name}/x")).0, Outcome::Allow, "{name}");
    }
}
