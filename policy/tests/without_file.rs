//! Tests of the policy that applies without a `guard.json`.

use crate::common::{exec, file, host, outcomes};
use guard_policy::{
    Access, Ask, EarlierRuns, Host, Outcome, Overrides, Policy, Request, Security, Source, decide,
};

fn policy_for(home: &'static [u8], cwd: &'static [u8]) -> Policy {
    let host = Host { home, cwd, ..host() };
    Policy::without_file("main", &host, &Overrides::default())
}

fn policy() -> Policy {
    let path_dirs = [
        "/usr/bin",
        "/home/u/.cargo/bin",
        "/home/u/sdk/node/bin",
        "/home/u/work/bin",
        "/tmp/bin",
        "/home/u/bin",
    ];
    let path_dirs = path_dirs.map(|d| d.as_bytes().to_vec()).to_vec();
    let host = Host { path_dirs, ..host() };
    Policy::without_file("main", &host, &Overrides::default())
}

fn check(policy: &Policy, cases: &[(&str, &str)]) {
    for (paths, expected) in cases {
        for path in paths.split_whitespace() {
            assert_eq!(outcomes(policy, path), *expected, "{path}");
        }
    }
}

#[test]
fn ordinary_work_needs_no_prompt() {
    let policy = policy();
    assert_eq!(policy.warnings(), [""; 0]);
    assert_eq!(
        (policy.security(), policy.ask(), policy.ask_fallback()),
        (Security::Allowlist, Ask::OnMiss, Security::Deny)
    );
    check(
        &policy,
        &[
            (
                "/home/u/work/src/main.rs /home/u/work/target/debug/build/x \
                 /home/u/.npm/_npx/1/node_modules/.bin/tool",
                "aaa",
            ),
            ("/var/lib/dpkg/status /var/log/journal/1/system.journal /dev/kmsg", "add"),
            (
                "/usr/bin/git /usr/lib/gcc/x/cc1 /usr/bin/bash /opt/node/bin/node /home/u/.cargo/bin/cargo",
                "ada",
            ),
            ("/home/u/.rustup/toolchains/stable/bin/rustc /home/u/sdk/node/bin/node /home/u/bin/tool", "ada"),
            (
                "/home/u/.gitconfig /home/u/.config/git/ignore /etc/gitconfig /etc/passwd /home/u/.bashrc",
                "add",
            ),
            ("/proc/cpuinfo /proc/1/stat /sys/fs/cgroup/cpu.max /home/u/.cargo/config.toml / /home", "add"),
            ("/home/u/.cargo/registry/index/x /home/u/.npm/_cacache/x /dev/shm/x", "aad"),
            ("/home/u/work /tmp /tmp/x /home/u/.cache/pip/x", "aa?"),
            ("/dev/null /dev/tty /dev/pts/3 /proc/self/oom_score_adj", "aad"),
        ],
    );
}

#[test]
fn secrets_are_out_of_reach() {
    check(
        &policy(),
        &[(
            "/home/u/.ssh /home/u/.ssh/id_rsa /home/u/.gnupg/x /home/u/.aws/credentials /home/u/.netrc \
             /home/u/.config/gh/hosts.yml /home/u/.cargo/credentials.toml /home/u/.git-credentials \
             /home/u/.config/git/credentials /home/u/.openclaw/openclaw.json /home/u/.npmrc \
             /home/u/.mozilla/firefox/x /home/u/.local/share/keyrings/x /home/u/.claude/.credentials.json \
             /etc/shadow /etc/sudoers.d/x /etc/ssh/ssh_host_ed25519_key /proc/1/environ /proc/77/mem \
             /home/u/.bash_history /tmp/krb5cc_1000 /home/u/.cache/cliphist/db /home/u/.cache/keyring-1A/login",
            "ddd",
        )],
    );
    let named_secrets = vec![("KRB5CCNAME".to_owned(), b"/home/u/work/ticket".to_vec())];
    let of_variable = Policy::without_file("main", &Host { named_secrets, ..host() }, &Overrides::default());
    let verdict = file(&of_variable, "/home/u/work/ticket", Access::READ);
    assert_eq!((verdict.outcome, verdict.reason.rule()), (Outcome::Deny, "builtin deny \"KRB5CCNAME\""));
    let policy = policy();
    let verdict = file(&policy, "/home/u/.ssh/id_rsa", Access::READ);
    assert_eq!(verdict.reason.rule(), "builtin deny \"~/.ssh\"");
    assert_eq!(verdict.reason.source, Source::Builtin);
}

#[test]
fn everything_else_is_asked() {
    check(
        &policy(),
        &[("/home/u/other/x /srv/x /mnt/x /home/v/x /var/lib/postgresql/x /home/u/Documents", "???")],
    );
    let policy = policy();
    assert_eq!(exec(&policy, &["/tmp/bin/tool"]).outcome, Outcome::Ask);
    assert_eq!(file(&policy, "/srv/x", Access::READ).reason.rule(), "builtin.default \"???\"");
}

#[test]
fn a_home_or_what_contains_it_is_no_project() {
    for cwd in [&b"/home/u"[..], b"/home", b"/"] {
        let policy = policy_for(b"/home/u", cwd);
        assert_eq!(policy.warnings().len(), 1);
        assert!(policy.warnings()[0].contains("Start in a project's directory"));
        check(
            &policy,
            &[
                ("/home/u/notes.txt", "???"),
                ("/home/u/bin/x /home/u/.bin/x", "ad?"),
                ("/home/u/.npm/_npx/1/tool", "aad"),
                ("/usr/bin/git", "ada"),
                ("/home/u/.ssh/x", "ddd"),
            ],
        );
    }
}

#[test]
fn homes_and_projects_in_unusual_places() {
    let policy = policy_for(b"/root", b"/srv/project");
    check(&policy, &[("/srv/project/x", "aaa"), ("/root/.ssh/x", "ddd"), ("/root/x /work/other/x", "???")]);
    let policy = policy_for(b"/root", b"/tmp/x");
    check(&policy, &[("/tmp/x/y", "aaa"), ("/tmp/y", "aa?")]);
    let policy = policy_for(b"/tmp/t/home", b"/tmp/t/work");
    check(
        &policy,
        &[
            ("/tmp/t/work/x", "aaa"),
            ("/tmp/t/home/.ssh/x", "ddd"),
            ("/tmp/t/home/x", "???"),
            ("/tmp/y", "aa?"),
        ],
    );
}

#[test]
fn directories_in_the_project_may_move() {
    let policy = policy();
    assert!(policy.may_move(b"/home/u/work/a", b"/home/u/work/b", true));
    assert!(policy.may_move(b"/home/u/work/a", b"/tmp/b", true));
    assert!(
        !policy.may_move(b"/tmp/b", b"/home/u/work/a", true),
        "what may run unasked must be copied there"
    );
    assert!(policy.is_uniform(b"/usr", Access::READ) && policy.is_uniform(b"/home/u/work", Access::READ));
    assert!(!policy.is_uniform(b"/etc", Access::READ) && !policy.is_uniform(b"/home/u", Access::READ));
    assert!(
        policy.starts_unasked(b"/usr")
            && policy.starts_unasked(b"/")
            && !policy.starts_unasked(b"/home/u/.cache")
    );
}

#[test]
fn the_roots_hold_what_may_run() {
    let policy = policy();
    for program in [
        "/usr/bin/git",
        "/bin/sh",
        "/home/u/work/a.out",
        "/home/u/.cargo/bin/cargo",
        "/tmp/a.out",
        "/home/u/sdk/node/bin/node",
    ] {
        assert!(policy.within_exec_roots(program.as_bytes()), "{program}");
    }
    assert!(!policy.within_exec_roots(b"/srv/a.out"));
    // The operator's scripts where PATH does not name their directory.
    let policy = policy_for(b"/home/u", b"/home/u/work");
    assert!(policy.within_exec_roots(b"/home/u/bin/deploy"));
    check(&policy, &[("/home/u/bin/deploy", "ad?")]);
    check(&policy_for(b"/home/u", b"/home/u/bin"), &[("/home/u/bin/deploy", "ada")]);
}

#[test]
fn overrides_tighten_it_too() {
    let overrides = Overrides { security: Some(Security::Full), ask: Some(Ask::Always) };
    let policy = Policy::without_file("main", &host(), &overrides);
    assert_eq!((policy.security(), policy.ask()), (Security::Allowlist, Ask::Always));
    let denied = Overrides { security: Some(Security::Deny), ask: None };
    let policy = Policy::without_file("main", &host(), &denied);
    assert_eq!(exec(&policy, &["/usr/bin/bash"]).outcome, Outcome::Deny);
}

#[test]
fn a_shells_history_is_denied_without_a_line() {
    let policy = policy();
    let read = |path: &str| decide(&policy, &Request::File { path: path.as_bytes(), access: Access::READ });
    let history = read("/home/u/.bash_history");
    assert_eq!(history.outcome, Outcome::Deny);
    assert!(history.reason.is_unmentioned());
    assert!(!read("/home/u/.ssh/id_rsa").reason.is_unmentioned());
}

/// Another project's directory of programs, or one whose libraries another run could write.
#[test]
fn a_directory_of_path_that_an_earlier_run_could_write_holds_no_programs() {
    let dirs = ["/home/u/code/b/tools", "/home/u/sdk/node/bin", "/home/u/other/bin", "/home/u/own"];
    let runs = [&b"/home/u/code/b"[..], b"/home/u/sdk/node/lib"].map(<[u8]>::to_vec);
    let path_dirs = dirs.map(|dir| dir.as_bytes().to_vec()).to_vec();
    let host = Host { path_dirs, earlier_runs: EarlierRuns::new(runs), ..host() };
    let policy = Policy::without_file("main", &host, &Overrides::default());
    check(
        &policy,
        &[
            // Persistence protects it for what is outside.
            ("/home/u/code/b/tools/x", "?d?"),
            ("/home/u/sdk/node/lib/x.so", "???"),
            ("/home/u/sdk/node/bin/node /home/u/other/bin/x /home/u/other/lib/x.so /home/u/own/x", "ada"),
        ],
    );
}
