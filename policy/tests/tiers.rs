//! Tests of what may be left to the kernel to decide.

use crate::common::disk::Disk;
use crate::common::{self, compile, compile_with, host};
use guard_policy::store::Store;
use guard_policy::{
    Access, Document, Exactness, Hierarchy, HierarchyKind, Host, MAX_HIERARCHIES, Outcome, Overrides,
    OwnStore, PersistenceSites, Policy, ProjectFile, ProjectTrust, ReadPart, Tiers,
};
use serde_json::{Value, json};

/// `r /usr`, `rw /dev/null (file)`, in order.
fn granted(tiers: &Tiers) -> Vec<String> {
    let line = |Hierarchy { path, access, kind }: &Hierarchy| {
        let bits = [(Access::READ, "r"), (Access::WRITE, "w")];
        let bits: String =
            bits.iter().filter(|(bit, _)| access.contains(*bit)).map(|(_, letter)| *letter).collect();
        let file = if *kind == HierarchyKind::File { " (file)" } else { "" };
        format!("{bits} {}{file}", String::from_utf8_lossy(path))
    };
    tiers.hierarchies.iter().map(line).collect()
}

/// A policy that asks nobody, and has neither base nor persistence.
fn guard(filesystem: Value) -> Value {
    json!({"version": 1, "exec": {"ask": "off", "roots": ["/usr"]},
        "permissions": {"base": false, "persistence": false, "filesystem": filesystem}})
}

fn rules(rules: Value) -> Policy {
    compile(&guard(json!({ "rules": rules })))
}

/// Without OpenClaw's state directory.
fn bare(json: &Value) -> Policy {
    compile_with(json, "main", &Host { always_denied: vec![], ..host() }, &Overrides::default())
}

fn reason(exactness: &Exactness) -> &str {
    exactness.reason().unwrap_or("exact")
}

const USR: &str = "/usr/ /usr/bin/ /usr/lib/ ";

#[test]
fn what_is_allowed_as_a_whole_is_granted_as_a_whole() {
    let disk = Disk::new("/a/ /a/b/ /a/b/c/ /usr/ /usr/bin/ /z/");
    let tiers = disk.tiers(&rules(json!({"/usr/**": "r-x", "/a/b/**": "rw-"})));
    assert_eq!(granted(&tiers), ["r /usr", "rw /a/b"]);
    // A hierarchy without exceptions is granted as a whole.
    let all = bare(&guard(json!({"default": "r--"})));
    assert_eq!(granted(&disk.tiers(&all)), ["r /"]);
    // /proc and /dev are not, whatever they are said to be.
    assert_eq!(
        granted(&Disk::new("/a/ /proc/ /proc/1/ /dev/ /dev/null /dev/kvm").tiers(&all)),
        ["r /a", "r /dev/null (file)"]
    );
    assert_eq!(granted(&Disk::new("/a/ /l@ /proc! /c/ /c/d/ /c/p!").tiers(&all)), ["r /a", "r /c/d"]);
}

#[test]
fn a_denial_splits_a_hierarchy() {
    let disk = Disk::new("/w/ /w/a/ /w/b/ /w/b/secret/ /w/b/plain/ /w/c/ /w/file /w/link@");
    let split = |denied: Value| {
        let policy = compile(&guard(json!({"rules": {"/w/**": "rw-"}, "deny": denied})));
        granted(&disk.tiers(&policy))
    };
    assert_eq!(split(json!(["/w/b/secret"])), ["rw /w/a", "rw /w/c", "rw /w/b/plain"]);
    // A denial that may match anywhere leaves no hierarchy whole.
    assert_eq!(split(json!(["**/.env"])), [""; 0]);
    assert_eq!(split(json!(["/w/b/**/x", "/w/b*"])), ["rw /w/a", "rw /w/c"]);
    // A denial of names in one directory leaves other directories whole.
    assert_eq!(split(json!(["/w/*.key", "/w/b*/**"])), ["rw /w/a", "rw /w/c"]);
    // A rule that says less is one, too, and a question.
    for less in ["---", "r--", "r?-"] {
        let policy =
            compile(&json!({"version": 1, "permissions": {"base": false, "persistence": false, "filesystem":
            {"rules": {"/w/**": "rw-", "/w/b/plain/**": less}}}}));
        let expected: &[&str] = match less {
            "---" => &["rw /w/a", "rw /w/c", "rw /w/b/secret"],
            _ => &["r /w", "rw /w/a", "rw /w/c", "rw /w/b/secret"],
        };
        assert_eq!(granted(&disk.tiers(&policy)), expected, "{less}");
    }
}

#[test]
fn what_has_a_link_in_its_path_is_not_granted() {
    let disk = Disk::new(&format!("{USR} /bin@ /w/ /w/l@ /w/d/"));
    let tiers = disk.tiers(&rules(
        json!({"/usr/**": "r-x", "/bin/**": "r-x", "/w/l/**": "rw-", "/w/l": "rw-", "/w/d/**": "rw-"}),
    ));
    assert_eq!(granted(&tiers), ["r /usr", "rw /w/d"]);
    let classes = &tiers.classes;
    assert_eq!(reason(&classes.read), reason(&classes.write).replace("/w/l/", "/bin/"));
    assert_eq!(
        reason(&classes.write),
        "permissions.filesystem.rules[\"/w/l/**\"] is a link, or not a file on a disk"
    );
}

#[test]
fn a_file_is_granted_where_a_pattern_names_it() {
    let disk =
        Disk::new("/dev/ /dev/null /dev/zero /dev/kvm@ /dev/pts! /etc/ /etc/passwd /etc/group /etc/shadow");
    let granted = |policy: &Policy| granted(&disk.tiers(policy));
    let named = json!({"/dev/null": "rw-", "/etc/passwd": "r--", "/etc/g*": "r--", "/dev/kvm": "rw-", "/etc/none": "r--"});
    assert_eq!(granted(&rules(named)), ["rw /dev/null (file)", "r /etc/passwd (file)"]);
    // Harmless devices need no rule of their own.
    let all = bare(&guard(json!({"rules": {"/**": "rw-", "/etc/shadow": "r--"}})));
    assert_eq!(granted(&all), ["r /etc", "rw /dev/null (file)", "rw /dev/zero (file)"]);
}

#[test]
fn reading_and_writing_may_be_nested() {
    let disk = Disk::new("/a/ /a/b/ /a/b/c/ /a/d/ /a/file");
    let granted = |rules: Value| granted(&disk.tiers(&bare(&guard(json!({ "rules": rules })))));
    assert_eq!(
        granted(json!({"/**": "r--", "/a/b/**": "rw-", "/a/file": "rw-"})),
        ["r /", "rw /a/b", "rw /a/file (file)"]
    );
    assert_eq!(granted(json!({"/a/**": "-w-", "/a/b/**": "rw-", "/a/b/c/**": "r--"})), ["r /a/b", "w /a/d"]);
}

#[test]
fn what_was_answered_counts() {
    let with = |saved: Value| {
        let store =
            json!({"version": 1, "agents": {"main": {"permissions": {"filesystem": {"rules": saved}}}}});
        let reading = Store::parse_own("approvals.json", &store.to_string(), &mut common::ids()).unwrap();
        let host = Host { own: OwnStore::Present(&reading), ..host() };
        let guard = json!({"version": 1, "permissions": {"base": false, "persistence": false, "filesystem":
            {"rules": {"/a/**": "??-", "/a/b/c/**": "r--"}, "default": "---"}}});
        granted(&Disk::new("/a/ /a/b/ /a/b/c/ /a/d/ /e/").tiers(&compile_with(
            &guard,
            "main",
            &host,
            &Overrides::default(),
        )))
    };
    assert_eq!(with(json!({})), ["r /a/b/c"]);
    assert_eq!(with(json!({"/a/**": "r"})), ["r /a"]);
    assert_eq!(with(json!({"/a/d/**": "rw", "/a/b": "rw"})), ["rw /a/d", "r /a/b/c"]);
    // Each bit by an answer of its own; what a rule withholds stays withheld.
    assert_eq!(with(json!({"/**": "w", "/a/**": "r"})), ["r /a", "w /e", "rw /a/d"]);
}

#[test]
fn beyond_the_bound_what_is_named_stays_and_then_what_is_shallow() {
    let many: String = (0..400).map(|i| format!("/w/d{i:03}/ /w/d{i:03}/x/ ")).collect();
    let disk = Disk::new(&format!("/w/ {many} /z/ /z/z/ /z/z/mine/ /z/z/mine/y/"));
    let policy =
        compile(&guard(json!({"rules": {"/w/**": "rw-", "/z/z/mine/**": "rw-"}, "deny": ["/w/d000/x"]})));
    let tiers = disk.tiers(&policy);
    assert!(tiers.is_cut);
    let granted = granted(&tiers);
    assert_eq!(granted.len(), MAX_HIERARCHIES);
    assert_eq!((&*granted[0], &*granted[254]), ("rw /w/d001", "rw /w/d255"));
    assert_eq!(granted[255], "rw /z/z/mine");
    let expected =
        "permissions.filesystem.rules[\"/w/**\"] has more hierarchies than the 256 that are granted";
    assert_eq!(reason(&tiers.classes.write), expected);
    // What is named stays where what is around it does not.
    let inside = json!({"rules": {"/w/**": "rw-", "/w/d350/x/**": "rwx"}, "deny": ["/w/d000/x"]});
    let tiers = disk.tiers(&compile(&guard(inside)));
    assert!(tiers.cover(b"/w/d350/x/y", Access::WRITE) && !tiers.cover(b"/w/d350", Access::WRITE));
    let less = disk.tiers(&rules(json!({"/w/**": "rw-"})));
    assert!(!less.is_cut);
}

#[test]
fn a_directory_that_cannot_be_listed_is_granted_whole_or_not_at_all() {
    let asked = std::cell::Cell::new(0);
    let names = |dir: &[u8]| {
        asked.set(asked.get() + 1);
        (dir == b"/").then(|| Disk::new("/a/ /b/").names("/").unwrap())
    };
    let policy = compile(&guard(json!({"rules": {"/a/**": "rw-", "/b/**": "r--"}, "deny": ["/a/x"]})));
    assert_eq!(granted(&policy.tiers(&names)), ["r /b"]);
    assert_eq!(asked.get(), 2);
    assert_eq!(granted(&policy.tiers(&|_| None)), [""; 0]);
    // Invalid names in a listing.
    let odd = |_: &[u8]| {
        Some(
            ["", ".", "..", "a/b"]
                .map(|name| guard_policy::Name { name: name.into(), kind: guard_policy::NameKind::Directory })
                .to_vec(),
        )
    };
    assert_eq!(granted(&rules(json!({"/**": "rw-", "/a/b/**": "rw-"})).tiers(&odd)), [""; 0]);
}

#[test]
fn a_policy_that_names_what_it_needs_is_exact() {
    let disk = Disk::new(&format!(
        "{USR} /dev/ /dev/null /dev/tty@ /proc! /etc/ /etc/passwd /home/ /home/u/ /home/u/work/ /home/u/notes/"
    ));
    let tiers = disk.tiers(&rules(json!({
        "/usr/**": "r-x", "/etc/passwd": "r--", "/dev/null": "rw-", "~/work/**": "rwx", "~/notes/**": "r--",
    })));
    let classes: Vec<_> = tiers.classes.iter().map(|(name, class)| (name, class.to_string())).collect();
    let create = "not exact, because /home/u/work itself may be removed and created again, which Landlock grants \
                  only for the directory that contains it";
    let execute = "not exact, because a program's arguments and environment are checked when it starts, which Landlock cannot do";
    let expected =
        [("read", "exact"), ("list", "exact"), ("write", "exact"), ("create", create), ("execute", execute)];
    assert_eq!(classes, expected.map(|(name, class)| (name, class.to_owned())));
    // What writes nothing makes nothing.
    let tiers = disk.tiers(&rules(json!({"/usr/**": "r-x"})));
    assert!(tiers.classes.write.is_exact() && tiers.classes.create.is_exact());
    // Where all may be written, all may be made.
    let tiers = Disk::new("/a/").tiers(&bare(&json!({"version": 1, "exec": {"ask": "off"}, "permissions":
        {"base": false, "persistence": false,
        "filesystem": {"default": "rw-", "rules": {"/lib/**": "rw-"}}}})));
    assert_eq!(granted(&tiers), ["rw /"]);
}

/// Such a rule of a project's file denies only what no longer rule of the file leaves.
#[test]
fn a_projects_denial_that_a_longer_rule_loosens_is_no_denial_of_all() {
    let tiers = |rules: Value| {
        let text = json!({"version": 1, "permissions": {"filesystem": {"rules": rules}}}).to_string();
        let project = ProjectFile {
            directory: b"/p".to_vec(),
            document: Document::parse_project("project", &text).expect("a project's file"),
            trust: ProjectTrust::Untrusted,
        };
        let host = Host { projects: std::slice::from_ref(&project), always_denied: vec![], ..host() };
        let guard = guard(json!({"rules": {"/usr/**": "r-x", "/a/**": "rw-"}}));
        Disk::new(&format!("{USR} /a/")).tiers(&compile_with(&guard, "main", &host, &Overrides::default()))
    };
    // Both leave only /a itself; the first says so of everything, and the second of /a alone.
    assert!(!tiers(json!({"/**": "---", "**/a": "rwx"})).classes.write.is_exact());
    assert!(tiers(json!({"/**": "---"})).classes.write.is_exact());
}

#[test]
fn scripts_are_asked_about_where_anything_is() {
    let with = |exec: Value| compile(&json!({"version": 1, "exec": exec})).may_ask_about_scripts();
    assert!(!with(json!({"ask": "off"})));
    assert!(with(json!({"ask": "on-miss"})) && with(json!({"ask": "always"})));
    assert!(with(json!({"ask": "off", "strictInlineEval": true})));
    // A rule that asks before a program starts denies it where nobody is asked.
    let asking = compile(&json!({"version": 1, "exec": {"security": "full", "ask": "off"},
        "permissions": {"filesystem": {"rules": {"/s/**": "r-?"}}}}));
    assert!(!asking.may_ask_about_scripts());
    assert_eq!(common::exec(&asking, &["/s/x"]).outcome, Outcome::Deny);
}

#[test]
fn a_class_that_is_not_exact_names_the_reason() {
    let disk = Disk::new(&format!(
        "{USR} /a/ /a/b/ /a/f /etc/ /etc/passwd /dev/ /dev/null /dev/pts! /proc! /c/ /c/proc!"
    ));
    let reasons = |edit: &dyn Fn(&mut Value)| {
        let mut guard = guard(json!({"rules": {"/usr/**": "r-x"}}));
        edit(&mut guard);
        let classes = disk.tiers(&bare(&guard)).classes;
        assert_eq!(reason(&classes.read), reason(&classes.list));
        (reason(&classes.read).to_owned(), reason(&classes.write).to_owned())
    };
    let rule = |pattern: &'static str, permission: &'static str| {
        reasons(&move |guard| guard["permissions"]["filesystem"]["rules"][pattern] = json!(permission))
    };
    let exact = || "exact".to_owned();
    let by_rule = |pattern: &str, what: &str| format!("permissions.filesystem.rules[\"{pattern}\"] {what}");
    assert_eq!(reasons(&|_| {}), (exact(), exact()));
    for (pattern, permission, what) in [
        ("/a/*.csv", "r--", "matches names, but the floor knows only directories"),
        ("**/x", "r--", "covers /proc, where names differ for each process"),
        ("/**", "r--", "covers /proc, where names differ for each process"),
        ("/dev/pts/**", "r--", "covers /dev, where names differ for each process"),
        ("/dev", "r--", "covers /dev, where names differ for each process"),
        ("/proc/cpuinfo", "r--", "covers /proc, where names differ for each process"),
        ("/none/**", "r--", "does not exist yet"),
        ("/a/none", "r--", "does not exist yet"),
        ("/a/f/below", "r--", "does not exist yet"),
        ("/a", "r--", "grants a directory without its contents"),
        ("/c/**", "r--", "has exceptions, and new files may appear beside them"),
        ("/c/proc/**", "r--", "is a link, or not a file on a disk"),
    ] {
        assert_eq!(rule(pattern, permission), (by_rule(pattern, what), exact()), "{pattern}");
    }
    for (pattern, permission) in
        [("/a/**", "r--"), ("/a/f", "r--"), ("/dev/null", "rw-"), ("/a/b/**", "--x"), ("/none", "---")]
    {
        assert_eq!(rule(pattern, permission), (exact(), exact()), "{pattern}");
    }
    let replaced = "/a/f is granted as a single file, which may be replaced; name its directory instead";
    assert_eq!(rule("/a/f", "rw-"), (replaced.to_owned(), replaced.to_owned()));
    assert_eq!(
        reasons(&|guard| guard["permissions"]["filesystem"] =
            json!({"rules": {"/usr/**": "r--", "/a/**": "r--"}, "deny": ["/a/b/c"]}))
        .0,
        by_rule("/a/**", "has exceptions, and new files may appear beside them")
    );
    let denied = |rules: Value, deny: &str| {
        let filesystem = json!({"rules": rules, "deny": [deny]});
        reasons(&|guard| guard["permissions"]["filesystem"] = filesystem.clone()).1
    };
    assert_eq!(denied(json!({"/usr/**": "r--", "/proc/sys/x": "rw-"}), "/proc/sys"), "exact");
    // A denial of what is in a directory is none of what is deeper.
    let deeper = "has exceptions, and new files may appear beside them";
    assert_eq!(denied(json!({"/usr/**": "r--", "/a/b/**": "rw-"}), "/a/b/*"), by_rule("/a/b/**", deeper));
    // What is granted as a file is not granted as a directory.
    let both = reasons(&|guard| {
        guard["permissions"]["filesystem"]["rules"] =
            json!({"/usr/**": "r--", "/a/f": "r--", "/a/f/**": "r--"});
    });
    assert_eq!(both.0, by_rule("/a/f/**", "has exceptions, and new files may appear beside them"));
    // A rule for what is denied anyway says nothing.
    assert_eq!(
        reasons(&|guard| guard["permissions"]["filesystem"] =
            json!({"rules": {"/usr/**": "r--", "/a/none": "rw-", "/a/*.x": "rw-"}, "deny": ["/a"]})),
        (exact(), exact())
    );
    assert_eq!(
        reasons(&|guard| guard["permissions"]["filesystem"]["default"] = json!("-w-")).1,
        "permissions.filesystem.default allows writing what no rule covers"
    );
    let base = "permissions.base grants /proc/self and terminals, which differ for each process; \"base\": false \
                removes them";
    assert_eq!(
        reasons(&|guard| guard["permissions"]["base"] = json!(true)),
        (base.to_owned(), base.to_owned())
    );
    let asked = reasons(&|guard| guard["exec"]["ask"] = json!("on-miss"));
    assert_eq!(asked.0, "exec.ask is on-miss: an approved script must be read as it was approved");
    assert_eq!(asked.1, "writing what no rule covers is asked for (permissions.filesystem.default)");
    let strict = reasons(&|guard| guard["exec"]["strictInlineEval"] = json!(true));
    assert_eq!(strict.0, "exec.strictInlineEval is on: an approved script must be read as it was approved");
    let with_question = reasons(&|guard| {
        guard["exec"]["ask"] = json!("on-miss");
        guard["permissions"]["filesystem"]["rules"] =
            json!({"/**": "---", "/usr/**": "r-x", "/a/b/**": "?w-", "/a/f": "r?-"});
    });
    assert_eq!(with_question.1, by_rule("/a/f", "asks before writing"));
    assert_eq!(
        reasons(&|guard| guard["exec"]["roots"] = json!(["/a/b"])).0,
        "programs can start from /a/b (exec.roots), where not everything may be read"
    );
    assert_eq!(
        reasons(&|guard| guard["exec"]["roots"] = json!(["/none", "/none/below"])),
        (exact(), exact())
    );
}

#[test]
fn a_rule_that_is_not_whole_comes_apart() {
    let disk = Disk::new(&format!("{USR} /a/ /a/b/ /a/c/ /a/c/s /a/f /n/ /n/1.x /n/1.y /n/2.x/ /proc! /w/"));
    let names = |dir: &[u8]| disk.names(std::str::from_utf8(dir).unwrap());
    let rules = json!({"/usr/**": "r-x", "/a/**": "rw-", "/n/*.x": "r--", "/gone/**": "r--", "/n/1.y": "r--",
        "/n": "r--", "/proc/*": "r--", "/w/**": "-w-"});
    let policy = compile(&guard(json!({"rules": rules, "deny": ["/a/c/s"]})));
    let partial: Vec<(String, Vec<String>)> = policy
        .partial_reads(&names)
        .into_iter()
        .map(|rule| {
            let part = |part: &ReadPart| {
                format!("{} {}", part.permission, String::from_utf8_lossy(&part.hierarchy.path))
            };
            assert!(rule.reason.contains(&rule.pattern), "{}", rule.reason);
            (rule.pattern, rule.parts.iter().map(part).collect())
        })
        .collect();
    let of =
        |pattern: &str| partial.iter().find(|(one, _)| one == pattern).map(|(_, parts)| parts.join(", "));
    assert_eq!(of("/a/**").as_deref(), Some("rw- /a/b, r-- /a/f"));
    assert_eq!(of("/n/*.x").as_deref(), Some("r-- /n/1.x"));
    for nothing in ["/gone/**", "/n", "/proc/*"] {
        assert_eq!(of(nothing).as_deref(), Some(""), "{nothing}");
    }
    assert_eq!(partial.len(), 5, "the others are whole, or grant no reading: {partial:?}");
}

#[test]
fn parts_that_a_floor_has_no_room_for_are_named() {
    let files: String = (0..MAX_HIERARCHIES + 3).map(|i| format!(" /a/f{i:03}")).collect();
    let disk = Disk::new(&format!("{USR} /a/ /a/s{files} /b/ /b/c/ /b/s"));
    let names = |dir: &[u8]| disk.names(std::str::from_utf8(dir).unwrap());
    let rules = json!({"/usr/**": "r-x", "/a/**": "r--", "/b/**": "r--"});
    let partial = compile(&guard(json!({"rules": rules, "deny": ["/a/s", "/b/s"]}))).partial_reads(&names);
    let counts = partial.iter().map(|rule| (&*rule.pattern, rule.parts.len(), rule.beyond.len()));
    // /usr and /b/c are whole, and come before single files.
    assert_eq!(counts.collect::<Vec<_>>(), [("/a/**", MAX_HIERARCHIES - 2, 5), ("/b/**", 1, 0)]);
    assert_eq!(partial[0].beyond[0], format!("/a/f{}", MAX_HIERARCHIES - 2).as_bytes());
}

#[test]
fn the_built_in_policy_leaves_reading_to_the_kernel() {
    let disk = Disk::new(
        "/usr/ /usr/bin/ /usr/lib/ /bin@ /lib@ /opt/ /proc! /sys! /dev/ /dev/null /dev/urandom /dev/tty@ /dev/pts! \
         /etc/ /etc/passwd /etc/shadow /etc/ssh/ /etc/ssh/ssh_config.d/ /etc/ssl/ /etc/ssl/certs/ /etc/ssl/private/ \
         /home/ /home/u/ /home/u/work/ /home/u/.ssh/ /home/u/.cargo/ /home/u/.cargo/registry/ /home/u/.cargo/bin/ \
         /home/u/.cargo/credentials /home/u/.cache/ /home/u/.cache/pip/ /home/u/.cache/mozilla/ /home/u/Documents/ \
         /home/u/.bashrc /home/other/ /tmp/ /tmp/a/ /srv/",
    );
    let tiers = disk.tiers(&Policy::without_file("main", &host(), &Overrides::default()));
    assert_eq!(
        granted(&tiers),
        [
            "r /opt",
            "r /usr",
            "rw /dev/null (file)",
            "rw /dev/urandom (file)",
            "r /etc/passwd (file)",
            // Tickets of Kerberos may come beside it.
            "r /tmp/a",
            "r /etc/ssh/ssh_config.d",
            "r /etc/ssl/certs",
            "r /home/u/.bashrc (file)",
            "r /home/u/work",
            "r /home/u/.cache/pip",
            "r /home/u/.cargo/bin",
            "r /home/u/.cargo/registry",
        ]
    );
    for (name, class) in tiers.classes.iter() {
        assert!(!class.is_exact(), "{name}");
    }
}

#[test]
fn a_policy_for_everything_but_the_state_directory() {
    let disk = Disk::new(
        "/usr/ /proc! /dev/ /dev/null /dev/mem@ /etc/ /home/ /home/v/ /home/u/ /home/u/work/ /home/u/.openclaw/ /home/u/x",
    );
    let tiers = disk.tiers(&compile(&json!({"version": 1, "permissions":
            {"persistence": false, "filesystem": {"rules": {"/**": "rwx"}}}})));
    assert_eq!(
        granted(&tiers),
        ["rw /etc", "rw /usr", "rw /dev/null (file)", "rw /home/v", "rw /home/u/work"]
    );
}

#[test]
fn what_is_protected_anywhere_takes_writing_from_the_kernel_and_leaves_reading_whole() {
    let disk = Disk::new(
        "/usr/ /usr/bin/ /usr/src/ /srv/ /home/ /home/u/ /home/u/.bashrc /home/u/.config/ /home/u/.config/fish/ \
         /home/u/.config/x/ /home/u/work/ /home/u/work/.git/ /home/u/work/.git/hooks/ /home/u/work/.git/objects/ \
         /home/u/work/.git/config /home/u/work/src/ /home/u/work/.vscode/",
    );
    let persistence_sites = PersistenceSites {
        workspaces: vec![b"/home/u/work".to_vec()],
        git_directories: vec![b"/home/u/work/.git".to_vec()],
        ..PersistenceSites::default()
    };
    let host = Host { always_denied: vec![], persistence_sites, ..host() };
    let with = |persistence: Value, rules: Value| {
        let guard = json!({"version": 1, "exec": {"ask": "off", "roots": ["/usr"]}, "permissions":
            {"base": false, "persistence": persistence, "filesystem": {"rules": rules}}});
        disk.tiers(&compile_with(&guard, "main", &host, &Overrides::default()))
    };
    let all = with(json!(true), json!({"/**": "rwx"}));
    assert_eq!(granted(&all), ["r /"]);
    // Without what may be anywhere, the places that are protected are left out.
    let anywhere =
        json!({"git": false, "direnv": false, "editors": false, "packages": false, "agents": false});
    assert_eq!(
        granted(&with(anywhere.clone(), json!({"/**": "rwx"}))),
        ["r /", "rw /srv", "rw /usr/src", "rw /home/u/work", "rw /home/u/.config/x"]
    );
    let one = |persistence: Value| {
        let tiers = with(persistence, json!({"~/work/**": "rw-", "/usr/**": "r-x"}));
        // The kernel may go on deciding all that only reads.
        assert!(tiers.classes.read.is_exact() && tiers.classes.list.is_exact());
        (granted(&tiers).join(", "), tiers.classes.write.is_exact())
    };
    assert_eq!(one(json!(false)), ("r /usr, rw /home/u/work".to_owned(), true));
    let reading = "r /usr, r /home/u/work";
    assert_eq!(one(json!({"git": false})), (reading.to_owned(), false));
    assert_eq!(one(anywhere), ("r /usr, rw /home/u/work".to_owned(), true));
    // What names a place grants nothing of it, and makes no file one that is granted by itself.
    let named = with(json!(true), json!({"~/.bashrc": "rw-", "~/.config/fish/**": "rw-"}));
    assert_eq!(granted(&named), ["r /home/u/.bashrc (file)", "r /home/u/.config/fish"]);
    assert!(named.classes.write.is_exact(), "{:?}", named.classes.write);
}

#[test]
fn a_plan_holds_under_another_policy_or_not() {
    let policy = rules(json!({"/a/**": "rw-", "/a/b/**": "r--"}));
    let is = |path: &str, access| policy.is_uniform(path.as_bytes(), access);
    assert!(is("/a", Access::READ) && !is("/a", Access::WRITE) && !is("/a", Access::READ | Access::WRITE));
    assert!(is("/a/c", Access::READ | Access::WRITE) && !is("/a/c", Access::MAP) && !is("/", Access::READ));
}
