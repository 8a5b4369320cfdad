//! Why `sandbox` has no answer, or does not run what it should.

use guard_openclaw::gateway::ConfigProblem;
use guard_policy::text::shown;
use guard_supervisor::config::SetupError;
use guard_supervisor::run::RunError;

use super::scratch::ScratchError;

/// Why there is no answer, or the command did not start.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("there is no {0}: give the path of OpenClaw's configuration")]
    NoFile(String),
    #[error(transparent)]
    Unreadable(ConfigProblem),
    #[error("{file}: {problem}")]
    Setting { file: String, problem: String },
    #[error(
        "the session {key} runs without a sandbox, since {why}: --backend guard runs the command in one all the same",
        key = shown(key.as_bytes())
    )]
    NotSandboxed { key: String, why: &'static str },
    #[error(
        "the backend {0:?} makes no container on this machine: --backend guard runs the command without one"
    )]
    NoContainer(String),
    #[error(
        "there is no {0} in PATH: install it (Debian: apt install {package}), or use --backend guard, which needs none",
        package = if *.0 == "docker" { "docker.io" } else { .0 }
    )]
    NotInstalled(&'static str),
    #[error(
        "the image {image} is not on this machine: {program} pull {image}, or build it as OpenClaw's documents say",
        image = shown(image.as_bytes())
    )]
    NoImage { program: &'static str, image: String },
    #[error(
        "{program} does not answer ({problem}): start its service, or use --backend guard, which needs none",
        problem = shown(problem.as_bytes())
    )]
    Engine { program: &'static str, problem: String },
    #[error("{}", lines(.0))]
    Refused(Vec<String>),
    #[error("{0}")]
    Place(String),
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("cannot write: {0}")]
    Output(#[from] std::io::Error),
}

fn lines(sentences: &[String]) -> String {
    let shown: Vec<_> = sentences.iter().map(|sentence| shown(sentence.as_bytes())).collect();
    shown.join("\nopenclaw-guard: ")
}
