//! guard.json changes while a guarded tree runs.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use guard_tests::{Ended, World, ended, is_soak, rounds, status_of, until};

/// A guarded bash that runs lines as they are sent.
pub struct Shell {
    pub world: World,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Shell {
    pub fn start(world: World) -> Shell {
        let command = world.command();
        Shell::of(world, command)
    }

    pub fn of(world: World, mut command: Command) -> Shell {
        let errors = File::create(world.root().join("stderr")).expect("a file");
        command.args(["-v", "--", "bash"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().expect("the guard");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut shell = Shell { world, input: child.stdin.take(), output, child };
        assert_eq!(shell.run("echo ready"), "ready\n");
        shell
    }

    /// Sends a line to run. Returns what it wrote on stdout.
    pub fn run(&mut self, line: &str) -> String {
        let input = self.input.as_mut().expect("it runs");
        writeln!(input, "{line}\necho :end").expect("it runs");
        let (mut all, mut line) = (String::new(), String::new());
        while self.output.read_line(&mut line).expect("text") > 0 && line != ":end\n" {
            all.push_str(&line);
            line.clear();
        }
        assert_eq!(line, ":end\n", "it ended: {}", self.errors());
        all
    }

    pub fn errors(&self) -> String {
        self.world.read("stderr").expect("a file")
    }

    /// Returns the process id of the supervisor.
    fn supervisor(&self) -> String {
        let mut number = None;
        until("the supervisor is named", || {
            let errors = self.errors();
            let named = errors.split_once("kill -HUP ").and_then(|(_, rest)| rest.split_once(' '));
            number = named.map(|(number, _)| number.to_owned());
            number.is_some()
        });
        number.expect("a number")
    }

    pub fn hang_up(&self) {
        let done = Command::new("kill").args(["-HUP", &self.supervisor()]).status().expect("kill");
        assert!(done.success());
    }

    /// Returns the lines of the audit log about changes of the policy.
    pub fn changes(&self) -> Vec<serde_json::Value> {
        self.world.audit().into_iter().filter(|line| line["operation"] == "reload").collect()
    }

    /// Waits for the log line of the `count`th change. Returns whether the change is in force, and its text.
    pub fn change(&self, count: usize) -> (bool, String) {
        until("the policy is read again", || self.changes().len() >= count);
        let change = &self.changes()[count - 1];
        (change["applied"].as_bool().expect("a truth"), change["text"].as_str().expect("text").to_owned())
    }

    pub fn end(mut self) -> (i32, String) {
        drop(self.input.take());
        (status_of(&mut self.child), self.errors())
    }
}

/// Returns a policy that denies one name in the workspace.
pub fn denying(world: &World, name: &str) -> String {
    format!(
        r#"{{"version": 1, "exec": {{"security": "full", "ask": "off"}}, "permissions": {{"filesystem": {{
            "rules": {{"/**": "rwx"}}, "deny": ["{}/work/{name}"], "default": "rwx"}}}}}}"#,
        world.root().display()
    )
}

fn world() -> World {
    let world = World::bare();
    let text = denying(&world, "secret");
    let world = world.policy(&text);
    world.write("work/secret", "told\n");
    world
}

fn write_by_rename(world: &World, text: &str) {
    let new = world.write("new.json", text);
    fs::rename(new, world.root().join("guard.json")).expect("a rename");
}

#[test]
fn a_file_that_is_replaced_or_written_takes_over() {
    let mut shell = Shell::start(world());
    assert_eq!(shell.run("cat secret"), "");
    write_by_rename(&shell.world, &denying(&shell.world, "other"));
    assert!(shell.change(1).0);
    assert_eq!(shell.run("cat secret"), "told\n");
    shell.world.write("guard.json", denying(&shell.world, "secret"));
    assert!(shell.change(2).0);
    assert_eq!(shell.run("cat secret"), "");
    shell.world.write("guard.json", denying(&shell.world, "other"));
    assert!(shell.change(3).0);
    assert_eq!(shell.run("cat secret"), "told\n");
    let (status, errors) = shell.end();
    assert_eq!((status, errors.matches("was read again and is in force").count()), (0, 3), "{errors}");
}

#[test]
fn an_invalid_policy_changes_nothing_and_is_reported_once() {
    let mut shell = Shell::start(world());
    let wrong = "{\n  \"version\": 1,\n  \"exec\": {\"securty\": \"full\"},\n  \"x\": 1}";
    shell.world.write("guard.json", wrong);
    let (applied, text) = shell.change(1);
    let file = shell.world.root().join("guard.json").display().to_string();
    assert!(!applied);
    assert_eq!(
        text,
        format!("{file}:3:12: exec.securty: unknown key; did you mean \"security\"? (and 1 more)")
    );
    assert_eq!(shell.run("cat secret"), "");
    // The same content again is not reported.
    write_by_rename(&shell.world, wrong);
    std::thread::sleep(std::time::Duration::from_millis(400));
    fs::remove_file(shell.world.root().join("guard.json")).expect("a file");
    assert!(!shell.change(2).0);
    assert!(shell.change(2).1.contains("No such file"), "{}", shell.change(2).1);
    assert_eq!(shell.run("cat secret"), "");
    write_by_rename(&shell.world, &denying(&shell.world, "other"));
    assert!(shell.change(3).0);
    assert_eq!(shell.run("cat secret"), "told\n");
    let (_, errors) = shell.end();
    assert_eq!(errors.matches("securty").count(), 1, "{errors}");
    assert_eq!(errors.matches("the policy that was in force stays").count(), 2, "{errors}");
}

#[test]
fn a_hangup_of_the_supervisor_reads_it_at_once() {
    let mut shell = Shell::start(world());
    shell.hang_up();
    assert_eq!(shell.change(1), (true, String::new()));
    assert_eq!(shell.run("cat secret"), "");
    shell.world.write("guard.json", "{");
    shell.hang_up();
    until("it is told of", || shell.changes().len() >= 2);
    assert!(!shell.change(2).0);
    assert_eq!(shell.run("cat secret"), "");
}

#[test]
fn a_hangup_of_the_front_is_the_commands() {
    let world = world();
    let mut shell = Shell::start(world);
    shell.run("trap 'echo hung up > ../hung' HUP");
    let done = Command::new("kill").args(["-HUP", &shell.child.id().to_string()]).status().expect("kill");
    assert!(done.success());
    until("the command has it", || {
        shell.run("true");
        shell.world.read("hung").is_some()
    });
    assert_eq!(shell.changes().len(), 0);
    assert_eq!(shell.end().0, 0);
}

#[test]
fn the_tree_can_neither_write_the_policy_nor_trigger_a_reload() {
    let world = world();
    let mut shell = Shell::start(world);
    let supervisor = shell.supervisor();
    let tried = shell.run(&format!(
        "kill -HUP {supervisor} && echo sent; echo x > ../guard.json && echo wrote; echo x > ../n; \
         mv ../n ../guard.json && echo moved; rm -f ../guard.json && echo removed; cat ../guard.json"
    ));
    assert_eq!(tried, "");
    assert_eq!(shell.run("cat secret"), "");
    assert_eq!(shell.changes().len(), 0);
}

#[test]
fn a_link_on_the_way_to_it_is_followed_once() {
    let world = World::bare();
    world.write("work/secret", "told\n");
    fs::create_dir(world.root().join("real")).expect("a directory");
    world.write("real/guard.json", denying(&world, "secret"));
    std::os::unix::fs::symlink("../real", world.work().join("link")).expect("a link");
    let mut command = world.command();
    command.arg("--policy").arg(world.work().join("link/guard.json"));
    let mut shell = Shell::of(world, command);
    let text = denying(&shell.world, "other");
    let tried = shell.run(&format!(
        "mkdir evil; cat > evil/guard.json <<'E'\n{text}\nE\nln -sfn evil link; readlink link"
    ));
    assert_eq!(tried, "../real\n", "{}", shell.errors());
    // Somebody else does what the tree may not.
    let link = shell.world.work().join("link");
    fs::remove_file(&link).expect("a link");
    std::os::unix::fs::symlink("evil", &link).expect("a link");
    shell.hang_up();
    assert!(shell.change(1).0);
    assert_eq!(shell.run("cat secret"), "", "the tree's own policy is not read");
    shell.world.write("real/guard.json", denying(&shell.world, "other"));
    assert!(shell.change(2).0);
    assert_eq!(shell.run("cat secret"), "told\n");
}

#[test]
fn the_first_file_takes_over_from_the_built_in_policy() {
    let world = World::bare();
    world.write("work/secret", "told\n");
    world.write("home/.openclaw/guard/none", "");
    let mut shell = Shell::start(world);
    assert_eq!(shell.run("cat secret"), "told\n");
    shell.hang_up();
    until("there is none", || shell.errors().contains("the built-in policy stays in force"));
    shell.world.write("home/.openclaw/guard.json", denying(&shell.world, "secret"));
    assert!(shell.change(1).0);
    assert_eq!(shell.run("cat secret"), "");
    fs::remove_file(shell.world.home().join(".openclaw/guard.json")).expect("a file");
    let (applied, text) = shell.change(2);
    assert!(!applied && text.ends_with("is gone"), "{text}");
    assert_eq!(shell.run("cat secret"), "");
}

#[test]
fn rights_that_need_a_restart_are_reported() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {
            "rules": {SYSTEM, "@/**": "rw-"}, "default": "---"}}}"#,
    );
    fs::create_dir(world.work().join("bin")).expect("a directory");
    fs::copy("/bin/true", world.work().join("bin/mine")).expect("a program");
    let mut shell = Shell::start(world);
    assert_eq!(shell.run("bin/mine; echo $?"), "126\n");
    let text = shell.world.read("guard.json").expect("a policy");
    let root = shell.world.root().display().to_string();
    let text = text.replace(
        &format!("\"{root}/**\": \"rw-\""),
        &format!("\"{root}/**\": \"rw-\", \"{root}/work/bin/**\": \"r-x\""),
    );
    shell.world.write(
        "guard.json",
        text.replace(
            "\"ask\": \"off\"",
            "\"ask\": \"off\", \"allowPtrace\": true, \"environment\": \"strict\"",
        ),
    );
    let (applied, text) = shell.change(1);
    assert!(applied && text.contains("exec.allowPtrace") && text.contains("exec.environment"), "{text}");
    let starts = shell.run("bin/mine; echo $?");
    if text.contains("exec.roots") {
        assert!(text.contains(&format!("{root}/work/bin")), "{text}");
        assert_eq!(starts, "126\n", "the floor has no such root");
    } else {
        assert_eq!(starts, "0\n", "there is no floor");
    }
}

#[test]
fn every_answer_is_by_one_policy_or_the_other() {
    let world = world();
    let policies = [denying(&world, "other"), denying(&world, "secret")];
    let script = "told=0; denied=0; echo begun > ../begun
        while [ ! -e ../stop ]; do
            if read -r line < secret; then
                [ \"$line\" = told ] || exit 3
                [ $told -gt 0 ] || echo > ../told
                told=$((told + 1))
            else
                [ $denied -gt 0 ] || echo > ../denied
                denied=$((denied + 1))
            fi
        done 2> ../answers
        echo $told $denied";
    let command = {
        let mut command = world.command();
        command.args(["-q", "-v", "--", "bash", "-c", script]);
        command
    };
    let errors: PathBuf = world.root().join("stderr");
    let run = std::thread::spawn(move || {
        let mut command = command;
        let output = command.stderr(File::create(&errors).expect("a file")).output().expect("the guard");
        Ended {
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: fs::read_to_string(errors).expect("a file"),
            status: output.status.code().unwrap_or(-1),
        }
    });
    until("it runs", || world.read("begun").is_some());
    let errors = || world.read("stderr").unwrap_or_default();
    until("the supervisor is named", || errors().contains("kill -HUP "));
    let named = errors();
    let supervisor =
        named.split_once("kill -HUP ").and_then(|(_, rest)| rest.split_once(' ')).expect("a number").0;
    let mut round = 0;
    until("both are seen", || {
        for _ in 0..rounds(60, 2000) {
            round += 1;
            write_by_rename(&world, &policies[round % 2]);
            assert!(Command::new("kill").args(["-HUP", supervisor]).status().expect("kill").success());
            std::thread::sleep(std::time::Duration::from_millis(if is_soak() { 3 } else { 15 }));
        }
        world.read("told").is_some() && world.read("denied").is_some()
    });
    world.write("stop", "");
    let ended = run.join().expect("a thread");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let counts: Vec<usize> = ended.stdout.split_whitespace().map(|n| n.parse().expect("a number")).collect();
    assert!(counts.len() == 2 && counts.iter().all(|&count| count > 0), "both are seen: {}", ended.stdout);
    for line in world.read("answers").expect("a file").lines() {
        assert!(line.ends_with("secret: Permission denied"), "{line}");
    }
    let refused = world.audit().iter().filter(|line| line["applied"] == false).count();
    assert_eq!(refused, 0, "each was whole");
    println!("flips: {} told, {} denied", counts[0], counts[1]);
}

#[test]
fn a_quiet_guard_reports_only_errors() {
    let world = world();
    let script = "echo begun > ../begun; while [ ! -e ../stop ]; do sleep 0.05; done";
    let mut command = world.command();
    command.args(["-q", "--", "bash", "-c", script]);
    let run = std::thread::spawn(move || ended(&mut command));
    until("it runs", || world.read("begun").is_some());
    let changes = || world.audit().iter().filter(|line| line["operation"] == "reload").count();
    write_by_rename(&world, &denying(&world, "other"));
    until("the first", || changes() == 1);
    write_by_rename(&world, "{");
    until("the second", || changes() == 2);
    world.write("stop", "");
    let ended = run.join().expect("a thread");
    let lines = ended.guard_lines();
    assert!(lines.len() == 1 && lines[0].contains("guard.json:1:1: "), "{}", ended.stderr);
}

#[test]
fn openclaws_own_store_tightens_and_loosens_again() {
    let world = world();
    let mut command = world.command();
    command.env("OPENCLAW_STATE_DIR", world.root().join("state"));
    let store = |world: &World, text: &str| drop(world.write("state/exec-approvals.json", text));
    store(&world, r#"{"version": 1}"#);
    let mut shell = Shell::of(world, command);
    assert_eq!(shell.run("/bin/echo ran"), "ran\n");
    for (count, (text, out)) in [
        (r#"{"version": 1, "agents": {"main": {"security": "deny"}}}"#, ""),
        (r#"{"version": 1, "agents": {"main": {"security": "full"}}}"#, "ran\n"),
        (r#"{"version": 1, "agents": {"main": {"security": "deny"}}}"#, ""),
    ]
    .into_iter()
    .enumerate()
    {
        store(&shell.world, text);
        assert_eq!(shell.change(count + 1), (true, String::new()), "{text}");
        assert_eq!(shell.run("/bin/echo ran"), out, "{text}");
    }
    store(&shell.world, "{");
    assert!(!shell.change(4).0);
    assert_eq!(shell.run("/bin/echo ran"), "", "one that is broken opens nothing");
    shell.end();
}

#[test]
fn openclaws_own_store_takes_over_too() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "allowlist", "ask": "off", "carriers": ["bash"]},
            "permissions": {"filesystem": {"rules": {SYSTEM, "@/**": "rw-"}}}}"#,
    );
    let store =
        |entries: &str| format!(r#"{{"version": 1, "agents": {{"main": {{"allowlist": [{entries}]}}}}}}"#);
    const FILE: &str = "home/.openclaw/exec-approvals.json";
    world.write(FILE, store(""));
    let mut shell = Shell::start(world);
    let runs = |shell: &mut Shell| shell.run("/usr/bin/id -u >/dev/null && echo ran");
    assert_eq!(runs(&mut shell), "");
    let new = shell.world.write("new", store(r#"{"pattern": "/usr/bin/id"}"#));
    fs::rename(new, shell.world.root().join(FILE)).expect("a rename");
    assert!(shell.change(1).0);
    assert_eq!(runs(&mut shell), "ran\n");
    // A use that OpenClaw notes is not reported.
    shell.world.write(FILE, store(r#"{"pattern": "/usr/bin/id", "lastUsedAt": 5, "lastUsedCommand": "id"}"#));
    shell.world.write("guard.json", shell.world.read("guard.json").expect("a policy") + "\n");
    assert_eq!(shell.change(2), (true, String::new()));
    assert!(shell.changes()[1]["path"].as_str().is_some_and(|path| path.ends_with("guard.json")));
    // Neither a broken file nor a missing one changes anything.
    shell.world.write(FILE, "{");
    let (applied, text) = shell.change(3);
    assert!(!applied && text.contains("exec-approvals.json:1:"), "{text}");
    assert_eq!(runs(&mut shell), "ran\n");
    fs::remove_file(shell.world.root().join(FILE)).expect("a file");
    assert!(shell.change(4).1.ends_with("exec-approvals.json is gone"));
    assert_eq!(runs(&mut shell), "ran\n");
    shell.world.write(FILE, store(""));
    assert!(shell.change(5).0);
    assert_eq!(runs(&mut shell), "");
}

/// A running program keeps the floor it started with, but the supervisor judges what it connects to.
#[test]
fn whom_tcp_may_reach_counts_at_once() {
    let listeners = ["127.0.0.1:0"; 2].map(|at| std::net::TcpListener::bind(at).expect("a listener"));
    let [one, two] = listeners.each_ref().map(|listener| listener.local_addr().expect("an address").port());
    let connecting = |connect: &str| {
        format!(
            r#"{{"version": 1, "exec": {{"security": "full", "ask": "off"}}, "network": {{"connect": {connect}}},
                "permissions": {{"filesystem": {{"rules": {{"/**": "rwx"}}, "default": "rwx"}}}}}}"#
        )
    };
    let mut shell = Shell::start(World::bare().policy(&connecting(&format!(r#"{{"ports": [{one}]}}"#))));
    let reached = |shell: &mut Shell| {
        [one, two].map(|port| {
            let line = format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo connected");
            !shell.run(&line).is_empty()
        })
    };
    assert_eq!(reached(&mut shell), [true, false]);
    for (count, (connect, expected, message)) in [
        (
            format!(r#"{{"ports": [{one}, {two}]}}"#),
            [true, true],
            "network.connect.ports: in force; the Landlock floor",
        ),
        (
            format!(r#"{{"ports": [{two}]}}"#),
            [false, true],
            "network.connect.ports: in force; the Landlock floor",
        ),
        ("{}".to_owned(), [true, true], "network.connect.ports: in force; the Landlock floor"),
        (format!(r#"{{"deny": ["localhost:{two}"]}}"#), [true, false], ""),
    ]
    .into_iter()
    .enumerate()
    {
        shell.world.write("guard.json", connecting(&connect));
        let (applied, text) = shell.change(count + 1);
        assert!(
            applied && text.starts_with(message) && text.is_empty() == message.is_empty(),
            "{connect}: {text}"
        );
        assert_eq!(reached(&mut shell), expected, "{connect}");
    }
    shell.world.write("guard.json", connecting(r#"{"deny": ["localhots"]}"#));
    let (applied, text) = shell.change(5);
    assert!(!applied && text.contains("did you mean \"localhost\"?"), "{text}");
    assert_eq!(reached(&mut shell), [true, false]);
    shell.end();
}

#[test]
fn the_workspace_of_a_run_stays_the_one_of_its_start() {
    const RULES: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {
        "rules": {SYSTEM, "${workspace}/**": "rwx"}}}}"#;
    let world = World::bare().policy(RULES);
    for name in ["home/code/a", "home/code/b"] {
        fs::create_dir_all(world.root().join(name)).expect("directories");
    }
    let mut command = world.command();
    command.current_dir(world.home().join("code/a"));
    let mut shell = Shell::of(world, command);
    // By now it is a repository, and the policy that comes is another one.
    fs::create_dir(shell.world.home().join("code/.git")).expect("a directory");
    let text = shell.world.read("guard.json").expect("a policy").replace("\"rwx\"", "\"rw-\"");
    shell.world.write("guard.json", text);
    until("the new policy is in force", || !shell.run("cp /usr/bin/true t && ./t; echo $?").ends_with("0\n"));
    shell.run("echo x > own; echo x > ../b/x");
    let at = |name: &str| shell.world.home().join("code").join(name).exists();
    assert!(at("a/own") && !at("b/x"), "{}", shell.errors());
    shell.end();
}

/// The size of what is read is looked at when it is opened. Where opens to read are not held, nobody could look, so the bound
/// is not put in force.
#[test]
fn a_bound_on_what_is_read_counts_from_the_next_open_or_not_at_all() {
    let bounded = |text: &str| text.replace(r#""default""#, r#""maxReadBytes": 67108864, "default""#);
    for (tiers, base, holds) in [
        ("broker", "true", true),
        ("broker,floored", "false", true),
        ("broker,floored,kernel", "false", false),
    ] {
        let mut world = World::bare().policy(&format!(
            r#"{{"version": 1, "exec": {{"security": "full", "ask": "off", "roots": ["/usr"]}}, "permissions": {{"base": {base},
                "persistence": false, "filesystem": {{"rules": {{"/usr/**": "r-x", "/etc/**": "r--", "/dev/null": "rw-",
                "@/work/**": "rw-"}}, "default": "---"}}}}}}"#
        ));
        world.set_tiers(tiers);
        let shown = ended(world.command().args(["policy", "show", "--tiers", "--json"])).stdout;
        let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
        if !holds && shown["classes"]["read"]["exact"] != true {
            guard_tests::skip("this kernel leaves no reads to Landlock");
            continue;
        }
        let large = world.write("work/large", "told\n");
        File::options().write(true).open(large).expect("a file").set_len((64 << 20) + 1).expect("a size");
        let mut shell = Shell::start(world);
        let read = "head -c 5 large || echo; ";
        assert_eq!(shell.run(read), "told\n", "{tiers}");
        let text = shell.world.read("guard.json").expect("a policy");
        shell.world.write("guard.json", bounded(&text));
        let (applied, said) = shell.change(1);
        assert_eq!(applied, holds, "{tiers}: {said}");
        assert_eq!(shell.run(read), if holds { "\n" } else { "told\n" }, "{tiers}");
        assert!(holds || said.contains("the kernel already grants"), "{said}");
        if holds {
            shell.world.write("guard.json", text);
            assert!(shell.change(2).0);
            assert_eq!(shell.run(read), "told\n", "{tiers}");
        }
    }
}
