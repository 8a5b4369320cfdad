// Asks who stands outside, by system calls that no library makes: `services MODE`.
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifdef __x86_64__
// The i386 entry, from 64-bit code: the numbers are those of i386, the pointers have 32 bits.
static long i386(long number, long a, long b, long c, long d, long e) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e) : "memory", "r8", "r9", "r10", "r11");
    return result;
}

static void *low(void) {
    return mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
}

static struct sockaddr_un *at(const char *path) {
    struct sockaddr_un *address = low();
    address->sun_family = AF_UNIX;
    strcpy(address->sun_path, path);
    return address;
}

// By socketcall(2), which has all its arguments in memory.
static void i386_connect(void) {
    uint32_t *words = low();
    words[0] = AF_UNIX, words[1] = SOCK_STREAM, words[2] = 0;
    long s = i386(102, 1 /* SYS_SOCKET */, (long)words, 0, 0, 0);
    words[0] = s, words[1] = (uint32_t)(long)at("server"), words[2] = sizeof(struct sockaddr_un);
    i386(102, 3 /* SYS_CONNECT */, (long)words, 0, 0, 0);
}

static void i386_sendto(void) {
    long s = i386(359 /* socket */, AF_UNIX, SOCK_DGRAM, 0, 0, 0);
    uint32_t *words = low();
    words[0] = s, words[1] = (uint32_t)(long)words, words[2] = 1, words[3] = 0;
    words[4] = (uint32_t)(long)at("datagrams"), words[5] = sizeof(struct sockaddr_un);
    i386(102, 11 /* SYS_SENDTO */, (long)words, 0, 0, 0);
}

#endif

static const struct { const char *name; void (*run)(void); } MODES[] = {
#ifdef __x86_64__
    {"i386-connect", i386_connect},
    {"i386-sendto", i386_sendto},
#endif
};

int main(int argc, char **argv) {
    for (size_t i = 0; i < sizeof MODES / sizeof *MODES; i++)
        if (argc > 1 && !strcmp(MODES[i].name, argv[1])) {
            MODES[i].run();
            return 0;
        }
    return 2;
}
