//! Tests of suggestions that would allow a request: fitting patterns, and the nearest rule.
use guard_policy::remedy::{Coverage, FileKind, Near, exactly, fitting, sample, width};
use guard_policy::{Access, Document, Exec, Host, Outcome, Overrides, Policy, Request, Role, decide};
use proptest::prelude::*;
use serde_json::{Value, json};

const HOME: &[u8] = b"/home/u";

fn policy(permissions: Value, allowlist: Value) -> Policy {
    let document = json!({
        "version": 1,
        "exec": { "ask": "off" },
        "permissions": { "filesystem": permissions, "base": false, "persistence": false },
        "agents": { "main": { "allowlist": allowlist } },
    });
    let document = Document::parse("guard.json", &document.to_string()).unwrap();
    Policy::compile(&document, "main", &Host::bare(HOME, b"/home/u/w"), &Overrides::default()).unwrap()
}

fn with_rule(pattern: &str) -> Policy {
    policy(json!({ "rules": { pattern: "rwx" } }), json!([]))
}

fn writes(policy: &Policy, path: &[u8]) -> bool {
    decide(policy, &Request::File { path, access: Access::WRITE }).outcome == Outcome::Allow
}

fn path() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof!["[a-cü.]{1,3}", Just(".ssh".into()), Just("x y".into()), Just("b*".into())];
    let top = prop::sample::select(vec![
        "",
        "/home",
        "/home/u",
        "/home/u/.config",
        "/home/u/.config/gh",
        "/etc",
        "/var/tmp",
        "/srv",
        "/home/uu",
    ]);
    (top, prop::collection::vec(part, 0..4)).prop_filter_map("a real path", |(top, parts)| {
        let is_real = !parts.iter().any(|part| part == "." || part == "..");
        let path = top.to_owned() + &parts.iter().map(|part| format!("/{part}")).collect::<String>();
        (is_real && !path.is_empty()).then(|| path.into_bytes())
    })
}

fn object() -> impl Strategy<Value = FileKind> {
    prop::sample::select(vec![FileKind::Directory, FileKind::File, FileKind::Socket])
}

fn arguments() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec("[a .*\\\\$^(){}|/é\n]{0,3}".prop_map(String::into_bytes), 0..4)
}

fn starts(policy: &Policy, arguments: &[Vec<u8>]) -> bool {
    let argv: Vec<Vec<u8>> = [b"x".to_vec()].into_iter().chain(arguments.iter().cloned()).collect();
    let exec = Exec { path: b"/usr/bin/x", argv: &argv, cwd: b"/", role: Role::Program };
    decide(policy, &Request::Exec(exec)).outcome == Outcome::Allow
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_fitting_pattern_covers_the_path_and_is_not_too_wide(path in path(), object in object()) {
        match fitting(&path, object, HOME) {
            Err(why) => prop_assert!(path.contains(&b'*'), "{path:?}: {why}"),
            Ok(fitting) => {
                let policy = with_rule(&fitting.pattern);
                prop_assert!(writes(&policy, &path), "{fitting:?}");
                let is_home_or_above = [&b"/home"[..], HOME].contains(&&*path);
                prop_assert!(is_home_or_above || width(&fitting.pattern, HOME) == Coverage::Some, "{fitting:?}");
                // Of the secrets that everybody has it opens none but the one that was asked for.
                for secret in ["/home/u/.ssh/id_rsa", "/home/u/.config/gh/hosts.yml", "/etc/shadow"] {
                    let is_it = secret.as_bytes() == path;
                    prop_assert!(is_it || !writes(&policy, secret.as_bytes()), "{fitting:?}");
                }
                for wide in [&b"/home/u/new"[..], b"/new", b"/etc/new", b"/usr/new", b"/home/new"] {
                    prop_assert!(wide == path || !writes(&policy, wide), "{fitting:?}");
                }
                if object == FileKind::Socket {
                    prop_assert!(policy.names(&path));
                }
            }
        }
    }

    #[test]
    fn a_sample_is_covered(pattern in "(/|~/|\\*\\*)([a-b*?]{1,4}/){0,2}[a-b*?]{0,3}") {
        prop_assume!(!pattern.contains("//"));
        let sample = sample(&pattern, HOME);
        prop_assert!(writes(&with_rule(&pattern), &sample), "{}", String::from_utf8_lossy(&sample));
    }

    #[test]
    fn an_expression_means_these_arguments_alone(own in arguments(), others in prop::collection::vec(arguments(), 8)) {
        let pattern = exactly(&own).unwrap();
        let entry = json!([{ "pattern": "/usr/bin/x", "argPattern": pattern }]);
        let policy = policy(json!({ "rules": { "/usr/**": "r-x" } }), entry);
        prop_assert!(starts(&policy, &own), "{pattern:?}");
        let joined = own.join(&b' ');
        let split: Vec<_> = joined.split(|byte| *byte == b' ').map(<[u8]>::to_vec).collect();
        for other in others.into_iter().chain([vec![joined], split]) {
            // To OpenClaw no argument is the same as two empty ones.
            let is_same = |one: &[Vec<u8>]| if one == [b"", b""] { Vec::new() } else { one.to_vec() };
            prop_assert_eq!(starts(&policy, &other), is_same(&other) == is_same(&own), "{:?}: {:?}", pattern, other);
        }
    }

    /// Compares with a naive search: no rule that grants as much shares more leading components.
    #[test]
    fn the_nearest_rule_has_most_of_the_way_in_common(
        rules in prop::collection::btree_map("/[a-b]/([a-b]/){0,2}(\\*\\*|[a-b*])", "[r-][w-]-", 0..6),
        path in "/[a-b]/[a-b]/[a-b]",
    ) {
        let policy = policy(json!({ "rules": rules }), json!([]));
        let parts = |text: &str| text.split('/').skip(1).map(str::to_owned).collect::<Vec<_>>();
        let common = |pattern: &str| {
            let mut own = parts(pattern);
            if own.last().is_some_and(|last| last.contains('*')) {
                own.pop();
            }
            own.iter().zip(parts(&path)).take_while(|(one, other)| **one == *other).count()
        };
        let best = rules.iter().filter(|(_, rights)| rights.contains('w')).map(|(pattern, _)| common(pattern)).max();
        let nearest = policy.nearest(&Request::File { path: path.as_bytes(), access: Access::WRITE });
        let found = nearest.map(|nearest| {
            let key = nearest.reason.path.into_owned();
            key.trim_start_matches("permissions.filesystem.rules[\"").trim_end_matches("\"]").to_owned()
        });
        if let Some(pattern) = &found {
            prop_assert!(rules[pattern].contains('w'));
        }
        prop_assert_eq!(found.map(|pattern| common(&pattern)), best.filter(|best| *best > 0));
    }
}

#[test]
fn patterns_are_as_an_operator_writes_them() {
    let fit = |path: &str, object| {
        let fitting = fitting(path.as_bytes(), object, HOME).unwrap();
        (fitting.pattern, fitting.secret)
    };
    for (path, object, pattern, secret) in [
        ("/home/u/x/a", FileKind::File, "~/x/**", None),
        ("/home/u/x", FileKind::Directory, "~/x/**", None),
        ("/home/u/x", FileKind::File, "~/x", None),
        ("/home/u", FileKind::Directory, "~", None),
        ("/home/u/x/s", FileKind::Socket, "~/x/s", None),
        ("/srv/data/a", FileKind::File, "/srv/data/**", None),
        ("/srv/a", FileKind::File, "/srv/a", None),
        ("/etc/app/conf", FileKind::File, "/etc/app/conf", None),
        ("/var/tmp/b/f", FileKind::File, "/var/tmp/b/**", None),
        ("/var/tmp/f", FileKind::File, "/var/tmp/f", None),
        ("/tmp/b/f", FileKind::File, "/tmp/b/**", None),
        ("/home/u/.config/app/f", FileKind::File, "~/.config/app/**", None),
        ("/home/u/.config/f", FileKind::File, "~/.config/f", None),
        ("/home/u/.ssh/id_rsa", FileKind::File, "~/.ssh/id_rsa", Some("~/.ssh")),
        ("/home/v/x/a", FileKind::File, "/home/v/x/**", None),
        ("/srv/app/.env", FileKind::File, "/srv/app/.env", Some("a file of such a name")),
        ("/srv/app/.env.example", FileKind::File, "/srv/app/**", None),
    ] {
        assert_eq!(fit(path, object), (pattern.to_owned(), secret), "{path}");
    }
    for path in ["/a/b*/c", "/proc/12/mem", "/a/x?"] {
        assert!(fitting(path.as_bytes(), FileKind::File, HOME).is_err(), "{path}");
    }
    assert!(fitting(b"/a/\xff", FileKind::File, HOME).is_err());
}

#[test]
fn patterns_that_are_too_wide_are_recognised() {
    for (pattern, expected) in [
        ("/**", Coverage::Everything),
        ("/", Coverage::Everything),
        ("**", Coverage::Everything),
        ("/*", Coverage::Everything),
        ("/*/**", Coverage::Everything),
        ("~", Coverage::Home),
        ("~/", Coverage::Home),
        ("~/**", Coverage::Home),
        ("~/*", Coverage::Home),
        ("/home/**", Coverage::Home),
        ("/home/u/**", Coverage::Home),
        ("/home/*/*", Coverage::Home),
        ("~/.*", Coverage::Home),
        ("~/.*/**", Coverage::Home),
        ("/home/*/.*/**", Coverage::Home),
        ("/**/.*", Coverage::Home),
        ("~/.x*/**", Coverage::Some),
        ("~/x/**", Coverage::Some),
        ("~/*.txt", Coverage::Some),
        ("**/.env", Coverage::Some),
        ("/home/v/**", Coverage::Some),
        ("/usr/**", Coverage::Some),
        ("/home", Coverage::Some),
    ] {
        assert_eq!(width(pattern, HOME), expected, "{pattern}");
    }
}

#[test]
fn of_equally_near_rules_the_shortest_is_named() {
    let rules =
        json!({ "rules": { "/a/b/c/d/e/**": "rw-", "/a/b/*": "rw-", "/a/b/x/**": "rw-", "/**": "r--" } });
    let policy = policy(rules, json!([]));
    let nearest = policy.nearest(&Request::File { path: b"/a/b/f/g", access: Access::WRITE }).unwrap();
    assert_eq!(nearest.reason.path, "permissions.filesystem.rules[\"/a/b/*\"]");
}

#[test]
fn the_nearest_entry_is_for_the_same_program_first() {
    let rules = json!({ "rules": { "/usr/**": "r-x", "/opt/**": "r--", "/opt/a/**": "r-x" } });
    let entries = json!([
        { "pattern": "/usr/lib/x" },
        { "pattern": "/usr/bin/git", "argPattern": "^status$" },
        { "pattern": "/usr/bin/*x" },
    ]);
    let policy = policy(rules, entries);
    let nearest = |path: &str| {
        let argv = [path.as_bytes().to_vec(), b"push".to_vec()];
        let exec = Exec { path: path.as_bytes(), argv: &argv, cwd: b"/", role: Role::Program };
        policy.nearest(&Request::Exec(exec)).map(|nearest| (nearest.reason.path.into_owned(), nearest.near))
    };
    let entry = |i: usize, near| Some((format!("agents.main.allowlist[{i}]"), near));
    assert_eq!(nearest("/usr/bin/git"), entry(1, Near::OtherArguments));
    assert_eq!(nearest("/usr/bin/nc"), entry(2, Near::OtherProgram));
    assert_eq!(nearest("/usr/lib/y"), entry(0, Near::OtherProgram));
    let rule = "permissions.filesystem.rules[\"/opt/a/**\"]".to_owned();
    assert_eq!(nearest("/opt/b/x"), Some((rule, Near::Elsewhere)));
    assert_eq!(nearest("/srv/x"), None);
}
