//! Children that are really guarded, on the kernel that runs the test.
//!
//! The command is mostly this test's own binary, of which one ignored test (`probe`) makes system calls
//! and prints what they return. A thread answers every notification with "go on".

use std::ffi::CString;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use guard_shim::filter::{FilterOptions, FilterProgram};
use guard_shim::{Failure, JobTerminal, LaunchPlan, LaunchReport, Stage, landlock};
use libseccomp::{ScmpNotifReq, ScmpNotifResp, ScmpNotifRespFlags};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::ForkResult;

/// What became of a child.
struct Outcome {
    status: WaitStatus,
    output: String,
    report: Option<LaunchReport>,
    notified: Vec<i32>,
}

impl Outcome {
    fn code(&self) -> i32 {
        match self.status {
            WaitStatus::Exited(_, code) => code,
            other => panic!("{other:?}: {}", self.output),
        }
    }

    /// The value of a line `name=value` of the output.
    fn value(&self, name: &str) -> &str {
        let found = self.output.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        found.unwrap_or_else(|| panic!("no {name} in {:?}", self.output))
    }
}

fn c(text: impl AsRef<std::ffi::OsStr>) -> CString {
    CString::new(text.as_ref().as_bytes()).unwrap()
}

fn plan(candidates: &[&str], argv: &[&str]) -> LaunchPlan {
    plan_with(&FilterOptions::default(), candidates, argv)
}

fn plan_with(options: &FilterOptions, candidates: &[&str], argv: &[&str]) -> LaunchPlan {
    LaunchPlan {
        candidates: candidates.iter().map(c).collect(),
        argv: argv.iter().map(c).collect(),
        envp: vec![c("PATH=/usr/bin:/bin"), c("GUARD_SHIM_PROBE=1")],
        filter: FilterProgram::new(*options),
        floor: None,
        nofile: (64, 64),
        processes: None,
        ignored_signals: Vec::new(),
        terminal: None,
    }
}

/// This binary, running one of its ignored tests.
fn probe(options: &FilterOptions, test: &str) -> LaunchPlan {
    let this = std::env::current_exe().unwrap();
    let this = this.to_str().unwrap();
    plan_with(options, &[this], &[this, "--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
}

fn run(plan: LaunchPlan) -> Outcome {
    let (channel, childs) = guard_shim::channel().unwrap();
    let (output, write) = std::io::pipe().unwrap();
    // SAFETY: the child only calls `dup2` and `run`; the C library keeps its allocator usable across a fork.
    let child = match unsafe { nix::unistd::fork() }.unwrap() {
        ForkResult::Child => {
            if nix::unistd::dup2_stdout(&write).and(nix::unistd::dup2_stderr(&write)).is_err() {
                std::process::abort();
            }
            if let Some(terminal) = &plan.terminal {
                lead_session_on(terminal);
            }
            guard_shim::run(plan, childs)
        }
        ForkResult::Parent { child } => child,
    };
    drop((childs, write, plan));
    let (report, notified) = supervise(channel.as_fd(), Instant::now() + Duration::from_secs(20));
    let status = waitpid(child, None).unwrap();
    let mut text = String::new();
    { output }.read_to_string(&mut text).unwrap();
    Outcome { status, output: text, report, notified }
}

/// Becomes the child of a process that leads a session on the terminal, and that ends as the child does.
fn lead_session_on(terminal: &JobTerminal) {
    let led = rustix::process::setsid().and(rustix::process::ioctl_tiocsctty(&terminal.slave));
    if led.is_err() {
        std::process::abort();
    }
    // SAFETY: as above.
    match unsafe { nix::unistd::fork() } {
        Ok(ForkResult::Child) => {}
        Ok(ForkResult::Parent { child }) => {
            let code = match waitpid(child, None) {
                Ok(WaitStatus::Exited(_, code)) => code,
                _ => 255,
            };
            // SAFETY: `_exit` ends the process, and runs nothing of the test's.
            unsafe { libc::_exit(code) }
        }
        Err(_) => std::process::abort(),
    }
}

/// Let every notification go on, until the filter has no user.
fn supervise(channel: BorrowedFd<'_>, deadline: Instant) -> (Option<LaunchReport>, Vec<i32>) {
    let listener = match guard_shim::receive_listener(channel) {
        Ok(listener) => listener,
        Err(Failure::Child(report)) => return (Some(report), Vec::new()),
        Err(other) => panic!("{other}"),
    };
    guard_shim::release(channel).unwrap();
    let notified = answer_all(&listener, deadline);
    (guard_shim::read_report(channel), notified)
}

fn answer_all(listener: &OwnedFd, deadline: Instant) -> Vec<i32> {
    let mut seen = Vec::new();
    loop {
        assert!(Instant::now() < deadline, "the guarded child hangs after {seen:?}");
        let mut waiting = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        poll(&mut waiting, PollTimeout::from(1000u16)).unwrap();
        let events = waiting[0].revents().unwrap();
        if events.contains(PollFlags::POLLIN) {
            let Ok(request) = ScmpNotifReq::receive(listener.as_raw_fd()) else { continue };
            seen.push(i32::from(request.data.syscall));
            let answer = ScmpNotifResp::new_continue(request.id, ScmpNotifRespFlags::empty());
            let _ = answer.respond(listener.as_raw_fd());
        } else if events.contains(PollFlags::POLLHUP) {
            return seen;
        }
    }
}

/// A directory of this test's own, gone with it.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("guard-shim-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn file(&self, name: &str, content: &str, mode: u32) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_command_runs_and_its_status_is_its_own() {
    let outcome = run(plan(&["/bin/true"], &["true"]));
    assert_eq!((outcome.code(), outcome.report), (0, None));
    assert!(outcome.notified.contains(&59), "execve is judged: {:?}", outcome.notified);
    assert_eq!(run(plan(&["/bin/sh"], &["sh", "-c", "exit 7"])).code(), 7);
}

#[test]
fn a_command_that_is_missing_is_127() {
    let outcome = run(plan(&["/no/such/command", "/etc/passwd/command"], &["command"]));
    assert_eq!(outcome.code(), 127);
    assert_eq!(outcome.report, Some(LaunchReport { stage: Stage::Exec, errno: libc::ENOENT }));
}

#[test]
fn a_command_that_may_not_run_is_126() {
    let directory = Directory::new("mode");
    let plain = directory.file("plain", "true\n", 0o644);
    let outcome = run(plan(&[&plain, "/no/such/command"], &["plain"]));
    assert_eq!(outcome.code(), 126);
    assert_eq!(outcome.report, Some(LaunchReport { stage: Stage::Exec, errno: libc::EACCES }));
}

#[test]
fn a_later_candidate_is_tried() {
    let directory = Directory::new("later");
    let plain = directory.file("plain", "", 0o644);
    assert_eq!(run(plan(&["/no/such", &plain, "/bin/true"], &["true"])).code(), 0);
}

#[test]
fn a_file_without_an_interpreter_goes_to_the_shell() {
    let directory = Directory::new("shell");
    let script = directory.file("script", "echo \"$0 $*\"\n", 0o755);
    let outcome = run(plan(&[&script], &["script", "a", "b"]));
    assert_eq!((outcome.code(), outcome.output.trim()), (0, format!("{script} a b").as_str()));
}

#[test]
fn privileges_are_gone() {
    let outcome = run(plan(&["/bin/cat"], &["cat", "/proc/self/status", "/proc/self/limits"]));
    let field = |name: &str| {
        let line =
            outcome.output.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}"));
        line[name.len()..].split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!(field("NoNewPrivs:"), "1");
    assert_eq!(field("Seccomp:"), "2");
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
        assert_eq!(field(set), "0000000000000000", "{set}");
    }
    if nix::unistd::geteuid().is_root() {
        assert_eq!(field("CapBnd:"), "0000000000000000");
    }
    assert_eq!(field("SigBlk:"), "0000000000000000");
    assert_eq!(field("SigIgn:"), "0000000000000000");
    assert_eq!(field("Max core file size"), "1");
    assert_eq!(field("Max open files"), "64");
}

#[test]
fn signals_that_the_caller_ignored_stay_ignored() {
    let mut plan = plan(&["/bin/grep"], &["grep", "SigIgn", "/proc/self/status"]);
    plan.ignored_signals = vec![libc::SIGINT, libc::SIGHUP, libc::SIGCHLD];
    assert_eq!(run(plan).output.trim(), "SigIgn:\t0000000000010003");
}

#[test]
fn descriptors_above_two_are_closed() {
    let leaked = std::fs::File::open("/etc/passwd").unwrap();
    nix::fcntl::fcntl(&leaked, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).unwrap();
    let outcome = run(plan(&["/bin/ls"], &["ls", "/proc/self/fd"]));
    let open: Vec<&str> = outcome.output.split_whitespace().collect();
    assert_eq!(open, ["0", "1", "2", "3"], "3 is ls's own");
}

#[test]
fn the_command_is_a_job_on_the_terminal() {
    for (foreground, ground) in [(true, "foreground"), (false, "background")] {
        let pty = nix::pty::openpty(None, None).unwrap();
        // Process group and the terminal's foreground group (proc_pid_stat(5)).
        let script =
            "tty <&0; : </dev/tty && echo controlled; read -r _ _ _ _ group _ _ front _ < /proc/$$/stat
            [ $group = $$ ] && echo own group; [ $front = $$ ] && echo foreground || echo background";
        let mut plan = plan(&["/bin/sh"], &["sh", "-c", script]);
        let name = nix::unistd::ttyname(&pty.slave).unwrap();
        plan.terminal = Some(JobTerminal { slave: pty.slave, replace: [true, false, false], foreground });
        let outcome = run(plan);
        assert_eq!(outcome.output, format!("{}\ncontrolled\nown group\n{ground}\n", name.display()));
    }
}

#[test]
fn the_floor_keeps_reads_inside_the_roots() {
    if landlock::abi().is_none() {
        return;
    }
    let directory = Directory::new("floor");
    let secret = directory.file("secret", "secret\n", 0o644);
    let guarded = |argv: &[&str]| {
        let mut plan = plan(&["/usr/bin/cat"], argv);
        plan.floor = Some(
            landlock::plan(&["/usr".into(), "/lib64".into(), "/nowhere".into()], Vec::new(), None).unwrap(),
        );
        run(plan)
    };
    let denied = guarded(&["cat", &secret]);
    assert_eq!(denied.code(), 1);
    assert!(denied.output.contains("Permission denied"), "{}", denied.output);
    let readable = guarded(&["cat", "/usr/lib/os-release"]);
    assert_eq!(readable.code(), 0, "{}", readable.output);
}

#[test]
fn the_floor_keeps_programs_inside_the_roots() {
    if landlock::abi().is_none() {
        return;
    }
    let mut plan = plan(&["/usr/bin/true"], &["true"]);
    plan.floor = Some(landlock::plan(&["/etc".into()], Vec::new(), None).unwrap());
    assert_eq!(run(plan).code(), 126);
}

/// Here every call goes on in the kernel, so that nothing but the floor holds.
#[test]
fn the_floor_keeps_to_the_ports_that_are_named() {
    if landlock::abi().is_none_or(|abi| abi < 4) {
        return;
    }
    let listeners = ["127.0.0.1:0"; 2].map(|at| std::net::TcpListener::bind(at).unwrap());
    let [open, shut] = listeners.each_ref().map(|listener| listener.local_addr().unwrap().port());
    let guarded = |ports: Option<&[u16]>| {
        let mut plan = probe(&FilterOptions::default(), "probe_ports");
        plan.envp.push(c(format!("GUARD_SHIM_PORTS={open} {shut}")));
        plan.floor = Some(landlock::plan(&["/".into()], Vec::new(), ports).unwrap());
        let outcome = run(plan);
        ["port_0", "port_1"].map(|name| outcome.value(name).parse::<i32>().unwrap())
    };
    assert_eq!(guarded(None), [0, 0]);
    assert_eq!(guarded(Some(&[open])), [0, libc::EACCES]);
    assert_eq!(guarded(Some(&[])), [libc::EACCES; 2]);
    assert_eq!(guarded(Some(&[open, shut])), [0, 0]);
}

/// Not a test: what the guarded child runs.
#[test]
#[ignore = "run by other tests in a guarded child"]
fn probe_ports() {
    println!();
    for (index, port) in std::env::var("GUARD_SHIM_PORTS").unwrap_or_default().split(' ').enumerate() {
        let Ok(port) = port.parse::<u16>() else { continue };
        let connected = std::net::TcpStream::connect(("127.0.0.1", port));
        let errno = connected.err().and_then(|error| error.raw_os_error()).unwrap_or(0);
        println!("port_{index}={errno}");
    }
}

#[test]
fn a_child_that_the_supervisor_does_not_release_never_runs() {
    let (channel, childs) = guard_shim::channel().unwrap();
    let plan = plan(&["/bin/true"], &["true"]);
    // SAFETY: as in `run`.
    let child = match unsafe { nix::unistd::fork() }.unwrap() {
        ForkResult::Child => {
            drop(channel);
            guard_shim::run(plan, childs)
        }
        ForkResult::Parent { child } => child,
    };
    drop(childs);
    let listener = guard_shim::receive_listener(channel.as_fd()).unwrap();
    drop(channel);
    let status = waitpid(child, None).unwrap();
    drop(listener);
    assert!(matches!(
        status,
        WaitStatus::Exited(_, 125) | WaitStatus::Signaled(_, nix::sys::signal::SIGPIPE, _)
    ));
}

#[test]
fn a_failure_before_the_listener_is_reported() {
    let mut broken = plan(&["/bin/true"], &["true"]);
    broken.nofile = (u64::MAX - 2, 1);
    let outcome = run(broken);
    assert_eq!(outcome.code(), 125);
    assert_eq!(outcome.report, Some(LaunchReport { stage: Stage::Limits, errno: libc::EINVAL }));
}

#[test]
fn system_calls_get_the_answers_of_the_table() {
    let outcome = run(probe(&FilterOptions::default(), "probe_calls"));
    let errno = |name: &str| outcome.value(name).parse::<i32>().unwrap();
    assert_eq!(errno("getpid"), 0);
    assert_eq!(errno("unix_stream"), 0);
    assert_eq!(errno("unix_datagram"), libc::EACCES);
    assert_eq!(errno("unix_raw"), libc::EACCES);
    assert_eq!(errno("packet"), libc::EAFNOSUPPORT);
    assert_eq!(errno("unshare_user"), libc::EPERM);
    assert_eq!(errno("clone_user"), libc::EPERM);
    assert_eq!(errno("clone3"), libc::ENOSYS);
    assert_eq!(errno("tiocsti"), libc::EPERM);
    assert_eq!(errno("tiocsti_upper_bits"), libc::EPERM);
    assert_eq!(errno("number_1000"), libc::ENOSYS);
    assert_eq!(errno("minus_one"), libc::ENOSYS);
    assert_eq!(errno("io_uring"), libc::ENOSYS);
    assert!(outcome.notified.contains(&101), "ptrace is judged");
    assert_eq!(errno("dumpable_off"), 0);
    assert_eq!(errno("second_listener"), libc::EBUSY);
    assert_eq!(errno("landlock_version"), libc::EOPNOTSUPP);
    assert_eq!(outcome.value("still_dumpable"), "1");
    assert!(outcome.notified.contains(&257), "openat is judged");
}

#[test]
fn options_open_what_they_name() {
    let options = FilterOptions {
        unix_datagram: true,
        allow_ptrace: true,
        scoped_signals: true,
        ..FilterOptions::default()
    };
    let outcome = run(probe(&options, "probe_calls"));
    assert_eq!(outcome.value("unix_datagram"), "0");
    assert_eq!(outcome.value("ptrace"), libc::ESRCH.to_string());
}

#[test]
fn messages_that_may_name_their_receiver_are_judged() {
    let outcome = run(probe(&FilterOptions::default(), "probe_calls"));
    assert_eq!(outcome.value("unix_send"), "0");
    assert_eq!(outcome.notified.iter().filter(|&&number| number == 44).count(), 1, "sendto with an address");
    assert!(outcome.notified.contains(&46), "sendmsg");
    assert!(outcome.notified.contains(&307), "sendmmsg");
    assert_eq!(outcome.value("zero_copy"), libc::EOPNOTSUPP.to_string());
    assert_eq!(outcome.value("source_route"), libc::EPERM.to_string());
    assert_eq!(outcome.value("no_route"), "0");
}

#[test]
fn calls_of_x32_kill() {
    let outcome = run(probe(&FilterOptions::default(), "probe_x32"));
    assert!(
        matches!(outcome.status, WaitStatus::Signaled(_, nix::sys::signal::SIGSYS, _)),
        "{:?}",
        outcome.status
    );
}

/// Not a test: what the guarded child runs.
#[test]
#[ignore = "run by other tests in a guarded child"]
fn probe_calls() {
    if std::env::var_os("GUARD_SHIM_PROBE").is_none() {
        return;
    }
    println!();
    call("getpid", libc::SYS_getpid, [0; 4]);
    call("unix_stream", libc::SYS_socket, [1, 1, 0, 0]);
    call("unix_datagram", libc::SYS_socket, [1, 2, 0, 0]);
    call("unix_raw", libc::SYS_socket, [1, 3, 0, 0]);
    call("packet", libc::SYS_socket, [17, 3, 0, 0]);
    call("unshare_user", libc::SYS_unshare, [0x1000_0000, 0, 0, 0]);
    call("clone_user", libc::SYS_clone, [0x1000_0011, 0, 0, 0]);
    call("clone3", libc::SYS_clone3, [0; 4]);
    call("tiocsti", libc::SYS_ioctl, [0, 0x5412, 0, 0]);
    call("tiocsti_upper_bits", libc::SYS_ioctl, [0, 0xdead_0000_5412, 0, 0]);
    call("number_1000", 1000, [0; 4]);
    call("minus_one", -1, [0; 4]);
    call("io_uring", 425, [0; 4]);
    call("ptrace", libc::SYS_ptrace, [17, i64::from(i32::MAX), 0, 0]);
    call("dumpable_off", libc::SYS_prctl, [4, 0, 0, 0]);
    call("second_listener", libc::SYS_seccomp, [1, 8, 0, 0]);
    call("landlock_version", 444, [0, 0, 1, 0]);
    // SAFETY: PR_GET_DUMPABLE takes nothing.
    println!("still_dumpable={}", unsafe { libc::prctl(libc::PR_GET_DUMPABLE) });
    let (a, b) = std::os::unix::net::UnixStream::pair().unwrap();
    let sent = std::io::Write::write(&mut &a, b"x").and_then(|_| {
        nix::sys::socket::send(b.as_raw_fd(), b"y", nix::sys::socket::MsgFlags::empty()).map_err(Into::into)
    });
    println!("unix_send={}", sent.err().and_then(|error| error.raw_os_error()).unwrap_or(0));
    let _ = nix::sys::socket::sendto(
        b.as_raw_fd(),
        b"z",
        &nix::sys::socket::UnixAddr::new("nowhere").unwrap(),
        nix::sys::socket::MsgFlags::empty(),
    );
    call("sendmsg", libc::SYS_sendmsg, [-1, 0, 0, 0]);
    call("sendmmsg", libc::SYS_sendmmsg, [-1, 0, 0, 0]);
    let socket = std::net::UdpSocket::bind("127.0.0.1:0");
    let set = |level: i32, option: i32, value: &[u8]| {
        let Ok(socket) = &socket else { return libc::ENOTSOCK };
        // SAFETY: pointer and length are those of a live slice.
        let done = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                level,
                option,
                value.as_ptr().cast(),
                value.len() as libc::socklen_t,
            )
        };
        if done == 0 { 0 } else { std::io::Error::last_os_error().raw_os_error().unwrap_or(0) }
    };
    println!("zero_copy={}", set(libc::SOL_SOCKET, libc::SO_ZEROCOPY, &[1, 0, 0, 0]));
    println!("source_route={}", set(libc::IPPROTO_IP, libc::IP_OPTIONS, &[131, 7, 4, 127, 0, 0, 1, 0]));
    println!("no_route={}", set(libc::IPPROTO_IP, libc::IP_OPTIONS, &[]));
}

/// Not a test: what the guarded child runs.
#[test]
#[ignore = "run by other tests in a guarded child"]
fn probe_x32() {
    if std::env::var_os("GUARD_SHIM_PROBE").is_some() {
        call("x32", 0x4000_0000 | 39, [0; 4]);
    }
}

/// Print the errno of a call, or 0.
fn call(name: &str, number: i64, [a, b, c, d]: [i64; 4]) {
    // SAFETY: none of the calls that are probed writes to memory with these arguments.
    let returned = unsafe { libc::syscall(number, a, b, c, d) };
    let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
    println!("{name}={}", if returned < 0 { errno } else { 0 });
}
