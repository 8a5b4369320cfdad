//! A human is asked about a file that would run outside the guard, and says yes to what is shown. Something else must not
//! get there: not by a change while the question waits, not by what is kept of the file that was shown, not by the answer.

use std::time::Duration;

use guard_tests::{Ended, World, has, program_text};
use serde_json::Value;

/// Everything in `work` may be written, but for what persistence keeps from it.
const POLICY: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "on-miss", "timeoutMs": 100000},
    "permissions": {"persistence": "ask", "filesystem": {"rules": {SYSTEM, "@/work/**": "rwx", "@/asked/**": "?--"},
        "default": "---"}}}"#;

/// For attacks in Python: what would be good to have in the file, and what must never get there.
const PRELUDE: &str = r#"
import ctypes, mmap, os, subprocess, sys, time
GOOD, EVIL = b"export GOOD=1 # a line that is long enough\n", b"export EVIL=1 # a line that is long enough\n"
def put(path, content):
    with open(path, "wb") as file: file.write(content)
def attempt(*ways):
    for way in ways:
        try: way()
        except OSError as error: print(error, file=sys.stderr)
def exchange(one, other):
    if ctypes.CDLL(None, use_errno=True).renameat2(-100, one.encode(), -100, other.encode(), 2): raise OSError(ctypes.get_errno(), "exchange")
def wait(name):
    while not os.path.exists(name): time.sleep(.02)
"#;

fn world() -> World {
    let world = World::bare().policy(POLICY).attended();
    world.write("work/project/.envrc", "export OLD=1\n");
    world.write("work/project/.vscode/tasks.json", "{}\n");
    world.write("work/project/other/.envrc", "export OTHER=1\n");
    world
}

/// The questions, and how the command ended.
struct Asked {
    questions: Vec<Value>,
    ended: Ended,
}

impl Asked {
    /// What was shown of the change by the question with this number.
    fn shown(&self, at: usize) -> String {
        let lines = self.questions[at]["change"].as_array().expect("a change");
        lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// Runs an attack in the project. The first question gets a yes, all others a no; `meanwhile` runs before the yes, with the
/// question. `answered` is there in the project after the first answer.
fn attacked(world: &World, text: &str, meanwhile: impl FnOnce(&Value)) -> Asked {
    let text = format!("{PRELUDE}os.chdir('project')\n{text}");
    let mut held = world.start(&[&program_text("python3"), "-I", "-B", "-c", &text]);
    let (mut questions, mut meanwhile) = (Vec::new(), Some(meanwhile));
    while !held.has_ended() {
        for question in world.pending() {
            let answer = if let Some(meanwhile) = meanwhile.take() {
                meanwhile(&question);
                "allow-once"
            } else {
                "deny"
            };
            if world.resolve(&question, answer).status == 0 {
                questions.push(question);
            }
            world.write("work/project/answered", "");
        }
    }
    Asked { questions, ended: held.end() }
}

/// Nothing bad is in any of the files.
fn holds(world: &World, asked: &Asked) {
    for file in [".envrc", "other/.envrc", ".vscode/tasks.json", ".git/config", ".git/hooks/pre-commit"] {
        let text = world.read(format!("work/project/{file}")).unwrap_or_default();
        assert!(!text.contains("EVIL"), "{file}: {text}\n{:#?}\n{}", asked.questions, asked.ended.stderr);
    }
}

/// What an attack gets by a yes to its first question, which is about the good content.
fn gets(world: &World, asked: &Asked, content: &str) {
    holds(world, asked);
    assert_eq!(
        world.read("work/project/.envrc").as_deref(),
        Some(content),
        "{:#?}\n{}",
        asked.questions,
        asked.ended.stderr
    );
}

const GOOD: &str = "export GOOD=1 # a line that is long enough\n";
const OLD: &str = "export OLD=1\n";

#[test]
fn by_another_content_while_the_question_waits() {
    let world = world();
    let asked = attacked(
        &world,
        "put('new', GOOD)
if os.fork() == 0:
    wait('swap'); put('new', EVIL); put('swapped', b''); os._exit(0)
attempt(lambda: os.rename('new', '.envrc'))",
        |question| {
            assert!(question["change"].to_string().contains("GOOD"), "{question}");
            world.write("work/project/swap", "");
            guard_tests::until("it is swapped", || world.read("work/project/swapped").is_some());
        },
    );
    gets(&world, &asked, OLD);
    // It was asked about the other content, too.
    assert!(asked.shown(1).contains("EVIL"), "{:#?}", asked.questions);
}

#[test]
fn by_a_descriptor_a_mapping_and_another_name_that_are_kept() {
    let world = world();
    let asked = attacked(
        &world,
        "fd = os.open('new', os.O_RDWR | os.O_CREAT); os.write(fd, GOOD)
memory = mmap.mmap(fd, len(GOOD)); os.link('new', 'again')
os.rename('new', '.envrc')
assert not os.path.exists('new')
os.pwrite(fd, EVIL, 0); memory[:] = EVIL; memory.flush(); put('again', EVIL)
attempt(lambda: put(f'/proc/self/fd/{fd}', EVIL))",
        |_| (),
    );
    gets(&world, &asked, GOOD);
    assert_eq!(asked.questions.len(), 1, "{:#?}", asked.questions);
}

#[test]
fn by_a_link_that_leads_elsewhere_while_the_question_waits() {
    let world = world();
    let asked = attacked(
        &world,
        "put('new', GOOD); os.symlink('.', 'way')
if os.fork() == 0:
    wait('swap'); os.symlink('other', 'way2'); os.rename('way2', 'way'); put('swapped', b''); os._exit(0)
attempt(lambda: os.rename('new', 'way/.envrc'))",
        |_| {
            world.write("work/project/swap", "");
            guard_tests::until("it is swapped", || world.read("work/project/swapped").is_some());
        },
    );
    gets(&world, &asked, OLD);
    assert_eq!(world.read("work/project/other/.envrc").as_deref(), Some("export OTHER=1\n"));
    assert!(asked.questions[1]["resolvedPath"].as_str().unwrap().ends_with("other/.envrc"));
}

#[test]
fn by_a_second_writer() {
    let world = world();
    let asked = attacked(
        &world,
        "put('new', GOOD); put('evil', EVIL)
child = os.fork()
if child == 0:
    wait('second')
    attempt(lambda: os.rename('evil', '.envrc')); os._exit(0)
attempt(lambda: os.rename('new', '.envrc'))
os.waitpid(child, 0)",
        |question| {
            assert!(question["change"].to_string().contains("GOOD"), "{question}");
            world.write("work/project/second", "");
            let _ = world.wait_for(2);
        },
    );
    gets(&world, &asked, GOOD);
    assert_eq!(asked.questions.len(), 2, "{:#?}", asked.questions);
}

#[test]
fn by_a_yes_that_is_used_again() {
    let world = world();
    let asked = attacked(
        &world,
        "put('new', GOOD); os.rename('new', '.envrc')
for content in GOOD, EVIL:
    put('new', content)
    attempt(lambda: os.rename('new', '.envrc'), lambda: put('.envrc', content), lambda: os.rename('new', 'other/.envrc'))",
        |question| assert_eq!(question["answers"], serde_json::json!(["allow-once", "deny"])),
    );
    gets(&world, &asked, GOOD);
    assert!(asked.questions.len() > 3, "{:#?}", asked.questions);
}

#[test]
fn by_an_answer_after_the_caller_has_died() {
    let world = world();
    let line = format!("{PRELUDE}os.chdir('project'); put('new', EVIL); os.rename('new', '.envrc')");
    let python = program_text("python3");
    let script = "\"$0\" -I -B -c \"$1\" & child=$!; until [ -e project/kill ]; do sleep .02; done; kill -9 $child; wait; true";
    let held = world.start(&["bash", "-c", script, &python, &line]);
    let question = world.wait_for(1).remove(0);
    world.write("work/project/kill", "");
    let _ = world.wait_for(0);
    assert_ne!(world.resolve(&question, "allow-once").status, 0);
    let asked = Asked { questions: vec![question], ended: held.end() };
    gets(&world, &asked, OLD);
}

#[test]
fn by_names_that_no_content_can_be_shown_of() {
    let world = world();
    let asked = attacked(
        &world,
        "put('evil', EVIL); os.mkdir('dir'); put('dir/tasks.json', EVIL); os.symlink('evil', 'link')
os.mkdir('fresh')
attempt(lambda: os.link('evil', '.mise.toml'), lambda: os.symlink('evil', '.mise.toml'),
    lambda: os.rename('link', '.envrc'), lambda: exchange('evil', '.envrc'), lambda: os.rename('dir', '.vscode'),
    lambda: exchange('dir', '.vscode'), lambda: os.rename('dir', 'fresh2/.vscode'), lambda: os.mkfifo('.exrc'),
    lambda: os.rename('.vscode', 'away'), lambda: os.rename('.envrc', 'away'), lambda: os.link('.envrc', 'away'),
    lambda: os.utime('.envrc'), lambda: os.mknod('.exrc'))",
        |_| (),
    );
    gets(&world, &asked, OLD);
    assert_eq!(asked.questions, Vec::<Value>::new());
    assert!(!world.work().join("project/.mise.toml").exists());
}

#[test]
fn by_the_guards_own_file() {
    let world = world();
    let asked = attacked(
        &world,
        "name = '.openclaw-guard.new'
put('new', GOOD); put('evil', EVIL)
attempt(lambda: put(name, EVIL), lambda: os.rename('evil', name), lambda: os.link('evil', name), lambda: os.mkdir(name),
    lambda: os.symlink('evil', name), lambda: os.mkfifo(name), lambda: put('.vscode/' + name, EVIL))
# One that wins the race would write to it before or after its move.
if os.fork() == 0:
    end = time.time() + 3
    while time.time() < end and not os.path.exists('done'):
        for flags in os.O_RDWR, os.O_RDONLY:
            try: fd = os.open(name, flags)
            except OSError: continue
            try: os.pwrite(fd, EVIL, 0)
            except OSError: pass
            os.close(fd)
    os._exit(0)
os.rename('new', '.envrc')
put('done', b'')",
        |_| std::thread::sleep(Duration::from_millis(200)),
    );
    gets(&world, &asked, GOOD);
    assert!(!world.work().join("project/.openclaw-guard.new").exists());
}

#[test]
fn by_characters_that_act_on_the_reader() {
    let world = world();
    let asked = attacked(
        &world,
        "put('new', b'\\x1b[2J\\x1b[1;1H' + GOOD + 'a \\u202e b\\r# nothing\\n'.encode() + b'\\xff\\n')
os.rename('new', '.envrc')",
        |_| (),
    );
    let shown = asked.shown(0);
    assert!(shown.lines().all(|line| !line.contains(['\u{1b}', '\u{202e}', '\r'])), "{shown:?}");
    assert!(
        shown.contains("\\u{1B}[2J") && shown.contains("\\u{202E}") && shown.contains("\\xFF"),
        "{shown}"
    );
}

#[test]
fn by_what_a_long_file_hides() {
    let world = world();
    let asked = attacked(
        &world,
        "put('new', b'# nothing\\n' * 500 + b'x' * 5000 + b'\\n'); os.rename('new', '.envrc')
put('large', b'#' * (1 << 20) + GOOD)
attempt(lambda: os.rename('large', '.envrc'))",
        |_| (),
    );
    assert!(asked.shown(0).contains("485 more lines, which are not shown"), "{}", asked.shown(0));
    // What is too large is refused without a question.
    assert_eq!(asked.questions.len(), 1, "{:#?}", asked.questions);
}

#[test]
fn by_an_open_that_is_read_and_written() {
    // The question is about what would run outside, and not about the harmless part of the call.
    let world =
        World::bare().policy(&POLICY.replace("\"@/work/**\": \"rwx\"", "\"@/work/**\": \"?wx\"")).attended();
    world.write("work/project/.envrc", OLD);
    let mut command = world.start(&["sh", "-c", "exec 3<>project/.envrc && echo EVIL >&3"]);
    let mut questions = Vec::new();
    while !command.has_ended() {
        for question in world.pending() {
            world.resolve(&question, "deny");
            questions.push(question);
        }
    }
    let about: Vec<_> =
        questions.iter().filter_map(|question| question["because"]["path"].as_str()).collect();
    assert!(about.contains(&"permissions.persistence.direnv"), "{questions:#?}");
    assert_eq!(world.read("work/project/.envrc").as_deref(), Some(OLD));
}

#[test]
fn by_nobody_who_answers() {
    for (from, to) in [
        ("\"ask\": \"on-miss\"", "\"ask\": \"on-miss\", \"askFallback\": \"full\""),
        ("\"ask\": \"on-miss\"", "\"ask\": \"off\""),
        ("\"persistence\": \"ask\"", "\"persistence\": \"deny\""),
    ] {
        let world = World::bare().policy(&POLICY.replace(from, to));
        let world = if to.contains("deny") { world.attended() } else { world };
        world.write("work/project/.envrc", OLD);
        let ended =
            world.guarded(&["sh", "-c", "cd project; echo EVIL > .envrc; echo EVIL > new; mv new .envrc"]);
        assert_eq!(world.read("work/project/.envrc").as_deref(), Some(OLD), "{to}: {}", ended.stderr);
        assert!(ended.stderr.contains("denied write"), "{to}: {}", ended.stderr);
    }
}

/// The operator's repository, with one setting.
fn repository() -> Option<World> {
    if !has(&["git"]) {
        return None;
    }
    let world = world();
    let status = std::process::Command::new("git")
        .args(["init", "-q"])
        .current_dir(world.work().join("project"))
        .status();
    assert!(status.expect("git").success());
    Some(world)
}

#[test]
fn by_a_key_in_a_long_list_of_keys() {
    let Some(world) = repository() else { return };
    let asked = attacked(
        &world,
        "old = open('.git/config', 'rb').read()
def change(count):
    text = b''.join(b'[branch \"b%d\"]\\n\\tmerge = refs/heads/x\\n' % n for n in range(count))
    text += b'[core]\\n\\tfsmonitor = x\\n' + text
    fd = os.open('.git/config.lock', os.O_WRONLY | os.O_CREAT | os.O_EXCL); os.write(fd, old + text); os.close(fd)
    try: os.rename('.git/config.lock', '.git/config')
    except OSError as error: os.unlink('.git/config.lock')
change(60)
change(20)",
        |question| {
            let first = question["change"][0].as_str().expect("a line");
            assert!(first.starts_with("core.fsmonitor: (not set) -> \"x\"  ("), "{question:#}");
            assert_eq!(question["change"].as_array().unwrap().len(), 21);
        },
    );
    assert_eq!(asked.questions.len(), 1, "{:#?}", asked.questions);
}

#[test]
fn by_an_include_a_pushed_value_and_a_name_that_looks_like_a_line() {
    let Some(world) = repository() else { return };
    let asked = attacked(
        &world,
        "def git(*words): subprocess.run(['git', 'config', *words])
git('include.path', '../EVIL')
git('alias.x', '!EVIL')
git('alias.user.name: (not set) -> y', '!EVIL')
git('core.pager', 'EVIL' * 1000)
put('.git/config.lock2', b'')
attempt(lambda: put('.git/config', b'[core]\\n\\tfsmonitor = EVIL\\n'))
attempt(lambda: os.rename('.git/config.lock2', '.git/config.lock'))",
        |question| {
            world.resolve(question, "deny");
        },
    );
    holds(&world, &asked);
    let shown: Vec<String> = (0..asked.questions.len()).map(|at| asked.shown(at)).collect();
    assert!(shown.iter().any(|text| text.contains("any content may follow")), "{shown:#?}");
    assert!(shown.iter().all(|text| !text.starts_with("user.name")), "{shown:#?}");
}

#[test]
fn by_the_configuration_that_changes_while_the_question_waits() {
    let Some(world) = repository() else { return };
    let asked = attacked(
        &world,
        "old = open('.git/config', 'rb').read()
fd = os.open('.git/config.lock', os.O_WRONLY | os.O_CREAT | os.O_EXCL)
os.write(fd, old + b'[core]\\n\\tpager = less\\n')
if os.fork() == 0:
    wait('swap'); os.write(fd, b'\\tfsmonitor = EVIL\\n'); put('swapped', b''); os._exit(0)
attempt(lambda: os.rename('.git/config.lock', '.git/config'))",
        |question| {
            assert!(question["change"].to_string().contains("core.pager"), "{question}");
            world.write("work/project/swap", "");
            guard_tests::until("it is swapped", || world.read("work/project/swapped").is_some());
        },
    );
    holds(&world, &asked);
    assert!(asked.shown(1).contains("core.fsmonitor"), "{:#?}", asked.questions);
    assert!(!world.read("work/project/.git/config").unwrap().contains("pager"));
}

/// git makes the lock of a configuration, which is never asked about, the configuration, which may be.
#[test]
fn in_a_repository_that_the_tree_has_made_nothing_is_asked() {
    if !has(&["git"]) {
        return guard_tests::skip("git");
    }
    let world = world();
    let line = "git init -q new && git -C new config core.editor x && git -C new config --get core.editor";
    let ended = world.guarded(&["sh", "-c", line]);
    assert_eq!((ended.status, ended.stdout.as_str()), (0, "x\n"), "{}", ended.stderr);
    assert_eq!(ended.guard_lines(), Vec::<&str>::new());
}
