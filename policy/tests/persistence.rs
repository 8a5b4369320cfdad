//! Tests of `permissions.persistence`: files that would run later and may not be written.

use crate::common::{compile, compile_with, file, host, ids, outcomes, parse};
use guard_policy::approval::{Always, OnDisk, Repeat, always};
use guard_policy::store::Store;
use guard_policy::{
    Access, Host, Outcome, Overrides, OwnStore, PersistenceSites, Policy, Request, Section, Source,
};
use serde_json::{Value, json};

/// Allows everything except what persistence protects.
fn open(persistence: Value) -> Value {
    json!({"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions":
        {"persistence": persistence, "filesystem": {"rules": {"/**": "rwx"}}}})
}

fn persistence_sites() -> PersistenceSites {
    PersistenceSites {
        homes: vec![b"/zsh".to_vec()],
        config: Some(b"/cfg".to_vec()),
        data: Some(b"/data".to_vec()),
        cache: Some(b"/cache".to_vec()),
        workspaces: vec![b"/home/u/work/sub".to_vec(), b"/home/u/work".to_vec()],
        git_directories: vec![b"/home/u/work/.git".to_vec()],
        git_others: vec![b"/home/u/work/.hooks".to_vec()],
        hook_directories: Vec::new(),
        this_host: Vec::new(),
        variables: Vec::new(),
        agents: Vec::new(),
        guard: vec![b"/opt/guard/openclaw-guard".to_vec()],
        ..PersistenceSites::default()
    }
}

fn with(guard: &Value, host: Host<'_>) -> Policy {
    compile_with(
        guard,
        "main",
        &Host { persistence_sites: persistence_sites(), ..host },
        &Overrides::default(),
    )
}

fn writes(policy: &Policy, path: &str) -> Outcome {
    file(policy, path, Access::WRITE).outcome
}

#[test]
fn protection_takes_only_writing_whatever_grants_it() {
    let policy = with(&open(json!(true)), host());
    for path in [
        "/home/u/.bashrc",
        "/zsh/.zshrc",
        "/home/u/.config/fish/a/b",
        "/cfg/fish",
        "/data/applications/x.desktop",
        "/home/u/work/.envrc",
        "/home/u/work/sub/.envrc",
        "/home/u/work/.git/hooks/x",
        "/home/u/work/.git/config",
        "/home/u/work/sub/.git/config",
        "/srv/new/.git",
        "/srv/new/.Rprofile",
        // Programs that these name run as root, outside every guard (core(5), sysctl(8)).
        "/proc/sys/kernel/core_pattern",
        "/proc/sysrq-trigger",
        "/sys/kernel/uevent_helper",
        "/home/u/.zshrc.zwc",
        "/srv/new/.vscode/tasks.json",
        "/home/u/work/.hooks",
        "/home/u/work/.hooks/pre-commit",
        "/opt/guard/openclaw-guard",
        "/etc/cron.d",
        "/etc/ld.so.preload",
    ] {
        assert_eq!(outcomes(&policy, path), "ada", "{path}");
        assert!(policy.writable(path.as_bytes()), "no program is trusted more for it: {path}");
    }
    for path in [
        "/home/u/.bashrc2",
        "/home/u/.config",
        "/cfg/fisher",
        "/home/u/work/.git/objects/x",
        "/home/u/work/node_modules/x/.vscode/tasks.json",
        "/home/u/work/node_modules/x/.nvmrc",
        "/home/u/work/.venv/lib/python3.13/site-packages/x/.claude/settings.json",
        "/home/u/.vscode2/tasks.json",
        "/opt/guard/x",
        "/etc/x",
    ] {
        assert_eq!(outcomes(&policy, path), "aaa", "{path}");
    }
    let reason = file(&policy, "/home/u/.bashrc", Access::READ | Access::WRITE).reason;
    assert_eq!((reason.source, &*reason.path), (Source::Builtin, "permissions.persistence.shell"));
    assert_eq!(
        reason.rule(),
        "builtin persistence \"shell\": runs outside the guard in the next shell; \
         \"permissions\": {\"persistence\": {\"shell\": false}} allows it"
    );
}

#[test]
fn what_variables_and_settings_name_is_protected() {
    let variables = [
        ("BASH_ENV", "/home/u/work/env.sh"),
        ("CARGO_HOME", "/home/u/work/cargo"),
        ("GOPATH", "/home/u"),
        ("CURL_HOME", "/home/u/work"),
        ("GIT_TEMPLATE_DIR", "/srv/templates"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec())).to_vec();
    let agents = vec![b"/home/u/.claude/line".to_vec()];
    let sites = PersistenceSites { variables, agents, ..persistence_sites() };
    let host = Host { persistence_sites: sites, ..host() };
    let policy = compile_with(&open(json!(true)), "main", &host, &Overrides::default());
    for path in [
        "/home/u/work/env.sh",
        "/home/u/work/cargo/config.toml",
        "/home/u/work/cargo/bin/x",
        "/home/u/work/.curlrc",
        "/home/u/.cargo/config.toml",
        "/srv/templates/hooks/x",
        "/home/u/.claude/line",
        "/home/u/.claude/x.mjs",
        "/home/u/go/pkg/mod/golang.org/toolchain@v1/bin/go",
        "/home/u/go/pkg/mod/golang.org/toolchain@v1",
    ] {
        assert_eq!(writes(&policy, path), Outcome::Deny, "{path}");
    }
    for path in [
        "/home/u/work/cargo/registry/x",
        "/home/u/work/.bashrc.x",
        "/home/u/.claude/debug/x.mjs",
        "/home/u/.claude/lines",
        "/home/u/go/pkg/mod/golang.org/x/text@v1/x",
    ] {
        assert_eq!(writes(&policy, path), Outcome::Allow, "{path}");
    }
    // A pattern for some names keeps no links from elsewhere in the directory.
    assert!(policy.keeps_below(b"/home/u/.claude/debug/latest").is_none());
    assert!(policy.keeps_below(b"/home/u/.claude").is_some());
    let asks = open(json!("ask"));
    let asks = json!({"version": 1, "permissions": asks["permissions"], "exec": {"security": "full", "ask": "on-miss"}});
    let policy = compile_with(&asks, "main", &host, &Overrides::default());
    assert_eq!(writes(&policy, "/home/u/.claude/statusline.js"), Outcome::Ask);
    assert_eq!(writes(&policy, "/home/u/.claude/line"), Outcome::Ask);
    assert_eq!(writes(&policy, "/home/u/.gem/ruby/3/x"), Outcome::Deny);
}

#[test]
fn policies_of_earlier_runs_are_not_written_whatever_persistence_says() {
    let host = Host { former_policies: vec![b"/home/u/work/mine.json".to_vec()], ..host() };
    let document = open(json!(false));
    let policies = [
        compile_with(&document, "main", &host, &Overrides::default()),
        Policy::without_file("main", &host, &Overrides::default()),
    ];
    for policy in policies {
        let verdict = file(&policy, "/home/u/work/mine.json", Access::WRITE);
        assert_eq!(
            (verdict.outcome, verdict.reason.rule()),
            (Outcome::Deny, "builtin: the policy of an earlier run")
        );
        assert_eq!(file(&policy, "/home/u/work/mine.json", Access::READ).outcome, Outcome::Allow);
        assert_eq!(writes(&policy, "/home/u/work/other.json"), Outcome::Allow);
    }
}

#[test]
fn what_a_program_reads_from_its_directory_is_protected_in_every_directory() {
    let policy = with(&open(json!(true)), host());
    for name in [
        ".nvmrc",
        ".node-version",
        ".java-version",
        ".sdkmanrc",
        ".perl-version",
        ".php-version",
        ".go-version",
        ".phpbrewrc",
        ".ctags",
        ".ctags.d/x.ctags",
        "ctags.d/x.ctags",
        ".jedi/project.json",
        ".valgrindrc",
        ".gvimrc",
        ".lsp/config.edn",
        ".joyride/scripts/x.cljs",
        ".prototools",
        ".shadowenv.d/a.lisp",
        ".ruby-env",
        ".versions.conf",
        "CVS/Root",
        ".bzr/branch/location",
        ".repo/repo/main.py",
        ".repo/manifest.xml",
        ".repo/local_manifests/x.xml",
        ".gclient",
        ".jj/repo/store/git_target",
        ".git/lazygit.yml",
        ".lazygit.yml",
        ".west/config",
        ".mrconfig",
        ".arcconfig",
        ".obsidian/plugins/x/main.js",
        ".obsidian/community-plugins.json",
        "startup.m",
        ".lapce/run.toml",
        ".run/x.run.xml",
        ".mc.menu",
        ".swiplrc",
        ".erlang",
        ".csirc",
        ".gemini/hooks/x",
        ".gemini/agents/x",
        ".gemini/skills/x/SKILL.md",
        ".opencode.json",
        ".agents/skills/x",
        ".trae/mcp.json",
        ".github/mcp.json",
        ".iflow/settings.json",
        ".copilot/x",
    ] {
        assert_eq!(outcomes(&policy, &format!("/srv/new/{name}")), "ada", "{name}");
    }
    // What a tool itself writes in its repository, what names a version, and what a project's sources are.
    for name in [
        ".ruby-version",
        ".svn/wc.db",
        ".fslckout",
        "CVS/Entries",
        ".bzr/checkout/dirstate",
        ".repo/projects/x.git/index",
        ".gclient_entries",
        ".github/workflows/ci.yml",
        ".obsidian/workspace.json",
        ".git/index.stash.1",
    ] {
        assert_eq!(outcomes(&policy, &format!("/srv/new/{name}")), "aaa", "{name}");
    }
    // git's own change of it is judged by its content.
    assert_eq!(outcomes(&policy, "/srv/new/.git/index"), "ada");
}

#[test]
fn a_home_has_what_a_workspace_has_but_for_names_of_its_own_list() {
    let policy = with(&open(json!(true)), host());
    for name in [
        ".rvmrc",
        ".rbenv-vars",
        "irb.rc",
        "_irbrc",
        ".idea/x",
        ".devcontainer/x",
        ".zed/tasks.json",
        ".helix/languages.toml",
        ".kakrc",
        "crush.json",
        "opencode.json",
        ".autoenv.zsh",
        ".github/hooks/x",
        ".amp/x",
        ".junie/mcp/x",
        ".kilocode/mcp.json",
        ".nvim.lua",
        ".nvim/x",
        ".envrc.local",
        ".ycm_extra_conf.py",
        ".nvmrc",
        ".mrconfig",
    ] {
        assert_eq!(outcomes(&policy, &format!("/home/u/{name}")), "ada", "{name}");
        assert_eq!(outcomes(&policy, &format!("/zsh/{name}")), "ada", "{name}");
    }
    // What agents keep in a home, beside what its list names.
    for name in [
        ".claude/projects/x.jsonl",
        ".codex/sessions/x.jsonl",
        ".cursor/chats/x",
        ".gemini/tmp/x",
        ".qwen/tmp/x",
        ".copilot/logs/x",
        ".config/x",
        ".github/x",
    ] {
        assert_eq!(outcomes(&policy, &format!("/home/u/{name}")), "aaa", "{name}");
    }
}

#[test]
fn caches_that_an_interactive_program_runs_are_protected() {
    let policy = with(&open(json!(true)), host());
    for name in [
        "blesh/0.4/term.xterm",
        "zsh4humans/v5/z4h.zsh",
        "antibody/x",
        "zsh-snap/eval/x.zsh",
        "zcompdump-5.9",
        "xonsh/x",
        "mise/node/20/bin_paths.msgpack.z",
        "xmonad/xmonad-x86_64-linux",
        "taffybar/taffybar-linux-x86_64",
        "sessions/xfce4-session-h:0",
        "ksycoca6_en_x",
        "plasmashell/qmlcache/x",
        "ibus/bus/registry",
        "nvim/luacache_chunks",
        "nvim/catppuccin/mocha",
        "zinit/completions/compinit",
        "zi/.zcompdump",
        "zsh-utils/dircolors.zsh",
        "qtile/prompt_history",
        "py3status_cache.data",
        "dpp/vim/startup.vim",
        "openclaw/jiti/2026.9.6/x.cjs",
        "trunk/cli/1.22.8-linux-x86_64/trunk",
        "lvim/luac/x.luac",
        "guile/ccache/3.0/x.go",
        "JetBrains/RemoteDev/dist/x/bin/remote-dev-server.sh",
        "common-lisp/x.fasl",
        "helm/plugins/x/plugin.yaml",
    ] {
        for cache in ["/home/u/.cache", "/cache"] {
            assert_eq!(outcomes(&policy, &format!("{cache}/{name}")), "ada", "{name}");
        }
    }
    for name in ["black/x", "pylint/x", "jedi/x", "parso/x", "helm/repository/x", "pip/x"] {
        assert_eq!(outcomes(&policy, &format!("/cache/{name}")), "aaa", "{name}");
    }
}

/// What runs by itself under a name that nobody can list: named after host, version, user or environment.
#[test]
fn names_with_a_variable_end_are_protected() {
    let policy = with(&open(json!(true)), host());
    for path in [
        "/home/u/.zcompdump",
        "/home/u/.zcompdump-laptop-5.9",
        "/home/u/.zcompdump-laptop-5.9.zwc",
        "/zsh/.zcompdump_x",
        "/home/u/.cache/p10k-instant-prompt-u.zsh",
        "/home/u/.cache/p10k-dump-u.zsh.zwc",
        "/cache/p10k-dump-u.zsh",
        "/cache/p10k-u/prompt-16",
        "/cache/fish/generated_completions/ls.fish",
        "/cache/gitstatus/gitstatusd-linux-x86_64",
        "/home/u/.cache/zsh/zcompdump-5.9",
        "/home/u/.p10k.zsh.zwc",
        "/home/u/.profile.zwc",
        "/home/u/.zfunc.zwc",
        "/cfg/zsh.zwc",
        "/etc/zshenv.zwc",
        "/home/u/mise.toml",
        "/home/u/mise.production.toml",
        "/home/u/work/mise.production.toml",
        "/srv/new/.mise.production.toml",
        "/srv/new/mise.production.local.toml",
        "/srv/new/.config/mise.ci.toml",
        "/srv/new/.config/mise.toml",
        "/srv/new/.tool-versions",
    ] {
        assert_eq!(outcomes(&policy, path), "ada", "{path}");
    }
    for path in [
        "/home/u/.zcompdum",
        "/home/u/x/.zcompdump-laptop-5.9",
        "/home/u/.cache/p10k",
        "/home/u/.cache/fish/x",
        "/home/u/.zsh_history",
        "/home/u/.zsh_history.zwc",
        "/srv/new/mise.",
        "/srv/new/mise.md",
        "/srv/new/mise.production.toml/x",
        "/srv/new/mise.d/x.toml",
        "/srv/new/.python-version",
    ] {
        assert_eq!(outcomes(&policy, path), "aaa", "{path}");
    }
    let settings = policy.explain(None);
    for name in [
        "/home/u/.zcompdump*",
        "/cache/p10k-*",
        "/home/u/.p10k.zsh.zwc",
        "**/mise.*.toml",
        "**/.config/mise.*.toml",
    ] {
        assert!(settings.iter().any(|setting| setting.name == name), "{name}");
    }
}

#[test]
fn a_star_in_a_directory_of_the_machine_is_a_character() {
    let git_others = vec![b"/srv/a*b".to_vec()];
    let host =
        Host { persistence_sites: PersistenceSites { git_others, ..PersistenceSites::default() }, ..host() };
    let policy = compile_with(&open(json!(true)), "main", &host, &Overrides::default());
    assert_eq!([writes(&policy, "/srv/a*b"), writes(&policy, "/srv/axb")], [Outcome::Deny, Outcome::Allow]);
}

#[test]
fn a_rule_that_withholds_is_the_reason() {
    let mut guard = open(json!(true));
    guard["permissions"]["filesystem"]["rules"]["~/.bashrc"] = json!("r--");
    let policy = compile(&guard);
    let reason = file(&policy, "/home/u/.bashrc", Access::WRITE).reason;
    assert_eq!(reason.path, "permissions.filesystem.rules[\"~/.bashrc\"]");
    // Where it could be lifted and the rule could not.
    assert!(!policy.writable(b"/home/u/.bashrc"));
}

#[test]
fn a_protected_path_is_denied_without_a_question() {
    let guard = json!({"version": 1, "permissions": {"base": false, "filesystem": {"default": "???"}}});
    let store = json!({"version": 1, "agents": {"main": {"permissions": {"filesystem": {"rules": {
        "/home/u/**": "rwx", "/home/u/.bashrc": "rwx"}}}}}});
    let reading = Store::parse_own("approvals.json", &store.to_string(), &mut ids()).unwrap();
    let policy = with(&guard, Host { own: OwnStore::Present(&reading), ..host() });
    assert_eq!(policy.rights(b"/home/u/.bashrc").to_string(), "r-x");
    assert_eq!(policy.rights(b"/home/u/other").to_string(), "rwx");
    // Nor is anything saved for it.
    let policy = with(&guard, host());
    assert_eq!(policy.rights(b"/home/u/.bashrc").to_string(), "?-?");
    let request = Request::File { path: b"/home/u/.bashrc", access: Access::WRITE };
    assert!(matches!(always(&policy, &[request], &|_: &[u8]| OnDisk::Other), Always::Never(_)));
}

/// Allows everything except what persistence protects, and asks.
fn asking(persistence: Value) -> Value {
    let mut guard = open(persistence);
    guard["exec"]["ask"] = json!("on-miss");
    guard
}

#[test]
fn files_of_a_project_are_asked_about_where_somebody_can_be_asked() {
    let policy = with(&asking(json!("ask")), host());
    for path in [
        "/home/u/work/.envrc",
        "/home/u/work/.git/hooks/x",
        "/home/u/work/.git/config",
        "/srv/new/.vscode/tasks.json",
        "/srv/new/.git/config",
        "/home/u/work/.hooks/pre-commit",
        "/home/u/.vimrc",
        "/home/u/.claude/settings.json",
        "/home/u/work/.claude/settings.json",
    ] {
        let verdict = file(&policy, path, Access::WRITE);
        assert_eq!((verdict.outcome, verdict.reason.is_persistence()), (Outcome::Ask, true), "{path}");
        // Neither an answer nor silence holds for more than the one call.
        let request = Request::File { path: path.as_bytes(), access: Access::WRITE };
        assert!(matches!(always(&policy, &[request], &|_: &[u8]| OnDisk::Other), Always::Never(_)), "{path}");
        assert_eq!(policy.repeats(&request), Repeat::AskedEachTime, "{path}");
        assert_eq!(policy.fallback(&request, verdict).outcome, Outcome::Deny, "{path}");
    }
    for path in [
        // What runs in the whole account.
        "/home/u/.bashrc",
        "/etc/cron.d",
        "/opt/guard/openclaw-guard",
        "/home/u/.local/bin/tool",
        // Many files at a time.
        "/home/u/.config/nvim/init.lua",
        "/home/u/.codex/skills/x",
        // Locks, what names another repository, and what is said to the guard.
        "/home/u/.gitconfig.lock",
        "/srv/new/.git/config.lock",
        "/srv/new/.git",
        "/srv/new/.openclaw/guard.json",
        // The guard's own file.
        "/srv/new/.openclaw-guard.new",
        "/srv/new/.git/config.openclaw-guard",
    ] {
        assert_eq!(writes(&policy, path), Outcome::Deny, "{path}");
    }
    let verdict = file(&policy, "/home/u/work/.envrc", Access::READ | Access::WRITE);
    assert_eq!(&*verdict.reason.path, "permissions.persistence.direnv");
    for persistence in [json!("deny"), json!({"direnv": "deny"})] {
        assert_eq!(writes(&with(&asking(persistence), host()), "/home/u/work/.envrc"), Outcome::Deny);
    }
    assert_eq!(writes(&with(&asking(json!({"shell": "ask"})), host()), "/home/u/.bashrc"), Outcome::Ask);
    assert_eq!(writes(&with(&asking(json!(true)), host()), "/home/u/work/.envrc"), Outcome::Deny);
}

#[test]
fn of_two_protections_one_that_denies_counts() {
    let sites = PersistenceSites {
        git_others: vec![b"/home/u/work/tool".to_vec()],
        guard: vec![b"/home/u/work/tool".to_vec(), b"/home/u/work/.envrc".to_vec()],
        ..persistence_sites()
    };
    let policy = compile_with(
        &asking(json!("ask")),
        "main",
        &Host { persistence_sites: sites, ..host() },
        &Overrides::default(),
    );
    for path in ["/home/u/work/tool", "/home/u/work/.envrc"] {
        assert_eq!(writes(&policy, path), Outcome::Deny, "{path}");
    }
}

#[test]
fn sets_are_switched_off_by_name_and_agents_say_it_before_others() {
    let policy = with(&open(json!(false)), host());
    assert_eq!(writes(&policy, "/home/u/.bashrc"), Outcome::Allow);
    let policy = with(&open(json!({"shell": false, "git": true})), host());
    assert_eq!(writes(&policy, "/home/u/.bashrc"), Outcome::Allow);
    assert_eq!(writes(&policy, "/home/u/.ssh/rc"), Outcome::Deny);

    let mut guard = open(json!(false));
    guard["agents"] = json!({
        "main": {"permissions": {"persistence": {"shell": true}}},
        "*": {"permissions": {"persistence": {"shell": false, "ssh": true}}},
    });
    let policy = |agent: &str| compile_with(&guard, agent, &host(), &Overrides::default());
    let outcomes = |agent: &str| {
        ["/home/u/.bashrc", "/home/u/.ssh/rc", "/home/u/.vimrc"].map(|path| writes(&policy(agent), path))
    };
    assert_eq!(outcomes("main"), [Outcome::Deny, Outcome::Deny, Outcome::Allow]);
    assert_eq!(outcomes("ci"), [Outcome::Allow, Outcome::Deny, Outcome::Allow]);
    let document = parse(&guard.to_string()).unwrap();
    let settings = policy("main").explain(Some(&document));
    let of = |name: &str| {
        let mut found = settings.iter().filter(|it| it.section == Section::Persistence);
        found.find(|it| it.name == name).map(|it| (it.value.as_str(), it.source, it.path.as_str()))
    };
    assert_eq!(of("/home/u/.bashrc"), Some(("shell", Source::Builtin, "permissions.persistence.shell")));
    assert_eq!(of("editors"), Some(("off", Source::Global, "permissions.persistence")));
    assert_eq!(of("shell"), None);
}

#[test]
fn an_unknown_persistence_name_is_reported_with_its_position() {
    let problems =
        |text: &str| parse(text).unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert_eq!(
        problems(
            "{\"version\": 1, \"permissions\": {\n  \"persistence\": { \"shel\": false, \"git\": 0 } } }"
        ),
        "guard.json:2:20: permissions.persistence.shel: unknown key; did you mean \"shell\"?\n\
         guard.json:2:42: permissions.persistence.git: must be true, false, \"ask\" or \"deny\""
    );
    assert_eq!(
        problems("{\"version\": 1, \"agents\": {\"a\": {\"permissions\": {\"persistence\": \"off\"}}}}"),
        "guard.json:1:64: agents.a.permissions.persistence: must be true, false, \"ask\" or \"deny\", or an object \
         { \"shell\": false, … }"
    );
}

#[test]
fn a_rule_that_opens_a_protected_path_is_reported() {
    let mut guard = open(json!(true));
    guard["permissions"]["filesystem"]["rules"] =
        json!({"~/.bashrc": "rw-", "~/.config/fish/conf.d/**": "rw-", "~/.vimrc": "r--", "/a/**": "rw-"});
    let document = parse(&guard.to_string()).unwrap();
    let found = compile(&guard).lint(&document, &|_| true);
    let rules = "permissions.filesystem.rules";
    assert_eq!(
        found,
        [
            format!("{rules}[\"~/.bashrc\"]: grants no w, because permissions.persistence.shell denies it"),
            format!(
                "{rules}[\"~/.config/fish/conf.d/**\"]: grants no w, because permissions.persistence.shell denies it"
            ),
        ]
    );
}

#[test]
fn a_link_is_kept_with_what_it_leads_to() {
    let trail = |path: &[u8]| -> Vec<Vec<u8>> {
        let trail: &[&[u8]] = match path {
            b"/home/u/.bashrc" => &[b"/home/u/.bashrc", b"/dot/now", b"/dot/v1/bashrc"],
            b"/home/u/.config/fish" => &[b"/home/u/.config", b"/cfg/fish"],
            // How a file is switched off, and what would take everything.
            b"/home/u/.zshrc" => &[b"/home/u/.zshrc", b"/dev/null"],
            b"/home/u/bin" => &[b"/home/u/bin", b"/home/u"],
            other => &[other],
        };
        trail.iter().map(|path| path.to_vec()).collect()
    };
    let host = Host { trail: &trail, ..host() };
    let policy = compile_with(&open(json!(true)), "main", &host, &Overrides::default());
    for path in [
        "/home/u/.bashrc",
        "/dot/now",
        "/dot/v1/bashrc",
        "/home/u/.config",
        "/cfg/fish/conf.d/x",
        "/home/u/.config/fish/conf.d/x",
        "/home/u/.zshrc",
        "/home/u/bin/x",
    ] {
        assert_eq!(writes(&policy, path), Outcome::Deny, "{path}");
    }
    for path in ["/dot/v1/vimrc", "/dot/now/x", "/cfg/x", "/home/u/.config/x", "/dev/null", "/home/u/x"] {
        assert_eq!(writes(&policy, path), Outcome::Allow, "{path}");
    }
    // On the way to it no link may come to stand.
    for path in ["/dot", "/dot/v1", "/cfg", "/home", "/home/u", "/"] {
        assert!(policy.keeps_below(path.as_bytes()).is_some(), "{path}");
    }
    assert!(policy.keeps_below(b"/dot/v2").is_none() && policy.keeps_below(b"/home/u/.vimr").is_none());
}

#[test]
fn programs_of_path_are_kept_where_the_work_is_not() {
    let path_dirs = [
        "/opt/tool/bin",
        "/home/u/work/tools",
        "/home/u/work/venv/bin",
        "/home/u/work/node_modules/.bin",
        "/other/venv/bin",
        "/home/u/work",
        "/home",
    ];
    let exists = |path: &[u8]| path.ends_with(b"/venv/pyvenv.cfg").then(|| path.to_vec());
    let path_dirs = path_dirs.map(|dir| dir.as_bytes().to_vec()).to_vec();
    let policy = with(&open(json!(true)), Host { path_dirs, realpath: &exists, ..host() });
    for path in ["/opt/tool/bin/x", "/home/u/work/tools/x", "/other/venv/bin/x"] {
        assert_eq!(writes(&policy, path), Outcome::Deny, "{path}");
    }
    for path in ["/home/u/work/venv/bin/x", "/home/u/work/node_modules/.bin/x", "/home/u/work/x", "/home/u/x"]
    {
        assert_eq!(writes(&policy, path), Outcome::Allow, "{path}");
    }
}

#[test]
fn path_directories_are_protected_as_written_unless_they_lead_to_the_work() {
    let trail = |path: &[u8]| -> Vec<Vec<u8>> {
        let end: &[u8] = match path {
            b"/home/u/work/." | b"/home/u/work/bin/.." | b"/link" => b"/home/u/work",
            b"/home/u/work/current" => return vec![path.to_vec(), b"/home/u/work/v1".to_vec()],
            other => other,
        };
        vec![end.to_vec()]
    };
    let written = [
        "/home/u/work/.",
        "/home/u/work/bin/..",
        "/link",
        "/home/u/work/current",
        "/missing/bin",
        "/home/u/work/.venv/bin",
        "/home/u/work/tools/bin",
        "/missing/venv/bin",
    ];
    let path_as_written = written.map(|dir| dir.as_bytes().to_vec()).to_vec();
    let persistence_sites = PersistenceSites { path_as_written, ..persistence_sites() };
    let host = Host { persistence_sites, trail: &trail, ..host() };
    let policy = compile_with(&open(json!(true)), "main", &host, &Overrides::default());
    for path in ["/home/u/work/x", "/home/u/work/bin/x", "/home/u/work/.venv/bin/x"] {
        assert_eq!(writes(&policy, path), Outcome::Allow, "{path}");
    }
    for path in [
        "/home/u/work/current",
        "/home/u/work/v1/x",
        "/missing/bin/x",
        "/home/u/work/tools/bin/x",
        "/missing/venv/bin/x",
    ] {
        assert_eq!(writes(&policy, path), Outcome::Deny, "{path}");
    }
}

#[test]
fn persistence_is_on_without_a_file() {
    let host = Host { persistence_sites: persistence_sites(), ..host() };
    let policy = Policy::without_file("main", &host, &Overrides::default());
    assert_eq!(writes(&policy, "/home/u/work/src/x"), Outcome::Allow);
    let verdict = file(&policy, "/home/u/work/.git/hooks/x", Access::WRITE);
    assert_eq!(verdict.outcome, Outcome::Ask);
    // A guard.json for this alone would take away all the rest.
    assert_eq!(
        verdict.reason.rule(),
        "builtin persistence \"git\": runs outside the guard when git is used next"
    );
    // What the policy asks about elsewhere is denied here.
    assert_eq!(policy.rights(b"/home/u/.config/autostart/x").to_string(), "?-?");
}
