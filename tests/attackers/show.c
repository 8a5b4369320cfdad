// Appends its process id and its first argument to work/shown: what it was really given.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char line[64];
    int length = snprintf(line, sizeof line, "%d %s\n", getpid(), argc > 1 ? argv[1] : "");
    int fd = open("work/shown", O_CREAT | O_APPEND | O_WRONLY, 0600);
    return write(fd, line, length) != length;
}
