//! Properties that hold for all binds, hosts and settings.

use std::collections::BTreeMap;

use guard_openclaw::sandbox::{
    BindCheck, BindRules, BlockedPaths, ContainerArgs, ContainerIdentity, HostPaths, Isolation, PathEntry,
    SandboxSettings, check,
};
use proptest::prelude::*;
use serde_json::json;

const HOME: &str = "/home/u";
/// Every blocked path of a host with this home, from OpenClaw's lists and ours.
const BLOCKED: [&str; 18] = [
    "/etc",
    "/proc",
    "/sys",
    "/dev",
    "/boot",
    "/root",
    "/run",
    "/var/run",
    "/private/etc",
    "/private/var/run",
    "/home/u/.aws",
    "/home/u/.cargo",
    "/home/u/.config",
    "/home/u/.netrc",
    "/home/u/.ssh",
    "/home/u/.kube",
    "/home/u/.openclaw",
    "/home/u/.profile",
];

/// A host that exists in memory: its links, and the directories around them. Anything else is a directory, too, if the
/// host is `solid`, or missing.
#[derive(Clone, Debug)]
struct Links {
    links: BTreeMap<String, String>,
    solid: bool,
}

impl HostPaths for Links {
    fn at(&self, path: &str) -> PathEntry {
        match self.links.get(path) {
            Some(target) => PathEntry::Link(target.clone()),
            None if self.solid || self.links.keys().any(|link| is_below(path, link)) => PathEntry::Other,
            None => PathEntry::Missing,
        }
    }
}

fn is_below(path: &str, link: &str) -> bool {
    link.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
}

fn allows(host: &Links, bind: &str) -> bool {
    let blocked = BlockedPaths::new([HOME], None, host);
    let binds = [bind.to_owned()];
    check(&BindCheck::new(blocked, host), &binds, &BindRules::default(), &Isolation::default()).is_ok()
}

/// A spelling of a path: slashes repeated, `.` and `x/..` between its names.
fn spelled(path: &str, noise: &[u8]) -> String {
    let mut text = String::new();
    for (index, name) in path.split('/').skip(1).enumerate() {
        text += match noise.get(index).map(|kind| kind % 5) {
            Some(0) => "//",
            Some(1) => "/./",
            Some(2) => "/x/../",
            Some(3) => "/../",
            _ => "/",
        };
        // Only at the start does `..` lead nowhere.
        if text.ends_with("/../") && index > 0 && !text.ends_with("x/../") {
            text.truncate(text.len() - "../".len());
        }
        text += name;
    }
    text
}

fn path() -> impl Strategy<Value = String> {
    let names = prop::sample::select(vec!["a", "b", "c", "etc", "home", "u", ".ssh", "usr", "run", "var"]);
    prop::collection::vec(names, 1..4).prop_map(|names| format!("/{}", names.join("/")))
}

fn links() -> impl Strategy<Value = Links> {
    let target = prop_oneof![
        path(),
        prop::sample::select(vec!["..", "a", "../b", "../../etc"]).prop_map(str::to_owned)
    ];
    let links = prop::collection::btree_map(path(), target, 0..6);
    (links, any::<bool>()).prop_map(|(links, solid)| Links { links, solid })
}

proptest! {
    #[test]
    fn a_bind_at_below_or_above_a_blocked_path_is_refused_in_any_spelling(
        blocked in prop::sample::select(BLOCKED.to_vec()),
        below in prop::sample::select(vec!["", "x", "x.y", "id_rsa", "deep/down", ".hidden"]),
        noise in prop::collection::vec(any::<u8>(), 6),
        tail in prop::sample::select(vec!["", "/", "/."]),
        rest in prop::sample::select(vec!["", ":", ":/mnt", ":/mnt:ro", ":mnt"]),
        host in links(),
    ) {
        let path = if below.is_empty() { blocked.to_owned() } else { format!("{blocked}/{below}") };
        let bind = format!("{}{tail}{rest}", spelled(&path, &noise));
        prop_assert!(!allows(&host, &bind), "{}", bind);
        let above = blocked.rsplit_once('/').unwrap().0;
        let bind = format!("{above}/{tail}{rest}");
        prop_assert!(!allows(&host, &bind), "{}", bind);
    }

    /// A link where nothing was refuses, or changes nothing. (Blocked paths are where the host's own links lead, too.)
    #[test]
    fn adding_a_link_never_allows_more(mut host in links(), at in path(), target in path(), source in path()) {
        host.solid = false;
        let mut more = host.clone();
        if host.at(&at) == PathEntry::Missing {
            more.links.insert(at, target);
        }
        let bind = format!("{source}:/mnt");
        prop_assert!(!allows(&more, &bind) || allows(&host, &bind));
    }

    /// What is bound is the end of the links, so that is what must be allowed.
    #[test]
    fn what_a_link_leads_to_is_judged_like_its_name(host in links(), target in path(), below in "[a-c]{0,2}") {
        let mut with_link = host;
        with_link.links.insert("/link".to_owned(), target.clone());
        let direct = format!("{target}/{below}:/mnt");
        let linked = format!("/link/{below}:/mnt");
        prop_assert!(!allows(&with_link, &linked) || allows(&with_link, &direct), "{} {}", linked, direct);
    }

    #[test]
    fn nothing_panics(bind in "[a-zA-Z:/\\\\?.~ ]{0,12}", host in links()) {
        allows(&host, &bind);
    }

    #[test]
    fn no_argument_holds_the_value_of_a_variable(
        values in prop::collection::btree_map("[A-Z]{1,6}", "secret-[a-z0-9]{12}", 0..4),
        network in "[a-z]{0,5}",
        binds in prop::collection::vec("/srv/[a-z]{1,3}:/[a-z]{1,3}", 0..3),
        limit in prop::option::of(-2.0f64..5.0),
    ) {
        let docker = json!({ "env": values, "network": network, "binds": binds, "pidsLimit": limit, "cpus": limit });
        let config = json!({ "agents": { "defaults": { "sandbox": { "docker": docker } } } });
        let settings = SandboxSettings::for_agent(&config, "main").unwrap();
        let identity = ContainerIdentity { name: "n", scope_key: "shared", created_at_ms: 0 };
        let args = ContainerArgs::new(&settings.docker, &identity);
        for value in values.values() {
            prop_assert!(!args.argv.iter().any(|word| word.contains(value)), "{:?}", args.argv);
        }
        prop_assert_eq!(args.env.iter().count(), values.len() + 1);
        prop_assert!(args.argv.windows(2).any(|two| two == ["--security-opt", "no-new-privileges"]));
        prop_assert_eq!(args.argv.iter().filter(|word| *word == "-v").count(), binds.len());
    }
}
