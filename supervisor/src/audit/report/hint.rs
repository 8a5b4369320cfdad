//! The hint that shows the operator how to find out more.

use guard_policy::text::command_line;

use crate::config::options::Options;

/// Returns the line that follows the first denial of a session, if stderr is a terminal.
pub fn hint(options: &Options) -> String {
    let mut words = vec!["openclaw-guard".to_owned()];
    for (name, value) in
        [("--policy", &options.policy), ("--home", &options.home), ("--audit", &options.audit)]
    {
        words.extend(value.iter().flat_map(|value| [name.to_owned(), value.to_string_lossy().into_owned()]));
    }
    words.extend(["why", "--last"].map(str::to_owned));
    format!("openclaw-guard: to see why, and what would allow it: {}", command_line(&words))
}
