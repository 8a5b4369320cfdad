//! A guarded shell that a test drives line by line. One world can have several.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use guard_tests::{World, status_of};

/// A guarded bash.
pub struct Shell {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Shell {
    /// Starts bash in a world whose policy asks.
    pub fn start(world: &World) -> Shell {
        let errors = File::options().create(true).append(true).open(world.root().join("stderr"));
        let mut command = world.command();
        command
            .args(["--", "bash"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors.expect("a file"));
        let mut child = command.spawn().expect("the guard");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut shell = Shell { input: child.stdin.take(), output, child };
        assert_eq!(shell.run("echo ready"), "ready\n");
        shell
    }

    /// Sends a line without waiting for it to finish.
    pub fn begin(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it runs");
        writeln!(input, "{line}\necho :end").expect("it runs");
    }

    /// Waits for the line to finish, and returns its stdout.
    pub fn end(&mut self) -> String {
        let (mut all, mut line) = (String::new(), String::new());
        while self.output.read_line(&mut line).expect("text") > 0 && line != ":end\n" {
            all.push_str(&line);
            line.clear();
        }
        assert_eq!(line, ":end\n", "it ended");
        all
    }

    /// Sends a line, waits for it to finish, and returns its stdout.
    pub fn run(&mut self, line: &str) -> String {
        self.begin(line);
        self.end()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(self.input.take());
        if !std::thread::panicking() {
            status_of(&mut self.child);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Counts the audit log's events of this kind.
pub fn events(world: &World, event: &str) -> usize {
    world.audit().iter().filter(|line| line["event"] == event).count()
}
