//! Tests of the guard's own approvals store in a policy: it turns an ask into an allow, and changes nothing else.

use crate::common::{self, HOME, compile, compile_with, exec, file, host, outcomes};
use guard_policy::approval::{Always, FileRule, OnDisk, Saving, always, always_host, edited_below};
use guard_policy::store::{Added, NewEntry, SavedAnswer, SavedGrant, Store, StoreContents};
use guard_policy::{
    Access, Bits, Connection, EarlierRuns, Exec, Grant, Host, OpenclawStore, Outcome, Overrides, OwnStore,
    Policy, PublicSuffixes, Request, Role, Source, WebRequest, WebTarget, decide,
};
use std::net::SocketAddr;

use proptest::prelude::*;
use serde_json::{Value, json};

fn own(store: &Value) -> StoreContents {
    let read = Store::parse_own("approvals.json", &store.to_string(), &mut common::ids());
    read.unwrap_or_else(|problem| panic!("{problem}"))
}

fn with_own(guard: &Value, store: &Value) -> Policy {
    let reading = own(store);
    let host = Host { own: OwnStore::Present(&reading), ..host() };
    compile_with(guard, "main", &host, &Overrides::default())
}

fn rules(rules: &Value) -> Value {
    json!({"version": 1, "agents": {"main": {"permissions": {"filesystem": {"rules": rules}}}}})
}

fn guard() -> Value {
    json!({"version": 1, "permissions": {"base": false, "persistence": false, "filesystem": {
        "rules": {"/open/**": "r--", "/never/**": "---", "/asked/**": "???"}, "deny": ["/secret/**"], "default": "---"}},
        "agents": {"main": {"allowlist": [{"pattern": "/asked/listed"}]}}})
}

#[test]
fn a_saved_answer_turns_only_ask_into_allow() {
    let store = rules(&json!({"/**": "rwx"}));
    let before = compile(&guard());
    let after = with_own(&guard(), &store);
    for (path, asked, answered) in [
        ("/x", "???", "aa?"),
        ("/asked/x", "???", "aa?"),
        // A program that the tree may write starts by no answer.
        ("/asked/listed", "???", "aa?"),
        ("/open/x", "add", "add"),
        ("/never/x", "ddd", "ddd"),
        ("/secret/x", "ddd", "ddd"),
        ("/home/u/.openclaw/guard.json", "ddd", "ddd"),
    ] {
        assert_eq!((&*outcomes(&before, path), &*outcomes(&after, path)), (asked, answered), "{path}");
    }
    let reason = file(&after, "/x", Access::READ).reason;
    assert_eq!(reason.source, Source::Saved);
    assert_eq!(reason.path, "saved.agents.main.permissions.filesystem.rules[\"/**\"]");
    assert_eq!(reason.rule(), "allowed always: \"/**\" rwx (guard/approvals.json)");
    assert_eq!(reason.text, "\"/**\" rwx was allowed \"always\" (guard/approvals.json)");
}

/// The tree could put another library in the place of the one that was answered about.
#[test]
fn no_answer_is_saved_for_a_library_that_the_tree_may_write() {
    let mut written = guard();
    let map = &mut written["permissions"]["filesystem"]["rules"];
    map["/built/**"] = json!("rw?");
    map["/installed/**"] = json!("r-?");
    let policy = compile(&written);
    let map = Access::READ | Access::MAP;
    let offered = |path: &str| {
        let request = Request::File { path: path.as_bytes(), access: map };
        always(&policy, &[request], &|_: &[u8]| OnDisk::File)
    };
    let why = "a guarded run may write the library, so it could replace it";
    assert_eq!(offered("/built/x.so"), Always::Never(why.to_owned()));
    assert!(matches!(offered("/installed/x.so"), Always::Saves { .. }));
    // Nor does one count that is there already.
    let answered = with_own(&written, &rules(&json!({"/built/**": "x", "/installed/**": "x"})));
    assert_eq!(file(&answered, "/built/x.so", map).outcome, Outcome::Ask);
    assert_eq!(file(&answered, "/installed/x.so", map).outcome, Outcome::Allow);
}

/// What an earlier run could write is no longer what the answer was for.
#[test]
fn an_answer_does_not_count_for_what_an_earlier_run_could_write() {
    let reading = own(&rules(&json!({"/asked/**": "rx"})));
    let earlier_runs = EarlierRuns::new([b"/asked/b".to_vec()]);
    let host = Host { own: OwnStore::Present(&reading), earlier_runs, ..host() };
    let policy = compile_with(&guard(), "main", &host, &Overrides::default());
    let library = |path: &str| file(&policy, path, Access::READ | Access::MAP);
    assert_eq!(library("/asked/a/x.so").outcome, Outcome::Allow);
    assert_eq!(library("/asked/b/x.so").outcome, Outcome::Ask);
    assert!(library("/asked/b/x.so").reason.text.contains("a guarded run could have changed the file since"));
    // Reading runs nothing, and a rule is no answer.
    assert_eq!(file(&policy, "/asked/b/x.so", Access::READ).outcome, Outcome::Allow);
    let mut written = guard();
    written["permissions"]["filesystem"]["rules"]["/asked/b/**"] = json!("r-x");
    let policy = compile_with(&written, "main", &host, &Overrides::default());
    assert_eq!(file(&policy, "/asked/b/x.so", Access::MAP).outcome, Outcome::Allow);
}

#[test]
fn a_denial_that_is_written_later_stands() {
    let store = rules(&json!({"/asked/a": "rw"}));
    assert_eq!(outcomes(&with_own(&guard(), &store), "/asked/a"), "aa?");
    for (edit, after) in [
        // Nothing starts where the tree may write and not read.
        (json!({"rules": {"/asked/**": "-??"}}), "dad"),
        (json!({"rules": {"/asked/a": "r--"}}), "add"),
        (json!({"deny": ["/asked/**"]}), "ddd"),
    ] {
        let mut guard = guard();
        for (key, value) in edit.as_object().unwrap() {
            guard["permissions"]["filesystem"][key] = value.clone();
        }
        assert_eq!(outcomes(&with_own(&guard, &store), "/asked/a"), after, "{edit}");
    }
    let mut off = guard();
    off["exec"] = json!({"ask": "off"});
    let policy = with_own(&off, &store);
    assert_eq!(outcomes(&policy, "/asked/a"), "ddd");
    let is_reported =
        policy.warnings().iter().any(|warning| warning.contains("have no effect while exec.ask is off"));
    assert!(is_reported, "{:?}", policy.warnings());
}

#[test]
fn only_the_named_bits_of_the_agents_rules_count() {
    let store = json!({"version": 1, "agents": {
        "*": {"permissions": {"filesystem": {"rules": {"/a": "r"}}}},
        "main": {"permissions": {"filesystem": {"rules": {"/a": "w", "/b/**": "r"}}}},
        "other": {"permissions": {"filesystem": {"rules": {"/c": "rwx"}}}}}});
    let policy = with_own(&guard(), &store);
    let found = ["/a", "/b", "/b/c", "/bb", "/c"].map(|path| outcomes(&policy, path));
    assert_eq!(found, ["aa?", "a??", "a??", "???", "???"]);
    let both = file(&policy, "/b/c", Access::READ | Access::WRITE);
    assert_eq!((both.outcome, both.reason.source), (Outcome::Ask, Source::Global));
}

#[test]
fn entries_count_in_either_store() {
    let entries =
        |pattern: &str| json!({"version": 1, "agents": {"main": {"allowlist": [{"pattern": pattern}]}}});
    let mut guard = guard();
    guard["permissions"]["filesystem"]["rules"]["/usr/**"] = json!("r-x");
    let saved = own(&entries("/usr/own"));
    let theirs =
        Store::parse("exec-approvals.json", &entries("/usr/theirs").to_string(), &mut common::ids()).unwrap();
    let host = Host { own: OwnStore::Present(&saved), openclaw: OpenclawStore::Present(&theirs), ..host() };
    let policy = compile_with(&guard, "main", &host, &Overrides::default());
    let of = |path: &str| {
        let verdict = exec(&policy, &[path]);
        (verdict.outcome, verdict.reason.source)
    };
    assert_eq!(of("/usr/own"), (Outcome::Allow, Source::Saved));
    assert_eq!(of("/usr/theirs"), (Outcome::Allow, Source::Openclaw));
    assert_eq!(of("/usr/other").0, Outcome::Ask);
    // An allowlist does not override a mode.
    for theirs in [json!({"version": 1, "defaults": {"security": "deny"}}), json!({"version": 1})] {
        let closes = theirs.get("defaults").is_some();
        let theirs = Store::parse("exec-approvals.json", &theirs.to_string(), &mut common::ids()).unwrap();
        let (own, openclaw) = (OwnStore::Present(&saved), OpenclawStore::Present(&theirs));
        let host = Host { own, openclaw, ..common::host() };
        let policy = compile_with(&guard, "main", &host, &Overrides::default());
        let expected = if closes { Outcome::Deny } else { Outcome::Allow };
        assert_eq!(exec(&policy, &["/usr/own"]).outcome, expected);
    }
    let bare = Host { own: OwnStore::Present(&saved), ..common::host() };
    let policy = Policy::without_file("main", &bare, &Overrides::default());
    assert_eq!(exec(&policy, &["/usr/own"]).outcome, Outcome::Allow);
}

#[test]
fn a_broken_store_allows_nothing_and_is_reported() {
    let line = "approvals.json:3:1: trailing comma";
    let host = Host { own: OwnStore::Broken(line), ..host() };
    let policy = compile_with(&guard(), "main", &host, &Overrides::default());
    assert_eq!(outcomes(&policy, "/asked/listed"), outcomes(&compile(&guard()), "/asked/listed"));
    assert!(policy.warnings()[0].starts_with(line), "{:?}", policy.warnings());
}

#[test]
fn settings_without_effect_in_the_store_are_reported() {
    let store = json!({"version": 1, "defaults": {"security": "deny"}, "agents": {"main": {"ask": "always",
        "permissions": {"base": false, "filesystem": {"deny": ["/x"], "default": "---",
            "rules": {"/a": "r--", "/b": 7, "/c/../d": "r", "e": "r", "/f": "r"}}},
        "network": {"connect": {}, "web": {"ask": "off", "allowedOrigins": [7, "https://good.test@evil.test"]}}}}});
    let policy = with_own(&guard(), &store);
    let warnings = policy.warnings();
    for message in [
        "guard/approvals.json: defaults.security has no effect here",
        "guard/approvals.json: agents.main.ask has no effect here",
        "agents.main.permissions.base has no effect here",
        "agents.main.permissions.filesystem.deny has no effect here",
        "agents.main.permissions.filesystem.default has no effect here",
        "rules[\"/a\"]: \"r--\" is ignored: it is not one of r, w, x, rw",
        "rules[\"/b\"]: 7 is ignored: it is not one of",
        "saved.agents.main.permissions.filesystem.rules[\"/c/../d\"]: ",
        "saved.agents.main.permissions.filesystem.rules[\"e\"]: ",
        "agents.main.network.connect has no effect here",
        "agents.main.network.web.ask has no effect here",
        "agents.main.network.web.allowedOrigins[0]: 7 is ignored",
        "saved.agents.main.network.web.allowedOrigins[1]: \"https://good.test@evil.test\" is ignored",
    ] {
        assert!(warnings.iter().any(|warning| warning.contains(message)), "{message}: {warnings:#?}");
    }
    assert_eq!(warnings.len(), 13, "{warnings:#?}");
    assert_eq!(outcomes(&policy, "/f"), "a??");
    assert_eq!((policy.ask().as_str(), policy.security().as_str()), ("on-miss", "allowlist"));
}

#[test]
fn a_rule_is_added_beside_what_is_there() {
    let rule = |pattern: &str, bits: &str| FileRule {
        pattern: pattern.to_owned(),
        bits: Bits::parse(bits).unwrap(),
    };
    let mut store = own(&json!({"version": 1})).store;
    assert_eq!(store.add_rule("main", &rule("/a", "r")), Some(Added::New));
    assert_eq!(store.add_rule("main", &rule("/a", "w")), Some(Added::Marked));
    assert_eq!(store.add_rule("", &rule("/a", "rw")), Some(Added::Known));
    let rules: Vec<_> = store.rules("main").into_iter().map(|(_, rule)| rule).collect();
    assert_eq!(rules, [rule("/a", "rw")]);
    assert_eq!(store.rules("other"), []);
    // OpenClaw does not know these keys, so its store may hold anything under them.
    for text in [r#"{"permissions": 1}"#, r#"{"permissions": {"filesystem": {"rules": {"/a": 1}}}}"#] {
        let text = format!(r#"{{"version": 1, "agents": {{"main": {text}}}}}"#);
        let mut store = Store::parse("x", &text, &mut common::ids()).unwrap().store;
        let before = store.clone();
        assert_eq!(store.add_rule("main", &rule("/a", "r")), None);
        assert!(store == before && store.rules("main").is_empty());
    }
}

/// The outcome for a URL whose name has this address.
fn web(policy: &Policy, url: &str, ip: &str) -> Outcome {
    let addresses = [Connection::to(SocketAddr::new(ip.parse().unwrap(), 443))];
    let request = WebRequest { target: WebTarget::Url(url), addresses: &addresses, is_name_approved: false };
    decide(policy, &Request::Web(request)).outcome
}

#[test]
fn a_saved_origin_turns_only_ask_into_allow() {
    const PUBLIC: &str = "93.184.216.34";
    let origins = ["https://a.test", "https://bad.test", "http://b.test:8080", "https://x.local"];
    let store = json!({"version": 1, "agents": {"main": {"network": {"web": {"allowedOrigins": origins}}}}});
    let guard = |web: Value| json!({"version": 1, "network": {"web": web}});
    let asking = json!({"ask": "on-miss", "private": "ask", "deniedDomains": ["bad.test"]});
    let policy = with_own(&guard(asking), &store);
    for (url, ip, outcome) in [
        ("https://a.test/x", PUBLIC, Outcome::Allow),
        ("https://A.test./", PUBLIC, Outcome::Allow),
        ("http://b.test:8080/", PUBLIC, Outcome::Allow),
        ("http://a.test/", PUBLIC, Outcome::Ask),
        ("https://a.test:444/", PUBLIC, Outcome::Ask),
        ("https://x.a.test/", PUBLIC, Outcome::Ask),
        ("https://bad.test/", PUBLIC, Outcome::Deny),
        // Where the name leads is another question, and so is a name of this network.
        ("https://a.test/", "10.0.0.1", Outcome::Ask),
        ("https://a.test/", "169.254.169.254", Outcome::Deny),
        ("https://x.local/", PUBLIC, Outcome::Ask),
    ] {
        assert_eq!(web(&policy, url, ip), outcome, "{url} {ip}");
    }
    // It counts only where somebody would be asked, and takes nothing away.
    let listed = with_own(&guard(json!({"allowedDomains": ["c.test"]})), &store);
    assert_eq!(web(&listed, "https://a.test/", PUBLIC), Outcome::Deny);
    let open = with_own(&guard(json!({})), &store);
    assert_eq!(web(&open, "https://other.test/", PUBLIC), Outcome::Allow);
    // Another agent's answers are its own.
    let store = json!({"version": 1, "agents": {"other": {"network": {"web": {"allowedOrigins": origins}}}}});
    let policy = with_own(&guard(json!({"ask": "on-miss"})), &store);
    assert_eq!(web(&policy, "https://a.test/", PUBLIC), Outcome::Ask);
}

#[test]
fn always_saves_the_origin_and_not_where_it_leads() {
    let guard = json!({"version": 1, "network": {"web": {"ask": "on-miss", "private": "ask"}}});
    let store = json!({"version": 1});
    let policy = with_own(&guard, &store);
    let url = "https://a.test:8443/x";
    let endpoint = WebTarget::Url(url).endpoint().unwrap();
    let asked = |addresses: &[Connection], is_name_approved| {
        let request = WebRequest { target: WebTarget::Url(url), addresses, is_name_approved };
        let verdict = decide(&policy, &Request::Web(request));
        assert_eq!(verdict.outcome, Outcome::Ask);
        always_host(&endpoint, None, &verdict.reason)
    };
    let Always::Saves { narrow, directory } = asked(&[], false) else { panic!("no always") };
    assert_eq!((narrow.len(), directory.len()), (1, 0));
    assert_eq!(narrow[0].to_string(), "host https://a.test:8443");
    let after = compile_saved(&guard, &narrow);
    assert_eq!(web(&after, url, "93.184.216.34"), Outcome::Allow);
    let private = [Connection::to("10.0.0.1:8443".parse().unwrap())];
    assert!(matches!(asked(&private, true), Always::Never(_)));
    // Nor is it offered where it would change nothing.
    for url in ["http://10.0.0.1/", "https://x.local/"] {
        let request = WebRequest { target: WebTarget::Url(url), addresses: &[], is_name_approved: false };
        let verdict = decide(&policy, &Request::Web(request));
        assert_eq!(verdict.outcome, Outcome::Ask, "{url}");
        let endpoint = WebTarget::Url(url).endpoint().unwrap();
        assert!(matches!(always_host(&endpoint, None, &verdict.reason), Always::Never(_)), "{url}");
    }
}

#[test]
fn a_pattern_may_be_edited_below_a_directory_that_is_not_home() {
    let rules = json!({"/**": "???", "/never/**": "---"});
    let guard = json!({"version": 1, "permissions": {"base": false, "persistence": false, "filesystem": {"rules": rules}}});
    let policy = compile(&guard);
    let below = |path: &str, access| {
        let request = Request::File { path: path.as_bytes(), access };
        edited_below(&policy, &always(&policy, &[request], &|_: &[u8]| OnDisk::File))
    };
    for (path, expected) in [
        ("/srv/a/b", Some("/srv")),
        ("/etc/hosts", Some("/etc")),
        ("/home/u/x/y/z", Some("/home/u/x")),
        // The home directory itself, the whole system, and what is denied.
        ("/home/u/x", None),
        ("/x", None),
        ("/never/x", None),
    ] {
        assert_eq!(below(path, Access::READ).as_deref(), expected, "{path}");
    }
    assert_eq!(below("/srv/a/b", Access::MAP), None);
    let rule = FileRule { pattern: "/srv/a/b".to_owned(), bits: Bits::R };
    for pattern in ["/srv/**", "/srv/a/*", "/srv/a/b", "/srv/?/b"] {
        let edited = rule.edited(pattern, "/srv").unwrap_or_else(|error| panic!("{pattern}: {error}"));
        assert!(edited.covers(b"/srv/a/b") && edited.bits == Bits::R, "{pattern}");
    }
    for pattern in
        ["/**", "**", "~/**", "/srv", "/srvx/**", "/srv/../**", "/srv//a/b", "/srv/a/c", "/sr*/a/b", ""]
    {
        assert!(rule.edited(pattern, "/srv").is_err(), "{pattern}");
    }
}

#[test]
fn always_may_be_for_the_domain_that_its_owner_has_registered() {
    let guard =
        json!({"version": 1, "network": {"web": {"ask": "on-miss", "deniedDomains": ["c.a.example.org"]}}});
    let policy = with_own(&guard, &json!({"version": 1}));
    let suffixes =
        PublicSuffixes::parse("// ===BEGIN ICANN DOMAINS===\norg\nuk\nco.uk\nio\ngithub.io\n").unwrap();
    let wider = |url: &str| {
        let request = WebRequest { target: WebTarget::Url(url), addresses: &[], is_name_approved: false };
        let verdict = decide(&policy, &Request::Web(request));
        let endpoint = WebTarget::Url(url).endpoint().unwrap();
        let domain = endpoint.domain(&suffixes);
        match always_host(&endpoint, domain.as_deref(), &verdict.reason) {
            Always::Saves { directory, .. } => directory,
            Always::Never(why) => panic!("{url}: {why}"),
        }
    };
    for (url, domain) in [
        ("https://registry.example.org/x", Some("host https://*.example.org")),
        ("http://b.a.example.co.uk:8080/", Some("host http://*.example.co.uk:8080")),
        // These are the domain itself, and one of many owners'.
        ("https://example.org/", None),
        ("https://example.co.uk/", None),
        ("https://someone.github.io/", None),
        ("https://93.184.216.34/", None),
    ] {
        let texts: Vec<_> = wider(url).iter().map(Saving::to_string).collect();
        assert_eq!(texts.first().map(String::as_str), domain, "{url}");
    }
    let after = compile_saved(&guard, &wider("https://registry.example.org/"));
    for (url, outcome) in [
        ("https://a.example.org/", Outcome::Allow),
        ("https://b.a.example.org/", Outcome::Allow),
        ("https://c.a.example.org/", Outcome::Deny),
        ("https://example.org/", Outcome::Ask),
        ("http://a.example.org/", Outcome::Ask),
        ("https://aexample.org/", Outcome::Ask),
    ] {
        assert_eq!(web(&after, url, "93.184.216.34"), outcome, "{url}");
    }
    // What it leads to is judged all the same.
    assert_eq!(web(&after, "https://a.example.org/", "10.0.0.1"), Outcome::Deny);
}

fn compile_saved(guard: &Value, savings: &[Saving]) -> Policy {
    let reading = saved(savings);
    let host = Host { own: OwnStore::Present(&reading), ..host() };
    compile_with(guard, "main", &host, &Overrides::default())
}

#[test]
fn an_origin_is_added_once_beside_what_is_there() {
    let mut store = own(&json!({"version": 1})).store;
    assert_eq!(store.add_origin("main", "https://a.test"), Some(Added::New));
    assert_eq!(store.add_origin("", "https://a.test"), Some(Added::Known));
    let origins: Vec<_> = store.origins("main").into_iter().map(|(_, origin)| origin).collect();
    assert_eq!(origins, ["https://a.test"]);
    let answers = store.saved_answers();
    assert!(matches!(&answers[..], [SavedAnswer { grant: SavedGrant::Origin { .. }, .. }]), "{answers:?}");
    assert!(store.forget(&answers[0]) && !store.forget(&answers[0]));
    assert_eq!(store.origins("main"), []);
    for text in [r#"{"network": 1}"#, r#"{"network": {"web": {"allowedOrigins": {}}}}"#] {
        let text = format!(r#"{{"version": 1, "agents": {{"main": {text}}}}}"#);
        let mut store = Store::parse("x", &text, &mut common::ids()).unwrap().store;
        let before = store.clone();
        assert_eq!(store.add_origin("main", "https://a.test"), None);
        assert!(store == before && store.origins("main").is_empty());
    }
    let text = r#"{"version": 1, "agents": {"main": {"network": {"web": 1}}}}"#;
    let problem = Store::parse_own("approvals.json", text, &mut common::ids()).unwrap_err();
    assert!(problem.to_string().contains("agents.main.network.web: must be an object"), "{problem}");
}

#[test]
fn a_link_in_a_saved_path_is_not_followed() {
    let realpath = |path: &[u8]| match path {
        b"/asked/link" => Some(b"/secret2".to_vec()),
        _ => None,
    };
    let reading = own(&rules(&json!({"/asked/link/a": "r"})));
    let host = Host { own: OwnStore::Present(&reading), realpath: &realpath, ..host() };
    let policy = compile_with(&guard(), "main", &host, &Overrides::default());
    assert_eq!(outcomes(&policy, "/secret2/a"), "???");
}

#[test]
fn a_link_where_a_saved_answer_lets_the_tree_write_is_not_followed_by_rules() {
    let realpath = |path: &[u8]| match path {
        b"/asked/link" | b"/data" => Some(b"/data".to_vec()),
        b"/asked" => Some(b"/asked".to_vec()),
        _ => None,
    };
    let mut guard = guard();
    guard["permissions"]["filesystem"]["rules"]["/asked/link/a"] = json!("r--");
    let of = |store: &Value| {
        let reading = own(store);
        let host = Host { own: OwnStore::Present(&reading), realpath: &realpath, ..host() };
        outcomes(&compile_with(&guard, "main", &host, &Overrides::default()), "/data/a")
    };
    assert_eq!(of(&rules(&json!({}))), "add");
    assert_eq!(of(&rules(&json!({"/asked/**": "w"}))), "???");
}

#[test]
fn a_directory_is_not_moved_to_where_an_answer_gives_it_more() {
    let guard = json!({"version": 1, "permissions": {"base": false, "filesystem": {
        "rules": {"/old/**": "rw?", "/new/**": "rw?"}}}});
    let may = |saved: &Value, is_directory| {
        with_own(&guard, &rules(saved)).may_move(b"/old/d", b"/new/d", is_directory)
    };
    let below = json!({"/new/d/tool": "x"});
    assert_eq!([may(&json!({}), true), may(&below, true), may(&below, false)], [true, false, true]);
    assert!(!may(&json!({"/new/d": "x"}), false));
    assert!(may(&json!({"/old/**": "x", "/new/d/tool": "r"}), true));
    // The saved rule lets only a part of the directory be read.
    let uniform = |saved: &Value| {
        let asked = json!({"version": 1, "permissions": {"base": false, "filesystem": {"default": "???"}}});
        with_own(&asked, &rules(saved)).is_uniform(b"/d", Access::READ)
    };
    assert!(!uniform(&json!({"/d": "r", "/d/a": "r"})));
}

#[test]
fn saved_answers_are_listed() {
    let policy = with_own(&guard(), &rules(&json!({"/a/**": "rw"})));
    let settings = serde_json::to_value(policy.explain(None)).unwrap();
    let saved = settings.as_array().unwrap().iter().find(|setting| setting["section"] == "saved").unwrap();
    let path = "saved.agents.main.permissions.filesystem.rules[\"/a/**\"]";
    let expected =
        json!({"section": "saved", "name": "/a/**", "value": "rw", "source": "saved", "path": path});
    assert_eq!(*saved, expected);
}

#[test]
fn validate_says_which_answers_are_denied() {
    let policy = with_own(&guard(), &rules(&json!({"/secret/a": "r", "/secret/b/**": "w", "/asked/a": "r"})));
    let found = policy.lint(&common::parse(&guard().to_string()).unwrap(), &|_| true);
    assert_eq!(found.len(), 2, "{found:?}");
    let message =
        "rules[\"/secret/a\"]: has no effect, because all of it is denied (permissions.filesystem.deny";
    assert!(found[0].contains(message), "{found:?}");
}

/// Saves all items, as "allow always" does.
fn saved(savings: &[Saving]) -> StoreContents {
    let mut reading = own(&json!({"version": 1}));
    for saving in savings {
        match saving {
            Saving::Rule(rule) => assert!(reading.store.add_rule("main", rule).is_some()),
            Saving::Origin(origin) => assert!(reading.store.add_origin("main", origin).is_some()),
            Saving::Entry(entry) => {
                let new = NewEntry::new(&entry.pattern).unwrap().with_arg_pattern(&entry.arg_pattern);
                reading.store.add("main", new.from_allow_always(), 0, &mut common::ids());
            }
        }
    }
    // Read the saved text again.
    own(&serde_json::from_str(&reading.store.to_text()).unwrap())
}

fn component() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "a", "b", "ab", "*", "?", "a*", "**", "é", "a\nb", " a", "~", "\\", "[a]", "{a}"
        ])
        .prop_map(str::to_owned),
        "[^/\0]{1,4}",
    ]
    .prop_filter("no dots", |part| part != "." && part != "..")
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(component(), 1..4).prop_map(|parts| format!("/{}", parts.join("/")))
}

fn pattern() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec!["a", "b", "ab", "*", "**", "a*", "?", "é"]);
    prop::collection::vec(part, 1..4).prop_map(|parts| format!("/{}", parts.join("/")))
}

fn permission() -> impl Strategy<Value = String> {
    "[r?-][w?-][x?-]"
}

fn bits() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["r", "w", "x", "rw", "rx", "wx", "rwx"]).prop_map(str::to_owned)
}

fn map<T: Strategy<Value = String>>(values: T) -> impl Strategy<Value = Value> {
    prop::collection::btree_map(pattern(), values, 0..6).prop_map(|map| json!(map))
}

fn any_guard() -> impl Strategy<Value = Value> {
    let asks = prop::sample::select(vec!["off", "on-miss", "on-miss", "always"]);
    (map(permission()), prop::collection::vec(pattern(), 0..2), permission(), asks).prop_map(
        |(rules, deny, default, ask)| {
            json!({"version": 1, "exec": {"ask": ask}, "permissions": {"base": false, "filesystem": {
                "rules": rules, "deny": deny, "default": default}},
                "agents": {"main": {"allowlist": [{"pattern": "/a/**"}]}}})
        },
    )
}

const ACCESSES: [Access; 3] = [Access::READ, Access::WRITE, Access::MAP];

fn requests<'a>(path: &'a str, argv: &'a [Vec<u8>]) -> Vec<Request<'a>> {
    let path = path.as_bytes();
    let mut requests: Vec<_> = ACCESSES.into_iter().map(|access| Request::File { path, access }).collect();
    requests.push(Request::File { path, access: Access::READ | Access::WRITE });
    requests.extend(
        [Role::Program, Role::Interpreter, Role::Loader]
            .map(|role| Request::Exec(Exec { path, argv, cwd: HOME, role })),
    );
    requests
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_saved_answer_changes_nothing_where_nothing_is_asked(
        guard in any_guard(), saved in map(bits()), paths in prop::collection::vec(path(), 1..8),
    ) {
        let (before, after) = (compile(&guard), with_own(&guard, &rules(&saved)));
        let argv = [b"x".to_vec()];
        for path in &paths {
            for request in requests(path, &argv) {
                let (old, new) = (decide(&before, &request), decide(&after, &request));
                if old.outcome != Outcome::Ask {
                    prop_assert_eq!(old, new);
                } else {
                    prop_assert!(new.outcome != Outcome::Deny, "{:?}", request);
                }
            }
            // Bit by bit: granted are the bits granted before, and the bits that were asked for and saved.
            let (old, new) = (before.rights(path.as_bytes()), after.rights(path.as_bytes()));
            let covers = |pattern: &str, bit: char| {
                let alone = json!({"version": 1, "exec": {"ask": "off"}, "permissions": {"base": false,
                    "filesystem": {"rules": {pattern: "rwx"}}}});
                saved[pattern].as_str().unwrap().contains(bit)
                    && compile(&alone).rights(path.as_bytes()).r == Grant::Yes
            };
            for (bit, old, new) in [('r', old.r, new.r), ('w', old.w, new.w), ('x', old.x, new.x)] {
                let is_saved = saved.as_object().unwrap().keys().any(|pattern| covers(pattern, bit));
                let denied = path.starts_with("/home/u/.openclaw");
                let expected = if old == Grant::Ask && is_saved && !denied { Grant::Yes } else { old };
                prop_assert_eq!(new, expected, "{} of {}", bit, path);
            }
        }
    }

    #[test]
    fn a_move_gains_nothing_by_a_saved_answer(
        guard in any_guard(), saved in map(bits()), old in path(), new in path(),
        below in prop::collection::vec(path(), 1..8),
    ) {
        let policy = with_own(&guard, &rules(&saved));
        let uniform = policy.is_uniform(old.as_bytes(), Access::READ);
        let may = policy.may_move(old.as_bytes(), new.as_bytes(), true);
        for path in below {
            let at = |dir: &str| policy.rights(format!("{dir}{path}").as_bytes());
            prop_assert!(!may || at(&new).within(at(&old)), "{} from {} to {}", path, old, new);
            prop_assert!(!uniform || at(&old).r == Grant::Yes, "{} below {}", path, old);
        }
    }

    /// The saved rule covers only that file; the second choice covers only its directory.
    #[test]
    fn a_saved_file_is_that_file(
        path in path(), others in prop::collection::vec(path(), 1..12), below in component(),
    ) {
        let guard = guard();
        let before = compile(&guard);
        let request = Request::File { path: path.as_bytes(), access: Access::READ };
        let found = always(&before, &[request], &|_: &[u8]| OnDisk::Other);
        let Always::Saves { narrow, directory } = found else {
            prop_assert!(path.contains(['*', '?']), "{path:?}: {found:?}");
            return Ok(());
        };
        let with = |savings: &[Saving]| {
            let reading = saved(savings);
            let host = Host { own: OwnStore::Present(&reading), ..host() };
            compile_with(&guard, "main", &host, &Overrides::default())
        };
        let others = others.into_iter().chain([format!("{path}/{below}"), format!("{path}{below}")]);
        let others: Vec<String> = others.filter(|other| *other != path).collect();
        let (narrow, directory) = (with(&narrow), (!directory.is_empty()).then(|| with(&directory)));
        prop_assert_eq!(decide(&narrow, &request).outcome, Outcome::Allow);
        let parent = path.rsplit_once('/').unwrap().0;
        for other in &others {
            prop_assert_eq!(outcomes(&narrow, other), outcomes(&before, other), "{:?} by {:?}", other, path);
        }
        let Some(directory) = directory else {
            prop_assert!(parent.is_empty() || "/home/u".starts_with(parent), "{}", path);
            return Ok(());
        };
        prop_assert_eq!(decide(&directory, &request).outcome, Outcome::Allow);
        for other in others {
            let is_below = other == parent || other.starts_with(&format!("{parent}/"));
            if !is_below {
                prop_assert_eq!(outcomes(&directory, &other), outcomes(&before, &other), "{:?}", other);
            }
        }
    }

    /// The saved items are enough: the same call is not asked about again.
    #[test]
    fn a_saved_answer_answers_the_question(
        name in "[a-z?*]{1,6}", arguments in prop::collection::vec("[ -~]{0,4}", 0..4), ask in any::<bool>(),
    ) {
        let mut guard = guard();
        guard["exec"] = json!({"ask": if ask { "always" } else { "on-miss" }});
        let path = format!("/asked/{name}");
        let argv: Vec<Vec<u8>> = std::iter::once(name.clone()).chain(arguments).map(String::into_bytes).collect();
        // No question is about a file and a program. An answer for both would let the tree write what it starts.
        let (programs, files): (Vec<_>, Vec<_>) =
            requests(&path, &argv).into_iter().partition(|request| matches!(request, Request::Exec(_)));
        for requests in [programs, files] {
            let Always::Saves { narrow, .. } = always(&compile(&guard), &requests, &|_: &[u8]| OnDisk::Other)
            else {
                continue;
            };
            let reading = saved(&narrow);
            let host = Host { own: OwnStore::Present(&reading), ..host() };
            let policy = compile_with(&guard, "main", &host, &Overrides::default());
            for request in requests {
                prop_assert_eq!(decide(&policy, &request).outcome, Outcome::Allow, "{:?}", request);
            }
        }
    }
}
