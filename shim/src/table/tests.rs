use libc::{
    EACCES, EAFNOSUPPORT, EBUSY, EINVAL, ENOPROTOOPT, ENOSYS, EOPNOTSUPP, EPERM, EPROTONOSUPPORT,
    ESOCKTNOSUPPORT,
};

use super::*;

#[test]
fn rows_are_in_order_and_reach_the_highest() {
    assert!(entries().windows(2).all(|pair| pair[0].number < pair[1].number));
    assert_eq!(entries().last().unwrap().number, HIGHEST);
    let missing: Vec<u32> = (0..=HIGHEST).filter(|number| entry(*number).is_none()).collect();
    assert_eq!(missing, (337..=423).collect::<Vec<_>>());
}

#[test]
fn names_are_those_of_the_kernel() {
    let Ok(header) = std::fs::read_to_string("/usr/include/x86_64-linux-gnu/asm/unistd_64.h") else { return };
    let calls: Vec<(&str, u32)> = header
        .lines()
        .filter_map(|line| line.strip_prefix("#define __NR_")?.split_once(' '))
        .filter_map(|(name, number)| Some((name, number.trim().parse().ok()?)))
        .collect();
    assert!(calls.len() > 300);
    for (call, number) in calls {
        assert!(number > HIGHEST || name(number) == Some(call), "{call} is {number}, not {:?}", name(number));
    }
}

#[test]
fn few_actions_are_used() {
    let few = [
        EPERM,
        EACCES,
        ENOSYS,
        EINVAL,
        EBUSY,
        EOPNOTSUPP,
        ENOPROTOOPT,
        EAFNOSUPPORT,
        EPROTONOSUPPORT,
        ESOCKTNOSUPPORT,
    ];
    let known = |action| !matches!(action, Action::Errno(errno) if !few.contains(&errno));
    for row in entries() {
        let decided = match row.decision.under(&FilterOptions::default()) {
            RowAction::Always(action) => known(action),
            RowAction::First(rules, otherwise) => {
                known(otherwise) && rules.iter().all(|rule| known(rule.then))
            }
            RowAction::Option(..) => false,
        };
        assert!(decided, "{}", row.name);
    }
}

#[test]
fn calls_that_reach_files_by_a_path_are_judged() {
    let judged = "execve execveat openat2 creat truncate mkdir mkdirat mknod mknodat unlink unlinkat rmdir rename \
        renameat renameat2 link linkat symlink symlinkat chmod fchmodat fchmodat2 chown lchown fchownat utime utimes \
        futimesat utimensat setxattr lsetxattr setxattrat removexattr lremovexattr removexattrat file_setattr \
        fchmod fchown fsetxattr fremovexattr connect bind";
    for name in judged.split_whitespace() {
        assert_eq!(always(name), Some(Action::Notify), "{name}");
    }
}

#[test]
fn calls_that_leave_the_guard_are_refused() {
    let refused = "process_vm_readv process_vm_writev process_madvise userfaultfd bpf perf_event_open \
        open_by_handle_at fanotify_init mount umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen \
        fsconfig fsmount fspick mount_setattr swapon swapoff acct quotactl quotactl_fd reboot \
        sethostname setdomainname settimeofday clock_settime kexec_load kexec_file_load init_module finit_module \
        delete_module iopl ioperm vhangup process_mrelease setns pidfd_getfd";
    for name in refused.split_whitespace() {
        assert_eq!(always(name), Some(Action::Errno(EPERM)), "{name}");
    }
    // The supervisor refuses it with a message on how to allow it.
    assert_eq!(always("ptrace"), Some(Action::Notify));
    let missing = "clone3 io_uring_setup io_uring_enter io_uring_register add_key request_key keyctl";
    for name in missing.split_whitespace() {
        assert_eq!(always(name), Some(Action::Errno(ENOSYS)), "{name}");
    }
    assert_eq!(always("landlock_create_ruleset"), Some(Action::Errno(EOPNOTSUPP)));
}

#[test]
fn calls_that_only_query_are_allowed() {
    let allowed = "stat fstat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat chdir fchdir \
        getcwd getdents getdents64 read write close memfd_create fork vfork getxattr statfs statmount listmount \
        remap_file_pages dup2 recvmsg";
    for name in allowed.split_whitespace() {
        assert_eq!(always(name), Some(Action::Allow), "{name}");
    }
}

fn always(name: &str) -> Option<Action> {
    let row = entries().iter().find(|row| row.name == name)?;
    match row.decision.under(&FilterOptions::default()) {
        RowAction::Always(action) => Some(action),
        _ => None,
    }
}
