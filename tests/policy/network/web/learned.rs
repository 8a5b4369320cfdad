//! `learn`: the hosts of a session are the hosts of the policy.

use std::process::Command;

use guard_tests::{Ended, World};
use serde_json::Value;

use super::{arrived, strangers, there};

fn get(url: &str) -> String {
    format!("curl -s -o /dev/null -w '%{{http_code}} ' {url};")
}

/// Learns from a script in the network of the test's own. `None` where there is no such network.
fn learned(world: &World, script: &str, set: &[(&str, &str)]) -> Option<Ended> {
    let mut command = world.command();
    command.args(["learn", "--yes", "-o"]).arg(world.root().join("guard.json"));
    command.args(["--", "sh", "-c", script]).envs(set.iter().copied());
    there(world, &command)
}

/// Runs a script there under the policy that was learned.
fn again(world: &World, script: &str) -> Ended {
    let mut command: Command = world.command();
    command.arg("--policy").arg(world.root().join("guard.json")).args(["--", "sh", "-c", script]);
    there(world, &command).expect("as before")
}

/// The `network` of the policy that was learned.
fn network(world: &World) -> String {
    let text = world.read("guard.json").expect("a policy");
    let start = text.find("\"network\"").unwrap_or(text.len());
    let end = text.find("\"permissions\"").expect("permissions");
    let bare: String = text.get(start..end).unwrap_or_default().split_whitespace().collect();
    bare
}

#[test]
fn a_session_reaches_its_hosts_again_and_no_others() {
    let world = World::bare();
    let script = [
        get("http://good.test/ok"),
        get("-k https://a.sub.test/ok"),
        get("http://private.test/ok"),
        get("http://nowhere.test/"),
    ]
    .concat();
    let Some(first) = learned(&world, &script, &[]) else { return };
    assert_eq!(first.stdout, "200 200 200 502 ", "{}", first.stderr);
    assert!(first.stderr.contains(", 3 hosts, "), "{}", first.stderr);
    let expected = r#""network":{//otherhoststhatarenotoftheInternet"connect":{"allow":["10.0.0.1:80"]},"web":{"allowedDomains":["a.sub.test","good.test","private.test"]}},"#;
    assert_eq!(network(&world), expected);
    let second = again(&world, &script);
    assert_eq!(second.stdout, "200 200 200 403 ", "{}", second.stderr);
    let others =
        [get("http://evil.test/"), get("http://mixed.test/"), get("--noproxy '*' http://93.184.216.35/")];
    let others = again(&world, &others.concat());
    assert_eq!(others.stdout, "403 403 000 ", "{}", others.stderr);
    assert!(strangers(&world).is_empty(), "{:?}", strangers(&world));
}

#[test]
fn a_session_reaches_what_it_would_reach_without_a_proxy() {
    let world = World::bare();
    let urls = ["own.test/ok", "meta.test/ok", "169.254.169.254/ok", "localhost:9/"];
    let script = urls.map(|url| get(&format!("http://{url}"))).concat();
    let Some(ended) = learned(&world, &script, &[]) else { return };
    // A name of this host is reached, and no service of a cloud's.
    assert_eq!(ended.stdout, "502 403 403 000 ", "{}", ended.stderr);
    assert!(!arrived(&world).iter().any(|line| line.contains("169.254")), "{:?}", arrived(&world));
}

#[test]
fn what_goes_past_the_proxy_keeps_the_policy_open() {
    let world = World::bare();
    let script = [get("http://good.test/ok"), get("--noproxy '*' http://93.184.216.35/ok")].concat();
    let Some(ended) = learned(&world, &script, &[]) else { return };
    assert_eq!(ended.stdout, "200 200 ", "{}", ended.stderr);
    let line = "reached without the guard's proxy, so the policy has no network.web:\n  93.184.216.35:80\n";
    assert!(ended.stderr.contains(line), "{}", ended.stderr);
    assert_eq!(network(&world), "");
    assert_eq!(again(&world, &script).stdout, "200 200 ");
}

#[test]
fn a_proxy_of_the_operators_stays() {
    let world = World::bare();
    let script = "echo $https_proxy $HTTPS_PROXY $HTTP_PROXY";
    let Some(ended) = learned(&world, script, &[("https_proxy", "http://192.0.2.1:9")]) else { return };
    assert_eq!(ended.stdout, "http://192.0.2.1:9\n", "{}", ended.stderr);
    let line = "hosts are not learned: the command uses the proxy that https_proxy names";
    assert!(ended.stderr.contains(line), "{}", ended.stderr);
    assert_eq!(network(&world), "");
}

#[test]
fn an_existing_policy_gets_the_hosts_that_it_lacks() {
    let world = World::bare();
    let Some(_) = learned(&world, &get("http://good.test/ok"), &[]) else { return };
    let script = [get("http://good.test/ok"), get("http://evil.test/ok")].concat();
    let ended = learned(&world, &script, &[]).expect("as before");
    assert_eq!(ended.stdout, "200 200 ", "{}", ended.stderr);
    assert_eq!(network(&world), r#""network":{"web":{"allowedDomains":["good.test","evil.test"]}},"#);
    let mut command = world.command();
    command.args(["learn", "--json", "--", "sh", "-c", &script]);
    let json = there(&world, &command).expect("as before").stdout;
    let json: Value = serde_json::from_str(json.trim_start_matches("200 ")).expect("JSON");
    assert_eq!(json["hosts"]["seen"][0], "http://evil.test:80");
    assert_eq!(json["hosts"]["allowedDomains"], serde_json::json!(["evil.test", "good.test"]));
}
