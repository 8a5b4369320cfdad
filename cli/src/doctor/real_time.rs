//! Whether the guard's workers get a real-time priority, with which they receive calls at once.

use guard_supervisor::kernel::probe::NoRealTime;

use super::feature::{Above, INSIDE};
use super::finding::Findings;

const NAME: &str = "real-time";

/// Reports what `probed` found.
pub fn check(above: Above, probed: Result<(), NoRealTime>, findings: &mut Findings) {
    let why = match probed {
        // The limit here is that of the guard's tree.
        _ if above == Above::Guard => return findings.note(NAME, INSIDE),
        Ok(()) => return findings.ok(NAME, "workers receive calls before other work is done"),
        Err(why) => why,
    };
    let (why, fix) = match why {
        NoRealTime::NoChild(error) => {
            return findings.note(NAME, format!("not tried, because no process could be started: {error}"));
        }
        NoRealTime::Chosen => {
            return findings
                .note(NAME, "none: the guard keeps the priority that was chosen for it (nice, chrt)");
        }
        NoRealTime::Limit => ("the limit (ulimit -r) is 0".to_owned(), grant()),
        NoRealTime::Refused(error) => {
            let fix = "allow sched_setscheduler in the container, and real-time in its control group (cpu.rt_runtime_us)";
            (format!("the kernel refuses it ({error})"), fix.to_owned())
        }
    };
    let text =
        format!("none, because {why}: everything works, but on a busy machine signals interrupt more calls");
    findings.warning(NAME, text, fix);
}

/// How an operator raises the limit.
fn grant() -> String {
    let own = nix::unistd::geteuid();
    let known = nix::unistd::User::from_uid(own).ok().flatten();
    let user = known.map_or_else(|| own.to_string(), |user| user.name);
    format!(
        "the line \"{user} - rtprio 1\" in /etc/security/limits.conf, and a new login; LimitRTPRIO=1 in a service; \
         --ulimit rtprio=1 for a container"
    )
}

#[cfg(test)]
mod tests {
    use super::super::finding::{State, found};
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn the_fix_is_for_what_refuses() {
        let of = |above, probed| found(|findings| check(above, probed, findings));
        assert_eq!(of(Above::Nothing, Ok(())).0, State::Ok);
        let (state, text, fix) = of(Above::Nothing, Err(NoRealTime::Limit));
        assert!(state == State::Warning && text.contains("ulimit -r") && fix.contains("- rtprio 1"), "{fix}");
        let (state, _, fix) = of(Above::Nothing, Err(NoRealTime::Refused(Errno::PERM)));
        assert!(state == State::Warning && fix.contains("control group"), "{fix}");
        assert_eq!(of(Above::Nothing, Err(NoRealTime::Chosen)).0, State::Note);
        assert_eq!(of(Above::Nothing, Err(NoRealTime::NoChild(Errno::AGAIN))).0, State::Note);
        assert_eq!(of(Above::Guard, Err(NoRealTime::Limit)).0, State::Note);
    }
}
