use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::config::elevated::{AgentElevated, ElevatedSection, ElevatedSender, LOCAL, unavailable};
use crate::{Exec, Host, Outcome, Overrides, Request, Role, decide};

fn compiled(text: &str) -> Policy {
    let document = Document::parse("guard.json", text).unwrap();
    Policy::compile(&document, "main", &Host::bare(b"/home/u", b"/w"), &Overrides::default()).unwrap()
}

fn settings(text: &str, agent: &str) -> ElevatedSettings {
    let text = format!("{{\"version\": 1, {text}}}");
    super::settings(&Document::parse("guard.json", &text).unwrap(), agent)
}

fn shut(settings: &ElevatedSettings, sender: &str, level: ElevatedLevel) -> String {
    let sender = match sender {
        LOCAL => ElevatedSender::local(),
        sender => ElevatedSender::parse(sender).unwrap(),
    };
    let failing = settings.failing(&sender, level);
    failing.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[test]
fn every_shut_gate_is_named_in_order() {
    let none = settings("\"exec\": {}", "main");
    assert_eq!(
        shut(&none, "telegram:42", ElevatedLevel::Off),
        "enabled (elevated.enabled), allowFrom (elevated.allowFrom.telegram), level (elevated.default)"
    );
    let failing = none.failing(&ElevatedSender::local(), ElevatedLevel::On);
    assert_eq!(
        unavailable(&failing[..1]),
        "elevated is not available right now (runtime=direct). Failing gates: enabled (elevated.enabled)"
    );
}

#[test]
fn senders_are_matched_by_what_they_cannot_choose_unless_an_entry_says_otherwise() {
    let list = r#""elevated": {"enabled": true, "allowFrom": {"telegram": ["42", "name:Ada", "tag:a#1"], "local": ["*"]}}"#;
    let settings = settings(list, "main");
    for open in
        ["telegram:42", "telegram:id:42", "telegram:e164:42", "telegram:from:42", "telegram:name:Ada", LOCAL]
    {
        assert_eq!(shut(&settings, open, ElevatedLevel::On), "", "{open}");
    }
    for closed in ["telegram:name:42", "telegram:Ada", "telegram:43", "signal:42", "telegram:username:Ada"] {
        assert!(shut(&settings, closed, ElevatedLevel::On).starts_with("allowFrom ("), "{closed}");
    }
}

#[test]
fn what_a_sender_is_has_a_form() {
    for wrong in ["", "x", ":1", "telegram:", "telegram:id:", "local:1"] {
        assert!(ElevatedSender::parse(wrong).is_err(), "{wrong}");
    }
    let [one, two, other] = ["a:1", "a:name:x", "b:1"].map(|text| ElevatedSender::parse(text).unwrap());
    assert_eq!(ElevatedSender::joined(&[]).unwrap(), ElevatedSender::local());
    assert!(ElevatedSender::joined(&[one.clone(), two]).is_ok());
    assert!(ElevatedSender::joined(&[one, other]).is_err());
}

#[test]
fn the_tool_policy_and_the_agents_sections_shut_gates() {
    let open = r#""elevated": {"enabled": true, "allowFrom": {"local": ["*"]}}"#;
    for (more, agent, gate) in [
        (r#""tools": {"deny": ["exec"]}"#, "main", "tools (tools)"),
        (r#""tools": {"deny": ["group:runtime"]}"#, "main", "tools (tools)"),
        (r#""tools": {"allow": ["read"]}"#, "main", "tools (tools)"),
        (r#""agents": {"a": {"elevated": {"enabled": false}}}"#, "a", "enabled (agents.a.elevated.enabled)"),
        (
            r#""agents": {"*": {"elevated": {"allowFrom": {}}}}"#,
            "a",
            "allowFrom (agents.*.elevated.allowFrom.local)",
        ),
        (r#""agents": {"a": {"elevated": {"enabled": false}}}"#, "main", ""),
        (r#""agents": {"a": {"elevated": {"enabled": true}}}"#, "a", ""),
    ] {
        let settings = settings(&format!("{open}, {more}"), agent);
        assert_eq!(shut(&settings, LOCAL, ElevatedLevel::On), gate, "{more}");
    }
}

/// What is allowed inside, where files and children are judged, need not be allowed outside.
#[test]
fn only_its_own_list_counts_outside() {
    let policy = compiled(
        r#"{"version": 1, "exec": {"security": "allowlist", "ask": "on-miss", "carriers": []},
            "elevated": {"enabled": true, "default": "on", "allowlist": [
                {"pattern": "/usr/bin/outside", "argPattern": "^x$"}, {"pattern": "/usr/bin/any"}]},
            "agents": {"*": {"allowlist": [{"pattern": "/usr/bin/inside", "argPattern": "^x$"}]}},
            "permissions": {"filesystem": {"rules": {"/usr/**": "r-x"}, "default": "---"}}}"#,
    );
    let elevated = policy.for_elevated(ElevatedLevel::On).unwrap();
    let argv = [b"x".to_vec(), b"x".to_vec()];
    let exec = |path: &'static [u8]| Exec { path, argv: &argv, cwd: b"/", role: Role::Program };
    let of = |policy: &Policy, path| decide(policy, &Request::Exec(exec(path))).outcome;
    assert_eq!(of(&elevated, b"/usr/bin/outside"), Outcome::Allow);
    assert_eq!(of(&elevated, b"/usr/bin/inside"), Outcome::Ask);
    assert_eq!(of(&policy, b"/usr/bin/inside"), Outcome::Allow);
    assert_eq!(of(&policy, b"/usr/bin/outside"), Outcome::Ask);
    let hint = policy.counts_inside_only(&exec(b"/usr/bin/inside")).unwrap();
    assert!(hint.starts_with("agents[\"*\"].allowlist[0] counts inside only"), "{hint}");
    assert_eq!(policy.counts_inside_only(&exec(b"/usr/bin/outside")), None);
    // An entry for any arguments would also allow those that name files of the tree.
    assert_eq!(of(&elevated, b"/usr/bin/any"), Outcome::Ask);
    let warnings = policy.warnings();
    assert!(
        warnings.iter().any(|one| one.starts_with("elevated.allowlist[1]: the entry has no argPattern")),
        "{warnings:?}"
    );
}

fn lists() -> impl Strategy<Value = Option<BTreeMap<String, Vec<String>>>> {
    let who = prop::sample::select(vec!["*", "1", "id:1", "name:x", "2", ""]);
    let channel = prop::sample::select(vec!["a", "b", LOCAL]);
    let lists = prop::collection::btree_map(
        channel.prop_map(str::to_owned),
        prop::collection::vec(who.prop_map(str::to_owned), 0..3),
        0..3,
    );
    prop::option::of(lists)
}

fn sender() -> impl Strategy<Value = ElevatedSender> {
    let named = prop::sample::select(vec!["a:1", "a:name:x", "b:2", "a:name:1"]);
    prop_oneof![named.prop_map(|text| ElevatedSender::parse(text).unwrap()), Just(ElevatedSender::local())]
}

fn level() -> impl Strategy<Value = ElevatedLevel> {
    prop::sample::select(vec![ElevatedLevel::Off, ElevatedLevel::Ask, ElevatedLevel::On, ElevatedLevel::Full])
}

proptest! {
    #[test]
    fn an_agents_section_only_narrows(
        enabled in any::<Option<bool>>(), allow in lists(), agent_enabled in any::<Option<bool>>(),
        agent_allow in lists(), sender in sender(), level in level(),
    ) {
        let section = ElevatedSection { enabled, allow_from: allow, ..ElevatedSection::default() };
        let whole = ElevatedSettings::new(section.clone(), Vec::new(), None);
        let agent = AgentElevated { enabled: agent_enabled, allow_from: agent_allow };
        let agents = vec![("agents.a.elevated".to_owned(), agent)];
        let narrowed = ElevatedSettings::new(section, agents, None);
        let (before, after) = (whole.failing(&sender, level), narrowed.failing(&sender, level));
        prop_assert!(before.iter().all(|gate| after.contains(gate)));
    }

    #[test]
    fn no_level_turns_a_denial_into_an_allow_or_asks_less(
        security in prop::sample::select(vec!["deny", "allowlist", "full"]),
        ask in prop::sample::select(vec!["off", "on-miss", "always"]),
        right in prop::sample::select(vec!["---", "r--", "r-x"]),
        program in prop::sample::select(vec!["/bin/listed", "/bin/other", "/usr/x", "/bin/sh"]),
        level in level(),
    ) {
        let text = format!(
            r#"{{"version": 1, "exec": {{"security": "{security}", "ask": "{ask}"}},
                "agents": {{"*": {{"allowlist": [{{"pattern": "/bin/listed"}}]}}}},
                "permissions": {{"filesystem": {{"rules": {{"/bin/**": "{right}"}}, "default": "---"}}}}}}"#
        );
        let policy = compiled(&text);
        let argv = vec![program.as_bytes().to_vec()];
        let exec = Exec { path: program.as_bytes(), argv: &argv, cwd: b"/", role: Role::Program };
        let own = decide(&policy, &Request::Exec(exec)).outcome;
        if let Some(elevated) = policy.for_elevated(level) {
            let outcome = decide(&elevated, &Request::Exec(exec)).outcome;
            // What is denied inside only because nobody is asked may be asked about here, but is never allowed.
            prop_assert!(own != Outcome::Deny || outcome != Outcome::Allow);
            prop_assert!(own != Outcome::Ask || outcome != Outcome::Allow);
            let is_withheld = program != "/usr/x" && right != "r-x";
            if security == "deny" || is_withheld {
                prop_assert_eq!(outcome, Outcome::Deny);
            }
            // Only the default withholds `/usr/x`, so a human may allow it.
            prop_assert!(program != "/usr/x" || outcome != Outcome::Allow);
        } else {
            prop_assert_eq!(level, ElevatedLevel::Off);
        }
    }
}
