//! The state of Claude Code in a home. The guard keeps only the servers: those for all projects, and those of each
//! project. The file may be large, so the rest of it is not kept in memory.

use std::collections::HashMap;
use std::io::{self, BufReader, Read};
use std::path::Path;

use guard_openclaw::plain_file;
use serde::Deserialize;
use serde_json::Value;

/// The name of the file.
pub const STATE: &str = ".claude.json";
/// The longest state that is read: more than anybody has.
const MAX_BYTES: u64 = 1 << 30;

/// The servers of a state.
#[derive(Debug, Default, Deserialize)]
pub struct ClaudeState {
    /// The servers for all projects.
    #[serde(default, rename = "mcpServers")]
    pub servers: Value,
    /// What the state says of each project, by the project's directory.
    #[serde(default)]
    pub projects: HashMap<String, StateOfProject>,
}

/// What the state says of a project.
#[derive(Debug, Default, Deserialize)]
pub struct StateOfProject {
    /// Its servers.
    #[serde(default, rename = "mcpServers")]
    pub servers: Value,
}

/// Returns the servers of a state; none if there is no such file, or if something else is in its place.
///
/// # Errors
/// The file cannot be read, is too long, or is no JSON of this form.
pub fn read(path: &Path) -> io::Result<ClaudeState> {
    let is_other = || path.metadata().is_ok_and(|meta| !meta.is_file());
    let file = match plain_file::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound || is_other() => {
            return Ok(ClaudeState::default());
        }
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    if length > MAX_BYTES {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    Ok(serde_json::from_reader(BufReader::with_capacity(1 << 16, file.take(MAX_BYTES)))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_a_long_state_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(STATE);
        assert!(read(&path).unwrap().projects.is_empty());
        let text = "x".repeat(20 << 20);
        let servers = r#"{"x": {"command": "a"}}"#;
        let projects = format!(r#"{{"/p": {{"mcpServers": {servers}, "n": 1}}}}"#);
        let state = format!(r#"{{"history": "{text}", "projects": {projects}, "mcpServers": {servers}}}"#);
        std::fs::write(&path, state).unwrap();
        let state = read(&path).unwrap();
        assert_eq!(state.servers["x"]["command"], "a");
        assert_eq!(state.projects["/p"].servers["x"]["command"], "a");
        std::fs::write(&path, "{\"mcpServers\"").unwrap();
        assert!(read(&path).is_err());
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(read(&path).unwrap().projects.is_empty());
    }
}
