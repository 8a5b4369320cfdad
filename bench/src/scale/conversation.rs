//! Runs a program that prints a number and waits, so that it can be inspected meanwhile.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::error::{Context, Error};

/// A running program. Dropping this ends it.
pub struct Conversation {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Conversation {
    /// Starts the program.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(mut command: Command) -> Result<Conversation, Error> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context(|| command.get_program().to_string_lossy().into_owned())?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::new("no pipes"));
        };
        Ok(Conversation { child, stdin, stdout: BufReader::new(stdout) })
    }

    /// Reads the next number that the program prints.
    ///
    /// # Errors
    /// If the program ends, or prints something else.
    pub fn hear(&mut self) -> Result<f64, Error> {
        let mut line = String::new();
        self.stdout.read_line(&mut line).context(|| "what is measured".into())?;
        line.trim().parse().context(|| format!("what is measured says {line:?}"))
    }

    /// Lets the program continue.
    ///
    /// # Errors
    /// If the program is gone.
    pub fn answer(&mut self) -> Result<(), Error> {
        self.stdin.write_all(b"\n").context(|| "what is measured".into())
    }

    /// Waits until the program ends.
    ///
    /// # Errors
    /// If it fails.
    pub fn end(mut self) -> Result<(), Error> {
        let status = self.child.wait().context(|| "what is measured".into())?;
        if status.success() { Ok(()) } else { Err(Error::new(format!("what is measured: {status}"))) }
    }

    /// The resident memory (VmRSS, KiB) of the program and its descendants of the same name: all processes of a guard.
    ///
    /// # Errors
    /// When /proc cannot be read.
    pub fn resident(&self) -> Result<u64, Error> {
        let processes = processes()?;
        let own = self.child.id();
        let name = processes.iter().find(|process| process.pid == own).map(|process| process.name.clone());
        let name = name.ok_or_else(|| Error::new("what is measured is gone"))?;
        let is_below = |process: &Process| {
            let mut at = process.pid;
            // Bounded, because processes come and go during the scan and the parents could form a loop.
            for _ in 0..processes.len() {
                if at == own {
                    return true;
                }
                match processes.iter().find(|other| other.pid == at) {
                    Some(other) => at = other.parent,
                    None => return false,
                }
            }
            false
        };
        let guards = processes.iter().filter(|process| process.name == name && is_below(process));
        Ok(guards.map(|process| process.resident).sum())
    }
}

struct Process {
    pid: u32,
    parent: u32,
    name: String,
    resident: u64,
}

fn processes() -> Result<Vec<Process>, Error> {
    let entries = fs::read_dir("/proc").context(|| "/proc".into())?;
    // Skip processes that have ended meanwhile.
    Ok(entries
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            parse(pid, &fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
        })
        .collect())
}

/// Parses /proc/PID/status.
fn parse(pid: u32, status: &str) -> Option<Process> {
    let value =
        |key: &str| status.lines().find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim()));
    let resident = value("VmRSS").and_then(|text| text.split(' ').next()?.parse().ok()).unwrap_or(0);
    Some(Process { pid, parent: value("PPid")?.parse().ok()?, name: value("Name")?.to_owned(), resident })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{Conversation, parse};

    #[test]
    fn a_status_is_read() {
        let process = parse(7, "Name:\tguard\nPPid:\t6\nVmRSS:\t    1234 kB\n").unwrap();
        assert_eq!((process.pid, process.parent, process.resident), (7, 6, 1234));
        assert_eq!(process.name, "guard");
        // A zombie has no memory.
        assert_eq!(parse(7, "Name:\tguard\nPPid:\t6\n").unwrap().resident, 0);
        assert!(parse(7, "").is_none());
    }

    #[test]
    fn only_processes_of_the_same_name_below_count() {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "sh -c 'echo 5; read x' & echo 4; read x; wait"]);
        let mut shell = Conversation::start(shell).unwrap();
        assert_eq!(shell.hear().unwrap() + shell.hear().unwrap(), 9.0);
        let both = shell.resident().unwrap();
        assert!(both > 0);
        shell.answer().unwrap();
        shell.end().unwrap();
    }
}
