use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{CallSite, FileSize, MalformedCall, Reach, ToolNeed, judge_file, judge_url, needs, spellings};
use crate::network::Page;
use crate::{Access, Document, Host, Outcome, Overrides, Policy, Site};

const HOME: &[u8] = b"/home/u";
const WORK: &[u8] = b"/home/u/work";

fn policy(text: &str) -> Policy {
    let document = Document::parse("", text).unwrap();
    Policy::compile(&document, "main", &Host::bare(HOME, WORK), &Overrides::default()).unwrap()
}

/// Everything may be read, the workspace may be written, and secrets are denied.
fn open_policy() -> Policy {
    policy(
        r#"{"version": 1, "permissions": {"persistence": false, "filesystem": {"rules": {"/**": "r--", "~/work/**": "rw-"},
            "deny": ["~/.ssh", "~/work/caf*"], "default": "---"}}}"#,
    )
}

/// A disk, by where each name leads. All other names lead to themselves.
#[derive(Default)]
struct FakeDisk {
    links: BTreeMap<Vec<u8>, Vec<u8>>,
    names: Vec<Vec<u8>>,
    site: Option<Site>,
    /// None for a file whose size cannot be found out.
    sizes: BTreeMap<Vec<u8>, Option<u64>>,
}

impl FakeDisk {
    fn outcome(&self, policy: &Policy, path: &str, access: Access, reach: Reach) -> Outcome {
        let real = |path: &[u8]| {
            let clean = crate::paths::normalize::posix(path);
            let clean = match clean.strip_suffix(b"/") {
                Some(clean) if !clean.is_empty() => clean.to_vec(),
                _ => clean,
            };
            Some(self.links.get(&clean).cloned().unwrap_or(clean))
        };
        let names = |_: &[u8]| Some(self.names.clone());
        let site = CallSite {
            home: HOME,
            bases: &[WORK.to_vec()],
            real: &real,
            names: &names,
            size: &|path| match self.sizes.get(path) {
                Some(size) => size.map_or(FileSize::Unknown, FileSize::Bytes),
                None => FileSize::NoFile,
            },
            site: &|_| self.site,
        };
        let judged = judge_file(policy, path, access, reach, &site);
        judged.iter().map(|judged| judged.verdict.outcome).min().expect("at least one path")
    }
}

fn read(path: &str) -> Outcome {
    FakeDisk::default().outcome(&open_policy(), path, Access::READ, Reach::Similar)
}

fn params(value: Value) -> Map<String, Value> {
    let Value::Object(params) = value else { panic!("no object") };
    params
}

#[test]
fn a_large_file_is_not_read_under_any_name() {
    let bounded = |bound: &str| {
        policy(&format!(
            r#"{{"version": 1, "exec": {{"ask": "on-miss"}}, {bound}, "permissions": {{"persistence": false, "filesystem": {{"rules": {{"~/work/**": "rw-"}}}}}}}}"#
        ))
    };
    let path = |name: &str| [WORK, b"/", name.as_bytes()].concat();
    let disk = FakeDisk {
        links: BTreeMap::from([(path("link"), path("large"))]),
        sizes: BTreeMap::from([
            (path("large"), Some(101)),
            (path("fits"), Some(100)),
            (path("unknown"), None),
            (b"/srv/large".to_vec(), Some(101)),
        ]),
        ..FakeDisk::default()
    };
    let policy = bounded(r#""tools": {"read": {"maxSizeBytes": 100}}"#);
    let outcome = |path: &str, access| disk.outcome(&policy, path, access, Reach::Similar);
    let both = Access::READ | Access::WRITE;
    for name in ["large", "./large", "x/../large", "~/work/large", "@large", "link", "unknown"] {
        assert_eq!(outcome(name, Access::READ), Outcome::Deny, "{name}");
        assert_eq!(outcome(name, both), Outcome::Deny, "{name}");
        assert_eq!(outcome(name, Access::WRITE), Outcome::Allow, "{name}");
    }
    for name in ["fits", "new", "."] {
        assert_eq!(outcome(name, both), Outcome::Allow, "{name}");
    }
    // Nobody is asked about a file that would then be denied for its size.
    assert_eq!(outcome("/srv/other", Access::READ), Outcome::Ask);
    assert_eq!(outcome("/srv/large", Access::READ), Outcome::Deny);
    // Without a bound no size counts.
    let unbounded = bounded(r#""tools": {}"#);
    assert_eq!(disk.outcome(&unbounded, "unknown", Access::READ, Reach::Similar), Outcome::Allow);
}

#[test]
fn a_write_into_a_repository_is_judged_by_what_lies_around_it() {
    let text =
        r#"{"version": 1, "permissions": {"filesystem": {"rules": {"~/work/**": "rw-"}, "default": "---"}}}"#;
    let policy = policy(text);
    let outcome = |site, access| {
        let disk = FakeDisk { site, ..FakeDisk::default() };
        disk.outcome(&policy, "x/hooks/update", access, Reach::Exact)
    };
    assert_eq!(outcome(None, Access::WRITE), Outcome::Allow);
    assert_eq!(outcome(Some(Site::Own), Access::WRITE), Outcome::Allow);
    assert_eq!(outcome(Some(Site::Repository), Access::WRITE), Outcome::Deny);
    assert_eq!(outcome(Some(Site::Repository), Access::READ | Access::WRITE), Outcome::Deny);
    assert_eq!(outcome(Some(Site::Repository), Access::READ), Outcome::Allow);
}

#[test]
fn every_spelling_of_a_secret_is_denied() {
    for path in [
        "~/.ssh/id_rsa",
        "/home/u/.ssh/id_rsa",
        "../.ssh/id_rsa",
        "./x/../../.ssh/id_rsa",
        "@~/.ssh/id_rsa",
        "@/home/u/.ssh/id_rsa",
        "@../.ssh/id_rsa",
        "@@/home/u/.ssh/id_rsa",
        "file:///home/u/.ssh/id_rsa",
        "FILE:///home/u/.ssh/id_rsa",
        "file:/home/u/.ssh/id_rsa",
        "file://localhost/home/u/.ssh/id_rsa",
        "file:///home/u/%2essh/id%5frsa",
        "@file:///home/u/.ssh/id_rsa",
        " /home/u/.ssh/id_rsa",
        "/home/u/.ssh/id_rsa\n",
        "/home/u/.ssh/id_rsa</arg_value>>",
        "/home/u/.ssh/id_rsa</arg_value>>>>",
        "/home/u//.ssh//id_rsa",
        "/home/u/.ssh/./id_rsa",
        "/home/u/.ssh",
        "/home/u/.ssh/",
        "\u{a0}/home/u/.ssh/id_rsa",
        "~/.ssh/id_rsa\0",
        "/etc/passwd\0",
        "~/.ssh/key.docodex",
        "/proc/../home/u/.ssh/id_rsa",
    ] {
        assert_eq!(read(path), Outcome::Deny, "{path:?}");
    }
    // Case counts on this system, as in the kernel.
    assert_eq!(read("/home/u/.SSH/id_rsa"), Outcome::Allow);
    assert_eq!(read("/etc/hostname"), Outcome::Allow);
    assert_eq!(read("notes.txt"), Outcome::Allow);
}

#[test]
fn what_has_no_end_is_denied() {
    assert_eq!(read(&"x".repeat(4000)), Outcome::Allow);
    assert_eq!(read(&"x".repeat(1 << 20)), Outcome::Deny);
    assert_eq!(read(&"@".repeat(4000)), Outcome::Deny);
    let many: Vec<_> = (0..2000).map(|n| n.to_string()).collect();
    let many = needs("read", &params(json!({"path": "a", "also": many})));
    assert_eq!(many, Err(MalformedCall::TooMany(1000)));
}

#[test]
fn a_link_counts_as_what_it_leads_to() {
    let mut disk = FakeDisk::default();
    disk.links.insert(b"/home/u/work/key".to_vec(), b"/home/u/.ssh/id_rsa".to_vec());
    disk.links.insert(b"/home/u/work/new".to_vec(), b"/etc/cron.d/new".to_vec());
    let policy = open_policy();
    assert_eq!(disk.outcome(&policy, "key", Access::READ, Reach::Exact), Outcome::Deny);
    assert_eq!(disk.outcome(&policy, "new", Access::WRITE, Reach::Exact), Outcome::Deny);
    assert_eq!(disk.outcome(&policy, "new", Access::READ, Reach::Exact), Outcome::Allow);
    assert_eq!(disk.outcome(&policy, "other", Access::WRITE, Reach::Exact), Outcome::Allow);
}

#[test]
fn names_that_look_the_same_count_where_the_name_is_missing() {
    let mut disk = FakeDisk { names: vec!["cafe\u{301}".into(), b"plain".to_vec()], ..FakeDisk::default() };
    let policy = open_policy();
    let read = |disk: &FakeDisk, path: &str| disk.outcome(&policy, path, Access::READ, Reach::Similar);
    // `caf*` is denied by its own name. `x'` stands for all other names with odd characters.
    assert_eq!(read(&disk, "x'"), Outcome::Deny);
    assert_eq!(read(&disk, "plain"), Outcome::Allow);
    assert_eq!(read(&disk, "missing"), Outcome::Allow);
    disk.names.push(b"x'".to_vec());
    assert_eq!(read(&disk, "x'"), Outcome::Allow);
}

#[test]
fn what_reads_below_needs_all_of_it() {
    let disk = FakeDisk::default();
    let policy = open_policy();
    assert_eq!(disk.outcome(&policy, "/home/u", Access::READ, Reach::Below), Outcome::Deny);
    assert_eq!(disk.outcome(&policy, "/home/u", Access::READ, Reach::Exact), Outcome::Allow);
    assert_eq!(disk.outcome(&policy, "/usr/share", Access::READ, Reach::Below), Outcome::Allow);
    // Only the directory itself may be read, or what is below it is asked about, or written but not read.
    let ruled = |rules: &str, ask: &str| {
        let text = format!(
            r#"{{"version": 1, "exec": {{"ask": "{ask}"}}, "permissions": {{"filesystem": {{"rules": {{{rules}}}, "default": "---"}}}}}}"#
        );
        let document = Document::parse("test", &text).unwrap();
        Policy::compile(&document, "main", &Host::bare(HOME, WORK), &Overrides::default()).unwrap()
    };
    for (rules, outcome) in [
        (r#""/d": "r--""#, Outcome::Ask),
        (r#""/d/**": "r--""#, Outcome::Allow),
        (r#""/d": "r--", "/d/**": "?--""#, Outcome::Ask),
        (r#""/d/**": "r--", "/d/in/**": "-w-""#, Outcome::Deny),
        // What may not be written, such as an editor's settings, may be read.
        (r#""/d/**": "rw-""#, Outcome::Allow),
    ] {
        let of = |ask: &str| disk.outcome(&ruled(rules, ask), "/d", Access::READ, Reach::Below);
        let unasked = if outcome == Outcome::Allow { Outcome::Allow } else { Outcome::Deny };
        assert_eq!((of("on-miss"), of("off")), (outcome, unasked), "{rules}");
    }
    let work = std::str::from_utf8(WORK).unwrap();
    let policy = ruled(r#""~/**": "rw-""#, "off");
    assert_eq!(disk.outcome(&policy, work, Access::READ, Reach::Below), Outcome::Allow);
}

#[test]
fn parameters_are_read_wherever_a_release_may_look() {
    let files = |tool: &str, value: Value| -> Vec<String> {
        let needs = needs(tool, &params(value)).unwrap();
        needs.iter().map(|need| need.text().to_owned()).collect()
    };
    assert_eq!(files("read", json!({"path": "a", "offset": 3})), ["a"]);
    assert_eq!(files("read", json!({"path": "a", "file_path": "b", "x": {"y": ["c"]}})), ["a", "b", "c"]);
    assert_eq!(files("read", json!({"file_path": "b"})), ["b"]);
    assert_eq!(files("write", json!({"path": "a", "content": "/etc/passwd"})), ["a"]);
    assert_eq!(files("edit", json!({"path": "a", "edits": [{"oldText": "x", "newText": "y"}]})), ["a"]);
    assert_eq!(files("ls", json!({})), ["."]);
    assert_eq!(files("ls", json!({"path": ""})), ["."]);
    assert_eq!(files("exec", json!({"command": "ls"})), ["ls"]);
    assert_eq!(files("session_status", json!({"path": "/etc"})), Vec::<String>::new());
    assert_eq!(files("web_fetch", json!({"url": "http://x/", "proxyUrl": "y"})), ["http://x/", "y"]);
    let deep =
        json!({"request": {"targetUrl": "ws://x", "text": " \u{1}fi\tle:///etc/passwd"}, "kind": "act"});
    assert_eq!(files("browser", deep), ["ws://x", " \u{1}fi\tle:///etc/passwd"]);
    for (tool, value) in [
        ("read", json!({})),
        ("read", json!({"path": 7})),
        ("read", json!({"path": ["/etc/passwd"]})),
        ("read", json!({"path": null, "file": "x"})),
        ("exec", json!({"command": ["ls"]})),
        ("exec", json!({"command": "ls", "workdir": {}})),
        ("web_fetch", json!({"url": {"href": "http://x"}})),
        ("apply_patch", json!({"input": 1})),
    ] {
        assert!(matches!(needs(tool, &params(value)), Err(MalformedCall::NoText(_))), "{tool}");
    }
}

fn patch(lines: &[&str]) -> Result<Vec<ToolNeed>, MalformedCall> {
    needs("apply_patch", &params(json!({"input": lines.join("\n")})))
}

#[test]
fn every_path_of_a_patch_is_found() {
    let all = patch(&[
        "*** Begin Patch",
        "*** Add File: a",
        "+*** Add File: content",
        "*** Update File: b",
        "*** Move to: c",
        "@@",
        "-x",
        "+y",
        "*** End of File",
        "  *** Delete File: d  ",
        "*** End Patch",
    ]);
    let all: Vec<_> = all.unwrap().iter().map(|need| need.text().to_owned()).collect();
    assert_eq!(all, ["a", "b", "c", "d"]);
    let heredoc = ["<<'EOF'", "*** Begin Patch", "*** Delete File: x", "*** End Patch", "EOF"];
    assert_eq!(patch(&heredoc).unwrap()[0].text(), "x");
    let crlf = patch(&["*** Begin Patch\r", "*** Delete File: x\r", "*** End Patch\r"]).unwrap();
    assert_eq!(crlf[0].text(), "x");
}

#[test]
fn a_patch_that_does_not_parse_is_denied() {
    for lines in [
        &[""][..],
        &["*** Begin Patch"],
        &["*** Begin Patch", "*** End Patch"],
        &["*** Delete File: x", "*** End Patch"],
        &["*** Begin Patch", "*** Delete File: x"],
        &["*** Begin Patch", "*** Delete File: ", "*** End Patch"],
        &["*** Begin Patch", "hello", "*** Delete File: x", "*** End Patch"],
        &["*** Begin Patch", "*** Rename File: x", "*** End Patch"],
        &["*** Begin Patch", "*** Delete File: x\r*** Add File: y", "*** End Patch"],
        &["*** Begin Patch", "*** Delete File: x\0", "*** End Patch"],
        &["*** Begin Patch", "*** Delete File:x", "*** End Patch"],
    ] {
        assert!(matches!(patch(lines), Err(MalformedCall::Patch { .. })), "{lines:?}");
    }
}

#[test]
fn only_public_hosts_of_the_web_are_reached() {
    let policy =
        policy(r#"{"version": 1, "network": {"connect": {"allow": ["10.1.0.0/16"], "deny": ["9.9.9.9"]}}}"#);
    for (url, expected) in [
        ("http://169.254.169.254/latest", Outcome::Deny),
        ("http://[fd00:ec2::254]/", Outcome::Deny),
        ("http://127.0.0.1:8080/", Outcome::Deny),
        ("http://localhost/", Outcome::Deny),
        ("http://x.localhost/", Outcome::Deny),
        ("http://metadata.google.internal/", Outcome::Deny),
        ("http://0177.0.0.1/", Outcome::Deny),
        ("http://2130706433/", Outcome::Deny),
        ("http://0x7f.1/", Outcome::Deny),
        ("http://[::ffff:169.254.169.254]/", Outcome::Deny),
        ("http://[::1]/", Outcome::Deny),
        ("http://192.168.1.1/", Outcome::Deny),
        ("http://10.1.2.3/", Outcome::Allow),
        ("http://10.2.2.3/", Outcome::Deny),
        ("http://user@example.com/", Outcome::Deny),
        ("http://a:b@example.com/", Outcome::Deny),
        ("file:///etc/passwd", Outcome::Deny),
        ("ftp://example.com/", Outcome::Deny),
        ("javascript:fetch('x')", Outcome::Deny),
        ("nothing", Outcome::Deny),
        ("", Outcome::Deny),
        ("http://9.9.9.9/", Outcome::Deny),
        ("https://8.8.8.8/", Outcome::Allow),
        ("https://example.com/a?b=http://127.0.0.1/", Outcome::Allow),
        ("HTTPS://EXAMPLE.com", Outcome::Allow),
        ("http://１２７.０.０.１/", Outcome::Deny),
    ] {
        assert_eq!(judge_url(&policy, url, Page::Down).outcome, expected, "{url}");
    }
}

#[test]
fn names_are_judged_by_the_rules_for_the_web() {
    let policy = policy(
        r#"{"version": 1, "network": {"web": {"allowedDomains": ["*.example.com"], "deniedDomains": ["no.example.com"]}}}"#,
    );
    for (url, expected) in [
        ("https://www.example.com/x", Outcome::Allow),
        ("https://no.example.com/", Outcome::Deny),
        ("https://example.org/", Outcome::Deny),
        ("http://169.254.169.254/", Outcome::Deny),
    ] {
        assert_eq!(judge_url(&policy, url, Page::Down).outcome, expected, "{url}");
    }
}

/// A host that is asked about is still denied for what it is.
#[test]
fn a_question_about_a_name_lifts_no_denial() {
    let policy = policy(r#"{"version": 1, "network": {"web": {"ask": "on-miss", "private": "ask"}}}"#);
    for (url, expected) in [
        ("https://example.org/", Outcome::Ask),
        ("http://169.254.169.254/", Outcome::Deny),
        ("http://localhost/", Outcome::Deny),
        ("http://metadata.google.internal/", Outcome::Deny),
        ("http://10.1.2.3/", Outcome::Deny),
    ] {
        assert_eq!(judge_url(&policy, url, Page::Down).outcome, expected, "{url}");
    }
}

proptest! {
    /// A denial of the map is never allowed by a call, however the path is spelled.
    #[test]
    fn a_denied_path_is_denied_in_every_spelling(
        names in prop::collection::vec("[a-z.]{1,6}", 1..4),
        prefix in prop::sample::select(vec!["", "@", "@@", " ", "\u{2003}", "file://", "@file://", "FILE:"]),
        suffix in prop::sample::select(vec!["", " ", "\n", "</arg_value>>", "/", "/.", "/x/.."]),
        place in prop::sample::select(vec!["/home/u/.ssh/", "/home/u/./.ssh//", "/home/u/work/../.ssh/"]),
    ) {
        let name = names.join("-");
        prop_assume!(!name.contains(".."));
        let path = format!("{prefix}{place}{name}{suffix}");
        for reach in [Reach::Exact, Reach::Similar, Reach::Below] {
            for access in [Access::READ, Access::WRITE, Access::READ | Access::WRITE] {
                let outcome = FakeDisk::default().outcome(&open_policy(), &path, access, reach);
                prop_assert_eq!(outcome, Outcome::Deny, "{:?}", &path);
            }
        }
    }

    /// Nothing that a model writes makes the reader panic, and what it reads keeps the text itself among the spellings.
    #[test]
    fn any_text_is_read(text in "\\PC{0,40}") {
        if let Some(all) = spellings(&text, HOME, &[WORK.to_vec()]) {
            prop_assert!(all.iter().any(|one| one.ends_with(text.as_bytes())), "{:?}", all);
        }
        let _ = patch(&[&text]);
        let _ = judge_url(&open_policy(), &text, Page::Down);
    }

    /// A path in any parameter of a file tool is found.
    #[test]
    fn no_field_hides_a_path(field in "[a-zA-Z_]{1,12}", deep in 0..5usize) {
        prop_assume!(field != "path");
        let mut value = json!("/secret");
        for _ in 0..deep {
            value = json!([{ "x": value }]);
        }
        let found = needs("read", &params(json!({"path": "a", &field: value}))).unwrap();
        prop_assert!(found.iter().any(|need| need.text() == "/secret"));
    }
}
