/* A message as sent.c writes it down, and fanout.c reads it. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum { MOST_FRAMES = 8 };

struct sent {
    double time;
    uint64_t hash;
    uint32_t frames, sizes[MOST_FRAMES];
};

#define EMPTY_HASH 14695981039346656037u

static inline uint64_t hashed(uint64_t hash, const void *bytes, size_t size) {
    for (const unsigned char *byte = bytes; size > 0; size--) hash = (hash ^ *byte++) * 1099511628211u;
    return hash;
}

/* Of a clock that all processes share. */
static inline double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}
