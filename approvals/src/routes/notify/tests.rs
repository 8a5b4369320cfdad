//! Well-behaved and misbehaving notify programs.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use guard_policy::approval::Route;
use serde_json::Value;

use super::*;
use crate::manager::{AskOutcome, Ticket};
use crate::settings::Settings;
use crate::tests::{question, settings};
use crate::{Approvals, Surroundings};

/// A guard that reports its cards to a shell command; `OUT` in the command is a file.
struct NotifyFixture {
    approvals: Approvals,
    directory: tempfile::TempDir,
    warnings: Arc<Mutex<Vec<String>>>,
}

fn notified_by(argv: &[&str]) -> NotifyFixture {
    let directory = tempfile::Builder::new().prefix("guard-notify-").tempdir().unwrap();
    let out = directory.path().join("out");
    let argv: Vec<_> = argv.iter().map(|word| word.replace("OUT", out.to_str().unwrap())).collect();
    let program = Program::new(&argv.iter().map(String::as_str).collect::<Vec<_>>());
    let warnings = Arc::<Mutex<Vec<String>>>::default();
    let into = Arc::clone(&warnings);
    let around = Surroundings {
        session_key: None,
        node_id: None,
        state: directory.path().canonicalize().unwrap(),
        home: "/nonexistent".into(),
        sync: guard_openclaw::gateway::SyncThread::new(
            "/nowhere".into(),
            Arc::new(|_| false),
            Arc::new(|_| {}),
        ),
        is_member: Arc::new(|_| false),
        warn: Arc::new(move |problem| into.lock().unwrap().push(problem)),
        terminal: None,
    };
    let settings =
        Settings { routes: Some(vec![Route::Cli]), notify: Some(program), max_pending: 1024, ..settings() };
    NotifyFixture { approvals: Approvals::new(settings, (), around), directory, warnings }
}

impl NotifyFixture {
    fn ask(&self, argv: &[&str]) -> Ticket {
        match self.approvals.ask(question(argv)).1 {
            AskOutcome::Waiting(ticket) => ticket,
            other => panic!("{other:?}"),
        }
    }

    fn out(&self) -> PathBuf {
        self.directory.path().join("out")
    }

    fn lines(&self) -> Vec<String> {
        fs::read_to_string(self.out()).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap().clone()
    }
}

fn until(mut done: impl FnMut() -> bool) {
    let end = std::time::Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(std::time::Instant::now() < end, "it never happens");
        std::thread::sleep(Duration::from_millis(5));
    }
}

const CAT: [&str; 3] = ["sh", "-c", "cat >> OUT"];

#[test]
fn the_notify_program_is_told_of_each_card_once() {
    let fixture = notified_by(&CAT);
    let first = fixture.ask(&["/bin/a", "1"]);
    until(|| !fixture.lines().is_empty());
    let value: Value = serde_json::from_str(&fixture.lines()[0]).unwrap();
    assert_eq!(value["id"], first.call().to_string());
    assert_eq!(
        (&value["argv"][1], value["guard"].as_u64()),
        (&"1".into(), Some(u64::from(std::process::id())))
    );
    assert_eq!(value["more"], 0);
    // One question joins the card, twenty get cards of their own, and one is withdrawn before anybody is notified.
    let _second = fixture.ask(&["/bin/a", "2"]);
    let many: Vec<_> = (0..20).map(|n| fixture.ask(&[&format!("/bin/{n}")])).collect();
    drop(fixture.ask(&["/bin/z"]));
    let of = |line: &String| serde_json::from_str::<Value>(line).unwrap()["more"].as_u64().unwrap() + 1;
    until(|| fixture.lines().iter().map(of).sum::<u64>() == 21);
    assert!(fixture.lines().len() <= 4, "{:?}", fixture.lines());
    drop(many);
    assert!(fixture.warnings().is_empty(), "{:?}", fixture.warnings());
}

#[test]
fn a_program_has_nothing_of_the_guards() {
    let leaked = fs::File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
    let fixture =
        notified_by(&["sh", "-c", "{ ls /proc/self/fd | wc -l; cut -d' ' -f1,6 /proc/$$/stat; pwd; } > OUT"]);
    let _ticket = fixture.ask(&["/bin/a"]);
    until(|| fixture.lines().len() == 3);
    let lines = fixture.lines();
    // The three standard descriptors, and the one that ls opens.
    assert_eq!((lines[0].trim(), &*lines[2]), ("4", "/"));
    let (pid, session) = lines[1].split_once(' ').unwrap();
    assert_eq!(pid, session);
    drop(leaked);
}

#[test]
fn a_failure_of_the_notify_program_is_reported_once() {
    for (argv, problem) in [
        (&["/no/such/program"][..], "there is no program /no/such/program"),
        (&["no-such-program-at-all"], "there is no program no-such-program-at-all"),
        (&["/dev/null"], "there is no program /dev/null"),
        (&["sh", "-c", "exit 3"], "sh: exit status: 3"),
    ] {
        let fixture = notified_by(argv);
        let _first = fixture.ask(&["/bin/a"]);
        until(|| !fixture.warnings().is_empty());
        let _second = fixture.ask(&["/bin/b"]);
        std::thread::sleep(MIN_RUN_INTERVAL + Duration::from_millis(300));
        let warnings = fixture.warnings();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains(problem), "{warnings:?}");
    }
}

#[test]
fn a_program_that_stays_is_killed_with_all_it_started() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let script = format!("sleep 1000 & echo $! > {}; wait", out.display());
    let program = Program::new(&["sh", "-c", &script]);
    let text = vec![b'x'; 1 << 20];
    // Enough time to reach its sleep.
    for seconds in [1, 5, 60] {
        let ended = run(&program, &text, Duration::from_secs(seconds)).unwrap_err();
        assert_eq!(ended.to_string(), "it ran for too long and was killed");
        if fs::read_to_string(&out).is_ok_and(|text| text.ends_with('\n')) {
            break;
        }
    }
    let child: i32 = fs::read_to_string(&out).unwrap().trim().parse().unwrap();
    until(|| guard_openclaw::peer::proc::stat(child).is_err() || !is_running(child));
}

/// Nothing reaps orphans here, so an ended process may stay a zombie.
fn is_running(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}
