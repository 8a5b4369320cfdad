//! What a learning session must not reach, and what `learn` never proposes.

use guard_tests::ended;

use crate::session::Session;

/// The session reaches neither a policy nor the recording.
#[test]
fn a_learn_session_cannot_approve_itself() {
    let session = Session::new(None);
    let world = &session.world;
    world.write("home/.openclaw/guard.json", "{ \"version\": 1 }\n");
    world.write("deep/guard.json", "{ \"version\": 1 } // mine\n");
    let script = r#"try() { local name=$1; shift; if "$@" >/dev/null 2>&1; then echo "GOT $name"; else echo "no $name"; fi; }
try policy sh -c 'echo x >> ~/.openclaw/guard.json'
try read cat ~/.openclaw/guard.json
try saved sh -c 'mkdir -p ~/.openclaw/guard; echo x > ~/.openclaw/guard/approvals.json'
try output sh -c 'echo x >> ../deep/guard.json'
try next sh -c 'echo x > ../deep/.guard.json.new'
try audit sh -c 'echo x >> ../audit.jsonl'
try link ln ../deep/guard.json here
try move mv ../deep/guard.json here
try around sh -c 'mv -T ../deep ../deeper; test -e ../deeper/guard.json'
try state mv -T ~/.openclaw ~/state
try memory sh -c 'ls -l /proc/self/fd | grep -q learn'
try fd ls /proc/$PPID/fd
try mem head -c1 /proc/$PPID/mem
try end kill -9 $PPID
echo done"#;
    let output = world.root().join("deep/guard.json");
    let learn = ["learn", "--yes", "-o"];
    let ended = ended(session.command().args(learn).arg(output).args(["--", "bash", "-c", script]));
    assert!(!ended.stdout.contains("GOT "), "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.ends_with("no end\ndone\n"), "{}", ended.stdout);
    assert_eq!(world.read("home/.openclaw/guard.json").as_deref(), Some("{ \"version\": 1 }\n"));
    assert!(world.read("deep/guard.json").is_some_and(|text| text.contains("// mine")), "{}", ended.stderr);
    assert!(ended.stderr.contains("is the guard's or OpenClaw's own"), "{}", ended.stderr);
    for line in ended.guard_lines() {
        assert!(!line.starts_with("openclaw-guard: would have denied"), "{line}");
    }
}

/// The session runs as without a guard, and the processes that it left running end with it.
#[test]
fn nothing_else_is_refused_and_nothing_stays() {
    let session = Session::new(None);
    let world = &session.world;
    world.write("home/.netrc", "secret\n");
    let script = "set -e; cat ~/.ssh/id_rsa ~/.netrc ~/other/README; echo changed >> ~/other/README; echo x >> ~/.bashrc; mkdir ~/new; mv ~/new ~/newer
        cp /usr/bin/echo ./prog; ./prog ran; cat /proc/self/comm; (sleep 1000 & echo $! > pid); exit 7";
    let ended = session.learn("normal", script);
    assert_eq!(
        (ended.status, ended.stdout.as_str()),
        (7, "secret\nsecret\nanother project\nran\ncat\n"),
        "{}",
        ended.stderr
    );
    let pid = world.read("work/pid").expect("a process");
    assert!(!std::path::Path::new("/proc").join(pid.trim()).exists(), "it was left running");
    for message in [
        "~/.ssh/id_rsa (read): holds secrets",
        "~/.netrc (read): holds secrets",
        "~/other/README (written): written outside of projects",
        "~/.bashrc (written): runs later outside the guard (persistence \"shell\")",
        "ended with status 7",
    ] {
        assert!(ended.stderr.contains(message), "{message}: {}", ended.stderr);
    }
    let policy = world.read("guard.json").expect("a policy");
    assert!(!policy.contains("netrc") && !policy.contains("bashrc"), "{policy}");
    // What the policy does allow works.
    let again = session.again("cat ~/other/README; ./prog ran; cat ~/.netrc");
    assert_eq!(again.stdout, "another project\nchanged\nran\n", "{}\n{policy}", again.stderr);
}

/// A signal ends the command, but not the guard, which still makes its proposal.
#[test]
fn a_session_that_is_ended_is_learned_from() {
    let session = Session::new(None);
    let ended = session.learn("normal", "cat ~/other/README; kill -TERM $$");
    assert_eq!(ended.status, 128 + 15, "{}", ended.stderr);
    assert!(ended.stderr.contains("was ended by signal 15"), "{}", ended.stderr);
    assert!(session.world.read("guard.json").is_some_and(|policy| policy.contains("~/other/README")));
}
