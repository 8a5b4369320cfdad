// Attacks by system calls that no library makes: `calls MODE`.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *secret, *program;

// The i386 entry, from 64-bit code: the numbers are those of i386, the pointers have 32 bits.
static long i386(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
    return result;
}

static char *low(const char *text) {
    char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    return strcpy(page, text);
}

static void show(int file) {
    char text[256];
    ssize_t length = read(file, text, sizeof text);
    if (length > 0)
        write(1, text, length);
}

static void i386_open(void) { show(i386(5, (long)low(secret), O_RDONLY, 0)); }

static const struct { const char *name; void (*run)(void); } MODES[] = {
    {"i386-open", i386_open},
};

int main(int argc, char **argv) {
    secret = getenv("S");
    program = getenv("P");
    for (size_t i = 0; i < sizeof MODES / sizeof *MODES; i++)
        if (!strcmp(MODES[i].name, argv[1])) {
            MODES[i].run();
            return 0;
        }
    return 2;
}
