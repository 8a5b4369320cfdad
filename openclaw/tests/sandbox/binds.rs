//! Binds, networks and profiles.

use std::os::unix::fs::symlink;
use std::path::Path;

use guard_openclaw::sandbox::{
    BindCheck, BindReason, BindRules, BlockedPaths, HostDisk, Isolation, Overlap, SandboxRefusal, check,
};
use serde_json::{Value, json};

use crate::common::data_text;

/// The binds that OpenClaw 2026.9.6 allows and the guard refuses, from OpenClaw's own answers
/// (docs/compatibility.md, "Sandboxes").
const STRICTER: [&str; 8] = [
    "/etc/../home:/mnt/x",
    "/home:/mnt/x",
    "@HOME@/.openclaw:/mnt/x",
    "@HOME@/.kube:/mnt/x",
    "@HOME@/.bashrc:/mnt/x",
    "@ROOT@/links/loop1:/mnt/x",
    "/srv/data:/",
    "/srv/data:/proc",
];

/// The two directories of the answers, made as their `setup` says.
pub struct Host {
    _dir: tempfile::TempDir,
    home: String,
    root: String,
}

impl Host {
    pub fn new() -> Host {
        // The answers say that /tmp covers the home.
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        let host = Host { home: at("home"), root: at("root"), _dir: dir };
        let setup = serde_json::from_str::<Value>(&data_text("sandbox-binds.json")).unwrap()["setup"].clone();
        for directory in setup["directories"].as_array().unwrap() {
            std::fs::create_dir_all(host.here(directory.as_str().unwrap())).unwrap();
        }
        for (link, target) in setup["links"].as_object().unwrap() {
            let link = host.here(link);
            std::fs::create_dir_all(Path::new(&link).parent().unwrap()).unwrap();
            symlink(host.here(target.as_str().unwrap()), link).unwrap();
        }
        host
    }

    fn here(&self, text: &str) -> String {
        text.replace("@HOME@", &self.home).replace("@ROOT@", &self.root)
    }

    fn check(&self) -> BindCheck<'_, HostDisk> {
        BindCheck::new(BlockedPaths::new([&self.home[..]], None, &HostDisk), &HostDisk)
    }

    fn refuses(&self, bind: &str) -> Option<String> {
        let binds = [self.here(bind)];
        let rules = BindRules::default();
        check(&self.check(), &binds, &rules, &Isolation::default()).err().map(|error| error.to_string())
    }
}

fn reason(reason: &BindReason) -> Value {
    match reason {
        BindReason::Blocked(Overlap::Targets(path)) => json!({ "kind": "targets", "blockedPath": path }),
        BindReason::Blocked(Overlap::Covers(path)) => json!({ "kind": "covers", "blockedPath": path }),
        BindReason::NonAbsolute(source) => json!({ "kind": "non_absolute", "sourcePath": source }),
        other => panic!("{other:?}"),
    }
}

#[test]
fn answers_of_openclaw() {
    let host = Host::new();
    let data: Value = serde_json::from_str(&host.here(&data_text("sandbox-binds.json"))).unwrap();
    let binds = host.check();
    let cases = data["cases"].as_array().unwrap();
    let mut stricter = Vec::new();
    for case in cases {
        let (config, expect) = (&case["config"], &case["expect"]);
        let list = |key: &str| -> Vec<String> {
            config.get(key).map(|list| serde_json::from_value(list.clone()).unwrap()).unwrap_or_default()
        };
        let rules = BindRules {
            allowed_source_roots: list("allowedSourceRoots"),
            allow_external_sources: config["allowSourcesOutsideAllowedRoots"] == true,
            allow_reserved_targets: config["allowReservedContainerTargets"] == true,
        };
        let isolation = Isolation {
            network: config["network"].as_str(),
            allow_container_network: config["dangerouslyAllowContainerNamespaceJoin"] == true,
            seccomp: config["seccompProfile"].as_str(),
            apparmor: config["apparmorProfile"].as_str(),
        };
        // OpenClaw's own verdict, in every case.
        let openclaw = match binds.openclaw(&list("binds"), &rules) {
            Err(refused) => Some(refused.to_string()),
            Ok(()) => isolation.check().err().map(|refused| refused.to_string()),
        };
        assert_eq!(openclaw.as_deref(), expect["error"].as_str(), "{case}");
        assert_eq!(openclaw.is_none(), expect["allowed"] == true, "{case}");
        if let (Some(want), [bind]) = (expect.get("reason"), &list("binds")[..]) {
            let found = binds.blocked_source(bind).as_ref().map_or(Value::Null, reason);
            assert_eq!(&found, want, "{case}");
        }
        // The guard's.
        match check(&binds, &list("binds"), &rules, &isolation) {
            Err(SandboxRefusal::Bind(refused)) if matches!(refused.reason, BindReason::Stricter(_)) => {
                assert!(openclaw.is_none(), "{case}");
                assert!(refused.to_string().starts_with("Stricter than OpenClaw: "), "{refused}");
                stricter.push(refused.bind);
            }
            verdict => assert_eq!(verdict.err().map(|refused| refused.to_string()), openclaw, "{case}"),
        }
    }
    let named = STRICTER.map(|bind| host.here(bind));
    assert_eq!(stricter, named);
    println!("sandbox-binds: {} of {}, {} stricter", cases.len(), cases.len(), stricter.len());
}

/// What the guard refuses besides, by rule.
#[test]
fn stricter() {
    let host = Host::new();
    for bind in STRICTER {
        let said = host.refuses(bind).unwrap_or_else(|| panic!("{bind} is allowed"));
        assert!(said.starts_with("Stricter than OpenClaw: "), "{said}");
    }
    symlink("to-sock", host.here("@ROOT@/links/twice")).unwrap();
    for (bind, says) in [
        (
            "@ROOT@/links/to-sock:/mnt/x",
            "leads by a link to \"/run/docker.sock\", which targets blocked path",
        ),
        ("@ROOT@/links/twice:/mnt/x", "leads by a link to \"/run/docker.sock\", which targets blocked path"),
        ("@ROOT@/links/loop2/x:/mnt/x", "links lead nowhere"),
        ("/usr:/mnt/x", "covers blocked path \"/usr\""),
        ("/bin:/mnt/x", "covers blocked path \"/bin\""),
        ("/usr/bin/:/mnt/x", "covers blocked path \"/usr/bin\""),
        ("@ROOT@/links/to-root/usr:/mnt/x", "covers blocked path \"/usr\""),
        ("@HOME@/.kube/config:/mnt/x", "targets blocked path"),
        ("@HOME@/.openclaw/openclaw.json:/mnt/x", "targets blocked path"),
        ("/srv/data:/x/..", "hides \"/etc\" of the container"),
        ("/srv/data:/etc/", "hides \"/etc\" of the container"),
        ("x:/mnt", "is a volume for Docker"),
        ("x:/mnt:ro", "is a volume for Docker"),
    ] {
        let said = host.refuses(bind).unwrap_or_else(|| panic!("{bind} is allowed"));
        assert!(said.starts_with("Stricter than OpenClaw: ") && said.contains(says), "{said}");
    }
    for bind in [
        "/usr/local:/mnt/x",
        "/usr/share:/mnt/x",
        "@HOME@/.openclaw/workspace:/mnt/x",
        "@HOME@/.openclaw/workspace-work/a:/mnt/x",
        "/srv/data:/etc/app.conf",
        "/srv/data:/proc2",
    ] {
        assert_eq!(host.refuses(bind), None, "{bind}");
    }
    let rules = BindRules { allow_reserved_targets: true, ..BindRules::default() };
    let all = check(&host.check(), &["/srv/data:/".to_owned()], &rules, &Isolation::default());
    assert_eq!(all, Ok(()), "the operator's exception counts");
}

#[test]
fn a_link_that_leaves_the_roots_later() {
    let host = Host::new();
    symlink(host.here("@ROOT@/later"), host.here("@ROOT@/allowed/out")).unwrap();
    let rules = BindRules { allowed_source_roots: vec![host.here("@ROOT@/allowed")], ..BindRules::default() };
    let binds = [host.here("@ROOT@/allowed/out:/mnt/x")];
    assert_eq!(host.check().openclaw(&binds, &rules), Ok(()));
    let said = host.check().stricter(&binds, &rules).unwrap_err().to_string();
    assert!(said.contains("outside of the allowed roots"), "{said}");
}

/// What a blocked path leads to is blocked by every name.
#[test]
fn blocked_paths_that_are_links() {
    let host = Host::new();
    let secrets = host.here("@ROOT@/secrets");
    std::fs::create_dir(&secrets).unwrap();
    std::fs::remove_dir(host.here("@HOME@/.gnupg")).unwrap();
    symlink(&secrets, host.here("@HOME@/.gnupg")).unwrap();
    let said = host.refuses("@ROOT@/secrets/key:/mnt/x").unwrap();
    assert!(said.starts_with("Stricter than OpenClaw: ") && said.contains(&secrets), "{said}");
    symlink(&host.home, host.here("@ROOT@/alias")).unwrap();
    let alias = host.here("@ROOT@/alias");
    let blocked = BlockedPaths::new([&alias[..]], None, &HostDisk);
    let binds = [host.here("@HOME@/.ssh:/mnt/x")];
    assert!(BindCheck::new(blocked, &HostDisk).openclaw(&binds, &BindRules::default()).is_err());
}
