//! Build daemons that run for the operator's home.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

use guard_tests::World;

use super::found::Found;

/// A process that looks like one, by its arguments.
fn looks_like(argv: [&str; 3], home: &Path) -> Child {
    let mut command = Command::new("/bin/sh");
    command.arg0(argv[0]).args(["-c", "read line", argv[1], argv[2]]);
    command.env_clear().env("HOME", home).stdin(std::process::Stdio::piped());
    command.spawn().expect("a process")
}

#[test]
fn a_build_daemon_of_this_home_is_a_warning() {
    let (world, other) = (World::bare(), World::bare());
    let class = "org.gradle.launcher.daemon.bootstrap.GradleDaemon";
    let homes = [world.home(), world.home(), other.home()];
    let argvs = [["bazel(app)", "x", "y"], ["java", class, "8.10"], ["bazel(app)", "x", "y"]];
    let mut daemons: Vec<_> =
        argvs.into_iter().zip(homes).map(|(argv, home)| looks_like(argv, &home)).collect();
    let found = Found::of(&world);
    for daemon in &mut daemons {
        daemon.kill().expect("an end");
        daemon.wait().expect("an end");
    }
    let named: Vec<_> = found.named("build-daemon");
    assert_eq!(named.len(), 2, "{named:?}");
    found.must("warning", "build-daemon", &format!("Bazel (pid {})", daemons[0].id()), "bazel shutdown");
    found.must("warning", "build-daemon", &format!("Gradle (pid {})", daemons[1].id()), "gradle --stop");
    assert!(Found::of(&world).named("build-daemon").is_empty());
}
