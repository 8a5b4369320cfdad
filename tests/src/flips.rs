//! A file that has another content at each second look of the guard.

use std::path::Path;

use crate::compile;

/// The workers of the guard may have a priority above others: so there is a thread on each of two processors.
const FLIPS: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>
static char **words; static int file; static long at; static volatile int armed, fired;
static void put(const char *text) { if (pwrite(file, text, strlen(text), at)) {} }
static void *flip(void *processor) {
    cpu_set_t set; CPU_ZERO(&set); CPU_SET((long)processor, &set); sched_setaffinity(0, sizeof set, &set);
    char buffer[4096]; int looks = inotify_init1(IN_CLOEXEC);
    inotify_add_watch(looks, words[1], IN_ACCESS);
    for (;;) if (read(looks, buffer, sizeof buffer) > 0 && armed) { put(words[3]); fired = 1; }
    return 0;
}
int main(int count, char **all) {
    pthread_t thread; int status;
    words = all; at = atol(words[2]);
    file = open(words[1], O_RDWR | O_CLOEXEC);
    for (long processor = 0; processor < 2; processor++) pthread_create(&thread, 0, flip, (void *)processor);
    usleep(100000); armed = 1;
    pid_t child = fork();
    if (!child) { execv(words[5], words + 5); _exit(99); }
    while (waitpid(child, &status, WNOHANG) != child) {
        usleep(1000);
        if (!fired) continue;
        usleep(300000); armed = 0; put(words[4]);
        usleep(20000); fired = 0; armed = 1;
    }
    return 0;
}"#;

/// Compiles the program `FILE AT OTHER OWN COMMAND…`. While the command runs, it writes OTHER into the file, at this offset,
/// whenever somebody has read the file, and OWN a moment later.
///
/// # Panics
/// As [`compile`].
pub fn compile_flips(output: &Path) {
    compile(FLIPS, output, &["-pthread"]);
}
