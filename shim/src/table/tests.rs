use std::collections::BTreeMap;

use libc::{
    EACCES, EAFNOSUPPORT, EBUSY, EINVAL, ENOPROTOOPT, ENOSYS, EOPNOTSUPP, EPERM, EPROTONOSUPPORT,
    ESOCKTNOSUPPORT,
};

use super::*;

#[test]
fn rows_are_in_order_and_reach_the_highest() {
    // What lies between is free: newer calls have the same number on all architectures. 244 to 259 are an architecture's own.
    let x86_64: Vec<u32> = (337..=423).collect();
    let aarch64: Vec<u32> = (244..=259).chain(295..=423).collect();
    for (architecture, free) in [(Architecture::X86_64, x86_64), (Architecture::Aarch64, aarch64)] {
        let numbers: Vec<u32> = rows(architecture).iter().map(|row| row.number).collect();
        assert!(numbers.is_sorted(), "{architecture:?}");
        let missing: Vec<u32> = (0..=HIGHEST).filter(|number| !numbers.contains(number)).collect();
        assert_eq!(missing, free, "{architecture:?}");
    }
}

#[test]
fn names_are_those_of_the_kernel() {
    let own = ["/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"];
    // The generic numbers, which the headers of each machine have.
    let generic = ["/usr/include/asm-generic/unistd.h"];
    // Other machines have other numbers in files of these names.
    let own = if Architecture::THIS == Architecture::X86_64 { &own[..] } else { &[] };
    for (architecture, headers) in [(Architecture::X86_64, own), (Architecture::Aarch64, &generic)] {
        let mut headers = headers.iter().filter_map(|path| std::fs::read_to_string(path).ok());
        let Some(header) = headers.next() else { continue };
        // The generic header has several names for some numbers, of which an architecture chooses one.
        let mut names: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
        for line in header.lines() {
            let rest = line.strip_prefix("#define __NR_").or_else(|| line.strip_prefix("#define __NR3264_"));
            let Some((call, number)) = rest.and_then(|rest| rest.split_once([' ', '\t'])) else { continue };
            let Ok(number) = number.trim().parse() else { continue };
            // How many there are.
            if call == "syscalls" {
                continue;
            }
            names.entry(number).or_default().push(if call == "fstatat" { "newfstatat" } else { call });
        }
        let mut compared = 0;
        for row in rows(architecture) {
            if let Some(names) = names.get(&row.number) {
                assert!(
                    names.contains(&row.name),
                    "{architecture:?}: {} is {names:?}, not {}",
                    row.number,
                    row.name
                );
                compared += 1;
            }
        }
        assert!(compared > 290, "{architecture:?} {compared}");
        let is_missing =
            |number: &u32| *number <= HIGHEST && !rows(architecture).iter().any(|row| row.number == *number);
        let missing: Vec<_> = names.iter().filter(|(number, _)| is_missing(number)).collect();
        // The first of an architecture's own numbers, and those of 32-bit machines.
        let is_of_others = |names: &[&str]| {
            names.iter().all(|name| {
                name.contains("time") && name.ends_with("64") || name.starts_with("arch_specific")
            })
        };
        assert!(missing.iter().all(|(_, names)| is_of_others(names)), "{architecture:?} {missing:?}");
    }
}

#[test]
fn a_call_is_decided_alike_on_all_architectures() {
    // A tracer may change the first argument behind the filter on aarch64 only.
    for row in rows(Architecture::Aarch64).iter().filter(|row| row.name != "ptrace") {
        let other = named(Architecture::X86_64, row.name);
        assert_eq!(other.map(|other| other.decision), Some(row.decision), "{}", row.name);
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

/// The registers hold the arguments of a call that the filter has already seen.
#[test]
fn a_tracer_on_aarch64_does_not_set_the_registers() {
    let row = named(Architecture::Aarch64, "ptrace").unwrap();
    let allowing = FilterOptions { allow_ptrace: true, ..FilterOptions::default() };
    let RowAction::First(rules, Action::Allow) = row.decision.under(&allowing) else { panic!("{row:?}") };
    let refusal = rules.iter().find(|rule| rule.then == Action::Errno(EPERM)).unwrap();
    let is_test = |argument, value| {
        let matches =
            |test: &Test| test.argument == argument && matches!(test.is, Is::OneOf([only]) if *only == value);
        refusal.when.iter().any(matches)
    };
    assert!(is_test(0, 0x4205) && is_test(2, 1));
    assert_eq!(refusal.when.len(), 2);
}

#[test]
fn calls_that_reach_files_by_a_path_are_judged() {
    let judged = "execve execveat openat2 creat truncate mkdir mkdirat mknod mknodat unlink unlinkat rmdir rename \
        renameat renameat2 link linkat symlink symlinkat chmod fchmodat fchmodat2 chown lchown fchownat utime utimes \
        futimesat utimensat setxattr lsetxattr setxattrat removexattr lremovexattr removexattrat file_setattr \
        fchmod fchown fsetxattr fremovexattr connect bind";
    for name in judged.split_whitespace() {
        assert_eq!(always(name), Action::Notify, "{name}");
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
        assert_eq!(always(name), Action::Errno(EPERM), "{name}");
    }
    // The supervisor refuses it with a message on how to allow it.
    assert_eq!(always("ptrace"), Action::Notify);
    let missing = "clone3 io_uring_setup io_uring_enter io_uring_register add_key request_key keyctl";
    for name in missing.split_whitespace() {
        assert_eq!(always(name), Action::Errno(ENOSYS), "{name}");
    }
    assert_eq!(always("landlock_create_ruleset"), Action::Errno(EOPNOTSUPP));
}

#[test]
fn calls_that_only_query_are_allowed() {
    let allowed = "stat fstat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat chdir fchdir \
        getcwd getdents getdents64 read write close memfd_create fork vfork getxattr statfs statmount listmount \
        remap_file_pages dup2 recvmsg";
    for name in allowed.split_whitespace() {
        assert_eq!(always(name), Action::Allow, "{name}");
    }
}

/// The action of a call, whatever its arguments are. x86_64 has all calls.
fn always(name: &str) -> Action {
    let row = named(Architecture::X86_64, name).unwrap();
    match row.decision.under(&FilterOptions::default()) {
        RowAction::Always(action) => action,
        decided => panic!("{name}: {decided:?}"),
    }
}
