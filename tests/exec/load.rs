//! Programs that have just been written.

use guard_tests::{World, compile, rounds};

/// Writes a program, closes it and runs it, while threads of the same process fork short-lived children.
const LOOP: &str = r##"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv) {
    int rounds = atoi(argv[1]), bad = 0;
    const char *kind = argv[2];
    char name[64];
    snprintf(name, sizeof name, "./program%s", argv[3]);
    const char *script = "#!/bin/true\n";
    static char binary[1 << 20];
    long size = strlen(script);
    if (*kind == 'b') {
        int fd = open("/bin/true", O_RDONLY);
        size = read(fd, binary, sizeof binary);
        close(fd);
    } else {
        memcpy(binary, script, size);
    }
    for (int i = 0; i < rounds && bad < 5; i++) {
        int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
        if (fd < 0 || write(fd, binary, size) != size || close(fd)) return perror("write"), 1;
        pid_t pid = vfork();
        if (!pid) { char *args[] = {name, NULL}; execve(name, args, environ); _exit(errno); }
        int status;
        waitpid(pid, &status, 0);
        if (status) printf("round %d: %s\n", i, WIFEXITED(status) ? strerrorname_np(WEXITSTATUS(status)) : "killed"), bad++;
    }
    printf("%d bad\n", bad);
    return 0;
}
"##;

/// ETXTBSY would mean that somebody still has the file open for writing.
#[test]
fn a_program_starts_right_after_it_was_written() {
    let world = World::open();
    let program = world.root().join("loop");
    compile(LOOP, &program, &[]);
    let program = program.display();
    let each = rounds(500, 25_000);
    // Two of each kind at once, beside other load.
    let script = format!(
        "for i in 1 2; do {program} {each} script s$i & {program} {each} binary b$i & done
         (while :; do cat /etc/passwd > /dev/null; done) & load=$!
         wait $(jobs -p | head -4); kill $load"
    );
    let ended = world.guarded(&["bash", "-c", &script]);
    assert_eq!(ended.stdout, "0 bad\n".repeat(4), "{}", ended.stderr);
}

#[test]
fn the_shells_write_and_run() {
    let world = World::open();
    let count = rounds(150, 5000);
    let script = format!(
        "for i in $(seq {count}); do printf '#!/bin/sh\\nexit 3\\n' > s; chmod +x s; ./s; [ $? = 3 ] || echo bad $i; cp /bin/true t; ./t || echo bad $i; done; echo done"
    );
    let ended = world.guarded(&["sh", "-c", &script]);
    assert_eq!(ended.stdout, "done\n", "{}", ended.stderr);
}
