//! `why`: what was refused, by which rule, and a change that lets it pass.

use std::os::unix::net::UnixListener;

use guard_tests::{Ended, SYSTEM, Screen, World, ended, number};
use serde_json::Value;

const POLICY: &str = r#"{
  "version": 1,
  "exec": { "ask": "off" },
  "permissions": {
    "filesystem": {
      "rules": {
        SYSTEM,
        "@/work/**": "rwx",
        "~/a/**": "r--",
        "~/longer/*": "---"
      },
      "deny": ["~/.ssh", "~/b/**"]
    }
  },
  "agents": {
    "main": { "allowlist": [{ "pattern": "/usr/bin/cat" }, { "pattern": "/usr/bin/rev", "argPattern": "^-x" }] },
    "ci": { "permissions": { "filesystem": { "rules": { "~/a/**": "---" } } } }
  }
}
"#;

fn world() -> World {
    let world = World::bare();
    let text = POLICY.replace("SYSTEM", SYSTEM).replace('@', world.root().to_str().expect("a plain path"));
    world.write("home/.openclaw/guard.json", text);
    for file in ["home/a/f", "home/b/f", "home/c/f", "home/.ssh/id_rsa", "home/longer/f"] {
        world.write(file, "text");
    }
    world
}

fn give(world: &World, words: &[&str]) -> Ended {
    ended(world.command().args(words))
}

fn json(world: &World, words: &[&str]) -> Value {
    let at = words.iter().position(|word| *word == "why").expect("a question") + 1;
    let ended = give(world, &[&words[..at], &["--json"], &words[at..]].concat());
    assert_eq!(ended.status, 0, "{words:?}: {}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stdout))
}

/// Runs the proposed command in a shell, with the guard under test.
fn follow(world: &World, answer: &Value) -> Ended {
    let line = answer["fix"]["shell"].as_str().unwrap_or_else(|| panic!("no command: {answer}"));
    let guard = guard_tests::guard();
    let line = line.replacen("openclaw-guard", guard.to_str().expect("a plain path"), 1);
    let mut command = std::process::Command::new("sh");
    let ended = ended(command.args(["-c", &line]).env("HOME", world.home()).current_dir(world.work()));
    assert_eq!(ended.status, 0, "{line}: {}", ended.stderr);
    ended
}

#[test]
fn why_last_reports_a_denial_and_a_change_that_helps() {
    let world = world();
    assert_eq!(world.sh("cat a; echo x > ~/c/new").status, 2);
    let output = give(&world, &["why", "--last"]);
    let path = world.home().join("c/new").display().to_string();
    assert_eq!(output.status, 0, "{}", output.stderr);
    let mut lines = output.stdout.lines();
    assert_eq!(lines.next(), Some(format!("DENIED write {path}").as_str()));
    for part in [
        "\n  when      2",
        ", session ",
        ", agent main\n",
        "\n  asked by  sh ",
        "\n  rule      permissions.filesystem.default",
        "\n            no rule covers the path, and the default grants nothing\n",
        "\n  now       denied by the same\n",
        "\n  to allow  openclaw-guard allow write '~/c/**'\n",
    ] {
        assert!(output.stdout.contains(part), "{part:?}: {}", output.stdout);
    }
    let answer = json(&world, &["why", "--last"]);
    assert_eq!(answer["fix"]["command"], serde_json::json!(["openclaw-guard", "allow", "write", "~/c/**"]));
    follow(&world, &answer);
    assert_eq!(world.sh("echo x > ~/c/new").status, 0);
    // The log line has not changed, but the policy's answer has.
    let answer = json(&world, &["why", "--last"]);
    assert_eq!((&answer["outcome"], &answer["now"]["outcome"]), (&"deny".into(), &"allow".into()));
    assert_eq!(answer["fix"], Value::Null);
    let id = answer["line"]["id"].as_str().expect("an id");
    assert_eq!(json(&world, &["why", &id[..8]]), answer);
}

#[test]
fn why_reports_a_program_with_its_arguments() {
    let world = world();
    assert_eq!(world.guarded(&["nl", "-b", "a b", "*"]).status, 126);
    let output = give(&world, &["why", "--last"]).stdout;
    assert!(output.starts_with("DENIED exec /usr/bin/nl\n"), "{output}");
    assert!(
        output.contains("\n  argv[0]   nl\n  argv[1]   -b\n  argv[2]   a b\n  argv[3]   *\n"),
        "{output}"
    );
    assert!(output.contains("\n  to allow  openclaw-guard allow exec /usr/bin/nl\n"), "{output}");
    follow(&world, &json(&world, &["why", "--last"]));
    assert_eq!(json(&world, &["why", "--exec", "--", "nl", "x"])["outcome"], "allow");
    // A program that is allowed with other arguments is proposed with exactly these.
    assert_eq!(world.guarded(&["rev", "a b"]).status, 126);
    let answer = json(&world, &["why", "--last"]);
    assert_eq!(answer["nearest"]["path"], "agents.main.allowlist[1]");
    assert_eq!(answer["fix"]["shell"], "openclaw-guard allow run -- /usr/bin/rev 'a b'");
    follow(&world, &answer);
    assert_ne!(world.guarded(&["rev", "a b"]).status, 126);
    assert_eq!(world.guarded(&["rev", "c"]).status, 126);
}

/// Every proposed change makes the engine allow the call, and each question has its own change.
#[test]
fn the_proposed_command_allows_the_call() {
    let world = world();
    let home = |path: &str| world.home().join(path).display().to_string();
    let tool = world.write("home/tools/t", "#!/usr/bin/perl\nprint 1;\n");
    std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    let (tool, policy) =
        (tool.display().to_string(), world.read("home/.openclaw/guard.json").expect("a policy"));
    let mut asked = 0;
    for (question, fix) in [
        (vec!["--read", "c/f"], "allow read '~/c/**'"),
        (vec!["--write", "c/new/deep"], "allow write '~/c/new/**'"),
        (vec!["--read", "c"], "allow read '~/c/**'"),
        (vec!["--read", "new"], "allow read '~/new'"),
        (vec!["--read", ""], "allow read"),
        (vec!["--write", "a/f"], "allow write '~/a/**'"),
        (vec!["--read", "longer/f"], "allow read"),
        (vec!["--read", "b/f"], "allow read --remove-deny '~/b/**'"),
        (vec!["--read", ".ssh/id_rsa"], "allow read --remove-deny '~/.ssh/id_rsa'"),
        (vec!["--exec", "/usr/bin/perl"], "allow exec /usr/bin/perl"),
        (vec!["--exec", &tool], "allow exec"),
        (vec!["--agent", "ci", "--read", "a/f"], "--agent ci allow read '~/a/**'"),
        (vec!["--agent", "ci", "--exec", "perl"], "--agent ci allow exec /usr/bin/perl"),
    ] {
        world.write("home/.openclaw/guard.json", &policy);
        let mut words = vec!["why".to_owned()];
        for (i, word) in question.iter().enumerate() {
            let is_path = i > 0 && ["--read", "--write"].contains(&question[i - 1]);
            words.push(if is_path { home(word) } else { (*word).to_owned() });
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let answer = json(&world, &words);
        if question.last() == Some(&"") {
            assert_eq!(answer["fix"]["command"], Value::Null, "nothing opens a home as a whole: {answer}");
            continue;
        }
        assert_eq!(answer["outcome"], "deny", "{words:?}");
        let shell = answer["fix"]["shell"].as_str().unwrap_or_else(|| panic!("{words:?}: {answer}"));
        assert!(shell.contains(fix), "{words:?}: {shell}");
        follow(&world, &answer);
        assert_eq!(json(&world, &words)["outcome"], "allow", "{words:?} after {shell}");
        asked += 1;
    }
    println!("proposals: {asked} of 12");
    assert_eq!(asked, 12);
}

#[test]
fn a_denial_that_no_rule_changes_names_what_does() {
    let world = world();
    let home = |path: &str| world.home().join(path).display().to_string();
    for (words, change, caution) in [
        (vec!["--write", ".bashrc"], "\"persistence\": { \"shell\": false }", true),
        (
            vec!["--read", ".openclaw/guard.json"],
            "nothing: no policy can allow the guarded tree to use the files",
            false,
        ),
    ] {
        let answer = json(&world, &["why", words[0], &home(words[1])]);
        let advice = answer["fix"]["change"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(advice.contains(change), "{words:?}: {advice}");
        assert_eq!(answer["fix"].get("caution").is_some(), caution, "{answer}");
        let text = give(&world, &["why", words[0], &home(words[1])]).stdout;
        assert!(text.contains("\n  to change ") && text.contains("\n  but       ") == caution, "{text}");
    }
    let ended = give(&world, &["--exec-security", "deny", "why", "--exec", "cat"]);
    assert!(ended.stdout.contains("remove --exec-security"), "{}", ended.stdout);
}

#[test]
fn a_rule_is_named_with_its_position() {
    let world = world();
    assert_eq!(world.sh("cat ~/.ssh/id_rsa").status, 1);
    let output = give(&world, &["why", "--last"]).stdout;
    let file = world.home().join(".openclaw/guard.json").display().to_string();
    assert!(
        output.contains(&format!("\n  rule      {file}:12:16: permissions.filesystem.deny[\"~/.ssh\"]\n")),
        "{output}"
    );
    assert!(output.contains("\n  but       this removes the whole denial of \"~/.ssh\""), "{output}");
    let answer = json(&world, &["why", "--last"]);
    assert_eq!(
        (&answer["because"]["line"], &answer["because"]["column"]),
        (&12.into(), &16.into()),
        "{answer}"
    );
    assert!(answer["fix"]["caution"].is_string());
}

#[test]
fn a_socket_must_be_named() {
    let world = world();
    let socket = world.home().join("c/s");
    let _server = UnixListener::bind(&socket).expect("a socket");
    assert_eq!(give(&world, &["allow", "write", "~/c/**"]).status, 0);
    assert_eq!(give(&world, &["allow", "exec", "perl"]).status, 0);
    let line = format!(
        "use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un('{}')) or exit 7; print 1",
        socket.display()
    );
    assert_eq!(world.guarded(&["perl", "-e", &line]).status, 7);
    let answer = json(&world, &["why", "--last"]);
    assert_eq!(
        (&answer["operation"], &answer["now"]["outcome"]),
        (&"connect".into(), &"deny".into()),
        "{answer}"
    );
    assert_eq!(answer["fix"]["shell"], "openclaw-guard allow write '~/c/s'");
    follow(&world, &answer);
    assert_eq!(world.guarded(&["perl", "-e", &line]).stdout, "1");
}

#[test]
fn without_a_policy_the_first_step_is_init() {
    let world = World::bare();
    world.write("home/x/f", "text");
    let path = world.home().join("x/f").display().to_string();
    let output = give(&world, &["why", "--read", &path]).stdout;
    assert!(output.starts_with("ASKED FOR read "), "{output}");
    assert!(
        output.contains("\n  to allow  openclaw-guard init   (there is no guard.json yet), then\n"),
        "{output}"
    );
    assert!(output.contains("openclaw-guard allow read '~/x/**'\n"), "{output}");
    assert_eq!(json(&world, &["why", "--read", &path])["fix"]["needsInit"], true);
}

#[test]
fn a_missing_log_or_line_is_reported() {
    let world = world();
    let ended = give(&world, &["why", "--last"]);
    assert!(ended.status == 125 && ended.stderr.contains("there is no audit log"), "{}", ended.stderr);
    assert_eq!(world.sh("true").status, 0);
    let ended = give(&world, &["why", "--last"]);
    assert!(ended.status == 1 && ended.stderr.contains("the audit log has no denials"), "{}", ended.stderr);
    let ended = give(&world, &["why", "ffffffffff"]);
    assert!(ended.status == 1 && ended.stderr.contains("begins with ffffffffff"), "{}", ended.stderr);
    for words in
        [&["why", "--last", "--read", "x"][..], &["why", "--exec"], &["why", "--exec", "no-such-program"]]
    {
        assert_eq!(give(&world, words).status, 125, "{words:?}");
    }
}

#[test]
fn names_of_files_do_nothing_to_a_terminal_nor_a_shell() {
    let world = world();
    let name = "home/c/x'; touch \u{1b}[31m$HOME; '\u{202e}";
    let file = world.write(format!("{name}/f"), "text").display().to_string();
    assert_eq!(world.guarded(&["cat", &file]).status, 1);
    let output = give(&world, &["why", "--last"]).stdout;
    assert!(!output.contains('\u{1b}') && !output.contains('\u{202e}'), "{output}");
    assert!(output.contains("x'; touch \\u{1B}[31m$HOME; '\\u{202E}"), "{output}");
    // A name that a shell would split, but that is harmless on a terminal.
    let file = world.write("home/c d/it's $(x)/f", "text").display().to_string();
    assert_eq!(world.guarded(&["cat", &file]).status, 1);
    follow(&world, &json(&world, &["why", "--last"]));
    assert_eq!(world.guarded(&["cat", &file]).stdout, "text");
}

/// Calls that no rule decides: the answer names what does.
#[test]
fn a_refusal_without_a_rule_says_what_to_do() {
    let world = World::open();
    let refused = |command: &[&str], operation: &str, change: &str| {
        let ended = world.guarded(command);
        let answer = json(&world, &["why", "--last"]);
        assert_eq!(answer["operation"], operation, "{answer}: {}", ended.stderr);
        assert!(answer["fix"]["change"].as_str().is_some_and(|advice| advice.contains(change)), "{answer}");
        let output = give(&world, &["why", "--last"]).stdout;
        assert!(
            output.starts_with(&format!("DENIED {operation} ")) && output.contains("\n  to change "),
            "{output}"
        );
        answer
    };
    let gateway = refused(
        &["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/18789"],
        "connect",
        "\"connect\": { \"gateway\": \"allow\" }",
    );
    assert_eq!(gateway["now"]["outcome"], "deny");
    // PTRACE_TRACEME
    let trace = refused(
        &["perl", "-e", concat!("syscall(", number!(ptrace), ", 0, 0, 0, 0)")],
        "trace",
        "\"allowPtrace\": true",
    );
    assert_eq!(trace["now"], Value::Null, "no policy was asked");
}

/// `why` also finds a question by its id, or the beginning of it, once it is decided.
#[test]
fn why_reports_a_humans_denial() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full"}, "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rwx"}}}}"#,
    );
    let world = world.attended();
    let file = world.write("home/c/f", "text").display().to_string();
    let held = world.start(&["sh", "-c", &format!("cat {file}; echo $?")]);
    let question = world.wait_for(1).remove(0);
    let id = question["id"].as_str().expect("an id").to_owned();
    let waits = give(&world, &["why", &id]);
    assert!(
        waits.status == 1 && waits.stderr.contains("is not decided yet"),
        "{}{}",
        waits.stdout,
        waits.stderr
    );
    assert_eq!(world.resolve(&question, "deny").status, 0);
    assert_eq!(held.end().stdout, "1\n");
    for name in [&id[..], &id[..8]] {
        let answer = json(&world, &["why", name]);
        assert_eq!(
            (&answer["outcome"], &answer["path"]),
            (&"deny".into(), &file.as_str().into()),
            "{answer}"
        );
        assert_eq!(answer["now"]["outcome"], "ask");
        let fix = answer["fix"]["shell"].as_str().unwrap_or_default();
        assert!(fix.ends_with("allow read '~/c/**'"), "{answer}");
    }
}

#[test]
fn at_a_terminal_the_first_denied_line_says_where_to_ask() {
    let world = world();
    let mut guard = world.command();
    guard.args(["--", "sh", "-c", "cat ~/c/f; cat ~/b/f; cat ~/c/f; echo e''nd"]);
    let mut shell = std::process::Command::new(guard.get_program());
    shell.args(guard.get_args()).current_dir(world.work()).env("TERM", "dumb");
    guard_tests::give_environment(&guard, &mut shell);
    let mut screen = Screen::start(&shell);
    screen.expect("end");
    let screen_text = screen.text();
    assert_eq!(
        screen_text.matches("to see why, and what would allow it: openclaw-guard").count(),
        1,
        "{screen_text}"
    );
    assert!(screen_text.contains("why --last"), "{screen_text}");
}

/// Without a terminal the guard prints only the line of the denial.
#[test]
fn the_hint_is_for_terminals() {
    let world = world();
    let ended = world.sh("cat ~/c/f; cat ~/b/f");
    assert_eq!(ended.guard_lines().len(), 2, "{}", ended.stderr);
    assert!(!ended.stderr.contains("why --last"), "{}", ended.stderr);
}
