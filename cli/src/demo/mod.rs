//! `openclaw-guard demo`: shows a denial, and a question with its answer, on files that it makes itself.

use std::env;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use clap::Args;
use guard_openclaw::peer::nested_guard::guard_above;
use guard_policy::text::shown;
use guard_supervisor::exit::Exit;

/// Its options.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  openclaw-guard demo\n\n\
    Works in a new temporary directory, which it removes at the end. It reads and changes nothing of\n\
    yours. Without a terminal it says what it would have asked.\n\n\
    Exit status: 0 it was shown, 125 error.")]
pub struct DemoArgs {}

/// Why the demo could not be shown.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    #[error("the demo works only outside a guard: process {0} above this one is, or may be, a guard")]
    Inside(i32),
    #[error("cannot make {path}: {error}", path = shown(path.as_os_str().as_bytes()))]
    Make { path: PathBuf, error: io::Error },
    #[error("cannot start the guard: {0}")]
    Start(io::Error),
    #[error("cannot write: {0}")]
    Write(io::Error),
    #[error("the guard cannot run here ({0}): `openclaw-guard doctor` says why")]
    Guard(ExitStatus),
    #[error("the guard did not deny the decoy key: `openclaw-guard doctor` says what is wrong")]
    NotDenied,
}

/// What the decoy key holds. Nobody has a key like it.
const DECOY: &str = "a decoy: not a real key\n";
const LETTER: &str = "Dear reader, you have allowed this one call. The next one would be a question again.\n";

/// Shows the demo.
///
/// # Errors
/// If the guard cannot run here, or the files cannot be made.
pub fn act(_: &DemoArgs) -> Result<Exit, DemoError> {
    if let Some(guard) = guard_above(rustix::process::getpid().as_raw_nonzero().get()) {
        return Err(DemoError::Inside(guard));
    }
    let scene = Scene::new()?;
    let home = shown(scene.home.as_os_str().as_bytes());
    print(&format!("A scratch home with a decoy key: {home}. No policy file is needed.\n"))?;

    print(
        "\n1. Ordinary work needs no question: the command may use the directory that the guard is started in.\n",
    )?;
    scene.guarded(
        "echo 'made here' > notes && cat notes",
        &["sh", "-c", "echo 'made here' > notes && cat notes"],
    )?;

    print("\n2. A known secret is denied. The call fails, and one line names the rule.\n")?;
    if scene.guarded("cat ~/.ssh/id_rsa", &["cat", &scene.path(".ssh/id_rsa")])?.success() {
        return Err(DemoError::NotDenied);
    }

    print("\n3. Everything else is a question. The call waits in the kernel until you answer.\n")?;
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        print("   Press y, then Enter, for a yes; n for a no.\n")?;
        let status = scene.guarded("cat ~/letter", &["cat", &scene.path("letter")])?;
        let answer =
            if status.success() { "That was your yes." } else { "Without a yes, the call is denied." };
        print(&format!("{answer}\n"))?;
    } else {
        print("   There is no terminal to ask on here. This is what it would have asked:\n")?;
        scene.run("openclaw-guard check --read ~/letter", &["check", "--read", &scene.path("letter")])?;
        print("   With a yes, the command would have read the letter.\n")?;
    }
    print(
        "\nNext: openclaw-guard -- bash        a shell of yours, guarded\n      openclaw-guard doctor         what works on this machine\n",
    )?;
    Ok(Exit::Success)
}

fn print(text: &str) -> Result<(), DemoError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(DemoError::Write)
}

/// The files of the demo.
struct Scene {
    /// Removed when the demo ends.
    _directory: tempfile::TempDir,
    home: PathBuf,
    work: PathBuf,
}

impl Scene {
    fn new() -> Result<Scene, DemoError> {
        let made = tempfile::Builder::new().prefix("openclaw-guard-demo.").tempdir();
        let directory = made.map_err(|error| DemoError::Make { path: env::temp_dir(), error })?;
        // Resolves the links on the way now, because another program could redirect them later.
        let top = directory.path().canonicalize();
        let top = top.map_err(|error| DemoError::Make { path: directory.path().to_owned(), error })?;
        let (home, work) = (top.join("home"), top.join("home/project"));
        for dir in [&home, &work, &home.join(".ssh")] {
            fs::create_dir_all(dir).map_err(|error| DemoError::Make { path: dir.clone(), error })?;
        }
        for (name, text) in [(".ssh/id_rsa", DECOY), ("letter", LETTER)] {
            let path = home.join(name);
            fs::write(&path, text).map_err(|error| DemoError::Make { path, error })?;
        }
        Ok(Scene { _directory: directory, home, work })
    }

    /// The path of a file in the home.
    fn path(&self, name: &str) -> String {
        self.home.join(name).display().to_string()
    }

    /// Runs a command under the guard, as if it had been typed.
    fn guarded(&self, typed: &str, argv: &[&str]) -> Result<ExitStatus, DemoError> {
        self.run(&format!("openclaw-guard -- {typed}"), &[&["--"], argv].concat())
    }

    /// Runs the guard with the scratch home, and shows what would be typed.
    fn run(&self, typed: &str, arguments: &[&str]) -> Result<ExitStatus, DemoError> {
        print(&format!("$ {typed}\n"))?;
        let program = env::current_exe().map_err(DemoError::Start)?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.work).env("HOME", &self.home).env("PWD", &self.work);
        // The operator's own policy, state and configuration must have no part in the demo.
        for (name, _) in env::vars_os() {
            let name = name.as_bytes();
            if name.starts_with(b"OPENCLAW_") || name.starts_with(b"OC_") || name.starts_with(b"XDG_") {
                command.env_remove(std::ffi::OsStr::from_bytes(name));
            }
        }
        let status = command.status().map_err(DemoError::Start)?;
        if status.code() == Some(125) { Err(DemoError::Guard(status)) } else { Ok(status) }
    }
}
