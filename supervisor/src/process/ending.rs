//! `--kill-on-exit`: ends what the command left running.

use guard_openclaw::peer::process_tree::Tree;

/// Kills every member of the tree, once; a member may have started another meanwhile.
pub fn kill_members(tree: &Tree) {
    let Ok(processes) = std::fs::read_dir("/proc") else { return };
    for pid in processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        // The pidfd first: the number cannot become another process's between the question and the signal.
        let Some(pid_of) = rustix::process::Pid::from_raw(pid) else { continue };
        let Ok(pidfd) = rustix::process::pidfd_open(pid_of, rustix::process::PidfdFlags::empty()) else {
            continue;
        };
        if tree.contains(pid) {
            let _ = rustix::process::pidfd_send_signal(pidfd, rustix::process::Signal::KILL);
        }
    }
}
