//! Processes that must not be signalled, slowed down or inspected.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use guard_tests::{Arena, is_root};

use super::mark;
use crate::attempt::Outside;

struct Victim {
    child: Child,
    before: String,
    mark: PathBuf,
}

/// A process of the same user that sleeps in a group of its own. It has the secret in its environment, and
/// open as its standard input. `work/victim` contains its process id.
pub fn victim(arena: &Arena) -> Outside {
    let secret = arena.root().join("shut/file");
    // Has the privileges of a native attacker: a process may not touch one with more privileges.
    let mut command = Command::new("setpriv");
    command.args(["--no-new-privs", "--inh-caps=-all"]);
    if is_root() {
        command.arg("--bounding-set=-all");
    }
    command.args(["--", "sleep", "1000"]).env("SECRET", fs::read_to_string(&secret).expect("the secret"));
    command.current_dir(arena.root().join("shut")).stdin(File::open(secret).expect("the secret"));
    let child =
        command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().expect("to start");
    let until = Instant::now() + Duration::from_secs(60);
    // Before it sleeps, the process still runs another program.
    while !fs::read(format!("/proc/{}/cmdline", child.id())).is_ok_and(|line| line.starts_with(b"sleep\0")) {
        assert!(Instant::now() < until, "it never sleeps");
        std::thread::sleep(Duration::from_millis(1));
    }
    fs::write(arena.root().join("work/victim"), child.id().to_string()).expect("a file");
    let before = state(child.id());
    Box::new(Victim { child, before, mark: mark(arena) })
}

/// Describes everything that another process could change in a process.
fn state(pid: u32) -> String {
    let until = Instant::now() + Duration::from_secs(60);
    let mut was_quiet = false;
    loop {
        let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let status = read("status");
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.map(|value| value.trim().to_owned()).unwrap_or_default()
        };
        let is_over = field("State:").starts_with(['Z', 'T', 't', 'X']);
        // Waits while a signal is pending, and a moment longer: the process takes it before it stops.
        let is_hit = ["SigPnd:", "ShdPnd:"].iter().any(|name| field(name).bytes().any(|digit| digit != b'0'));
        if !is_over && (is_hit || !was_quiet) && Instant::now() < until {
            was_quiet = !is_hit;
            std::thread::sleep(Duration::from_millis(5));
            continue;
        }
        let stat = read("stat");
        let after: Vec<&str> =
            stat.rsplit_once(") ").map(|(_, rest)| rest.split(' ').collect()).unwrap_or_default();
        // Group, priority, nice, real-time priority and policy (proc_pid_stat(5)); `after` begins at the
        // third field.
        let numbers: Vec<_> = [5, 18, 19, 40, 41].iter().filter_map(|at| after.get(at - 3)).collect();
        let io = Command::new("ionice").args(["-p", &pid.to_string()]).output();
        return format!(
            "{is_over} {numbers:?} {} {} {} {} {} {} {}",
            field("Cpus_allowed:"),
            field("TracerPid:"),
            read("limits"),
            read("oom_score_adj"),
            read("comm"),
            read("cmdline"),
            io.map(|io| String::from_utf8_lossy(&io.stdout).into_owned()).unwrap_or_default(),
        );
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        if state(self.child.id()) != self.before {
            fs::write(&self.mark, "reached").expect("a mark");
        }
        // A killed process stays a zombie until it is waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
