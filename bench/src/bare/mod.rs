//! Supervisors that reply without judging: the cost of the kernel's mechanism, a lower bound for any guard.
//!
//! A leader loads a filter that holds open, openat and execve, sends its listener's number, and becomes the command.
//! The supervisor is one thread and assumes that every caller has the supervisor's umask: enough for measuring, and for
//! nothing else.

#[allow(unsafe_code)]
mod kernel;
mod leader;
mod supervisor;

use clap::ValueEnum;

pub use leader::lead;
pub use supervisor::supervise;

/// A supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Loop {
    /// Reads the path and lets every call go on, with the synchronous wake-up.
    Continue,
    /// What the guard does where it leaves calls to the kernel, and nothing else: reads the path, looks in one call
    /// whether a link is on the way, lets the call go on, with the synchronous wake-up; looks at each new program by
    /// ptrace.
    Look,
    /// Reads the path and lets every call go on; looks at each new program by ptrace before it runs.
    Traced,
    /// Opens files itself and hands them over; looks at each new program by ptrace before it runs.
    Addfd,
}

impl Loop {
    /// All supervisors.
    pub const ALL: [Loop; 4] = [Loop::Continue, Loop::Look, Loop::Traced, Loop::Addfd];

    /// Its name in tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Loop::Continue => "continue",
            Loop::Look => "look",
            Loop::Traced => "traced",
            Loop::Addfd => "addfd",
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::Loop;

    #[test]
    fn names_are_those_of_the_command_line() {
        let names = Loop::ALL.map(|own| own.to_possible_value().unwrap().get_name().to_owned());
        assert_eq!(names, Loop::ALL.map(Loop::name));
    }
}
