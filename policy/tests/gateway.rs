//! Tests of `approvals.gateway` and `approvals.exec`.

use crate::common::{compile, compile_with, data, file, host, parse};
use guard_policy::approval::{Recipient, Scheme, ThreadId, TurnSource};
use guard_policy::{Access, Connection, Host, Outcome, Overrides, Page, Policy, Request, Source, decide};
use serde_json::{Value, json};

fn with(gateway: Value) -> Value {
    json!({ "version": 1, "approvals": { "gateway": gateway } })
}

/// The lines that an operator sees if a document is refused.
fn problems(document: &Value) -> Vec<String> {
    parse(&document.to_string()).expect_err("should be refused").iter().map(ToString::to_string).collect()
}

fn connects(policy: &Policy, address: &str) -> (Outcome, String) {
    let connection = Connection::to(address.parse().unwrap());
    let verdict = decide(policy, &Request::Connect(connection));
    (verdict.outcome, verdict.reason.path.into_owned())
}

fn denied(policy: &Policy, address: &str) -> bool {
    connects(policy, address) == (Outcome::Deny, "network.connect.gateway".to_owned())
}

#[test]
fn the_gateway_is_asked_as_guard_json_says() {
    let none = compile(&json!({ "version": 1 }));
    let route = none.approvals().gateway();
    assert_eq!((route.url(), route.token_file(), route.fingerprint()), (None, None, None));
    assert!(!route.allow_insecure() && !route.admin() && none.gateway_token().is_none());
    let all = compile(&with(json!({
        "url": "ws://gw.example:1", "tokenFile": "/etc/guard-token", "allowInsecure": true, "admin": true,
    })));
    let route = all.approvals().gateway();
    assert_eq!(route.url().map(|url| (url.scheme(), url.port())), Some((Scheme::Ws, 1)));
    assert!(route.allow_insecure() && route.admin());
    let shown = |name: &str| {
        let setting = all.explain(None).into_iter().find(|setting| setting.name == name);
        setting.map(|setting| setting.value)
    };
    assert_eq!(shown("approvals.gateway.url").as_deref(), Some("ws://gw.example:1"));
    assert_eq!(shown("approvals.gateway.admin").as_deref(), Some("true"));
    assert_eq!(shown("approvals.exec").as_deref(), Some("off"));
}

#[test]
fn the_token_is_not_sent_in_clear_by_accident() {
    assert_eq!(
        problems(&with(json!({ "url": "ws://10.0.0.5:18789" }))),
        ["guard.json:1:44: approvals.gateway.url: would send the token to another host in plain text: use \
             wss, or set \"allowInsecure\": true"]
    );
    let print = "ab".repeat(32);
    for (gateway, key) in [
        (json!({ "fingerprint": print }), "approvals.gateway.fingerprint: needs a wss url"),
        (json!({ "fingerprint": print, "url": "ws://127.0.0.1" }), "approvals.gateway.fingerprint: needs a"),
        (json!({ "url": "ws://localhost.evil.example" }), "approvals.gateway.url: would send"),
        (
            json!({ "url": "ws://localhost@evil.example" }),
            "approvals.gateway.url: must not contain a name or password",
        ),
        (json!({ "url": "ws://127.0.0.1?x" }), "approvals.gateway.url: must end with the path"),
        // A name that is a number to some is nobody's loopback by accident.
        (json!({ "url": "ws://2130706433" }), "approvals.gateway.url: \"2130706433\" is not an address"),
    ] {
        let lines = problems(&with(gateway.clone()));
        assert!(lines.len() == 1 && lines[0].contains(key), "{gateway}: {lines:?}");
    }
    for url in ["ws://localhost:1", "ws://127.9.9.9", "ws://[::1]:1", "ws://[::ffff:127.0.0.1]:1", "wss://h"]
    {
        compile(&with(json!({ "url": url })));
    }
}

#[test]
fn the_tree_does_not_reach_the_gateway_that_is_asked() {
    let local = compile(&with(json!({ "url": "ws://127.0.0.1:19001" })));
    for address in ["127.0.0.1:19001", "[::1]:19001", "127.9.9.9:19001", "0.0.0.0:19001", "127.0.0.1:18789"] {
        assert!(denied(&local, address), "{address}: {:?}", connects(&local, address));
    }
    assert!(!denied(&local, "127.0.0.1:19002") && !denied(&local, "10.0.0.5:19001"));
    assert!(local.needs_interfaces("192.0.2.7:19001".parse().unwrap(), Page::Down));

    let remote = compile(&with(json!({ "url": "wss://10.0.0.5:443" })));
    for address in ["10.0.0.5:443", "[::ffff:10.0.0.5]:443"] {
        assert!(denied(&remote, address), "{address}");
    }
    // On other hosts, that port has no special meaning.
    for address in ["10.0.0.5:444", "10.0.0.6:443", "127.0.0.1:443"] {
        assert!(!denied(&remote, address), "{address}");
    }
    let mapped = compile(&with(json!({ "url": "wss://[::ffff:10.0.0.5]:443" })));
    assert!(denied(&mapped, "10.0.0.5:443"));

    let mut open = with(json!({ "url": "ws://127.0.0.1:19001" }));
    open["network"] = json!({ "connect": { "gateway": "allow" } });
    let open = compile(&open);
    assert!(!denied(&open, "127.0.0.1:19001") && !denied(&open, "127.0.0.1:18789"));
    let elsewhere = compile(&json!({
        "version": 1, "approvals": { "gateway": { "url": "wss://10.0.0.5:443" } },
        "network": { "connect": { "gateway": "allow" } },
    }));
    assert!(!denied(&elsewhere, "10.0.0.5:443"));
}

/// Where `/home/u/l` is a link to `/data`.
fn realpath(path: &[u8]) -> Option<Vec<u8>> {
    match path {
        b"/home/u/l/token" => Some(b"/data/token".to_vec()),
        b"/home/u/l" => Some(b"/data".to_vec()),
        b"/home" | b"/home/u" | b"/data" | b"/data/token" | b"/srv" => Some(path.to_vec()),
        _ => None,
    }
}

fn token(rules: &Value, deny: &Value, file: &str) -> (Policy, Result<String, String>) {
    let document = json!({
        "version": 1, "approvals": { "gateway": { "tokenFile": file } },
        "permissions": { "filesystem": { "rules": rules, "deny": deny } },
    });
    let host = Host { realpath: &realpath, ..host() };
    let policy = compile_with(&document, "main", &host, &Overrides::default());
    let token = policy.gateway_token().expect("a token file");
    let path = token.map(|path| String::from_utf8_lossy(path).into_owned()).map_err(ToString::to_string);
    (policy, path)
}

#[test]
fn nobody_of_the_tree_opens_the_token() {
    let opens = |policy: &Policy, path: &str| {
        [Access::READ, Access::WRITE].map(|access| {
            let verdict = file(policy, path, access);
            (verdict.outcome, verdict.reason.source)
        })
    };
    let never = [(); 2].map(|()| (Outcome::Deny, Source::Builtin));
    for (rules, file, paths) in [
        (json!({}), "~/token", &["/home/u/token"][..]),
        (json!({ "~/**": "rwx", "/**": "rwx" }), "~/token", &["/home/u/token"]),
        (json!({ "~/token": "rw-" }), "~/token", &["/home/u/token"]),
        (json!({ "/**": "rw-" }), "~/l/token", &["/home/u/l/token", "/data/token"]),
    ] {
        let (policy, _) = token(&rules, &json!([]), file);
        for path in paths {
            assert_eq!(opens(&policy, path), never, "{rules} {path}");
        }
    }
}

#[test]
fn a_token_that_rules_open_is_not_used() {
    let nothing = json!([]);
    let token_path = |rules: Value, deny: &Value, file: &str| token(&rules, deny, file).1;
    assert_eq!(token_path(json!({}), &nothing, "~/token").as_deref(), Ok("/home/u/token"));
    assert_eq!(token_path(json!({}), &nothing, "~/l/token").as_deref(), Ok("/data/token"));
    assert_eq!(
        token_path(json!({ "~/work/**": "rwx" }), &nothing, "~/token").as_deref(),
        Ok("/home/u/token")
    );
    // A path that would be asked about is not open yet, and now nobody can be asked.
    assert_eq!(token_path(json!({ "~/**": "???" }), &nothing, "~/token").as_deref(), Ok("/home/u/token"));
    assert_eq!(token_path(json!({ "~/**": "--x" }), &nothing, "~/token").as_deref(), Ok("/home/u/token"));
    let denied = json!(["~/token"]);
    assert_eq!(token_path(json!({ "~/**": "rwx" }), &denied, "~/token").as_deref(), Ok("/home/u/token"));
    // The state directory is denied as it is.
    let state = "~/.openclaw/guard/token";
    assert_eq!(
        token_path(json!({ "/**": "rwx" }), &nothing, state).as_deref(),
        Ok("/home/u/.openclaw/guard/token")
    );

    for (rules, file, expected) in [
        (json!({ "~/**": "r--" }), "~/token", "could read /home/u/token"),
        (json!({ "~/**": "-w-" }), "~/token", "could write /home/u/token"),
        (json!({ "~/**": "rw-" }), "~/token", "could write /home/u/token"),
        (json!({ "/data/**": "r--" }), "~/l/token", "could read /data/token"),
        (
            json!({ "~/l": "-w-" }),
            "~/l/token",
            "/home/u/l is a symbolic link that the guarded command may replace",
        ),
    ] {
        let (policy, token_path) = token(&rules, &nothing, file);
        let why = token_path.expect_err("refused");
        assert!(why.contains(expected), "{rules}: {why}");
        let warned = |warning: &String| {
            warning.starts_with("approvals.gateway.tokenFile: is not used") && warning.contains(expected)
        };
        assert!(policy.warnings().iter().any(warned), "{:?}", policy.warnings());
    }
}

fn slack(to: &str) -> TurnSource {
    TurnSource { channel: "slack".to_owned(), to: to.to_owned(), account_id: None, thread_id: None }
}

fn forwarding(exec: Value) -> Policy {
    compile(&json!({ "version": 1, "approvals": { "exec": exec } }))
}

#[test]
fn turns_are_openclaws() {
    let targets = json!([
        { "channel": "slack", "to": "U1" }, { "channel": "slack", "to": "U1" },
        { "channel": "slack", "to": "U2" },
    ]);
    let (one, two) = (slack("U1"), slack("U2"));
    let (both, only) =
        ([Recipient::Session, Recipient::Target(&one), Recipient::Target(&two)], [Recipient::Session]);
    for (mode, key, expected) in [
        (None, Some("agent:main:main"), &only[..]),
        (None, None, &[]),
        (Some("session"), Some("agent:main:main"), &only),
        (Some("session"), Some(" \u{feff}"), &[]),
        (Some("targets"), Some("agent:main:main"), &both[1..]),
        (Some("targets"), None, &both[1..]),
        (Some("both"), Some("agent:main:main"), &both),
        (Some("both"), None, &both[1..]),
    ] {
        let mut exec = json!({ "enabled": true, "targets": targets });
        if let Some(mode) = mode {
            exec["mode"] = mode.into();
        }
        assert_eq!(
            forwarding(exec.clone()).approvals().forwarding().recipients("main", key),
            expected,
            "{mode:?} {key:?}"
        );
        for off in [json!(false), Value::Null] {
            exec["enabled"] = off;
            exec.as_object_mut().unwrap().retain(|_, value| !value.is_null());
            assert_eq!(
                forwarding(exec.clone()).approvals().forwarding().recipients("main", key),
                [],
                "{exec}"
            );
        }
    }
    let threads = forwarding(json!({ "enabled": true, "mode": "targets", "targets": [
        { "channel": "telegram", "to": "-1", "accountId": "a", "threadId": 7 },
        { "channel": "telegram", "to": "-1", "accountId": "a", "threadId": "7" },
    ] }));
    let recipients = threads.approvals().forwarding().recipients("main", None);
    let [Recipient::Target(first), Recipient::Target(second)] = recipients[..] else {
        panic!("{recipients:?}")
    };
    assert_eq!(first.thread_id, Some(ThreadId::Number(7.into())));
    assert_eq!(second.thread_id, Some(ThreadId::Text("7".to_owned())));
}

/// The first is an expression to the guard alone, since OpenClaw takes it for too slow; the others to OpenClaw alone. All
/// of them are looked for as they are written, too.
const DIFFERENT: [&str; 4] = ["(main|discord)+", ".+.+", "x*x*", "(?=agent)"];

/// What OpenClaw 2026.7.35 and 2026.9.6 answer (`matchesApprovalRequestFilters` as the forwarder calls it).
#[test]
fn filters_are_openclaws() {
    let data = data("approval-request-filters.json");
    let cases = data.as_array().expect("cases");
    let mut different = Vec::new();
    for case in cases {
        let mut exec =
            json!({ "enabled": true, "mode": "targets", "targets": [{ "channel": "slack", "to": "U1" }] });
        for key in ["agentFilter", "sessionFilter"] {
            if !case[key].is_null() {
                exec[key] = case[key].clone();
            }
        }
        let policy = forwarding(exec);
        let agent = case["agentId"].as_str().unwrap_or_default();
        let recipients = policy.approvals().forwarding().recipients(agent, case["sessionKey"].as_str());
        if (recipients.len() == 1) != case["expected"] {
            let filter = case["sessionFilter"][0].as_str();
            assert!(filter.is_some_and(|filter| DIFFERENT.contains(&filter)), "{case}");
            different.push(filter);
        }
    }
    let (all, right) = (cases.len(), cases.len() - different.len());
    println!("approval-request-filters.json: {right} of {all}, deliberately different: {different:?}");
    assert!(DIFFERENT.iter().all(|filter| different.contains(&Some(filter))));
}

#[test]
fn validate_says_what_is_not_forwarded() {
    let remarks = |approvals: Value| {
        let document = parse(&json!({ "version": 1, "approvals": approvals }).to_string()).unwrap();
        let policy = Policy::compile(&document, "main", &host(), &Overrides::default()).unwrap();
        policy.lint(&document, &|_| true)
    };
    let targets = json!([{ "channel": "slack", "to": "U1" }, { "channel": "slack", "to": "U2" }]);
    for (approvals, expected) in [
        (json!({}), ""),
        (json!({ "exec": { "enabled": true } }), ""),
        (json!({ "exec": { "enabled": true, "sessionFilter": ["discord", "^agent:", " "] } }), ""),
        (json!({ "exec": { "mode": "session" } }), "approvals.exec: has no effect without \"enabled\": true"),
        (
            json!({ "exec": { "enabled": true, "targets": targets } }),
            "approvals.exec.targets: has no effect with",
        ),
        (json!({ "exec": { "enabled": true, "mode": "targets" } }), "approvals.exec.targets: is empty"),
        (
            json!({ "exec": { "enabled": true, "mode": "targets", "targets": targets } }),
            "approvals.exec.targets: a request names one place only, the first. For the others set approvals.exec in",
        ),
        (
            json!({ "exec": { "enabled": true, "mode": "both", "targets": targets } }),
            "approvals.exec.targets: a request names one place only: the session's chat where",
        ),
        (
            json!({ "exec": { "enabled": true, "sessionFilter": ["x", "(a+)+"] } }),
            "approvals.exec.sessionFilter[1]: is not a regular expression",
        ),
        (
            json!({ "routes": ["terminal"], "gateway": { "admin": true } }),
            "approvals.gateway: has no effect, because approvals.routes has no \"gateway\"",
        ),
        (
            json!({ "gateway": { "url": "wss://h", "allowInsecure": true } }),
            "approvals.gateway.allowInsecure: is only for a ws url of another host",
        ),
    ] {
        let found = remarks(approvals.clone());
        assert!(
            if expected.is_empty() {
                found.is_empty()
            } else {
                found.len() == 1 && found[0].starts_with(expected)
            },
            "{approvals}: {found:?}"
        );
    }
}
