//! Fuzz targets of the parsers, with the properties that must hold: `RUSTC_BOOTSTRAP=1 cargo fuzz run TARGET`. The
//! tests of guard-openclaw replay the corpora.
#![allow(missing_docs, dead_code)]

use guard_openclaw::command_text::{self, Resolved, Surroundings};
use guard_policy::safe_bins::{self, Profile};
use guard_policy::store::Store;
use guard_policy::{
    Access, Connection, Document, Exec, Host, Interface, Outcome, Overrides, Page, Policy, ProjectFile,
    ProjectTrust, Request, Role, Transport, decide, matches_allowlist_pattern, matches_arg_pattern,
};
use serde_json::json;

pub type Target = fn(&[u8]);

/// Every target, by the name of its corpus.
pub const TARGETS: [(&str, Target); 6] = [
    ("guard_json", guard_json),
    ("exec_approvals", exec_approvals),
    ("glob", glob),
    ("argv", argv),
    ("arg_pattern", arg_pattern),
    ("command", command),
];

const HOME: &[u8] = b"/home/u";

fn compile(document: &Document) -> Policy {
    compile_beside(document, &[])
}

fn compile_beside(document: &Document, projects: &[ProjectFile]) -> Policy {
    let host = Host {
        path_dirs: vec![b"/usr/bin".to_vec()],
        always_denied: vec![b"/home/u/.openclaw".to_vec()],
        temp_dirs: vec![b"/tmp".to_vec()],
        projects,
        realpath: &|path| path.strip_prefix(b"/bin").map(|rest| [b"/usr/bin", rest].concat()),
        ..Host::bare(HOME, b"/home/u/work")
    };
    Policy::compile(document, "main", &host, &Overrides::default()).expect("what was read compiles")
}

/// A document that parses survives writing and reading again, compiles, and can be queried.
pub fn guard_json(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(document) = Document::parse("guard.json", text) else { return };
    let again = Document::parse("guard.json", &document.to_json()).expect("what was written can be read");
    assert_eq!(again, document);
    let policy = compile(&document);
    // If the text may be a project's file, it gives the same document, and takes no denial of this policy away.
    if let Ok(project) = Document::parse_project("project", text) {
        assert_eq!(project, document);
        let project =
            ProjectFile { directory: b"/w".to_vec(), document: project, trust: ProjectTrust::Untrusted };
        let beside = compile_beside(&document, &[project]);
        for path in [&b"/usr/bin/ls"[..], b"/home/u/work/a", b"/w/a", b"/home/u/.openclaw/x", b"/"] {
            assert!(beside.rights(path).within(policy.rights(path)));
        }
    }
    for address in ["127.0.0.1:18789", "10.0.0.1:443", "[::]:1", "[::ffff:10.0.0.1]:443", "[fd00::1]:0"] {
        let address = address.parse().expect("an address");
        for (transport, interface, page) in [
            (Transport::Tcp, Interface::Own, Page::At(443)),
            (Transport::Tcp, Interface::Perhaps, Page::Somewhere),
            (Transport::Udp, Interface::Unknown, Page::Down),
        ] {
            let connection = Connection { transport, interface, page, ..Connection::to(address) };
            for request in
                [Request::Connect(connection), Request::Bind { address, transport, page, is_beside: false }]
            {
                assert!(decide(&policy, &request).outcome != Outcome::Ask);
            }
        }
    }
    let argv = ["rg", "-n", "x"].map(|word| word.as_bytes().to_vec());
    for path in [&b"/usr/bin/rg"[..], b"/home/u/work/a/.env", b"/home/u/.openclaw/x", b"/", b"", b"/a/../b"] {
        for access in [Access::READ, Access::WRITE, Access::MAP] {
            let verdict = decide(&policy, &Request::File { path, access });
            assert!(!path.starts_with(b"/home/u/.openclaw") || verdict.outcome == Outcome::Deny);
        }
        for role in [Role::Program, Role::Interpreter, Role::Loader] {
            let exec = Exec { path, argv: &argv, cwd: HOME, role };
            let request = Request::Exec(exec);
            let verdict = decide(&policy, &request);
            assert!(policy.fallback(&request, verdict).outcome != Outcome::Ask);
        }
    }
}

/// A store that parses survives writing and reading again.
pub fn exec_approvals(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut next = 0;
    let mut id = || {
        next += 1;
        format!("00000000-0000-4000-8000-{next:012}")
    };
    let Ok(read) = Store::parse("exec-approvals.json", text, &mut id) else { return };
    let written = read.store.to_text();
    let again = Store::parse("exec-approvals.json", &written, &mut || unreachable!("every entry has an id"));
    assert_eq!(again.expect("what was written can be read").store.to_text(), written);
    for agent in ["main", "*", "other"] {
        let _ = read.store.allowlist(agent);
    }
}

/// A pattern, a NUL and a path: the matcher agrees with a table of all prefixes.
pub fn glob(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let (Some(pattern), Some(path)) = (parts.next(), parts.next()) else { return };
    let Ok(pattern) = std::str::from_utf8(pattern) else { return };
    let is_match = matches_allowlist_pattern(pattern, HOME, path);
    let rule = json!({ "version": 1, "exec": { "ask": "off" }, "permissions": {
        "base": false, "filesystem": { "rules": { pattern: "r--" } } } });
    if let Ok(document) = Document::parse("guard.json", &rule.to_string()) {
        let _ = decide(&compile(&document), &Request::File { path, access: Access::READ });
    }
    let Ok(path) = std::str::from_utf8(path) else { return };
    let dots = path.split('/').any(|name| name == "." || name == "..");
    if pattern.len() > 512 || path.len() > 512 || dots || pattern.contains(['~', '\\']) {
        return;
    }
    assert_eq!(is_match, naive(pattern.trim(), path), "{pattern:?} {path:?}");
}

/// Whether the pattern matches, by a table of the matching prefixes of both.
fn naive(pattern: &str, path: &str) -> bool {
    let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
    let (mut pattern, path) = (units(pattern), units(path));
    if pattern.is_empty() {
        return false;
    }
    const STAR: u16 = b'*' as u16;
    const SLASH: u16 = b'/' as u16;
    // More than two stars count as two.
    let mut stars = 0;
    pattern.retain(|unit| {
        stars = if *unit == STAR { stars + 1 } else { 0 };
        stars <= 2
    });
    let crosses = |unit: u16| !matches!(unit, 0x0a | 0x0d | 0x2028 | 0x2029);
    let mut row = vec![false; path.len() + 1];
    row[0] = true;
    let mut i = 0;
    while i < pattern.len() {
        let mut next = vec![false; path.len() + 1];
        let is_deep = pattern[i] == STAR && pattern.get(i + 1) == Some(&STAR);
        for n in 0..=path.len() {
            let before = n.checked_sub(1).map(|b| path[b]);
            next[n] = match (pattern[i], before) {
                (STAR, before) => {
                    let goes_on = |unit| if is_deep { crosses(unit) } else { unit != SLASH };
                    row[n] || before.is_some_and(|unit| next[n - 1] && goes_on(unit))
                }
                (unit, Some(before)) if unit == u16::from(b'?') => row[n - 1] && before != SLASH,
                (unit, Some(before)) => row[n - 1] && before == unit,
                (_, None) => false,
            };
        }
        row = next;
        i += if is_deep { 2 } else { 1 };
    }
    row[path.len()]
}

/// A safe bin, then arguments that end with NUL: a call that is safe names no file.
pub fn argv(data: &[u8]) {
    const BINS: [&str; 9] = ["jq", "grep", "cut", "sort", "uniq", "head", "tail", "tr", "wc"];
    let Some((first, rest)) = data.split_first() else { return };
    let name = BINS[usize::from(*first) % BINS.len()];
    let profile = Profile::builtin(name.as_bytes()).expect("it has one");
    let arguments: Vec<Vec<u8>> = rest.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
    if safe_bins::is_safe(format!("/usr/bin/{name}").as_bytes(), &profile, &arguments) {
        // `--x=/y` after an option that takes a value is itself a value; as the first argument it never is.
        let attached =
            arguments[0].strip_prefix(b"--").and_then(|long| long.splitn(2, |byte| *byte == b'=').nth(1));
        for value in arguments.iter().map(Vec::as_slice).chain(attached) {
            let is_file = [&b"/"[..], b"~", b"./", b"../"].iter().any(|start| value.starts_with(start));
            assert!(!is_file, "{arguments:?}");
        }
    }
}

/// An expression, a NUL, then arguments that end with NUL.
pub fn arg_pattern(data: &[u8]) {
    let mut parts = data.split(|byte| *byte == 0).map(<[u8]>::to_vec);
    let Some(pattern) = parts.next().and_then(|pattern| String::from_utf8(pattern).ok()) else { return };
    let argv: Vec<Vec<u8>> = std::iter::once(b"x".to_vec()).chain(parts).collect();
    let exec = Exec { path: b"/usr/bin/x", argv: &argv, cwd: HOME, role: Role::Program };
    let _ = matches_arg_pattern(&pattern, &exec);
}

/// A command line: text that cannot be parsed is not allowed, and neither is what follows an unknown program.
pub fn command(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let document = json!({ "version": 1, "permissions": { "filesystem": { "rules": { "/usr/**": "r-x" } } },
        "agents": { "main": { "allowlist": [{ "pattern": "/usr/bin/*" }] } } });
    let document = Document::parse("guard.json", &document.to_string()).expect("a document");
    let resolve = |name: &str| {
        let path = if name.contains('/') { name.to_owned() } else { format!("/usr/bin/{name}") };
        (name != "unknown").then(|| Resolved { path: path.clone(), real: path })
    };
    let around = Surroundings { cwd: "/home/u", home: "/home/u", resolve: &resolve };
    let policy = compile(&document);
    let evaluation = command_text::evaluate(&policy, text, &around);
    let _ = command_text::verdicts(&policy, &evaluation);
    for segment in &evaluation.segments {
        assert!(text.get(segment.span.clone()).is_some(), "{text:?} {:?}", segment.span);
        let line = command_text::display(&segment.argv);
        let _ = command_text::is_line_of(&line, &segment.argv);
        // Quoting makes the text longer, so it may exceed a limit.
        let again = command_text::evaluate(
            &policy,
            &format!("x {}", guard_policy::analysis::quoted(&segment.argv)),
            &around,
        );
        let read = again.segments.first().map(|segment| &segment.argv[1..]);
        assert!(read.is_none_or(|argv| argv == segment.argv), "{text:?}");
    }
    if evaluation.satisfied() {
        let more = command_text::evaluate(&policy, &format!("{text}\nunknown"), &around);
        assert!(!more.satisfied(), "{text:?}");
    }
}
