//! Hosts that a human is asked about.

use guard_tests::{Ended, Held, World, ended, has, skip};
use serde_json::Value;

use super::{arrived, inside, strangers, world};

/// A world in which somebody is asked, with this `network.web`.
fn asking(web: &str, timeout_ms: u32) -> World {
    let world = world(&format!("{{\"web\": {web}}}"));
    let limit = format!("\"exec\": {{\"timeoutMs\": {timeout_ms}, ");
    world.policy_text(|text| text.replacen("\"exec\": {", &limit, 1)).attended()
}

/// Runs a script in the network of the test's own, asks about what `web` does not allow, and has `act` answer. `None` where
/// there is no such network.
pub(super) fn asked(
    web: &str,
    timeout_ms: u32,
    script: &str,
    act: impl FnOnce(&World),
) -> Option<(World, Ended)> {
    let world = asking(web, timeout_ms);
    let mut command = world.command();
    command.args(["--", "sh", "-c", script]);
    // Where there are no links between networks, no question would come.
    if super::there(&world, &std::process::Command::new("true"))?.status != 0 {
        return None;
    }
    let inside = inside(&world, &command)?;
    let held = world.start_command(inside);
    act(&world);
    let ended = Held::end(held);
    Some((world, ended))
}

pub(super) const ON_MISS: &str =
    r#"{"ask": "on-miss", "allowedDomains": ["good.test"], "deniedDomains": ["bad.sub.test"]}"#;
pub(super) const MINUTES: u32 = 600_000;

fn get(url: &str) -> String {
    format!("curl -s -o /dev/null -w '%{{http_code}} ' {url};")
}

fn looked_up(world: &World, name: &str) -> bool {
    arrived(world).iter().any(|line| line.starts_with(&format!("dns {name} ")))
}

#[test]
fn a_host_is_asked_about_each_time() {
    let script =
        [get("http://good.test/ok"), get("http://evil.test/1"), get("-k https://evil.test/2")].concat();
    let answers = |world: &World| {
        let question = world.wait_for(1).remove(0);
        // Nothing has been looked up for a name that nobody has allowed.
        assert!(!looked_up(world, "evil.test"), "{:?}", arrived(world));
        assert_eq!(
            (&question["operation"], &question["resolvedPath"]),
            (&"connect".into(), &"evil.test:80".into())
        );
        assert_eq!(question["call"], "plain HTTP GET", "{question}");
        assert_eq!(question["askedBy"][0]["name"], "curl", "{question}");
        let offered = Value::from(vec!["allow-once", "allow-session", "allow-30m", "allow-always", "deny"]);
        assert_eq!(question["answers"], offered, "{question}");
        assert_eq!(world.resolve(&question, "allow-once").status, 0);
        let question = world.answer("deny");
        assert_eq!((&question["resolvedPath"], &question["call"]), (&"evil.test:443".into(), &"TLS".into()));
    };
    let Some((world, ended)) = asked(ON_MISS, MINUTES, &script, answers) else { return };
    assert_eq!(ended.stdout, "200 200 000 ", "{}", ended.stderr);
    let line = "denied connect evil.test:443 (network.web.ask \"on-miss\"; denied by the operator)";
    assert!(ended.stderr.contains(line), "{}", ended.stderr);
    assert_eq!(
        strangers(&world),
        ["93.184.216.35 connected", "93.184.216.35 GET /1 HTTP/1.1 ['evil.test'] 0"]
    );
}

#[test]
fn an_always_is_for_the_origin_until_it_is_forgotten() {
    let script = [
        get("http://evil.test/1"),
        get("-d x http://evil.test/2"),
        // The tunnel's host is asked about as https.
        get("-k https://evil.test/3"),
    ]
    .concat();
    let answers = |world: &World| {
        let question = world.answer("allow-always");
        let saves = &question["always"]["saves"];
        assert_eq!(saves[0]["pattern"], "http://evil.test", "{question}");
        assert_eq!(saves[0]["text"], "host http://evil.test", "{question}");
        let question = world.answer("deny");
        assert_eq!(question["resolvedPath"], "evil.test:443");
    };
    let Some((world, ended)) = asked(ON_MISS, MINUTES, &script, answers) else { return };
    assert_eq!(ended.stdout, "200 200 000 ", "{}", ended.stderr);
    let saved = guard_tests::ended(world.command().args(["approvals", "saved"])).stdout;
    assert!(saved.contains("  main      reach  http://evil.test\n"), "{saved}");
    // The next session asks nobody, and still denies what is denied.
    let mut command = world.command();
    let script = [get("http://evil.test/4"), get("http://bad.sub.test/")].concat();
    command.args(["--unattended", "--", "sh", "-c", &script]);
    let again = super::there(&world, &command).expect("as before");
    assert_eq!(again.stdout, "200 403 ", "{}", again.stderr);
    let forgotten = guard_tests::ended(world.command().args(["approvals", "forget", "http://evil.test"]));
    assert!(forgotten.stdout.starts_with("forgotten: "), "{forgotten:?}");
    let after = super::there(&world, &command).expect("as before");
    assert_eq!(after.stdout, "403 403 ", "{}", after.stderr);
}

/// The second and third host of the domain are not asked about, the domain's denied host stays denied.
#[test]
fn an_answer_for_the_domain_is_for_its_hosts() {
    let script = [
        get("http://a.evil.test/1"),
        get("http://b.evil.test/2"),
        get("http://c.b.evil.test/3"),
        get("http://bad.sub.test/4"),
    ]
    .concat();
    for (decision, saved) in
        [("allow-directory-session", ""), ("allow-always-directory", "http://*.evil.test")]
    {
        let answers = |world: &World| {
            let question = world.answer(decision);
            assert_eq!(
                (&question["resolvedPath"], &question["domain"]),
                (&"a.evil.test:80".into(), &"*.evil.test".into())
            );
        };
        let Some((world, ended)) = asked(ON_MISS, MINUTES, &script, answers) else { return };
        assert_eq!(ended.stdout, "200 200 200 403 ", "{decision}: {}", ended.stderr);
        let list = guard_tests::ended(world.command().args(["approvals", "saved"])).stdout;
        assert!(list.contains(saved), "{list}");
    }
}

/// A program that fetches from many hosts at once asks once.
#[test]
fn the_hosts_of_one_command_are_one_card() {
    let script = "sh -c 'for i in a b c; do curl -s -o /dev/null -w \"%{http_code} \" http://$i.evil.test/ & done; wait'";
    let answers = |world: &World| {
        let questions = world.wait_for(3);
        let cards: std::collections::BTreeSet<_> =
            questions.iter().map(|question| question["card"].as_u64()).collect();
        assert_eq!(cards.len(), 1, "{questions:?}");
        assert_eq!(world.resolve(&questions[0], "allow-directory-session").status, 0);
    };
    let Some((_, ended)) = asked(ON_MISS, MINUTES, script, answers) else { return };
    assert_eq!(ended.stdout, "200 200 200 ", "{}", ended.stderr);
}

#[test]
fn an_answer_for_the_session_is_for_equal_requests() {
    let script =
        [get("http://evil.test/1"), get("http://evil.test/2"), get("-d x http://evil.test/3")].concat();
    let answers = |world: &World| {
        world.answer("allow-session");
        assert_eq!(world.answer("deny")["call"], "plain HTTP POST");
    };
    let Some((_, ended)) = asked(ON_MISS, MINUTES, &script, answers) else { return };
    assert_eq!(ended.stdout, "200 200 403 ", "{}", ended.stderr);
}

#[test]
fn without_an_answer_it_is_denied() {
    let script = [get("http://evil.test/1"), get("http://bad.sub.test/2")].concat();
    let Some((world, ended)) = asked(ON_MISS, 300, &script, |_| ()) else { return };
    assert_eq!(ended.stdout, "403 403 ", "{}", ended.stderr);
    assert!(ended.stderr.contains("; nobody answered in time)"), "{}", ended.stderr);
    // A denied name is not asked about.
    assert!(ended.stderr.contains("(network.web.deniedDomains \"bad.sub.test\")"), "{}", ended.stderr);
    assert!(!looked_up(&world, "evil.test") && !looked_up(&world, "bad.sub.test"));
}

#[test]
fn a_program_that_has_gone_asks_nothing() {
    let script = "curl -s http://evil.test/ & curl=$!; until [ -e leave ]; do sleep 0.05; done; kill -9 $curl
        until [ -e end ]; do sleep 0.05; done";
    let answers = |world: &World| {
        let question = world.wait_for(1).remove(0);
        world.write("work/leave", "");
        assert!(world.wait_for(0).is_empty());
        assert_ne!(world.resolve(&question, "allow-once").status, 0);
        world.write("work/end", "");
    };
    let Some((world, ended)) = asked(ON_MISS, MINUTES, script, answers) else { return };
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert_eq!(strangers(&world), Vec::<String>::new());
}

#[test]
fn equal_requests_that_wait_are_one_question() {
    let script = "for i in 1 2 3; do curl -s -o /dev/null -w '%{http_code} ' http://evil.test/ & done; wait";
    let answers = |world: &World| {
        guard_tests::until("three requests wait", || {
            world.pending().first().is_some_and(|question| question["calls"] == 3)
        });
        world.answer("allow-once");
    };
    let Some((_, ended)) = asked(ON_MISS, MINUTES, script, answers) else { return };
    assert_eq!(ended.stdout, "200 200 200 ", "{}", ended.stderr);
}

#[test]
fn private_addresses_are_asked_about_by_address() {
    let web = r#"{"private": "ask", "allowedDomains": ["private.test", "mixed.test", "meta.test"]}"#;
    let script =
        [get("http://private.test/1"), get("http://mixed.test/2"), get("http://meta.test/3")].concat();
    let answers = |world: &World| {
        assert_eq!(world.answer("allow-once")["call"], "plain HTTP GET at 10.0.0.1");
        let question = world.answer("deny");
        assert_eq!(
            (&question["resolvedPath"], &question["call"]),
            (&"mixed.test:80".into(), &"plain HTTP GET at 10.0.0.1".into())
        );
    };
    let Some((_, ended)) = asked(web, MINUTES, &script, answers) else { return };
    assert_eq!(ended.stdout, "200 403 403 ", "{}", ended.stderr);
    assert!(ended.stderr.contains("meta.test:80 (a metadata address"), "{}", ended.stderr);
}

/// An approval of the name is none of a private address that it leads to.
#[test]
fn an_approved_name_may_not_lead_to_a_private_address() {
    let Some((world, ended)) = asked(ON_MISS, MINUTES, &get("http://private.test/1"), |world| {
        world.answer("allow-once");
    }) else {
        return;
    };
    assert_eq!(ended.stdout, "403 ", "{}", ended.stderr);
    assert_eq!(strangers(&world), Vec::<String>::new());
}

/// Without networks of the test's own: nothing is looked up or connected before the answer.
#[test]
fn a_denied_host_needs_no_network() {
    if !has(&["curl"]) {
        return skip("curl");
    }
    let world = asking(ON_MISS, MINUTES);
    let held = world.start(&["sh", "-c", &get("http://host.invalid/")]);
    let question = world.answer("deny");
    assert_eq!(question["resolvedPath"], "host.invalid:80", "{question}");
    let ended = held.end();
    assert_eq!(ended.stdout, "403 ", "{}", ended.stderr);
}

/// Where nobody can be asked, a host is denied at once, whatever `exec.askFallback` says.
#[test]
fn nobody_to_ask_is_a_denial() {
    if !has(&["curl"]) {
        return skip("curl");
    }
    let world = world(&format!("{{\"web\": {ON_MISS}}}"))
        .policy_text(|text| text.replacen("\"exec\": {", "\"exec\": {\"askFallback\": \"full\", ", 1));
    let mut command = world.command();
    let ended = ended(command.args(["--", "sh", "-c", &get("http://host.invalid/")]));
    assert_eq!(ended.stdout, "403 ", "{}", ended.stderr);
    assert!(ended.stderr.contains("denied connect host.invalid:80 (network.web.ask"), "{}", ended.stderr);
}
