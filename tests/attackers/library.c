// A library whose constructor leaves the mark of the program that may not run where MARK is set, and else shows the secret.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

unsigned la_version(unsigned version) { return version; }

__attribute__((constructor)) static void start(void) {
    char path[4096], text[256];
    if (getenv("MARK")) {
        snprintf(path, sizeof path, "%s/work/escaped", getenv("R"));
        close(open(path, O_CREAT | O_WRONLY, 0600));
        return;
    }
    int file = open(getenv("S"), O_RDONLY);
    ssize_t length = read(file, text, sizeof text);
    if (length > 0 && write(1, text, length) < 0)
        return;
}
