//! Properties of every session.

use guard_policy::learn::{FinalState, LeftOut, Observation, Used, Why, merge, propose};
use guard_policy::{Access, Exec, Outcome, Policy, Request, Role, decide};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};

use super::{WIDTHS, allows, host, policy, proposed, seen, session, starts};

/// Paths of every kind of place, with names of every length.
fn path() -> impl Strategy<Value = String> {
    let top = prop::sample::select(vec![
        "/home/u/work",
        "/home/u/work/target/debug",
        "/home/u/work/.git",
        "/home/u",
        "/home/u/other",
        "/home/u/.cargo",
        "/home/u/.cargo/registry",
        "/home/u/.cache",
        "/home/u/.cache/pip",
        "/home/u/.config",
        "/home/u/.ssh",
        "/home/u/.npm",
        "/home/u/.rustup/toolchains/a",
        "/home/u/tools/node",
        "/home/u/tools/node/bin",
        "/home/u/.openclaw",
        "/home/v",
        "/tmp",
        "/tmp/a",
        "/usr/bin",
        "/usr/lib",
        "/etc",
        "/etc/ssl",
        "/opt",
        "/srv/data",
        "/proc",
        "/proc/self",
        "/sys/fs",
        "/dev",
        "/dev/shm",
    ]);
    let name = prop::sample::select(vec![
        "a",
        "b",
        "cc",
        "ddd",
        "e.so",
        "bash",
        "private",
        ".env",
        "id_rsa",
        "null",
        "x.pem",
        "huggingface",
        "self",
        "status",
        ".bashrc",
        "a*b",
        "mm\n",
        "q?",
    ]);
    (top, prop::collection::vec(name, 0..4)).prop_map(|(top, names)| {
        names.into_iter().fold(top.to_owned(), |path, name| format!("{path}/{name}"))
    })
}

fn observation() -> impl Strategy<Value = Observation> {
    let used = (1_u8..128).prop_filter_map("a use", Used::from_byte);
    let final_state =
        prop::sample::select(vec![FinalState::File, FinalState::Directory, FinalState::Nothing]);
    (path(), used, final_state).prop_map(|(path, used, final_state)| {
        let used = if used.contains(Used::MADE) { used | Used::WRITTEN } else { used };
        seen(&path, used, final_state)
    })
}

/// Each path once, as in a session: a path with others below it is not a file, and only files are mapped as code.
fn observations() -> impl Strategy<Value = Vec<Observation>> {
    prop::collection::vec(observation(), 0..24).prop_map(|mut all| {
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all.dedup_by(|a, b| a.path == b.path);
        let paths: Vec<_> = all.iter().map(|seen| seen.path.clone()).collect();
        let lies_below =
            |path: &[u8], top: &[u8]| path.strip_prefix(top).is_some_and(|rest| rest.starts_with(b"/"));
        for seen in all.iter_mut().filter(|seen| seen.final_state == FinalState::File) {
            if paths.iter().any(|path| lies_below(path, &seen.path)) {
                seen.final_state = FinalState::Directory;
            }
        }
        for seen in all.iter_mut().filter(|seen| seen.final_state == FinalState::Directory) {
            seen.used = seen.used.without(Used::MAPPED | Used::STARTED | Used::LOADED) | Used::READ;
        }
        all
    })
}

/// Every access that a use comes down to, with whether the policy allows it.
fn is_allowed(policy: &Policy, seen: &Observation, used: Used) -> bool {
    let path = &seen.path;
    let files = [(Used::READ, Access::READ), (Used::WRITTEN, Access::WRITE), (Used::MAPPED, Access::MAP)];
    let file = |access| decide(policy, &Request::File { path, access }).outcome == Outcome::Allow;
    let argv = [path.clone()];
    let exec = |role| {
        let exec = Exec { path, argv: &argv, cwd: b"/home/u/work", role };
        decide(policy, &Request::Exec(exec)).outcome == Outcome::Allow
    };
    files.into_iter().all(|(of, access)| !used.meets(of) || file(access))
        && (!used.meets(Used::STARTED) || exec(Role::Program) && policy.within_exec_roots(path))
        && (!used.meets(Used::LOADED) || exec(Role::Loader))
}

/// Tries a property. Each case compiles a dozen policies, so there are few, the same each time; `make soak` tries others, and
/// more.
fn hold<S: Strategy>(strategy: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let is_soak = std::env::var_os("GUARD_SOAK").is_some_and(|soak| !soak.is_empty());
    let (cases, rng_seed) = if is_soak { (2000, RngSeed::Random) } else { (40, RngSeed::Fixed(1)) };
    // The macro would let PROPTEST_CASES, which is for cheap cases, replace their number.
    let config = ProptestConfig { cases, rng_seed, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config).run(&strategy, test).unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn all_that_is_not_left_out_is_allowed() {
    hold(observations(), |observations| {
        let host = host();
        for width in WIDTHS {
            let proposal = proposed(&observations, &host, width);
            let policy = policy(&proposal.text, &host);
            for seen in &observations {
                let of = |left: &&LeftOut| left.path == seen.path;
                let left = proposal.left_out.iter().filter(of);
                let used = left.fold(seen.used, |used, left| used.without(left.used));
                prop_assert!(is_allowed(&policy, seen, used), "{width:?} {seen:?}\n{}", proposal.text);
            }
        }
        Ok(())
    });
}

#[test]
fn nothing_is_opened_that_must_not_be() {
    hold((observations(), prop::collection::vec(path(), 40)), |(observations, asked)| {
        let host = host();
        for width in WIDTHS {
            let proposal = proposed(&observations, &host, width);
            for (pattern, permission) in &proposal.rules {
                let grants = permission.to_string() != "---";
                let forbidden = ["/**", "~/**", "/home/**", "~", "~/*", "~/.config/**", "/root/**"];
                let is_listed = pattern == "~" && !permission.to_string().contains('w');
                prop_assert!(
                    !grants || is_listed || !forbidden.contains(&pattern.as_str()),
                    "{width:?} {pattern} {permission}"
                );
            }
            let policy = policy(&proposal.text, &host);
            for path in asked
                .iter()
                .map(String::as_str)
                .chain(observations.iter().filter_map(|seen| std::str::from_utf8(&seen.path).ok()))
            {
                let is_below = |top: &str| path == top || path.starts_with(&format!("{top}/"));
                for closed in [
                    "/home/u/.ssh",
                    "/home/u/.openclaw",
                    "/home/v",
                    "/etc/ssl/private",
                    "/home/u/.cache/huggingface/token",
                ] {
                    prop_assert!(
                        !is_below(closed) || !allows(&policy, path, Access::READ),
                        "{width:?} {path}\n{}",
                        proposal.text
                    );
                }
                let never_opened = [
                    "/home/u/work",
                    "/tmp",
                    "/dev",
                    "/proc/self",
                    "/home/u/.cache",
                    "/home/u/.npm",
                    "/home/u/.cargo/registry",
                ];
                let is_writable = allows(&policy, path, Access::WRITE);
                prop_assert!(
                    !is_writable || never_opened.into_iter().any(is_below),
                    "{width:?} {path}\n{}",
                    proposal.text
                );
            }
            for left in proposal.left_out.iter().filter(|left| left.why == Why::Secret) {
                let verdict = decide(&policy, &Request::File { path: &left.path, access: Access::READ });
                prop_assert_eq!(verdict.outcome, Outcome::Deny);
            }
        }
        Ok(())
    });
}

#[test]
fn each_width_allows_what_the_one_before_does() {
    hold((observations(), prop::collection::vec(path(), 40)), |(observations, asked)| {
        let host = host();
        let policies = WIDTHS.map(|width| policy(&proposed(&observations, &host, width).text, &host));
        let paths = asked
            .iter()
            .map(String::as_str)
            .chain(observations.iter().filter_map(|seen| std::str::from_utf8(&seen.path).ok()));
        for path in paths {
            for pair in policies.windows(2) {
                for access in [Access::READ, Access::WRITE, Access::MAP] {
                    prop_assert!(
                        !allows(&pair[0], path, access) || allows(&pair[1], path, access),
                        "{path} {}",
                        access.word()
                    );
                }
                prop_assert!(!starts(&pair[0], path) || starts(&pair[1], path), "{path}");
            }
        }
        Ok(())
    });
}

#[test]
fn the_same_session_gives_the_same_text() {
    hold((observations(), any::<prop::sample::Index>()), |(observations, seed)| {
        let host = host();
        let mut other = observations.clone();
        if !other.is_empty() {
            let middle = seed.index(other.len());
            other.rotate_left(middle);
        }
        for width in WIDTHS {
            let proposal = proposed(&observations, &host, width);
            prop_assert_eq!(&proposed(&other, &host, width).text, &proposal.text);
            // Learning from what a proposal allows gives the same proposal, and merging it into itself adds nothing.
            let session = session(&observations, &host);
            let merged = merge("guard.json", &proposal.text, &session, &proposal).expect("a merge");
            prop_assert_eq!((merged.missing, merged.conflicts.len(), &merged.text), (0, 0, &proposal.text));
        }
        Ok(())
    });
}

#[test]
fn a_merge_gives_nothing_that_was_withheld() {
    hold(
        (
            observations(),
            prop::collection::vec(path(), 40),
            prop::collection::btree_map(
                prop::sample::select(vec![
                    "/usr/**",
                    "~/work/**",
                    "~/work/target/**",
                    "/tmp/**",
                    "/tmp/a",
                    "~/.cargo/**",
                    "**/ddd",
                    "/**",
                    "/etc/*",
                    "~/other/b/**",
                ]),
                prop::sample::select(vec!["---", "r--", "r-x", "rw-", "??-", "rwx"]),
                0..5,
            ),
            prop::collection::vec(
                prop::sample::select(vec!["~/work/.git", "**/cc", "/usr/bin/a", "/tmp/a/**"]),
                0..3,
            ),
        ),
        |(observations, asked, rules, deny)| {
            let host = host();
            let text = serde_json::json!({ "version": 1, "exec": { "ask": "off" }, "permissions": { "filesystem": { "rules": rules, "deny": deny } } }).to_string();
            let old = policy(&text, &host);
            let session = session(&observations, &host);
            for width in WIDTHS {
                let proposal = propose(&session, width).expect("a proposal");
                let merged = merge("guard.json", &text, &session, &proposal).expect("a merge");
                let new = policy(&merged.text, &host);
                for path in asked
                    .iter()
                    .map(String::as_str)
                    .chain(observations.iter().filter_map(|seen| std::str::from_utf8(&seen.path).ok()))
                {
                    for access in [Access::READ, Access::WRITE, Access::MAP] {
                        let before = decide(&old, &Request::File { path: path.as_bytes(), access });
                        let is_by_rule = before.reason.path.starts_with("permissions.filesystem.rules")
                            || before.reason.path.starts_with("permissions.filesystem.deny");
                        let is_withheld = before.outcome != Outcome::Allow && is_by_rule;
                        prop_assert!(
                            !is_withheld || !allows(&new, path, access),
                            "{path} {} {}\n{text}\n{}",
                            access.word(),
                            before.reason.path,
                            merged.text
                        );
                    }
                }
                for seen in &proposal.observations {
                    let is_reported = merged.refused.iter().any(|left| left.path == seen.path);
                    let is_taken = is_allowed(&old, seen, seen.used) && !is_allowed(&new, seen, seen.used);
                    prop_assert!(!is_taken || is_reported, "taken away: {seen:?}\n{text}\n{}", merged.text);
                }
            }
            Ok(())
        },
    );
}
