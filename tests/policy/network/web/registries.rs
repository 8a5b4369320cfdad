//! Programs that fetch from a registry, with its domain alone allowed.

use std::process::Command;

use guard_tests::{Ended, ended, has, program, skip, toolchain};

use super::lookups::NO_PROXY;
use super::{guarded, pairs, ruled, strangers};

const REGISTRIES: &str = include_str!("registries.py");
const FETCH: &str = include_str!("registries.sh");
const JAVA: &str = r#"
public class Fetch {
    public static void main(String[] arguments) throws Exception {
        System.out.print(new String(new java.net.URI(arguments[0]).toURL().openStream().readAllBytes()));
    }
}
"#;

/// What each program prints when it has what it wanted.
const FETCHED: [(&str, &str); 9] = [
    ("curl", "cloned"),
    ("git", "cloned"),
    ("pip", "imported"),
    ("requests", "cloned"),
    ("npm", "required"),
    ("fetch", "cloned"),
    ("cargo", "demo-1.0.0.crate"),
    ("go", "good.test/demo v1.0.0"),
    ("java", "cloned"),
];

/// What each program printed that fetched from this host. The text goes before the script.
fn fetched(before: &str, host: &str) -> Option<Ended> {
    if !has(&["curl", "git", "npm", "node"]) {
        return None;
    }
    let toolchain = toolchain()?;
    let world = ruled();
    let made = ended(
        Command::new(program("python3")).args(["-S", "-c", REGISTRIES]).arg(world.root().join("files")),
    );
    assert_eq!(made.status, 0, "{}", made.stderr);
    let source = world.write("Fetch.java", JAVA).display().to_string();
    let cert = world.root().join("outside/cert.pem").display().to_string();
    let home = world.work().join("fetched").display().to_string();
    let script = [before, FETCH].concat();
    let ended = guarded(&world, &["sh", "-c", &script, "sh", &cert, &home, host, &toolchain, &source])?;
    assert_eq!(strangers(&world), Vec::<String>::new(), "{}", ended.stdout);
    Some(ended)
}

/// Whether everything was fetched by those that are there, and nothing from a host that is not listed.
fn check(before: &str) {
    for (host, expected) in [("good.test", None), ("evil.test", Some("failed"))] {
        let Some(ended) = fetched(before, host) else { return };
        let results = pairs(&ended.stdout);
        for (name, printed) in FETCHED {
            match results.iter().find(|(other, _)| *other == name) {
                Some((_, result)) => {
                    assert_eq!(*result, expected.unwrap_or(printed), "{name} from {host}: {}", ended.stderr);
                }
                None => skip(&format!("{name} is not installed")),
            }
        }
    }
}

#[test]
fn programs_fetch_by_the_proxy() {
    check("");
}

#[test]
fn programs_fetch_that_do_not_know_the_proxy() {
    check(NO_PROXY);
}
