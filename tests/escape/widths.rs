//! Answers for a directory and a command are used for more than the card said.
//!
//! The operator lets a command have `asked/d`. Whatever it tries then with the rest of `asked` must be asked about again,
//! and is denied then, or must be refused at once.

use std::fs;
use std::os::unix::fs::symlink;

use guard_tests::{Ended, World, has, number, program_text, until};
use serde_json::Value;

/// The policy asks about everything in `asked`, by one rule but for one file.
const POLICY: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "on-miss", "timeoutMs": 100000},
    "permissions": {"persistence": "deny", "filesystem": {"rules": {SYSTEM, "@/work/**": "rwx",
        "@/asked/**": "???", "@/asked/d/apart": "???"},
        "deny": ["@/asked/d/denied"], "default": "---"}}}"#;

const FOR_COMMAND: &str = "allow-directory-command";
const FOR_SESSION: &str = "allow-directory-session";

/// How an attack went.
struct Tried {
    /// The questions after the first: the path, and what is done with it.
    asked: Vec<(String, String)>,
    ended: Ended,
}

impl Tried {
    /// Nothing of what is secret got out, nothing was changed.
    fn holds(&self, world: &World) {
        let Ended { stdout, stderr, .. } = &self.ended;
        assert!(stdout.contains("plain"), "it was not even let have the file: {stderr}");
        assert!(!stdout.contains("TOPSECRET"), "{stdout}\n{stderr}\n{:?}", self.asked);
        for kept in ["asked/secret", "asked/e/secret", "asked/d/denied", "asked/d/apart"] {
            assert_eq!(world.read(kept).as_deref(), Some("TOPSECRET\n"), "{kept}");
        }
    }

    /// It was asked about this, and no more than that.
    fn asked_for(&self, world: &World, path: &str) {
        self.holds(world);
        let path = world.root().join(path).display().to_string();
        let paths: Vec<&str> = self.asked.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, [path], "{}", self.ended.stderr);
    }

    /// It was refused without a question.
    fn was_refused(&self, world: &World) {
        self.holds(world);
        assert_eq!(self.asked, [], "{}", self.ended.stderr);
    }
}

fn world() -> World {
    let world = World::bare().policy(POLICY).attended();
    world.write("asked/d/file", "plain\n");
    world.write("asked/d/more", "more\n");
    for secret in ["asked/secret", "asked/e/secret", "asked/d/denied", "asked/d/apart"] {
        world.write(secret, "TOPSECRET\n");
    }
    world
}

/// Runs a command whose first question gets this answer, and all others a denial. `meanwhile` runs after the first answer;
/// the command can wait for `work/go`, which follows it.
fn tried(world: &World, argv: &[&str], answer: &str, meanwhile: impl FnOnce()) -> Tried {
    let held = world.start(argv);
    let first = world.answer(answer);
    assert!(first["resolvedPath"].as_str().is_some_and(|path| path.ends_with("asked/d/file")), "{first}");
    meanwhile();
    world.write("work/go", "");
    let (questions, ended) = held.answer_all(|_| "deny");
    let text = |question: &Value, key: &str| question[key].as_str().unwrap_or_default().to_owned();
    let asked = questions.iter().map(|one| (text(one, "resolvedPath"), text(one, "operation"))).collect();
    Tried { asked, ended }
}

/// bash, which starts commands; `$D` is the directory, `$A` the one around it.
fn shell(world: &World, line: &str, answer: &str) -> Tried {
    let line = format!("D={0}/asked/d; A={0}/asked; {line}; true", world.root().display());
    tried(world, &["bash", "-c", &line], answer, || ())
}

/// A Python command that bash starts: it reads `D/file` and goes on.
fn python(world: &World, text: &str, answer: &str) -> Tried {
    let line = "\"$0\" -I -B -c \"$1\"; true";
    tried(world, &["bash", "-c", line, &program_text("python3"), &script(world, text)], answer, || ())
}

fn script(world: &World, text: &str) -> String {
    format!(
        "import ctypes, os, sys, time
A = '{}/asked'
D = A + '/d'
libc = ctypes.CDLL(None, use_errno=True)
def read(path):
    try: os.write(1, open(path, 'rb').read())
    except OSError as error: print(error, file=sys.stderr)
{text}",
        world.root().display()
    )
}

#[test]
fn a_link_that_leads_elsewhere_after_the_yes() {
    let world = world();
    symlink(world.root().join("asked/d"), world.work().join("way")).expect("a link");
    let line = "bash -c 'cat way/file; ln -sfn \"$0/e\" way; cat way/secret' $A";
    shell(&world, line, FOR_COMMAND).asked_for(&world, "asked/e/secret");
    // One that is in the directory.
    symlink("../secret", world.root().join("asked/d/out")).expect("a link");
    shell(&world, "bash -c 'cat $0/file; cat $0/out' $D", FOR_COMMAND).asked_for(&world, "asked/secret");
}

#[test]
fn dots() {
    let world = world();
    let line = "bash -c 'cat $0/file; cat $0/../secret; cat $0/more' $D";
    let tried = shell(&world, line, FOR_COMMAND);
    tried.asked_for(&world, "asked/secret");
    assert!(tried.ended.stdout.contains("more"), "what is in the directory was let have");
}

#[test]
fn the_operator_puts_another_directory_there() {
    let world = world();
    let line = format!(
        "bash -c 'cat $0/file; until [ -e go ]; do sleep .05; done; cat $0/secret' {}/asked/d; true",
        world.root().display()
    );
    let asked = world.root().join("asked");
    let tried = tried(&world, &["bash", "-c", &line], FOR_COMMAND, || {
        until("the file is read", || world.read("out.0").is_some_and(|text| text.contains("plain")));
        fs::rename(asked.join("d"), asked.join("old")).expect("to move it");
        fs::rename(asked.join("e"), asked.join("d")).expect("to move it");
    });
    assert_eq!(tried.asked.len(), 1, "{:?}", tried.asked);
    assert!(!tried.ended.stdout.contains("TOPSECRET"), "{}", tried.ended.stdout);
}

#[test]
fn the_tree_puts_another_directory_there() {
    let world = world();
    let text = "read(D + '/file')
for old, new in ((D, A + '/old'), (A + '/e', D)):
    try: os.rename(old, new)
    except OSError as error: print(error, file=sys.stderr)
read(D + '/secret')";
    let tried = python(&world, text, FOR_SESSION);
    tried.holds(&world);
}

/// A file elsewhere gets a name in the directory, by a call that the answer covers.
#[test]
fn a_file_gets_a_name_in_the_directory() {
    let world = world();
    for call in ["os.link", "os.rename", "os.replace"] {
        let text = format!(
            "os.write(1, os.read(os.open(D + '/file', os.O_RDWR), 100))
try: {call}(A + '/secret', D + '/s')
except OSError as error: print(error, file=sys.stderr)
read(D + '/s')"
        );
        let tried = python(&world, &text, FOR_COMMAND);
        tried.was_refused(&world);
        assert!(!world.root().join("asked/d/s").exists(), "{call}");
        assert!(tried.ended.stderr.contains("cross-device"), "{call}: {}", tried.ended.stderr);
    }
}

/// The same for an answer about one file, whose name another one takes: it is another file then.
#[test]
fn another_file_takes_the_name_of_the_one_that_was_granted() {
    let world = world();
    let text = "os.write(1, os.read(os.open(D + '/file', os.O_RDWR), 100))
os.unlink(D + '/file')
try: os.link(A + '/secret', D + '/file')
except OSError as error: print(error, file=sys.stderr)
read(D + '/file')";
    let tried = python(&world, text, "allow-session");
    tried.holds(&world);
    assert_eq!(tried.asked.len(), 1, "{:?}", tried.asked);
}

#[test]
fn a_mount_in_the_directory() {
    let world = world();
    let text = "read(D + '/file')
NEWUSER, NEWNS, BIND = 0x10000000, 0x20000, 4096
libc.unshare(NEWUSER | NEWNS)
libc.mount((A + '/secret').encode(), (D + '/more').encode(), None, BIND, None)
read(D + '/more')";
    python(&world, text, FOR_COMMAND).was_refused(&world);
}

#[test]
fn what_is_denied_in_the_directory() {
    let world = world();
    shell(&world, "bash -c 'cat $0/file; cat $0/denied; echo x > $0/denied' $D", FOR_COMMAND)
        .was_refused(&world);
}

#[test]
fn what_another_rule_asks_about_in_the_directory() {
    let world = world();
    shell(&world, "bash -c 'cat $0/file; cat $0/apart' $D", FOR_SESSION).asked_for(&world, "asked/d/apart");
}

/// What would run later, outside of the guard, in the directory.
#[test]
fn what_is_protected_in_the_directory() {
    let world = world();
    let names = [".envrc", ".git/hooks/pre-commit", ".git/config", ".vscode/tasks.json"];
    for name in names {
        world.write(format!("asked/d/{name}"), "[kept]\n");
    }
    for name in ["HEAD", "objects/x", "refs/x"] {
        world.write(format!("asked/d/.git/{name}"), "ref: refs/heads/main\n");
    }
    let text = format!(
        "os.write(1, os.read(os.open(D + '/file', os.O_RDWR), 100))
for name in {names:?}:
    path = D + '/' + name
    for act in (lambda: open(path, 'w').write('x'), lambda: os.unlink(path), lambda: os.replace(D + '/more', path)):
        try: act()
        except OSError as error: print(error, file=sys.stderr)"
    );
    let tried = python(&world, &text, FOR_SESSION);
    tried.was_refused(&world);
    for name in names {
        assert_eq!(world.read(format!("asked/d/{name}")).as_deref(), Some("[kept]\n"), "{name}");
    }
}

#[test]
fn another_command() {
    let world = world();
    shell(&world, "cat $D/file; cat $D/more", FOR_COMMAND).asked_for(&world, "asked/d/more");
    // The shell itself is not what it started.
    shell(&world, "cat $D/file; read line < $D/more", FOR_COMMAND).asked_for(&world, "asked/d/more");
}

/// What the command starts has it, until it is nobody's child any more.
#[test]
fn a_daemon() {
    let world = world();
    let text = "read(D + '/file')
if os.fork() == 0:
    read(D + '/more')
    os.setsid()
    parent = os.getpid()
    if os.fork() == 0:
        while os.getppid() == parent: time.sleep(.01)
        read(D + '/daemon')
    os._exit(0)
os.wait()
while not os.path.exists('over'): time.sleep(.01)";
    world.write("asked/d/daemon", "TOPSECRET\n");
    let path = world.root().join("asked/d/daemon").display().to_string();
    let mut held = world.start(&["bash", "-c", &python_line(&world, text)]);
    world.answer(FOR_COMMAND);
    let asked = world.answer("deny");
    assert_eq!(asked["resolvedPath"], path);
    world.write("work/over", "");
    until("it ends", || held.has_ended());
    let ended = held.end();
    assert_eq!(ended.stdout, "plain\nmore\n", "{}", ended.stderr);
}

fn python_line(world: &World, text: &str) -> String {
    world.write("work/command.py", script(world, text));
    format!("{} -I -B command.py; true", program_text("python3"))
}

/// A process that outlives the command, which ends.
#[test]
fn what_the_command_leaves_behind() {
    let world = world();
    let line = "bash -c 'cat $0/file; (until [ -e gone ]; do sleep .05; done; cat $0/more; touch over) & :' $D; touch gone; \
        until [ -e over ]; do sleep .05; done";
    shell(&world, line, FOR_COMMAND).asked_for(&world, "asked/d/more");
}

/// A process that the session's first process adopts, or that is its child from the beginning.
#[test]
fn a_process_that_gets_another_parent() {
    let world = world();
    let text = "PR_SET_CHILD_SUBREAPER, CLONE_PARENT, SIGCHLD = 36, 0x8000, 17
libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
if os.fork() == 0:
    command = os.getpid()
    read(D + '/file')
    if os.fork() == 0:
        while os.getppid() == command: time.sleep(.01)
        read(D + '/more')
        os._exit(0)
    os._exit(0)
for _ in range(2): os.wait()";
    let adopted = tried(
        &world,
        &[&program_text("python3"), "-I", "-B", "-c", &script(&world, text)],
        FOR_COMMAND,
        || (),
    );
    adopted.asked_for(&world, "asked/d/more");
}

/// A sibling of the command by clone(2).
#[test]
fn a_process_that_is_the_commands_sibling() {
    let world = world();
    let text = concat!(
        "read(D + '/file')
CLONE_PARENT, SIGCHLD = 0x8000, 17
made = libc.syscall(",
        number!(clone),
        ", *map(ctypes.c_long, (CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)))
if made == 0:
    read(D + '/more')
    open('over', 'w').close()
    os._exit(0)
if made < 0: os.write(1, b'refused')
while made > 0 and not os.path.exists('over'): time.sleep(.01)"
    );
    let tried = python(&world, text, FOR_COMMAND);
    if tried.ended.stdout.contains("refused") {
        return tried.was_refused(&world);
    }
    tried.asked_for(&world, "asked/d/more");
}

#[test]
fn more_than_the_access_that_was_granted() {
    let world = world();
    shell(&world, "bash -c 'cat $0/file; echo x > $0/more' $D", FOR_COMMAND)
        .asked_for(&world, "asked/d/more");
}

/// A program in the directory is run, and mapped as code.
#[test]
fn a_program_in_the_directory() {
    let world = world();
    fs::copy("/bin/true", world.root().join("asked/d/program")).expect("a program");
    let text = "import mmap, subprocess
os.write(1, os.read(os.open(D + '/file', os.O_RDWR), 100))
try: subprocess.run([D + '/program'])
except OSError as error: print(error, file=sys.stderr)
try: mmap.mmap(os.open(D + '/program', os.O_RDONLY), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
except OSError as error: print(error, file=sys.stderr)";
    let tried = python(&world, text, FOR_SESSION);
    tried.holds(&world);
    // What is not below exec.roots cannot start at all.
    let operations: Vec<&str> = tried.asked.iter().map(|(_, operation)| operation.as_str()).collect();
    assert_eq!(operations, ["map"], "{}", tried.ended.stderr);
    assert!(tried.ended.stderr.contains("denied exec"), "{}", tried.ended.stderr);
}

/// A late member of a card that grows while the operator reads is none that the answer lets go.
#[test]
fn a_late_member_of_a_card() {
    let world = world();
    let line = "bash -c 'cat $0/file & until [ -e late ]; do sleep .05; done; cat $0/more & wait' $D";
    let line = format!("D={}/asked/d; {line}; true", world.root().display());
    let held = world.start(&["bash", "-c", &line]);
    let shown = world.wait_for(1).remove(0);
    world.write("work/late", "");
    let both = world.wait_for(2);
    assert_eq!(both[0]["card"], both[1]["card"]);
    let revision = shown["revision"].to_string();
    let id = shown["id"].as_str().expect("an id");
    assert_eq!(world.approvals(&["resolve", id, "allow-once", "--revision", &revision]).status, 0);
    let late = world.answer("deny");
    assert!(late["resolvedPath"].as_str().is_some_and(|path| path.ends_with("/more")), "{late}");
    assert_eq!(held.end().stdout, "plain\n");
}

/// The policy denies the directory for a while: the answer is gone when it asks again.
#[test]
fn a_policy_that_denies_it_meanwhile() {
    let world = world();
    let policy = world.policy_file().expect("a policy").to_owned();
    let text = fs::read_to_string(&policy).expect("its text");
    let line =
        "bash -c 'cat $0/file; for i in 1 2; do until [ -e $i ]; do sleep .05; done; cat $0/more; done' $D";
    let line = format!("D={}/asked/d; {line}; true", world.root().display());
    let held = world.start(&["bash", "-c", &line]);
    world.answer(FOR_SESSION);
    let reads = || held.stderr().matches("was read again and is in force").count();
    fs::write(
        &policy,
        text.replace("\"deny\": [", &format!("\"deny\": [\"{}/asked/d/**\", ", world.root().display())),
    )
    .expect("to write it");
    until("it denies", || reads() == 1);
    world.write("work/1", "");
    until("it is denied", || held.stderr().contains("denied read"));
    fs::write(&policy, &text).expect("to write it");
    until("it asks again", || reads() == 2);
    world.write("work/2", "");
    let again = world.answer("deny");
    assert!(again["resolvedPath"].as_str().is_some_and(|path| path.ends_with("/more")), "{again}");
    assert_eq!(held.end().stdout, "plain\n");
}

/// What names the operator sees is what the answer is for.
#[test]
fn the_question_says_what_the_answer_is_for() {
    if !has(&["python3"]) {
        return;
    }
    let world = world();
    let held = world.start(&["bash", "-c", &python_line(&world, "read(D + '/file')")]);
    let asked: Value = world.wait_for(1).remove(0);
    let by = asked["askedBy"].as_array().expect("processes");
    assert_eq!(asked["command"], by[by.len() - 2], "{asked}");
    assert_eq!(asked["directory"], world.root().join("asked/d").display().to_string());
    let answers: Vec<&str> =
        asked["answers"].as_array().expect("answers").iter().filter_map(Value::as_str).collect();
    for answer in ["allow-once", FOR_COMMAND, FOR_SESSION, "allow-30m", "deny-directory-command", "deny"] {
        assert!(answers.contains(&answer), "{answer}: {answers:?}");
    }
    assert_eq!(world.resolve(&asked, "deny").status, 0);
    drop(held.end());
}
