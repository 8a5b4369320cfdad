//! Tests of OpenClaw's own store: how a document is normalised and written.

use crate::common::ids;
use guard_policy::approval::FileRule;
use guard_policy::store::{Added, BaseHash, EntryUse, Inactive, NewEntry, SavedAnswer, Store, StoreContents};
use guard_policy::{Ask, Bits, Problem, Security};
use serde_json::{Value, json};

fn read(text: &str) -> Result<StoreContents, Problem> {
    Store::parse("exec-approvals.json", text, &mut ids())
}

fn store(document: &Value) -> Store {
    read(&document.to_string()).unwrap_or_else(|problem| panic!("{problem}")).store
}

fn written(store: &Store) -> Value {
    serde_json::from_str(&store.to_text()).expect("JSON")
}

fn patterns(store: &Store, agent: &str) -> Vec<String> {
    store.allowlist(agent).iter().map(|(_, entry)| entry.pattern().to_owned()).collect()
}

#[test]
fn stores_of_openclaw_are_written_unchanged() {
    const TEXT: &str = include_str!("data/exec-approvals-live.json");
    let cases: Vec<Value> = serde_json::from_str(TEXT).expect("cases");
    let same = cases.iter().filter(|case| {
        let text = serde_json::to_string_pretty(&case["file"]).expect("text") + "\n";
        let StoreContents { store, notes } =
            Store::parse("f", &text, &mut || panic!("every entry has an id")).expect("a store");
        assert!(notes.is_empty(), "{notes:?}");
        assert_eq!(store.to_text(), text);
        store.to_text() == text
    });
    println!("exec-approvals-live.json: {} of {}", same.count(), cases.len());
    assert_eq!(cases.len(), 4);
}

#[test]
fn an_invalid_store_is_reported_with_line_and_column() {
    for (text, line) in [
        ("", "f:1:1: EOF while parsing a value"),
        ("{\n  \"version\": 1,\n  \"agents\": {},\n}", "f:4:1: trailing comma"),
        ("{\n  // a comment\n  \"version\": 1}", "f:2:3: key must be a string"),
        ("{\"version\": 1} x", "f:1:16: trailing characters"),
        ("{\"ü\": 1, \"version\" 1}", "f:1:20: expected `:`"),
        ("[]", "f:1:1: must be an object { … }"),
        ("{}", "f:1:1: \"version\" is missing: it must be 1"),
        ("{\n\"version\": 2}", "f:2:12: version: must be 1: this guard supports no other version"),
        ("{\"version\": \"1\"}", "f:1:13: version: must be 1: this guard supports no other version"),
        ("{\"version\": true}", "f:1:13: version: must be 1: this guard supports no other version"),
        (
            "{\"version\": 1, \"version\": 3}",
            "f:1:27: version: must be 1: this guard supports no other version",
        ),
        ("{\"version\": 1,\n \"agents\": []}", "f:2:12: agents: must be an object { … }"),
        ("{\"version\": 1, \"defaults\": \"deny\"}", "f:1:28: defaults: must be an object { … }"),
        (
            "{\"version\": 1, \"agents\": {\"a\": {},\n\"b.c\": 7}}",
            "f:2:8: agents.b.c: must be an object { … }",
        ),
        ("{\"version\": 1, \"agents\": {\"a\": null}}", "f:1:32: agents.a: must be an object { … }"),
        ("\u{feff}{\"version\": 1}", "f:1:1: expected value"),
        ("{\"version\": 1, \"x\": 1e999}", "f:1:25: number out of range"),
        ("{\"version\": 1, \"x\": \"\\ud800\"}", "f:1:28: unexpected end of hex escape"),
    ] {
        let problem = Store::parse("f", text, &mut ids()).expect_err(text);
        assert_eq!(problem.to_string(), line, "{text}");
    }
    let deep = format!("{{\"version\": 1, \"x\": {}", "[".repeat(100_000));
    assert!(read(&deep).is_err());
}

#[test]
fn the_least_store() {
    for text in
        ["{\"version\": 1}", "{\"version\": 1.0}", "{\"version\": 1, \"agents\": null, \"defaults\": null}"]
    {
        assert_eq!(read(text).expect(text).store.to_text(), "{\n  \"version\": 1\n}\n");
    }
}

#[test]
fn values_outside_the_enums_are_absent() {
    let document = json!({
        "version": 1,
        "defaults": {"security": "bogus", "ask": "Always", "askFallback": 3, "autoAllowSkills": "yes"},
        "agents": {"main": {"security": null, "ask": "always", "autoAllowSkills": true, "allowlist": "all"}},
    });
    let reading = read(&document.to_string()).expect("a store");
    assert_eq!(
        written(&reading.store),
        json!({"version": 1, "defaults": {}, "agents": {"main": {"ask": "always", "autoAllowSkills": true}}})
    );
    assert_eq!(
        reading.notes,
        [
            "defaults.security: \"bogus\" is ignored: it is not one of deny, allowlist, full",
            "defaults.ask: \"Always\" is ignored: it is not one of off, on-miss, always",
            "defaults.askFallback: 3 is ignored: it is not one of deny, allowlist, full",
            "defaults.autoAllowSkills: \"yes\" is ignored: it is not one of true, false",
            "agents.main.allowlist: is ignored: it is not a list [ … ]",
        ]
    );
}

#[test]
fn incomplete_entries_are_completed() {
    let document = json!({"version": 1, "agents": {"main": {"allowlist": [
        " /usr/bin/rg\u{feff} ", "", "  ", 5, null, [], {}, {"pattern": " "}, {"pattern": 7},
        {"pattern": " /a ", "commandText": "secret --token x"},
        {"pattern": "/b", "id": "kept"}, {"pattern": "/c", "id": ""}, {"pattern": "/d", "id": 4},
    ]}}});
    let reading = read(&document.to_string()).expect("a store");
    assert_eq!(
        written(&reading.store)["agents"]["main"]["allowlist"],
        json!([
            {"pattern": "/usr/bin/rg", "id": "id-1"}, {"pattern": " /a ", "id": "id-2"},
            {"pattern": "/b", "id": "kept"}, {"pattern": "/c", "id": "id-3"}, {"pattern": "/d", "id": "id-4"},
        ])
    );
    assert_eq!(reading.notes.len(), 8);
    assert_eq!(reading.notes[2], "agents.main.allowlist[3]: is ignored: it has no pattern");
    assert_eq!(patterns(&reading.store, "main"), ["/usr/bin/rg", "/a", "/b", "/c", "/d"]);
}

#[test]
fn the_agent_default_becomes_part_of_main() {
    let document = json!({"version": 1, "agents": {
        "default": {"security": "full", "ask": "always", "x": 1, "y": 1,
                    "allowlist": ["/usr/bin/RG ", {"pattern": "/b", "argPattern": "^x$", "id": "b-x"}, {"pattern": "/c", "id": "c"}],
                    "mcpTools": [{"server": "s", "tool": "old"}]},
        "other": {"security": "deny"},
        "main": {"security": "allowlist", "askFallback": "deny", "x": 2, "mcpTools": [{"server": "s", "tool": "new"}],
                 "allowlist": [{"pattern": "/usr/bin/rg", "id": "rg"}, {"pattern": "/b", "id": "b"}, {"pattern": "/B", "id": "again"}]},
    }});
    assert_eq!(
        written(&store(&document))["agents"],
        json!({
            "other": {"security": "deny"},
            "main": {"security": "allowlist", "askFallback": "deny", "ask": "always", "x": 2, "y": 1,
                     "mcpTools": [{"server": "s", "tool": "new"}, {"server": "s", "tool": "old"}],
                     "allowlist": [{"pattern": "/usr/bin/rg", "id": "rg"}, {"pattern": "/b", "id": "b"},
                                   {"pattern": "/b", "argPattern": "^x$", "id": "b-x"}, {"pattern": "/c", "id": "c"}]},
        })
    );
    let alone = store(&json!({"version": 1, "agents": {"default": {"security": "deny"}}}));
    assert_eq!(written(&alone)["agents"], json!({"main": {"security": "deny"}}));
    for agent in ["main", "default", ""] {
        assert_eq!(alone.security(agent).map(|s| s.value), Some(Security::Deny), "{agent:?}");
    }
    assert_eq!(alone.security("other"), None);
}

#[test]
fn a_field_is_the_agents_else_everyones_else_the_default() {
    let document = json!({"version": 1,
        "defaults": {"security": "full", "ask": "off", "askFallback": "full", "autoAllowSkills": true},
        "agents": {"*": {"security": "allowlist", "ask": "on-miss", "allowlist": ["/every"]},
                   "main": {"security": "deny", "allowlist": ["/own"]}, "my agent": {"autoAllowSkills": false, "allowlist": ["/mine"]}}});
    let store = store(&document);
    let set = |agent: &str| {
        (
            store.security(agent).map(|s| (s.value, s.path)),
            store.ask(agent).map(|s| (s.value, s.path)),
            store.ask_fallback(agent).map(|s| (s.value, s.path)),
            store.auto_allow_skills(agent).map(|s| (s.value, s.path)),
        )
    };
    let at = |path: &str| format!("openclaw.{path}");
    let everyones = Some((Ask::OnMiss, at("agents[\"*\"].ask")));
    let fallback = Some((Security::Full, at("defaults.askFallback")));
    assert_eq!(
        set("main"),
        (
            Some((Security::Deny, at("agents.main.security"))),
            everyones.clone(),
            fallback.clone(),
            Some((true, at("defaults.autoAllowSkills")))
        )
    );
    assert_eq!(
        set("my agent"),
        (
            Some((Security::Allowlist, at("agents[\"*\"].security"))),
            everyones,
            fallback,
            Some((false, at("agents[\"my agent\"].autoAllowSkills")))
        )
    );
    let keys = |agent: &str| store.allowlist(agent).into_iter().map(|(path, _)| path).collect::<Vec<_>>();
    assert_eq!(keys("main"), [at("agents[\"*\"].allowlist[0]"), at("agents.main.allowlist[0]")]);
    assert_eq!(keys("unknown"), [at("agents[\"*\"].allowlist[0]")]);
    assert_eq!(keys("*"), [at("agents[\"*\"].allowlist[0]")]);
    assert_eq!(patterns(&store, "my agent"), ["/every", "/mine"]);
}

#[test]
fn entries_that_newer_releases_ignore_are_known() {
    let hashed = "sha256:cwd-argv:v1:c1a4f65df3c50c2fd874d9f8689636bcb6b5d0a71a48bdec52cd44dddc90bbec";
    let cases = [
        (json!({"pattern": "/a"}), None),
        (json!({"pattern": "/a", "argPattern": "^x$"}), None),
        (json!({"pattern": "/a", "argPattern": null}), None),
        (json!({"pattern": "/a", "argPattern": ""}), None),
        (json!({"pattern": "/a", "argPattern": hashed}), None),
        (json!({"pattern": "/a", "argPattern": hashed, "source": "allow-always"}), None),
        (json!({"pattern": "/a", "source": "other"}), None),
        (json!({"pattern": "/a", "source": "allow-always"}), Some(Inactive::UnboundAllowAlways)),
        (
            json!({"pattern": "/a", "argPattern": "^x$", "source": "allow-always"}),
            Some(Inactive::UnboundAllowAlways),
        ),
        (json!({"pattern": "/a", "argPattern": "sha256:argv:00"}), Some(Inactive::ArgumentsAlone)),
        (
            json!({"pattern": "/a", "argPattern": "sha256:argv:00", "source": "allow-always"}),
            Some(Inactive::ArgumentsAlone),
        ),
        (json!({"pattern": "/a", "argPattern": ["^x$"]}), Some(Inactive::NoArgPattern)),
        (
            json!({"pattern": "=command:0123456789abcdef", "source": "allow-always"}),
            Some(Inactive::CommandLine),
        ),
        (json!({"pattern": "=node-command:0123456789abcdef"}), Some(Inactive::CommandLine)),
    ];
    let list: Vec<Value> = cases.iter().map(|(entry, _)| entry.clone()).collect();
    let store =
        store(&json!({"version": 1, "agents": {"*": {"allowlist": list}, "main": {"allowlist": ["/b"]}}}));
    for ((_, entry), (written, expected)) in store.allowlist("*").iter().zip(&cases) {
        assert_eq!(entry.inactive(), *expected, "{written}");
    }
    let inactive = store.inactive();
    assert_eq!(inactive.len(), cases.iter().filter(|(_, inactive)| inactive.is_some()).count());
    assert_eq!(inactive[0], ("openclaw.agents[\"*\"].allowlist[7]".to_owned(), Inactive::UnboundAllowAlways));
}

#[test]
fn adding_adds_once() {
    let mut store =
        store(&json!({"version": 1, "agents": {"main": {"allowlist": [{"pattern": " /a ", "id": "a"}]}}}));
    let mut id = ids();
    let entry = |pattern: &str| NewEntry::new(pattern).expect("a pattern");
    assert_eq!(NewEntry::new(" \u{feff}"), None);
    assert_eq!(store.add("main", entry("/a"), 1, &mut id), Added::Known);
    assert_eq!(store.add("", entry("  /a "), 1, &mut id), Added::Known);
    assert_eq!(store.add("default", entry("/a").with_arg_pattern(""), 1, &mut id), Added::Known);
    assert_eq!(store.add("main", entry("/a").with_arg_pattern("^x$"), 2, &mut id), Added::New);
    assert_eq!(store.add("main", entry("/A"), 3, &mut id), Added::New);
    let hashed = entry("/h").with_arg_pattern("sha256:cwd-argv:v1:00");
    assert_eq!(store.add("*", hashed.clone(), 4, &mut id), Added::New);
    assert_eq!(store.add("*", hashed.clone().from_allow_always(), 5, &mut id), Added::Marked);
    assert_eq!(store.add("*", hashed.from_allow_always(), 6, &mut id), Added::Known);
    assert_eq!(
        written(&store)["agents"],
        json!({
            "main": {"allowlist": [{"pattern": " /a ", "id": "a"},
                                   {"id": "id-1", "pattern": "/a", "argPattern": "^x$", "lastUsedAt": 2},
                                   {"id": "id-2", "pattern": "/A", "lastUsedAt": 3}]},
            "*": {"allowlist": [{"id": "id-3", "pattern": "/h", "argPattern": "sha256:cwd-argv:v1:00",
                                 "lastUsedAt": 4, "source": "allow-always"}]},
        })
    );
}

#[test]
fn an_operators_entry_stays_active() {
    let mut store = store(&json!({"version": 1, "agents": {"main": {"allowlist": ["/a"]}}}));
    let before = store.clone();
    let entry = NewEntry::new("/a").expect("a pattern").from_allow_always();
    assert_eq!(store.add("main", entry, 1, &mut ids()), Added::Known);
    assert_eq!(store, before);
}

#[test]
fn the_token_is_not_shown() {
    let document = json!({"version": 1, "socket": {"path": " /s ", "token": " t0k3n ", "more": 1}});
    let store = store(&document);
    assert_eq!(written(&store)["socket"], json!({"path": "/s", "token": "t0k3n", "more": 1}));
    for shown in [store.redacted(), format!("{store:?}")] {
        assert!(!shown.contains("t0k3n") && shown.contains("/s"), "{shown}");
    }
    let blank = json!({"version": 1, "socket": {"path": " ", "token": 5}});
    assert_eq!(written(&self::store(&blank))["socket"], json!({}));
    assert_eq!(written(&self::store(&json!({"version": 1, "socket": "/s"}))), json!({"version": 1}));
}

#[test]
fn the_hash_is_of_the_text() {
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(BaseHash::missing().as_str(), empty);
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(BaseHash::new(b"abc").to_string(), abc);
    assert_ne!(BaseHash::new(b"abc\n"), BaseHash::new(b"abc"));
}

#[test]
fn the_last_use_of_an_entry_is_recorded_wherever_it_applies() {
    let mut store = store(&json!({
        "version": 1,
        "agents": {
            "main": { "allowlist": [
                { "id": "1", "pattern": "/usr/bin/git", "lastUsedAt": 90_000, "lastUsedCommand": "git log" },
                { "id": "2", "pattern": "/usr/bin/git", "argPattern": "^push$" },
            ] },
            "*": { "allowlist": [{ "id": "3", "pattern": " /usr/bin/git ", "lastUsedAt": "never" }] },
            "other": { "allowlist": [{ "id": "4", "pattern": "/usr/bin/git" }] },
        },
    }));
    let untouched = written(&store);
    let used = |at: u64, command: Option<&str>| EntryUse {
        pattern: "/usr/bin/git".to_owned(),
        arg_pattern: None,
        at,
        command: command.map(str::to_owned),
        path: "/usr/bin/git".to_owned(),
    };
    // Another agent's, and one whose clock was set back.
    store.record_use("third", &EntryUse { pattern: "/usr/bin/gi".to_owned(), ..used(99, None) });
    assert_eq!(written(&store), untouched);
    assert_eq!(store.saved_answers()[0].last_used, Some(90_000));

    store.record_use("main", &used(149_999, Some("git status")));
    let after = written(&store);
    let main = &after["agents"]["main"]["allowlist"];
    assert_eq!(main, &untouched["agents"]["main"]["allowlist"], "less than a minute later");
    assert_eq!(after["agents"]["*"]["allowlist"][0]["lastUsedCommand"], "git status");
    assert_eq!(after["agents"]["other"], untouched["agents"]["other"]);

    store.record_use("main", &used(150_000, None));
    let main = written(&store)["agents"]["main"]["allowlist"].clone();
    assert_eq!((&main[0]["lastUsedAt"], main[0].get("lastUsedCommand")), (&json!(150_000), None));
    assert_eq!(main[0]["lastResolvedPath"], "/usr/bin/git");
    assert_eq!(main[1], untouched["agents"]["main"]["allowlist"][1]);
    store.record_use("main", &used(7, Some("git show")));
    assert_eq!(written(&store)["agents"]["main"]["allowlist"], main, "time does not go back");
}

#[test]
fn what_always_saved_is_listed_and_taken_back() {
    let before = json!({
        "version": 1,
        "agents": {
            "main": {
                "allowlist": [
                    { "id": "1", "pattern": "/usr/bin/git", "argPattern": "sha256:cwd-argv:v1:x", "source": "allow-always" },
                    { "id": "2", "pattern": "/usr/bin/git" },
                ],
                "permissions": { "filesystem": { "rules": { "/srv/a": "r", "/srv/b": "rw", "/srv/c": "no bits" } } },
            },
            "*": { "permissions": { "filesystem": { "rules": { "/srv/a": "r" } } } },
        },
    });
    let mut store = store(&before);
    let all = store.saved_answers();
    assert_eq!(all.len(), 5, "{all:?}");
    let ids: std::collections::BTreeSet<_> = all.iter().map(SavedAnswer::id).collect();
    assert_eq!(ids.len(), 5);
    assert!(ids.iter().all(|id| id.len() == 12), "{ids:?}");
    assert_eq!(all.iter().map(SavedAnswer::is_bound).collect::<Vec<_>>(), [true, false, false, false, false]);
    // Only this one goes: not its like without arguments, and not the same rule of every agent.
    assert!(store.forget(&all[0]) && store.forget(&all[2]));
    assert!(!store.forget(&all[0]), "it is gone");
    assert_eq!(store.saved_answers(), [all[1].clone(), all[3].clone(), all[4].clone()]);
    let written = written(&store);
    assert_eq!(written["agents"]["main"]["allowlist"].as_array().map(Vec::len), Some(1));
    assert_eq!(written["agents"]["main"]["permissions"]["filesystem"]["rules"]["/srv/c"], "no bits");
    // A rule that has grown since it was listed stays.
    assert!(
        store
            .add_rule("main", &FileRule { pattern: "/srv/b".to_owned(), bits: Bits::parse("x").unwrap() })
            .is_some()
    );
    assert!(!store.forget(&all[3]));
}
