//! A clock that jumps while a node works.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use guard_tests::{compile, ended, has, until};
use serde_json::json;

use crate::node_attacks::{asked, plan, required, run_of};
use crate::node_gateway::{ASK, FakeGateway, NodeProcess, status, world};

/// Moves the time of day, and no other clock, by the seconds in a file, for one process and its children: a test must not
/// set the machine's clock.
const MOVED_CLOCK: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, clock, time);
    char text[32] = {0};
    int fd = clock == CLOCK_REALTIME ? open(MOVED_BY, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        if (result == 0 && read(fd, text, sizeof text - 1) > 0) time->tv_sec += atoll(text);
        close(fd);
    }
    return result;
}
"#;

const YEAR: i64 = 365 * 24 * 3600;

#[test]
fn a_clock_that_jumps_ends_no_run_and_makes_no_approval_longer() {
    if !has(&["gcc"]) {
        return;
    }
    let gateway = FakeGateway::start();
    let world = world(&gateway, ASK);
    let moved_by = world.write("moved-by", "0");
    let library = world.root().join("clock.so");
    let place = format!("-DMOVED_BY=\"{}\"", moved_by.display());
    compile(MOVED_CLOCK, &library, &["-shared", "-fPIC", &place]);
    let mut command = world.command();
    command
        .args(["node", "--display-name", "made-up", "--cwd"])
        .arg(world.work())
        .env("LD_PRELOAD", &library);
    let _node = NodeProcess::spawn(&world, command);
    let mut link = gateway.node();
    let program = asked(&world);
    let go = world.work().join("go");
    assert_eq!(ended(std::process::Command::new("mkfifo").arg(&go)).status, 0);
    let line = ": > begun; read word < go; echo $word";
    for (turn, seconds) in [YEAR, -YEAR, 0].into_iter().enumerate() {
        let jump = || fs::write(&moved_by, seconds.to_string()).expect("a file");
        // Prepared before the jump, and approved after it; and a run with a time limit, in the middle of which the clock jumps.
        let approved = run_of(&plan(&mut link, &[&program, "one"], &world.work()));
        let shell = run_of(&plan(&mut link, &["sh", "-c", line], &world.work()));
        let mut long = shell.clone();
        long["timeoutMs"] = json!(120_000);
        let long = link.invoke("system.run", &long);
        until("the run has begun", || {
            link.listen_for(Duration::from_millis(20));
            world.work().join("begun").exists()
        });
        jump();
        let end = link.call("system.run", &approved)["payloadJSON"].clone();
        assert_eq!((&end["exitCode"], &end["stdout"]), (&json!(0), &json!("one\n")), "{end}");
        assert_eq!(link.call("system.run", &approved)["error"], required());
        fs::write(&go, "end\n").expect("a reader");
        let end = link.result(&long)["payloadJSON"].clone();
        assert_eq!((&end["exitCode"], &end["stdout"]), (&json!(0), &json!("end\n")), "{end}");
        // The jump was seen.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs() as i64;
        let ended_at = status(&world)["lastRun"]["endedMs"].as_i64().expect("a time") / 1000;
        assert!((ended_at - now - seconds).abs() < YEAR / 2, "{turn}: {ended_at} is not {now} and {seconds}");
        fs::remove_file(world.work().join("begun")).expect("a file");
    }
    assert_eq!(gateway.tries(), 1, "the connection stays");
}
