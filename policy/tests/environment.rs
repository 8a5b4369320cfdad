//! Compares the environment of a command with OpenClaw's own samples and lists; see `data/README.md`.

use std::collections::BTreeSet;

use crate::common::{self, data};
use guard_policy::environment::{
    Inherit, Inherited, Variable, can_change_program, inherited, with_overrides,
};
use guard_policy::{Host, Overrides, Policy};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Releases with samples, and those with lists.
const SAMPLED: [&str; 3] = ["2026.4.14", "2026.7.35", "2026.9.6"];
const LISTED: [&str; 3] = ["2026.4.12-beta.1", "2026.4.14", "2026.7.35"];

fn variables(env: &Value) -> Vec<Variable> {
    let empty = Map::new();
    let env = env.as_object().unwrap_or(&empty);
    env.iter().map(|(name, value)| (name.clone().into(), value.as_str().unwrap().into())).collect()
}

fn as_json(env: &[Variable]) -> Value {
    let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
    env.iter().map(|(name, value)| (text(name), text(value).into())).collect::<Map<_, _>>().into()
}

#[test]
fn samples() {
    for release in SAMPLED {
        let data = data(&format!("{release}/host-env-sanitize-samples.json"));
        let cases = data["cases"].as_array().unwrap();
        let mut agreed = 0;
        for case in cases {
            let base = inherited(variables(&case["baseEnv"]), Inherit::Host);
            let result = with_overrides(base.env, variables(&case["overrides"]));
            let blocked: Vec<_> = result.blocked.iter().map(|rejected| rejected.name.clone()).collect();
            let invalid: Vec<_> =
                result.invalid.iter().map(|name| String::from_utf8(name.clone()).unwrap()).collect();
            let got = json!({
                "env": as_json(&result.env),
                "rejectedOverrideBlockedKeys": blocked,
                "rejectedOverrideInvalidKeys": invalid,
            });
            assert_eq!(got, case["result"], "{release}");
            agreed += 1;
        }
        println!("{release}/host-env-sanitize-samples: {agreed} of {}", cases.len());
    }
}

fn names<'v>(list: &'v Value, key: &str) -> Vec<&'v str> {
    list[key].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

fn is_inherited(name: &str) -> bool {
    let Inherited { env, dropped, .. } = inherited([(name.into(), b"v".to_vec())], Inherit::Host);
    assert_eq!((env.len(), dropped.len()), if dropped.is_empty() { (2, 0) } else { (1, 1) }, "{name}");
    dropped.is_empty()
}

fn can_be_set(name: &str) -> bool {
    with_overrides(Vec::new(), [(name.into(), b"v".to_vec())]).blocked.is_empty()
}

/// Inherited since 2026.7.35, and not before.
const NOW_INHERITED: [&str; 2] = ["XDG_CONFIG_DIRS", "XDG_CONFIG_HOME"];

/// Passed on here with the safe part of their value: git would allow more without them. The lists block them.
const NARROWED: [&str; 2] = ["GIT_ALLOW_PROTOCOL", "GIT_PROTOCOL_FROM_USER"];

#[test]
fn lists_of_older_releases() {
    for release in LISTED {
        let list = data(&format!("{release}/host-env-security-policy.json"));
        compare(release, &list, if release < "2026.7" { &NOW_INHERITED } else { &[] });
    }
}

#[test]
fn lists_of_the_newest_release() {
    compare("2026.9.6", &data("../../data/host-env-2026.9.6.json"), &[]);
}

/// Compares every name of a release's lists. `now_inherited` holds names that its lists block and the guard passes on.
fn compare(release: &str, list: &Value, now_inherited: &[&str]) {
    let everywhere = names(list, "blockedEverywhereKeys");
    let overrides = names(list, "blockedOverrideOnlyKeys");
    let allowed = names(list, "allowedInheritedOverrideOnlyKeys");
    let prefixed = |key: &str| names(list, key).iter().map(|prefix| format!("{prefix}X")).collect::<Vec<_>>();
    let (prefixes, override_prefixes) = (prefixed("blockedPrefixes"), prefixed("blockedOverridePrefixes"));
    let all: BTreeSet<&str> = everywhere
        .iter()
        .chain(&overrides)
        .copied()
        .chain(prefixes.iter().chain(&override_prefixes).map(String::as_str))
        .collect();
    let mut agreed = 0;
    for name in &all {
        let is_dropped = everywhere.contains(name)
            || prefixes.iter().any(|prefix| prefix == name)
            || overrides.contains(name) && !allowed.contains(name);
        let is_different = now_inherited.contains(name) || NARROWED.contains(name);
        assert_eq!(is_inherited(name), !is_dropped || is_different, "{release} {name}");
        assert_eq!(is_inherited(&name.to_ascii_lowercase()), is_inherited(name), "{name}");
        assert!(!can_be_set(name) && !can_be_set(&name.to_ascii_lowercase()), "{release} {name}");
        agreed += usize::from(!is_different);
    }
    println!("{release}/host-env-security-policy: {agreed} of {}, the rest listed in the test", all.len());
}

#[test]
fn reported_names() {
    let list = data("2026.4.12-beta.1/host-env-security.reported-baseline.json");
    let (everywhere, overrides) =
        (names(&list, "reportedDangerousEverywhereKeys"), names(&list, "reportedDangerousOverrideOnlyKeys"));
    assert_eq!(json!(everywhere.len() + overrides.len()), list["expectedTotalReportedEntries"]);
    for name in &everywhere {
        assert!(!is_inherited(name) && !can_be_set(name), "{name}");
    }
    for name in &overrides {
        assert!(!can_be_set(name), "{name}");
    }
    println!("host-env-security.reported-baseline: {0} of {0}", everywhere.len() + overrides.len());
}

#[test]
fn reasons_say_who_and_where_and_never_the_value() {
    let vars = ["LD_PRELOAD", "EDITOR", "OPENCLAW_HOME", "MY_TOKEN", "FOO"];
    let vars = vars.map(|name| (name.into(), b"hunter2".to_vec()));
    let dropped = inherited(vars, Inherit::Strict).dropped;
    assert_eq!(dropped.len(), 5);
    for one in dropped {
        let reason = one.reason;
        assert!(!reason.path.is_empty() && reason.text.len() > 20, "{reason:?}");
        assert!(!format!("{reason:?}").contains("hunter2"));
    }
}

fn path_of(policy: &Policy, operators: &[(&str, &str)]) -> Option<String> {
    let operators = operators.iter().map(|(name, value)| ((*name).into(), (*value).into()));
    let env = policy.environment(operators).env;
    env.into_iter().find(|(name, _)| name == b"PATH").map(|(_, value)| String::from_utf8(value).unwrap())
}

#[test]
fn directories_are_put_before_path() {
    let policy = common::compile(&json!({
        "version": 1, "exec": { "pathPrepend": ["/opt/tools/", "~/bin", "~"] },
    }));
    let path = path_of(&policy, &[("PATH", "/bin"), ("path", "/x")]);
    assert_eq!(path.as_deref(), Some("/opt/tools:/home/u/bin:/home/u:/bin"));
    assert_eq!(path_of(&policy, &[]).as_deref(), Some("/opt/tools:/home/u/bin:/home/u:/bin:/usr/bin"));
    let plain = common::compile(&json!({ "version": 1 }));
    assert_eq!(path_of(&plain, &[]), None);
    assert!(plain.warnings().is_empty() && policy.warnings().is_empty(), "{:?}", policy.warnings());
}

#[test]
fn a_directory_in_which_the_tree_writes_is_warned_of() {
    let rules =
        json!({ "/opt/**": "r-x", "/srv/**": "rwx", "/asked": "r-x", "/asked/**": "r?x", "/way/**": "rwx" });
    let document = |dir: &str| {
        json!({
            "version": 1,
            "exec": { "pathPrepend": [dir] },
            "permissions": { "filesystem": { "rules": rules } },
        })
    };
    // /way/link leads to /opt/tools.
    let realpath = |path: &[u8]| match path {
        b"/way/link" => Some(b"/opt/tools".to_vec()),
        path => Some(path.to_vec()),
    };
    let host = Host { realpath: &realpath, ..common::host() };
    for (dir, expected) in
        [("/opt/tools", 0), ("/srv/bin", 1), ("/asked", 0), ("/way/link", 1), ("/elsewhere", 0), ("/", 0)]
    {
        let policy = common::compile_with(&document(dir), "main", &host, &Overrides::default());
        let warnings: Vec<_> = policy.warnings().iter().filter(|text| text.contains("pathPrepend")).collect();
        assert_eq!(warnings.len(), expected, "{dir}: {warnings:?}");
    }
}

#[test]
fn invalid_path_directories_are_reported_with_line_and_column() {
    let text =
        "{ \"version\": 1,\n  \"exec\": { \"pathPrepend\": [\"/ok\", \"bin\", \"/a:/b\", \"/x/*\", 1] } }";
    let problems = common::parse(text).unwrap_err();
    let positions: Vec<_> = problems.iter().map(|problem| (problem.line, problem.column)).collect();
    assert_eq!(positions, [(2, 36), (2, 43), (2, 52), (2, 60)], "{problems:?}");
    assert!(problems[1].to_string().contains("colon"), "{}", problems[1]);
}

#[test]
fn the_word_of_the_document_decides() {
    let of = |word: &str| {
        let policy = common::compile(&json!({ "version": 1, "exec": { "environment": word } }));
        let vars = ["PATH", "FOO", "MY_TOKEN", "LD_PRELOAD"].map(|name| (name.into(), b"/v".to_vec()));
        assert!(policy.warnings().is_empty(), "{:?}", policy.warnings());
        policy.environment(vars).env.len()
    };
    assert_eq!(["host", "sandbox", "strict"].map(of), [4, 3, 2]);
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..12),
        proptest::collection::vec(any::<u8>(), 0..4).prop_map(|rest| [&b"Ld_"[..], &rest].concat()),
        "(?i)(LD_|OPENCLAW_|PATH|HOME|BASH_ENV|OPENCLAW_CLI|EDITOR|X)[A-Z]{0,3}".prop_map(String::into_bytes),
    ]
}

fn any_inherit() -> impl Strategy<Value = Inherit> {
    prop_oneof![Just(Inherit::Host), Just(Inherit::Sandbox), Just(Inherit::Strict)]
}

/// White space is Unicode's, as in OpenClaw: a vertical tab is some.
fn trimmed(name: &[u8]) -> Vec<u8> {
    std::str::from_utf8(name).map_or(name, |name| name.trim().as_bytes()).to_vec()
}

proptest! {
    /// Every variable is passed on as it is, or dropped with a reason; names and values need not be text.
    #[test]
    fn nothing_is_lost_or_changed(
        vars in proptest::collection::vec((any_bytes(), any_bytes()), 0..20),
        inherit in any_inherit(),
    ) {
        let Inherited { mut env, dropped, .. } = inherited(vars.clone(), inherit);
        prop_assert_eq!(env.pop(), Some((b"OPENCLAW_CLI".to_vec(), b"1".to_vec())));
        prop_assert!(!env.iter().any(|(name, _)| name.to_ascii_uppercase().starts_with(b"LD_")));
        let mark = |name: &[u8]| trimmed(name).eq_ignore_ascii_case(b"OPENCLAW_CLI");
        prop_assert_eq!(env.len() + dropped.len(), vars.iter().filter(|(name, _)| !mark(name)).count());
        let mut rest = vars.iter();
        for variable in &env {
            prop_assert!(rest.any(|var| var == variable), "{:?} is new or out of order", variable);
        }
    }

    /// A stricter word never passes on more.
    #[test]
    fn stricter_is_less(vars in proptest::collection::vec((any_bytes(), any_bytes()), 0..20)) {
        let [host, sandbox, strict] =
            [Inherit::Host, Inherit::Sandbox, Inherit::Strict].map(|inherit| inherited(vars.clone(), inherit).env);
        prop_assert!(sandbox.iter().all(|var| host.contains(var)));
        prop_assert!(strict.iter().all(|var| sandbox.contains(var)));
    }

    /// Every variable that is neither blocked nor invalid is set, and nothing else changes.
    #[test]
    fn an_override_is_set_or_rejected(name in any_bytes(), value in any_bytes()) {
        let base = vec![(b"A".to_vec(), b"B".to_vec())];
        let result = with_overrides(base.clone(), [(name.clone(), value.clone())]);
        match result.blocked.len() + result.invalid.len() {
            0 => prop_assert!(result.env.contains(&(trimmed(&name), value))),
            count => {
                prop_assert_eq!(count, 1);
                prop_assert_eq!(result.env, base);
            }
        }
    }
}

#[test]
fn variables_that_may_change_the_program_are_known() {
    for never in ["LD_PRELOAD", "BASH_ENV", "PYTHONPATH", "NODE_OPTIONS", "OPENCLAW_STATE_DIR", "perl5opt"] {
        assert!(
            can_change_program(never.as_bytes(), true) && can_change_program(never.as_bytes(), false),
            "{never}"
        );
    }
    for changed in
        ["HOME", "ZDOTDIR", "GIT_CONFIG_KEY_0", "npm_config_script_shell", "PAGER", "TAR_OPTIONS", "PATH"]
    {
        assert!(
            !can_change_program(changed.as_bytes(), true) && can_change_program(changed.as_bytes(), false),
            "{changed}"
        );
    }
    // OpenClaw passes some of these to no command.
    for set in [
        "MAKEFILES",
        "CCACHE_PREFIX",
        "CMAKE_C_COMPILER_LAUNCHER",
        "LUA_INIT_5_4",
        "LUA_PATH_5_3",
        "GUILE_LOAD_PATH",
        "JULIA_DEPOT_PATH",
        "QML2_IMPORT_PATH",
        "QT_PLUGIN_PATH",
        "VIMRUNTIME",
        "GEM_HOME",
        "PERLLIB",
        "HGRCPATH",
    ] {
        assert!(can_change_program(set.as_bytes(), false), "{set}");
    }
    // By families of names, or alone.
    for set in [
        "GNUMAKEFLAGS",
        "NVIM_RPLUGIN_MANIFEST",
        "M4PATH",
        "TCL8_6_TM_PATH",
        "DOTDIR",
        "fish_function_path",
        "RUBYPATH",
        "IRBRC",
        "GITPERLLIB",
        "autom4te_perllibdir",
        "DEBIAN_FRONTEND",
        "EXIFTOOL_HOME",
        "JDK_JAVAC_OPTIONS",
        "SASL_PATH",
        "SSH_SK_PROVIDER",
        "SSH_SK_HELPER",
        "COREPACK_HOME",
        "COREPACK_ENABLE_STRICT",
        "Foo_DIR",
        "Foo_ROOT",
        "CMAKE_FRAMEWORK_PATH",
        "CMAKE_APPBUNDLE_PATH",
        "GDK_PIXBUF_MODULEDIR",
        "CCC_OVERRIDE_OPTIONS",
        "SCONSFLAGS",
        "GUNICORN_CMD_ARGS",
        "QUILTRC",
        "QUILT_PATCHES",
        "PASSWORD_STORE_EXTENSIONS_DIR",
        "PASSWORD_STORE_ENABLE_EXTENSIONS",
        "PS0",
        "PS1",
        "PS2",
        "CDPATH",
        "PIP_REQUIREMENT",
        "PIP_NO_INDEX",
        "PIP_TARGET",
        "LESSKEYIN",
        "LESSKEY",
        "LESSKEYIN_SYSTEM",
        "LESSKEY_CONTENT",
        "LESS",
        "LESSEDIT",
        "MANROFFOPT",
        "GROFF_TMAC_PATH",
        "GROFF_BIN_PATH",
        "GROFF_COMMAND_PREFIX",
        "ZIPOPT",
        "ZIP",
        "SYSTEM_WGETRC",
        "DBUS_SESSION_BUS_ADDRESS",
        "BISON_PKGDATADIR",
        "M4",
        "HARNESS_PERL_SWITCHES",
        "CPPFLAGS",
        "CXXFLAGS",
        "RM",
        "ARFLAGS",
        "COMPILE.c",
        "VPATH",
        "shell_escape",
        "OMPI_MCA_plm_rsh_agent",
        "GOCACHEPROG",
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
        "CVSROOT",
        "MAILPATH",
        "GETCONF_DIR",
        "GI_TYPELIB_PATH",
        "NVIM_APPNAME",
        "P4EDITOR",
        "SDL_DYNAMIC_API",
    ] {
        assert!(can_change_program(set.as_bytes(), false), "{set}");
        assert!(!can_change_program(set.as_bytes(), true), "{set}");
    }
    // Names of these families that tools set for each of their commands.
    for ordinary in [
        "OUT_DIR",
        "CARGO_MANIFEST_DIR",
        "CARGO_PKG_NAME",
        "DEP_Z_ROOT",
        "MESON_BUILD_ROOT",
        "npm_command",
        "npm_lifecycle_event",
        "npm_package_name",
        "TOX_ENV_DIR",
        "TERM_PROGRAM",
        "RUST_LOG",
        "CI",
        "DEBUG",
        "TMPDIR",
        "DESTDIR",
        "PREFIX",
        "SRC",
        "MAKELEVEL",
        "MANPATH",
        "NODE_ENV",
        "ZIPS",
    ] {
        assert!(!can_change_program(ordinary.as_bytes(), false), "{ordinary}");
    }
    for ordinary in
        ["PWD", "CMAKE_C_FLAGS", "OLDPWD", "SHLVL", "_", "LANG", "TERM", "COLUMNS", "A", "", "OPENCLAW_CLI"]
    {
        assert!(!can_change_program(ordinary.as_bytes(), false), "{ordinary}");
    }
    assert!(!can_change_program(b"\xff", false) && can_change_program(b"GIT_CONFIG_\xff", false));
}
