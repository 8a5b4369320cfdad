// Asks who stands outside, by system calls that no library makes: `services MODE`.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

// The kernel makes its list of names in parts (/proc/net/unix). Whatever is closed meanwhile moves the rest up, and some are
// left out. So this closes names that lie in the list just before that of the server.
static volatile int connects;
static int first_file, last_file;

static unsigned named(struct sockaddr_un *address, const char *name) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path + 1, name, strlen(name));
    return offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name);
}

// net/unix/af_unix.c, unix_abstract_hash, but for the type.
static unsigned bucket(const struct sockaddr_un *address, unsigned length) {
    const unsigned char *bytes = (const void *)address;
    unsigned sum = 0;
    for (unsigned i = 0; i < length; i++)
        sum += bytes[i] << i % 2 * 8;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~((sum & 0xffff) + (sum >> 16)) & 0xffff;
    return (sum ^ sum >> 8) & 0xff;
}

static void *close_names(void *pause) {
    while (!connects)
        usleep(20);
    usleep((uintptr_t)pause);
    close_range(first_file, last_file, 0);
    return NULL;
}

static void closed_names(void) {
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    char name[108];
    snprintf(name, sizeof name, "%s", getenv("R"));
    name[strlen(name) - 1] = 0;
    struct sockaddr_un server, other;
    unsigned length = named(&server, name), number = 0;
    // The tree has a socket of this name, of another type.
    int own = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    bind(own, (void *)&server, length);
    listen(own, 1);
    for (int try = 0; try < 150; try++) {
        first_file = -1;
        for (int bound = 0; bound < 150; number++) {
            snprintf(name, sizeof name, "%0*u", 100, number);
            for (int at = 0; at < 8; at++)
                name[at] = 1 + rand() % 255;
            unsigned other_length = named(&other, name);
            if (bucket(&other, other_length) != bucket(&server, length))
                continue;
            last_file = socket(AF_UNIX, SOCK_STREAM, 0);
            bind(last_file, (void *)&other, other_length);
            if (first_file < 0)
                first_file = last_file;
            bound++;
        }
        pthread_t closing;
        connects = 0;
        pthread_create(&closing, NULL, close_names, (void *)(uintptr_t)(rand() % 400));
        usleep(300);
        int client = socket(AF_UNIX, SOCK_STREAM, 0);
        connects = 1;
        connect(client, (void *)&server, length);
        pthread_join(closing, NULL);
        close(client);
    }
}

static const struct { const char *name; void (*run)(void); } MODES[] = {
    {"closed-names", closed_names},
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
