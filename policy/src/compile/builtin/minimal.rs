//! What nearly every program needs and no operator should have to list: loader and libraries, locale and name service,
//! the harmless devices, a process's own `/proc`. These rules let no program start.

/// Where the loader and the libraries are.
pub(crate) const LIBRARY_DIRS: [&str; 6] =
    ["/lib", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib"];

/// Shared objects, by the names that loaders look for.
const LIBRARY_FILES: [&str; 3] = ["**/*.so", "**/*.so.*", "**/ld-*.so*"];

const FILES: &[(&str, &str)] = &[
    (
        "r--",
        "/etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d/** /etc/ld.so.preload \
         /usr/lib/locale/** /usr/share/locale/** /usr/share/i18n/** /usr/lib/*/gconv/** /usr/lib/gconv/** \
         /usr/lib64/gconv/** /etc/locale.alias /usr/share/locale-langpack/** \
         /etc/localtime /etc/timezone /usr/share/zoneinfo/** /etc/nsswitch.conf /etc/passwd /etc/group \
         /etc/hosts /etc/host.conf /etc/resolv.conf /run/systemd/resolve/*.conf /run/resolvconf/resolv.conf \
         /etc/gai.conf /etc/services /etc/protocols \
         /usr/share/terminfo/** /etc/terminfo/** /lib/terminfo/** /usr/lib/terminfo/** /etc/inputrc \
         /proc /proc/cpuinfo /proc/meminfo /proc/stat /proc/uptime /proc/loadavg /proc/version \
         /proc/filesystems /proc/mounts /proc/sys/** \
         /proc/*/stat /proc/*/status /proc/*/cmdline /proc/*/comm /proc/*/statm \
         /proc/*/cgroup /proc/*/oom_score /proc/*/oom_score_adj /proc/*/wchan /proc/*/task /proc/*/task/* \
         /proc/*/task/*/stat /proc/*/task/*/status /proc/*/task/*/cmdline /proc/*/task/*/comm \
         /proc/*/task/*/statm /proc/*/task/*/cgroup /proc/*/task/*/oom_score \
         /proc/*/task/*/oom_score_adj /proc/*/task/*/wchan \
         /sys/devices/system/cpu/** /sys/kernel/mm/transparent_hugepage/**",
    ),
    (
        "rw-",
        "/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/ptmx /dev/pts/** \
         /proc/self/** /proc/self/oom_score_adj /proc/self/task/*/comm /proc/self/task/*/oom_score_adj \
         /run/nscd/socket /var/run/nscd/socket /run/systemd/resolve/io.systemd.Resolve \
         /run/systemd/userdb/* /var/lib/sss/pipes/nss",
    ),
];

/// Returns the base as patterns and permissions.
pub(crate) fn rules() -> impl Iterator<Item = (String, &'static str)> {
    // `dir/NAME` matches in the directory itself, `dir/**/NAME` only deeper.
    let deeper = LIBRARY_DIRS
        .iter()
        .flat_map(|dir| LIBRARY_FILES.iter().map(move |file| (format!("{dir}/{file}"), "r-x")));
    let direct = LIBRARY_DIRS
        .iter()
        .flat_map(|dir| LIBRARY_FILES.iter().map(move |file| (format!("{dir}/{}", &file[3..]), "r-x")));
    let files =
        FILES.iter().flat_map(|(rights, list)| list.split_whitespace().map(|p| (p.to_owned(), *rights)));
    deeper.chain(direct).chain(files)
}
