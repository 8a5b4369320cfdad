//! The kernel's surface: `surface.txt` lists every system call that the kernel's headers know and what it
//! takes, and its entries agree with the filter's table. A call that newer headers add fails here until
//! somebody classifies it.

use std::collections::BTreeMap;

use guard_shim::table::{self, Action, Architecture, RowAction, Switch};

/// A line of `surface.txt`.
pub struct Call {
    pub name: &'static str,
    takes: &'static str,
    handled: &'static str,
    /// `free`, `named`, `nobody`, or `never:` with the reason.
    pub swept: &'static str,
}

/// Returns all of them, by number. The lines have the numbers of x86_64, which has all of them.
pub fn calls() -> BTreeMap<u32, Call> {
    let lines = include_str!("surface.txt").lines().filter(|line| !line.starts_with('#'));
    let mut calls = BTreeMap::new();
    for line in lines {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_else(|| panic!("a short line: {line}"));
        let mut number = word().parse().expect("a number");
        let call = Call { name: word(), takes: word(), handled: word(), swept: word() };
        if Architecture::THIS != Architecture::X86_64 {
            let Some(here) = table::named(Architecture::THIS, call.name) else { continue };
            number = here.number;
        }
        assert!(calls.insert(number, call).is_none(), "twice: {line}");
    }
    calls
}

/// Returns the calls that this machine's header knows.
#[cfg(target_arch = "x86_64")]
fn headers() -> Vec<(u32, String)> {
    let headers = ["/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"];
    let Some(text) = headers.iter().find_map(|path| std::fs::read_to_string(path).ok()) else {
        panic!("the kernel's headers are needed: apt-get install linux-libc-dev");
    };
    let calls = text.lines().filter_map(|line| line.strip_prefix("#define __NR_")?.split_once(' '));
    calls.filter_map(|(name, number)| Some((number.trim().parse().ok()?, name.to_owned()))).collect()
}

/// Returns what a decision of the filter's table amounts to, in the words of `surface.txt`.
fn handling(decision: RowAction) -> &'static str {
    match decision {
        RowAction::Always(Action::Notify) => "broker",
        RowAction::Always(Action::Errno(_)) => "refused",
        RowAction::Always(Action::Allow | Action::Answer0) => "harmless",
        RowAction::Option(Switch::KernelReads | Switch::KernelWrites, ..) => "floored",
        RowAction::First(..) | RowAction::Option(..) => "registers",
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn no_system_call_of_the_headers_is_unknown() {
    let calls = calls();
    let headers = headers();
    assert!(headers.len() > 300);
    for (number, name) in &headers {
        let call =
            calls.get(number).unwrap_or_else(|| panic!("{name} ({number}) is new: what does it take?"));
        assert_eq!(call.name, name, "{number}");
    }
}

#[test]
fn every_system_call_is_known_for_what_it_takes() {
    let calls = calls();
    for entry in table::entries() {
        let call = calls.get(&entry.number).unwrap_or_else(|| panic!("{} is not classified", entry.name));
        assert_eq!(call.name, entry.name);
        let (handled, why) = call.handled.split_once(':').unwrap_or((call.handled, ""));
        assert_eq!(handled, handling(entry.decision), "{}", entry.name);
        // A call that takes something and is let through gives a reason; no other call does.
        let must_tell = handled == "harmless" && call.takes != "-";
        assert_eq!(["looks", "stands"].contains(&why), must_tell, "{}: {why}", entry.name);
        assert!(call.takes == "-" || call.takes.chars().all(|kind| "PDA".contains(kind)), "{}", entry.name);
    }
    assert_eq!(calls.len(), table::entries().len(), "more lines than calls");
    let taking = |kind| calls.values().filter(|call| call.takes.contains(kind)).count();
    println!(
        "surface: {} calls, {} paths, {} descriptors, {} addresses",
        calls.len(),
        taking('P'),
        taking('D'),
        taking('A')
    );
}

/// The sweep leaves out only calls that take nothing, each for a known reason.
#[test]
fn every_system_call_is_swept_or_says_why_not() {
    for call in calls().values() {
        let is_known = match call.swept.split_once(':') {
            None => matches!(call.swept, "free" | "named" | "nobody"),
            Some(("never", why)) => call.takes == "-" && matches!(why, "ends" | "waits" | "forks" | "disks"),
            Some(_) => false,
        };
        assert!(is_known, "{}: {}", call.name, call.swept);
        assert!(
            call.swept == "free" || call.takes == "-" || call.name == "shmat",
            "{} takes a file",
            call.name
        );
    }
}
