//! `--kill-on-exit`: kills the processes that the command left running.

use guard_openclaw::peer::process_tree::Tree;

/// Kills the members of the tree in one pass. Processes started meanwhile may be missed.
pub fn kill_members(tree: &Tree) {
    let Ok(processes) = std::fs::read_dir("/proc") else { return };
    for pid in processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        // The pidfd comes first, so that the number cannot be reused between the check and the signal.
        let Some(pid_of) = rustix::process::Pid::from_raw(pid) else { continue };
        let Ok(pidfd) = rustix::process::pidfd_open(pid_of, rustix::process::PidfdFlags::empty()) else {
            continue;
        };
        if tree.contains(pid) {
            let _ = rustix::process::pidfd_send_signal(pidfd, rustix::process::Signal::KILL);
        }
    }
}
