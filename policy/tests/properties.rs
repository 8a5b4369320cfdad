//! Properties of every policy.

use crate::common::{self, HOME, compile, compile_with, host};
use guard_policy::{
    Access, Ask, Document, Exec, Grant, Host, Outcome, Overrides, PersistenceSites, Policy, Preset,
    ProjectFile, ProjectTrust, Request, Rights, Role, Security, cwd_argv_pattern, decide,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Few names, so that patterns and paths meet.
fn component() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "ab", "c.so", ".env", "a\nb", "é"])
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(component(), 0..5).prop_map(|parts| format!("/{}", parts.join("/")))
}

fn pattern() -> impl Strategy<Value = String> {
    let part =
        prop::sample::select(vec!["a", "b", "ab", "*", "**", "a*", "*b", "?", "*.so", ".env", "a?b", "?*"]);
    let parts = prop::collection::vec(part, 1..4).prop_map(|p| p.join("/"));
    (
        prop::sample::select(vec!["/", "/", "/", "**/", "~/"]),
        parts,
        prop::sample::select(vec!["", "/", "/**"]),
    )
        .prop_map(|(start, parts, end)| format!("{start}{parts}{end}"))
}

fn permission() -> impl Strategy<Value = String> {
    (0..3usize, 0..3usize, 0..3usize)
        .prop_map(|(r, w, x)| ["r-?", "w-?", "x-?"].iter().zip([r, w, x]).map(|(s, i)| &s[i..=i]).collect())
}

#[derive(Clone, Debug)]
struct Doc {
    rules: Vec<(String, String)>,
    deny: Vec<String>,
    default: String,
    base: bool,
    /// Places that persistence keeps with all below them, or files, and whether it does.
    protected: Vec<(String, bool)>,
    persistence: Value,
    security: &'static str,
    ask: &'static str,
    allowlist: Vec<Value>,
    /// Other keys of `exec`.
    others: Vec<(&'static str, Value)>,
    /// `exec` of the agent itself.
    agent: Vec<(&'static str, Value)>,
}

fn name_of_program() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "ab", "sh", "jq", "wc", "python3", "é"])
}

fn entry() -> impl Strategy<Value = Value> {
    let target = prop_oneof![pattern(), Just("*".to_owned()), name_of_program().prop_map(str::to_owned)];
    let arguments = prop::sample::select(vec!["", "^-n", "a*b$", "[", "(a+)+", "\0", "sha256:argv:x"]);
    let hash = Just(cwd_argv_pattern(HOME, &[]));
    let arguments = prop::option::of(prop_oneof![arguments.prop_map(str::to_owned), hash]);
    (target, arguments, any::<bool>()).prop_map(|(pattern, arguments, generated)| {
        let mut entry = json!({ "pattern": pattern, "id": "x", "lastUsedAt": 1 });
        if let Some(arguments) = arguments {
            entry["argPattern"] = json!(arguments);
        }
        if generated {
            entry["source"] = json!("allow-always");
        }
        entry
    })
}

/// Keys of `exec` that an agent may have, too.
fn modes() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    let mode = prop_oneof![
        prop::sample::select(Preset::NAMES.to_vec()).prop_map(|word| ("mode", json!(word))),
        prop::sample::select(Security::NAMES.to_vec()).prop_map(|word| ("askFallback", json!(word))),
        any::<bool>().prop_map(|on| ("strictInlineEval", json!(on))),
        any::<bool>().prop_map(|on| ("autoAllowSkills", json!(on))),
    ];
    prop::collection::vec(mode, 0..3)
}

fn others() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    let profile = json!({ "minPositional": 1, "maxPositional": 1, "allowedValueFlags": ["-n", "--x"] });
    let names = || prop::collection::vec(name_of_program(), 0..3);
    let other = prop_oneof![
        names().prop_map(|names| ("safeBins", json!(names))),
        names().prop_map(|names| ("carriers", json!(names))),
        name_of_program().prop_map(move |name| ("safeBinProfiles", json!({ name: profile }))),
        prop::sample::select(vec!["/", "/a", "~/b"]).prop_map(|dir| ("safeBinTrustedDirs", json!([dir]))),
        prop::sample::select(vec!["/", "/a", "~/b"]).prop_map(|dir| ("roots", json!([dir]))),
        (name_of_program(), path()).prop_map(|(name, path)| {
            ("skills", json!({ "bins": [{ "name": name, "resolvedPath": path }] }))
        }),
        (1..u64::MAX).prop_map(|ms| ("timeoutMs", json!(ms))),
        (1..u64::MAX).prop_map(|ms| ("runningNoticeMs", json!(ms))),
        any::<bool>().prop_map(|on| ("allowPtrace", json!(on))),
    ];
    (prop::collection::vec(other, 0..4), modes()).prop_map(|(one, other)| [one, other].concat())
}

prop_compose! {
    fn doc()(
        rules in prop::collection::vec((pattern(), permission()), 0..40),
        deny in prop::collection::vec(pattern(), 0..3),
        default in permission(),
        base: bool,
        protected in prop::collection::vec((path(), any::<bool>()), 0..4),
        persistence in prop::sample::select(vec![json!(true), json!("ask"), json!({"git": "ask"}), json!(false), json!({"git": false})]),
        security in prop::sample::select(Security::NAMES.to_vec()),
        ask in prop::sample::select(Ask::NAMES.to_vec()),
        allowlist in prop::collection::vec(entry(), 0..4),
        others in others(),
        agent in modes(),
    ) -> Doc {
        let mut seen = std::collections::HashSet::new();
        let rules = rules.into_iter().filter(|(p, _)| seen.insert(p.clone())).collect();
        Doc { rules, deny, default, base, protected, persistence, security, ask, allowlist, others, agent }
    }
}

impl Doc {
    fn json(&self) -> Value {
        let rules: serde_json::Map<_, _> = self.rules.iter().map(|(p, r)| (p.clone(), json!(r))).collect();
        let mut exec = json!({ "security": self.security, "ask": self.ask });
        for (key, value) in &self.others {
            exec[key] = value.clone();
        }
        let agent: serde_json::Map<_, _> =
            self.agent.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        json!({
            "version": 1,
            "exec": exec,
            "permissions": {
                "filesystem": { "rules": rules, "deny": self.deny, "default": self.default },
                "base": self.base,
                "persistence": self.persistence },
            "agents": { "*": { "allowlist": self.allowlist }, "main": { "exec": agent } },
        })
    }

    fn policy(&self) -> Policy {
        self.policy_with(&Overrides::default())
    }

    fn policy_with(&self, overrides: &Overrides) -> Policy {
        self.policy_beside(overrides, &[])
    }

    /// What a project's file can have of it.
    fn project(&self, trust: ProjectTrust) -> ProjectFile {
        let mut json = self.json();
        let exec = json["exec"].as_object_mut().unwrap();
        exec.retain(|key, _| {
            ["mode", "security", "ask", "askFallback", "safeBins", "carriers"].contains(&&**key)
        });
        let agent = json["agents"]["main"]["exec"].as_object_mut().unwrap();
        agent.retain(|key, _| ["mode", "security", "ask", "askFallback"].contains(&&**key));
        let permissions = json["permissions"].as_object_mut().unwrap();
        permissions.retain(|key, _| key == "filesystem");
        permissions["filesystem"].as_object_mut().unwrap().remove("default");
        let document = Document::parse_project("project", &json.to_string()).unwrap();
        ProjectFile { directory: b"/a".to_vec(), document, trust }
    }

    fn policy_beside(&self, overrides: &Overrides, projects: &[ProjectFile]) -> Policy {
        let of = |whole: bool| {
            let protected = self.protected.iter().filter(|(_, is_whole)| *is_whole == whole);
            protected.map(|(path, _)| path.as_bytes().to_vec()).collect()
        };
        let persistence_sites =
            PersistenceSites { git_others: of(true), guard: of(false), ..PersistenceSites::default() };
        compile_with(&self.json(), "main", &Host { persistence_sites, projects, ..host() }, overrides)
    }

    /// What persistence keeps under this document.
    fn protected(&self) -> impl Iterator<Item = &(String, bool)> {
        let is_protected = |whole: bool| match &self.persistence {
            Value::Bool(on) => *on,
            Value::String(_) => true,
            sets => !(whole && sets["git"] == json!(false)),
        };
        // Nobody could work where the root or the home is kept.
        self.protected.iter().filter(move |(path, whole)| is_protected(*whole) && path != "/")
    }
}

/// Everything a policy can be asked about one path.
fn outcomes(policy: &Policy, path: &[u8]) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = [Access::READ, Access::WRITE, Access::READ | Access::WRITE, Access::MAP]
        .map(|access| decide(policy, &Request::File { path, access }).outcome)
        .to_vec();
    for role in [Role::Program, Role::Interpreter, Role::Loader] {
        for argv in [&[path.to_vec()][..], &[b"jq".to_vec(), b"-n".to_vec()], &[]] {
            outcomes.push(decide(policy, &Request::Exec(Exec { path, argv, cwd: HOME, role })).outcome);
        }
    }
    outcomes
}

/// A matcher by plain recursion over characters.
fn naive(pattern: &[char], subject: &[char]) -> bool {
    const STAR: char = '*';
    const SLASH: char = '/';
    match pattern {
        [] => subject.is_empty(),
        [STAR, STAR, rest @ ..] => {
            let rest = &rest[rest.iter().take_while(|u| **u == STAR).count()..];
            (0..=subject.len()).any(|i| naive(rest, &subject[i..]))
        }
        [STAR, rest @ ..] => {
            let end = subject.iter().position(|u| *u == SLASH).unwrap_or(subject.len());
            (0..=end).any(|i| naive(rest, &subject[i..]))
        }
        [first, rest @ ..] => match subject {
            [unit, more @ ..] => {
                (if *first == '?' { *unit != SLASH } else { unit == first }) && naive(rest, more)
            }
            [] => false,
        },
    }
}

fn naive_covers(pattern: &str, path: &str) -> bool {
    let units = |s: &str| s.chars().collect::<Vec<_>>();
    naive(&units(pattern), &units(path))
        || !path.ends_with('/') && naive(&units(pattern), &units(&format!("{path}/")))
}

fn naive_expand(pattern: &str) -> String {
    let mut p = match pattern.strip_prefix('~') {
        Some(rest) => format!("/home/u{rest}"),
        None => pattern.to_owned(),
    };
    if p.ends_with('/') {
        p.push_str("**");
    }
    p
}

fn is_at_or_below(path: &str, top: &str) -> bool {
    path == top || path.starts_with(&format!("{top}/"))
}

/// The order of the design, written down once more without an index, forms or reasons.
fn naive_rights(doc: &Doc, path: &str) -> Rights {
    let found = naive_granted(doc, path);
    let protecting =
        doc.protected().filter(|(top, whole)| path == top || *whole && is_at_or_below(path, top));
    // What git has may be asked about where somebody can be asked; the guard's own program is not.
    let asks =
        doc.ask != "off" && (doc.persistence == json!("ask") || doc.persistence["git"] == json!("ask"));
    let left = protecting.map(|(_, whole)| if *whole && asks { Grant::Ask } else { Grant::No });
    left.fold(found, |found, left| Rights { w: found.w.min(left), ..found })
}

fn naive_granted(doc: &Doc, path: &str) -> Rights {
    let bit = |c: char| match c {
        '-' => Grant::No,
        '?' if doc.ask == "off" => Grant::No,
        '?' => Grant::Ask,
        _ => Grant::Yes,
    };
    let rights = |text: &str| {
        let bits: Vec<Grant> = text.chars().map(bit).collect();
        Rights { r: bits[0], w: bits[1], x: bits[2] }
    };
    for deny in &doc.deny {
        let deny = naive_expand(deny);
        let below = !deny.contains(['*', '?']) && path.starts_with(&format!("{deny}/"));
        if naive_covers(&deny, path) || below {
            return Rights::NONE;
        }
    }
    let matching: Vec<(usize, Rights)> = doc
        .rules
        .iter()
        .map(|(p, r)| (naive_expand(p), rights(r)))
        .filter(|(p, _)| naive_covers(p, path))
        .map(|(p, r)| (p.len(), r))
        .collect();
    if let Some(longest) = matching.iter().map(|(l, _)| *l).max() {
        return matching.iter().filter(|(l, _)| *l == longest).fold(Rights::ALL, |all, (_, r)| all.meet(*r));
    }
    let mut default = rights(&doc.default);
    if doc.ask != "off" {
        default = default.join(Rights::all(Grant::Ask));
    }
    default
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decide_is_total(doc in doc(), path in prop::collection::vec(any::<u8>(), 0..60)) {
        let policy = doc.policy();
        let _ = outcomes(&policy, &path);
        let _ = policy.may_move(&path, b"/a", true);
        let _ = policy.is_uniform(&path, Access::READ);
    }

    #[test]
    fn the_compiled_map_equals_the_naive_one(doc in doc(), path in path()) {
        let doc = Doc { base: false, others: Vec::new(), agent: Vec::new(), ..doc };
        prop_assert_eq!(doc.policy().rights(path.as_bytes()), naive_rights(&doc, &path));
    }

    #[test]
    fn another_denial_never_allows_more(doc in doc(), deny in pattern(), path in path()) {
        let before = outcomes(&doc.policy(), path.as_bytes());
        let mut doc = doc;
        doc.deny.push(deny);
        // A carrier's place is judged by `w`: taking that away must not let it run.
        let after = outcomes(&doc.policy(), path.as_bytes());
        prop_assert!(after.iter().zip(&before).all(|(a, b)| a <= b), "{after:?} {before:?}");
    }

    #[test]
    fn another_protected_path_takes_writing_there_and_nothing_else(
        doc in doc(), protected in (path(), any::<bool>()), path in path(),
    ) {
        let before = doc.policy();
        let mut doc = Doc { persistence: json!(true), ..doc };
        let same = doc.policy();
        doc.protected.push(protected);
        let after = doc.policy();
        for policy in [&same, &after] {
            prop_assert!(policy.rights(path.as_bytes()).within(before.rights(path.as_bytes())));
            let outcomes = |policy| {
                let [read, _, _, map, starts @ ..] = &outcomes(policy, path.as_bytes())[..] else { unreachable!() };
                (*read, *map, starts.to_vec())
            };
            prop_assert_eq!(outcomes(policy), outcomes(&before));
            prop_assert_eq!(policy.writable(path.as_bytes()), before.writable(path.as_bytes()));
            prop_assert_eq!(policy.is_uniform(path.as_bytes(), Access::READ), before.is_uniform(path.as_bytes(), Access::READ));
        }
    }

    #[test]
    fn a_protected_path_stays_where_it_is(
        doc in doc(), old in path(), new in path(),
    ) {
        let policy = doc.policy();
        let holds = |path: &str| doc.protected().any(|(top, _)| top != path && (path == "/" || is_at_or_below(top, path)));
        for path in [&old, &new] {
            // No link may stand in the place of a directory on the way to one, either.
            let leads = policy.keeps_below(path.as_bytes()).is_some();
            prop_assert!(leads || !holds(path), "{}", path);
            prop_assert!(!policy.is_uniform(path.as_bytes(), Access::WRITE) || !holds(path), "{}", path);
        }
        if policy.may_move(old.as_bytes(), new.as_bytes(), true) {
            prop_assert!(!holds(&old) && !holds(&new), "{} {}", old, new);
        }
    }

    #[test]
    fn a_denial_beats_any_rule(doc in doc(), path in path(), permission in permission()) {
        let mut doc = doc;
        doc.rules.retain(|(p, _)| *p != path);
        doc.rules.push((path.clone(), permission));
        doc.deny.push(path.clone());
        let outcomes = outcomes(&doc.policy(), path.as_bytes());
        prop_assert!(outcomes.iter().all(|o| *o == Outcome::Deny));
    }

    #[test]
    fn the_order_of_rules_does_not_matter(doc in doc(), path in path(), turn in 0..40usize) {
        let mut turned = doc.clone();
        if !turned.rules.is_empty() {
            let turn = turn % turned.rules.len();
            turned.rules.rotate_left(turn);
        }
        turned.rules.reverse();
        turned.deny.reverse();
        turned.allowlist.reverse();
        let (one, other) = (doc.policy(), turned.policy());
        prop_assert_eq!(outcomes(&one, path.as_bytes()), outcomes(&other, path.as_bytes()));
        // Two documents with the keys in another order, as text.
        let text = |doc: &Doc| {
            let rules: Vec<String> =
                doc.rules.iter().map(|(p, r)| format!("{}: {}", json!(p), json!(r))).collect();
            format!(
                "{{\"version\": 1, \"permissions\": {{\"filesystem\": {{\"rules\": {{{}}}, \"deny\": {}}}}}}}",
                rules.join(","),
                json!(doc.deny)
            )
        };
        let policy = |doc: &Doc| {
            let document = common::parse(&text(doc)).unwrap();
            Policy::compile(&document, "main", &host(), &Overrides::default()).unwrap()
        };
        prop_assert_eq!(policy(&doc).rights(path.as_bytes()), policy(&turned).rights(path.as_bytes()));
    }

    #[test]
    fn overrides_never_weaken(doc in doc(), path in path(), s in 0..4usize, a in 0..4usize) {
        let security = Security::NAMES.get(s).and_then(|n| Security::from_name(n));
        let ask = Ask::NAMES.get(a).and_then(|n| Ask::from_name(n));
        let before = doc.policy();
        let after = doc.policy_with(&Overrides { security, ask });
        prop_assert!(after.security() <= before.security());
        prop_assert!(after.ask() >= before.ask());
        prop_assert!(after.ask_fallback() <= before.ask_fallback());
        // With a later `ask` a denial may become a question, but nothing becomes allowed.
        let allowed = |policy: &Policy| outcomes(policy, path.as_bytes()).iter().map(|o| *o == Outcome::Allow).collect::<Vec<_>>();
        let (after, before) = (allowed(&after), allowed(&before));
        prop_assert!(after.iter().zip(&before).all(|(a, b)| a <= b));
    }

    /// What a project's file allows counts only if it is trusted, and then only where the policy asks.
    #[test]
    fn a_project_file_never_gives(doc in doc(), project in doc(), path in path(), other in path()) {
        let without = doc.policy();
        for trust in [ProjectTrust::Untrusted, ProjectTrust::Trusted] {
            let is_trusted = trust == ProjectTrust::Trusted;
            let project = project.project(trust);
            let with = doc.policy_beside(&Overrides::default(), std::slice::from_ref(&project));
            for path in [&path, &other] {
                let path = path.as_bytes();
                let (before, after) = (outcomes(&without, path), outcomes(&with, path));
                let is_less = |(after, before): (&Outcome, &Outcome)| {
                    after <= before || is_trusted && *before == Outcome::Ask
                };
                prop_assert!(after.iter().zip(&before).all(is_less), "{after:?} {before:?}");
                // What it takes away makes nothing trusted.
                prop_assert!(is_trusted || with.writable(path) == without.writable(path));
                prop_assert!(is_trusted || with.writable_unasked(path) == without.writable_unasked(path));
                if is_trusted {
                    continue;
                }
                prop_assert!(with.rights(path).within(without.rights(path)));
                prop_assert!(!with.is_uniform(path, Access::READ) || without.is_uniform(path, Access::READ));
                for request in [
                    Request::File { path, access: Access::READ | Access::WRITE },
                    Request::Exec(Exec { path, argv: &[path.to_vec()], cwd: HOME, role: Role::Program }),
                ] {
                    let settled = |policy: &Policy| policy.fallback(&request, decide(policy, &request)).outcome;
                    prop_assert!(settled(&with) <= settled(&without));
                }
            }
        }
    }

    #[test]
    fn a_move_that_may_be_made_gives_no_right(
        doc in doc(), old in path(), new in path(), directory: bool,
        tails in prop::collection::vec(path(), 1..30),
    ) {
        let policy = doc.policy();
        if policy.may_move(old.as_bytes(), new.as_bytes(), directory) {
            prop_assert!(policy.rights(new.as_bytes()).within(policy.rights(old.as_bytes())));
            for tail in tails.iter().filter(|t| directory && t.len() > 1) {
                let join = |top: &str| format!("{}{tail}", top.trim_end_matches('/'));
                let (old, new) = (policy.rights(join(&old).as_bytes()), policy.rights(join(&new).as_bytes()));
                prop_assert!(new.within(old), "{tail}: {old} became {new}");
            }
        }
    }

    #[test]
    fn uniform_reading_is_uniform(doc in doc(), dir in path(), tails in prop::collection::vec(path(), 1..30)) {
        let policy = doc.policy();
        if policy.is_uniform(dir.as_bytes(), Access::READ) {
            for tail in tails.iter().filter(|t| t.len() > 1) {
                let path = format!("{}{tail}", dir.trim_end_matches('/'));
                prop_assert_eq!(policy.rights(path.as_bytes()).r, Grant::Yes, "{}", path);
            }
        }
    }

    #[test]
    fn the_fallback_only_settles_questions(doc in doc(), path in path(), fallback in prop::sample::select(Security::NAMES.to_vec())) {
        let mut json = doc.json();
        json["exec"]["askFallback"] = json!(fallback);
        let policy = compile(&json);
        let argv = [path.as_bytes().to_vec()];
        let path = path.as_bytes();
        for request in [
            Request::File { path, access: Access::READ },
            Request::Exec(Exec { path, argv: &argv, cwd: HOME, role: Role::Program }),
        ] {
            let verdict = decide(&policy, &request);
            let settled = policy.fallback(&request, verdict.clone()).outcome;
            prop_assert_ne!(settled, Outcome::Ask);
            if verdict.outcome != Outcome::Ask {
                prop_assert_eq!(settled, verdict.outcome);
            }
        }
    }

    #[test]
    fn a_document_survives_being_written(doc in doc()) {
        let document = common::parse(&doc.json().to_string()).unwrap();
        prop_assert_eq!(common::parse(&document.to_json()).unwrap(), document);
    }

    #[test]
    fn no_text_stops_the_reader(text in "\\PC{0,80}") {
        let _ = common::parse(&text);
    }
}
