//! Tests of edits of guard.json's text: everything outside the edit stays.

mod properties;

use guard_policy::{Draft, Permission, Scope};

fn edited(text: &str, edit: impl Fn(&mut Draft)) -> String {
    let mut draft = Draft::parse("guard.json", text).unwrap();
    edit(&mut draft);
    draft.text().to_owned()
}

fn rwx(text: &str) -> Permission {
    Permission::parse(text).unwrap()
}

#[test]
fn a_new_text_is_written_as_a_human_would() {
    let mut draft = Draft::empty();
    draft.set_rule(&Scope::Everyone, "~/x/**", rwx("rw-")).unwrap();
    draft.set_rule(&Scope::Everyone, "/usr/**", rwx("r-x")).unwrap();
    draft.add_deny(&Scope::Everyone, "~/.ssh").unwrap();
    draft.add_deny(&Scope::Agent("ci".to_owned()), "**/.env").unwrap();
    draft.add_entry("main", "/usr/bin/git", None);
    draft.add_entry("main", "/usr/bin/rg", Some("^-n"));
    let expected = r#"{
  "version": 1,
  "permissions": {
    "filesystem": {
      "rules": {
        "~/x/**": "rw-",
        "/usr/**": "r-x"
      },
      "deny": ["~/.ssh"]
    }
  },
  "agents": {
    "ci": {
      "permissions": {
        "filesystem": {
          "deny": ["**/.env"]
        }
      }
    },
    "main": {
      "allowlist": [
        { "pattern": "/usr/bin/git" },
        { "pattern": "/usr/bin/rg", "argPattern": "^-n" }
      ]
    }
  }
}
"#;
    assert_eq!(draft.text(), expected);
}

#[test]
fn an_addition_stands_where_a_human_would_put_it() {
    let text = "{\n\t\"version\": 1,\n\t\"permissions\": { \"filesystem\": {\n\t\t\"rules\": {\n\t\t\t// system\n\t\t\t\"/usr/**\": \"r-x\", // all of it\n\t\t\t// work\n\t\t\t\"~/w/**\": \"rw-\" // mine\n\t\t\t// more to come\n\t\t},\n\t\t\"deny\": [\"~/.ssh\"] } }\n}\n";
    let rules = edited(text, |draft| {
        draft.set_rule(&Scope::Everyone, "/x", rwx("r--")).unwrap();
        draft.set_rule(&Scope::Everyone, "/usr/**", rwx("r--")).unwrap();
        draft.add_deny(&Scope::Everyone, "/y").unwrap();
    });
    let expected = text
        .replace("\"r-x\"", "\"r--\"")
        .replace("\"rw-\" // mine\n", "\"rw-\", // mine\n\t\t\t\"/x\": \"r--\"\n")
        .replace("[\"~/.ssh\"]", "[\"~/.ssh\", \"/y\"]");
    assert_eq!(rules, expected);
}

/// However many rules share its line: hundreds of additions would make one line of them.
#[test]
fn an_addition_gets_its_own_line_in_an_object_of_lines() {
    let text = "{ \"version\": 1, \"permissions\": { \"filesystem\": { \"rules\": {\n    \"/usr/**\": \"r-x\",\n    \"/a\": \"r--\", \"/b\": \"r--\" // two\n} } } }";
    let rules = edited(text, |draft| {
        draft.set_rule(&Scope::Everyone, "/c", rwx("r--")).unwrap();
        draft.set_rule(&Scope::Everyone, "/d", rwx("r--")).unwrap();
    });
    let more = "\"/b\": \"r--\", // two\n    \"/c\": \"r--\",\n    \"/d\": \"r--\"\n}";
    assert_eq!(rules, text.replace("\"/b\": \"r--\" // two\n}", more));
}

#[test]
fn trailing_commas_and_line_ends_stay() {
    let text = "{\r\n  \"version\": 1,\r\n  \"agents\": {\r\n    \"main\": {\r\n      \"allowlist\": [\r\n        { \"pattern\": \"/a\" }, // a\r\n      ],\r\n    },\r\n  },\r\n}\r\n";
    let added = edited(text, |draft| {
        draft.add_entry("main", "/b", None);
    });
    assert_eq!(added, text.replace("// a\r\n", "// a\r\n        { \"pattern\": \"/b\" },\r\n"));
}

#[test]
fn a_denial_comes_and_goes_without_a_trace() {
    let at = Scope::Everyone;
    for (text, lines) in [
        (
            "{\r\n\t\"version\": 1,\r\n\r\n\t\"permissions\": { \"filesystem\": { \"deny\": [\r\n\r\n\t\t\"\\u002fa\",\r\n\r\n\t] } },\r\n}",
            1,
        ),
        (
            "{ \"agents\" :{\"a\":{\"allowlist\": [{\"lastUsedAt\" :  1.50E+3, \"pattern\":\"\\/x\" }]} } , \"version\":1,\"permissions\":{\"filesystem\":{\"deny\":[\"\\/b\"] }}}  ",
            0,
        ),
        (
            "// a\n{\n\"version\": 1,\n\n\n\"permissions\": {\n\"filesystem\": {\n\"deny\": [\n\n\"/b\" /* b */ // c\n\n]\n}\n}\n}\n// z",
            1,
        ),
    ] {
        let added = edited(text, |draft| {
            draft.add_deny(&at, "/new").unwrap();
        });
        assert_eq!(added.lines().count(), text.lines().count() + lines);
        let back = edited(&added, |draft| {
            draft.remove_deny(&at, "/new");
        });
        assert_eq!(back, text);
    }
}

#[test]
fn a_byte_order_mark_is_refused_before_anything_is_changed() {
    let problems = Draft::parse("guard.json", "\u{feff}{\"version\": 1}").unwrap_err();
    assert_eq!((problems[0].line, problems[0].column), (1, 1));
}

#[test]
fn a_policy_on_one_line_stays_on_one_line() {
    let text = r#"{"version": 1, "permissions": {"filesystem": {"rules": {}, "deny": []}}}"#;
    let added = edited(text, |draft| {
        draft.set_rule(&Scope::Everyone, "/a", rwx("r--")).unwrap();
        draft.add_deny(&Scope::Everyone, "/b").unwrap();
        draft.add_entry("main", "/c", None);
    });
    let expected = r#"{"version": 1, "permissions": {"filesystem": {"rules": { "/a": "r--" }, "deny": ["/b"]}}, "agents": { "main": { "allowlist": [{ "pattern": "/c" }] } }}"#;
    assert_eq!(added, expected);
}

#[test]
fn a_removed_entry_takes_its_line_and_no_comment() {
    let at = Scope::Everyone;
    let text = |list: &str| {
        format!("{{ \"version\": 1, \"permissions\": {{ \"filesystem\": {{ \"deny\": {list} }} }} }}")
    };
    for (before, after) in [
        (r#"["/a"]"#, "[]"),
        (r#"["/a", "/b"]"#, r#"["/b"]"#),
        (r#"["/b", "/a"]"#, r#"["/b"]"#),
        (r#"["/b", "/a", "/c"]"#, r#"["/b", "/c"]"#),
        (r#"["/a", "/b", "/a"]"#, r#"["/b"]"#),
        ("[\n  \"/a\",\n  \"/b\"\n]", "[\n  \"/b\"\n]"),
        ("[\n  \"/b\",\n  \"/a\"\n]", "[\n  \"/b\"\n]"),
        ("[\n  \"/b\",\n  \"/a\",\n]", "[\n  \"/b\",\n]"),
        ("[\n  \"/b\", // b\n  \"/a\" // a\n]", "[\n  \"/b\" // b\n  // a\n]"),
        ("[\n  // one\n  \"/a\", // two\n  \"/b\"\n]", "[\n  // one\n  // two\n  \"/b\"\n]"),
        ("[\"/a\" /* x */, \"/b\"]", "[ /* x */ \"/b\"]"),
    ] {
        let removed = edited(&text(before), |draft| {
            draft.remove_deny(&at, "/a");
        });
        assert_eq!(removed, text(after));
    }
}

#[test]
fn only_patterns_are_written() {
    let mut draft = Draft::empty();
    for pattern in ["", "x", "/a/../b", "~u"] {
        let problem = draft.set_rule(&Scope::Everyone, pattern, rwx("r--")).unwrap_err();
        assert!(problem.to_string().starts_with(&format!("{pattern:?}: ")), "{problem}");
        assert!(draft.add_deny(&Scope::Everyone, pattern).is_err(), "{pattern}");
    }
    assert_eq!(draft, Draft::empty());
    assert!(Draft::parse("guard.json", "{}").is_err());
}

#[test]
fn a_rule_is_found_by_what_it_means() {
    let text = r#"{ "version": 1, "permissions": { "filesystem": { "rules": { "~/x/": "rw-" } } } }"#;
    let draft = Draft::parse("guard.json", text).unwrap();
    for pattern in ["~/x/**", "/home/u/x/", "/home/u/x/**", "~/x/"] {
        let found = draft.rule(&Scope::Everyone, pattern, b"/home/u");
        assert_eq!(found, Some(("~/x/".to_owned(), rwx("rw-"))), "{pattern}");
    }
    assert_eq!(draft.rule(&Scope::Everyone, "~/x", b"/home/u"), None);
    assert_eq!(draft.rule(&Scope::Agent("main".to_owned()), "~/x/", b"/home/u"), None);
}

#[test]
fn a_scope_names_its_keys_as_messages_do() {
    let names = ["main", "*", "a b"].map(|name| Scope::Agent(name.to_owned()).key("allowlist"));
    assert_eq!(names, ["agents.main.allowlist", "agents[\"*\"].allowlist", "agents[\"a b\"].allowlist"]);
    assert_eq!(Scope::Everyone.key("exec"), "exec");
}
