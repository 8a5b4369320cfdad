//! `"extends"`: a template below the file's own rules.

use guard_policy::{
    Access, Document, Host, Outcome, Overrides, Policy, Request, Source, Template, Workspace, decide,
};
use serde_json::{Value, json};

fn compiled(document: &Value) -> Policy {
    let document = Document::parse("guard.json", &document.to_string()).unwrap();
    let host = Host {
        workspace: Workspace::at(*b"/home/u/p"),
        temp_dirs: vec![b"/tmp".to_vec()],
        ..Host::bare(b"/home/u", b"/home/u/p")
    };
    Policy::compile(&document, "main", &host, &Overrides::default()).unwrap()
}

fn asked(policy: &Policy, path: &str, access: Access) -> (Outcome, Source, String) {
    let verdict = decide(policy, &Request::File { path: path.as_bytes(), access });
    (verdict.outcome, verdict.reason.source, verdict.reason.path.into_owned())
}

#[test]
fn the_templates_rules_hold_and_are_named() {
    let policy = compiled(&json!({ "version": 1, "extends": "coding" }));
    let (outcome, source, path) = asked(&policy, "/home/u/p/main.c", Access::WRITE);
    assert_eq!((outcome, source), (Outcome::Allow, Source::Template));
    assert_eq!(path, "template coding: permissions.filesystem.rules[\"${workspace}/**\"]");
    let (outcome, source, path) = asked(&policy, "/home/u/.ssh/id_rsa", Access::READ);
    assert_eq!((outcome, source), (Outcome::Deny, Source::Template));
    assert_eq!(path, "template coding: permissions.filesystem.deny[\"~/.ssh\"]");
    assert_eq!(asked(&policy, "/home/u/letter", Access::READ).0, Outcome::Ask);
    assert_eq!(asked(&policy, "/tmp/x", Access::WRITE).0, Outcome::Allow);
    assert_eq!(policy.security().as_str(), "full");
    let of_mode = policy.explain(None).into_iter().find(|setting| setting.name == "exec.ask").unwrap();
    assert_eq!((of_mode.source, &*of_mode.path), (Source::Template, "template coding: exec.ask"));
    assert_eq!(policy.workspace(), Some(&b"/home/u/p"[..]));
}

#[test]
fn the_file_comes_before_the_template() {
    let policy = compiled(&json!({
        "version": 1,
        "extends": "coding",
        "exec": { "ask": "off", "timeoutMs": 5 },
        "permissions": { "filesystem": {
            "rules": { "${workspace}/**": "r--", "~/letters/**": "r--", "~/.cache/": "---" },
            "deny": ["**/.env"],
            "default": "r--"
        } },
        "agents": { "main": { "permissions": { "filesystem": { "rules": { "~/.npm/**": "r--" } } } } }
    }));
    let of = |path: &str, access| {
        let (outcome, source, _) = asked(&policy, path, access);
        (outcome, source)
    };
    assert_eq!(policy.ask().as_str(), "off");
    assert_eq!((policy.security().as_str(), policy.timeout_ms()), ("full", 5));
    assert_eq!(of("/home/u/p/main.c", Access::READ), (Outcome::Allow, Source::Global));
    assert_eq!(of("/home/u/p/main.c", Access::WRITE), (Outcome::Deny, Source::Global));
    assert_eq!(of("/home/u/letters/a", Access::READ), (Outcome::Allow, Source::Global));
    // Another spelling of a pattern of the template.
    assert_eq!(of("/home/u/.cache/x", Access::READ), (Outcome::Deny, Source::Global));
    assert_eq!(of("/home/u/.npm/x", Access::WRITE), (Outcome::Deny, Source::Agent));
    // Denials unite.
    assert_eq!(of("/home/u/p/.env", Access::READ), (Outcome::Deny, Source::Global));
    assert_eq!(of("/home/u/.ssh/id_rsa", Access::READ), (Outcome::Deny, Source::Template));
    assert_eq!(of("/srv/x", Access::READ), (Outcome::Allow, Source::Global));
}

#[test]
fn routes_of_a_template_count_where_the_file_has_none() {
    let routes = |document: &Value| compiled(document).approvals().routes().map(<[_]>::len);
    assert_eq!(routes(&json!({ "version": 1, "extends": "coding" })), None);
    assert_eq!(routes(&json!({ "version": 1, "extends": "openclaw" })), Some(3));
    let own = json!({ "version": 1, "extends": "openclaw", "approvals": { "routes": ["cli"] } });
    assert_eq!(routes(&own), Some(1));
}

#[test]
fn an_unknown_template_is_an_error_with_its_place_and_the_names() {
    let text = "{\n  \"version\": 1,\n  \"extends\": \"codding\"\n}";
    let problems = Document::parse("guard.json", text).unwrap_err();
    let [problem] = &problems[..] else { panic!("{problems:?}") };
    let shown = problem.to_string();
    assert!(shown.starts_with("guard.json:3:14: extends: \"codding\" is not one of coding, "), "{shown}");
    assert!(shown.ends_with("did you mean \"coding\"?"), "{shown}");
    for name in Template::NAMES {
        assert!(shown.contains(name), "{shown}");
    }
    for value in ["1", "null", "[\"coding\"]", "{}", "\"./guard.json\"", "\"../p/.openclaw/guard.json\""] {
        assert!(
            Document::parse("", &format!("{{\"version\": 1, \"extends\": {value}}}")).is_err(),
            "{value}"
        );
    }
}

#[test]
fn directories_of_the_host_that_the_template_names_are_no_mistake() {
    for template in Template::ALL {
        let document = json!({ "version": 1, "extends": template.as_str() });
        let document = Document::parse("", &document.to_string()).unwrap();
        let dirs = [
            &b"/dev/shm"[..],
            b"/home/u/.cache",
            b"/home/u/.m2/repository",
            b"/usr",
            b"/usr/bin",
            b"/",
            b"/a*",
        ];
        let dirs: Vec<_> = dirs.iter().map(|dir| dir.to_vec()).collect();
        let host = Host {
            temp_dirs: dirs.clone(),
            path_dirs: dirs,
            realpath: &|path| Some(path.to_vec()),
            ..Host::bare(b"/home/u", b"/home/u/p")
        };
        let compiled = Policy::compile(&document, "main", &host, &Overrides::default());
        assert!(compiled.is_ok(), "{template:?}: {compiled:?}");
    }
}

/// A policy that extends a template decides as the same template written out.
#[test]
fn it_is_the_same_policy_as_the_template_written_out() {
    let workspace = guard_policy::TemplateValues {
        workspace: "${workspace}".into(),
        programs: Vec::new(),
        temporary: vec!["/tmp/**".into()],
        above: vec!["${above}".into(), "~".into()],
    };
    for template in Template::ALL {
        let whole: Value = {
            let document = Document::parse("", &template.filled(&workspace)).unwrap();
            serde_json::from_str(&document.to_json()).unwrap()
        };
        let rules =
            |policy: &Policy| policy.listing().map(|(_, rights)| rights.to_string()).collect::<Vec<_>>();
        let short = json!({ "version": 1, "extends": template.as_str() });
        assert_eq!(rules(&compiled(&short)), rules(&compiled(&whole)), "{template:?}");
    }
}
