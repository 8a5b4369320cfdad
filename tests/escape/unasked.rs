//! What ends without an answer, or without a line, is used for more: denials that nobody sees, questions that are
//! withdrawn, and whoever would answer made to leave.

use std::process::{Child, Command, Stdio};

use guard_tests::{Ended, World, guard, program_text, until};

/// `quiet` is denied without a line, `asked` is asked about.
const POLICY: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "on-miss", "timeoutMs": 100000, "askFallback": "full"},
    "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rwx", "@/asked/**": "???"},
        "quiet": ["@/asked/quiet/**", "@/work/quiet/**", "@/denied/**", "@/work/**/.envrc"], "deny": ["@/denied/**", "@/asked/quiet/denied"],
        "default": "---"}}}"#;

const SECRET: &str = "TOPSECRET\n";

fn world() -> World {
    let world = World::bare().policy(POLICY);
    for name in ["asked/secret", "asked/quiet/secret", "asked/quiet/denied", "denied/secret"] {
        world.write(name, SECRET);
    }
    world.write("work/project/.envrc", "export OLD=1\n");
    world
}

/// Nothing of what is secret got out, nothing was changed, and each of these paths is in the log.
fn holds(world: &World, ended: &Ended, logged: &[&str]) {
    assert!(!ended.stdout.contains("TOPSECRET"), "{}\n{}", ended.stdout, ended.stderr);
    for name in ["asked/secret", "asked/quiet/secret", "asked/quiet/denied", "denied/secret"] {
        assert_eq!(world.read(name).as_deref(), Some(SECRET), "{name}: {}", ended.stderr);
    }
    assert_eq!(world.read("work/project/.envrc").as_deref(), Some("export OLD=1\n"), "{}", ended.stderr);
    let denied = world.denied();
    for path in logged {
        assert!(denied.iter().any(|line| line.ends_with(path)), "{path} is not logged: {denied:#?}");
    }
}

/// Runs a line with somebody to answer, and answers nothing.
fn attended(world: World, line: &str) -> (World, Ended) {
    let world = world.attended();
    let (_, ended) = world.start(&["bash", "-c", line]).answer_all(|_| "deny");
    (world, ended)
}

#[test]
fn what_is_quiet_is_denied_and_logged() {
    let (world, ended) = attended(
        world(),
        "for file in quiet/secret quiet/denied; do cat ../asked/$file; done; cat ../denied/secret",
    );
    holds(&world, &ended, &["asked/quiet/secret", "asked/quiet/denied", "denied/secret"]);
    assert_eq!(ended.guard_lines(), Vec::<&str>::new());
}

#[test]
fn a_quiet_name_hides_no_other_file() {
    let (world, ended) = attended(
        world(),
        "mkdir quiet; ln -s ../../asked/secret quiet/link; cat quiet/link; cat ../asked/quiet/../secret
ln ../asked/secret quiet/hard; cat quiet/hard; mv ../asked/secret quiet/moved; cat quiet/moved",
    );
    holds(&world, &ended, &["asked/secret"]);
    assert!(ended.stderr.contains("denied read"), "there is a line: {}", ended.stderr);
}

#[test]
fn a_quiet_pattern_hides_nothing_that_runs_outside() {
    let (world, ended) = attended(
        world(),
        "echo x > project/.envrc; echo x > new; mv new project/.envrc; rm -f project/.envrc",
    );
    holds(&world, &ended, &["project/.envrc"]);
    assert!(ended.stderr.contains("denied write"), "there is a line: {}", ended.stderr);
}

#[test]
fn a_program_that_is_quiet_does_not_start() {
    let world = world();
    world.write("asked/quiet/tool", "#!/bin/sh\ncat ../denied/secret\n");
    let (world, ended) =
        attended(world, "chmod +x ../asked/quiet/tool; ../asked/quiet/tool; sh ../asked/quiet/tool");
    holds(&world, &ended, &[]);
}

#[test]
fn a_quiet_file_that_is_the_operators_only_for_a_moment() {
    // The name is quiet while it is asked about, and another file's at the next try.
    let (world, ended) = attended(
        world(),
        "mkdir quiet; for n in 1 2 3 4 5 6 7 8; do ln -sfn ../../asked/quiet/secret quiet/x; cat quiet/x; ln -sfn ../../asked/secret quiet/x; cat quiet/x; done",
    );
    holds(&world, &ended, &["asked/secret"]);
}

#[test]
fn a_question_that_is_withdrawn_gives_nothing_to_the_next_caller() {
    let world = world().attended();
    let line = "bash -c 'cat ../asked/secret' & child=$!; until [ -e kill ]; do sleep .02; done; kill -9 $child; wait
until [ -e again ]; do sleep .02; done; cat ../asked/secret";
    let mut held = world.start(&["bash", "-c", line]);
    let first = world.wait_for(1).remove(0);
    world.write("work/kill", "");
    let _ = world.wait_for(0);
    for answer in ["allow-once", "allow-session", "allow-30m", "allow-directory-session", "allow-always"] {
        assert_ne!(world.resolve(&first, answer).status, 0, "{answer}: it has gone");
    }
    world.write("work/again", "");
    let second = world.answer("deny");
    assert_ne!(first["id"], second["id"]);
    until("it ends", || held.has_ended());
    holds(&world, &held.end(), &["asked/secret"]);
}

#[test]
fn signals_that_end_questions_give_no_fallback() {
    // The tree may not signal the guard. What it sends to itself takes its question back, and that is no answer.
    let world = world().attended();
    let text = "import os, signal, sys, threading, time
signal.signal(signal.SIGUSR1, lambda *_: None)
def disturb():
    for _ in range(20):
        time.sleep(.05)
        for pid in os.getpid(), os.getppid():
            try: os.kill(pid, signal.SIGUSR1 if pid == os.getpid() else signal.SIGTERM)
            except OSError as error: print(error, file=sys.stderr)
threading.Thread(target=disturb).start()
try: sys.stdout.write(open('../asked/secret').read())
except OSError as error: print(error, file=sys.stderr)";
    let held = world.start(&[&program_text("python3"), "-I", "-B", "-c", text]);
    let (_, ended) = held.answer_all(|_| {
        std::thread::sleep(std::time::Duration::from_millis(300));
        "deny"
    });
    holds(&world, &ended, &[]);
}

/// Somebody who follows the questions; not the guard's command line.
struct Watch(Child);

impl Watch {
    fn start(world: &World) -> Watch {
        let mut command = Command::new(guard());
        command.args(["approvals", "watch", "--json"]).env("HOME", world.home()).current_dir(world.root());
        command.env_remove("OPENCLAW_STATE_DIR").env_remove("OPENCLAW_HOME");
        Watch(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("to watch"))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn whoever_would_answer_cannot_be_made_to_leave() {
    // With the fallback "full", nobody to answer would mean yes.
    let world = world().asking();
    let mut watch = Watch::start(&world);
    let socket = world.home().join(".openclaw/guard");
    until("it listens", || socket.is_dir());
    let pid = watch.0.id();
    let line = format!(
        "kill -9 {pid}; kill -STOP {pid}; python3 -c 'import os, signal; os.kill({pid}, 9)'; rm -rf {0}; mv {0} gone; : > {0}/run/x
for n in 1 2 3; do (cat ../asked/secret &) ; done; cat ../asked/secret",
        socket.display()
    );
    let (_, ended) = world.start(&["bash", "-c", &line]).answer_all(|_| "deny");
    assert!(watch.0.try_wait().expect("a child").is_none(), "it was ended: {}", ended.stderr);
    drop(watch);
    holds(&world, &ended, &[]);
}
