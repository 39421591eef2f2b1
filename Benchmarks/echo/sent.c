/*
 * Writes down when each view was handed to libzmq, for the process that it is loaded into: a store or the bare PUB socket beside it.
 *
 *     cc -O2 -shared -fPIC -o sent.so sent.c -ldl
 *     SENT=FILE LD_PRELOAD=./sent.so PROGRAM …
 */
#define _GNU_SOURCE
#include "sent.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zmq.h>

static __thread struct sent message;
/* Whether the frame that comes next continues a message, and whether that is a view. */
static __thread int more, is_view;

static void write_down(void) {
    static int file = -1;
    const char *path = getenv("SENT");
    /* Only the thread that owns the view socket comes here. */
    if (file < 0 && path) file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file >= 0 && write(file, &message, sizeof message) != sizeof message) abort();
}

int zmq_send(void *socket, const void *bytes, size_t size, int flags) {
    static int (*real)(void *, const void *, size_t, int);
    if (!real) real = (int (*)(void *, const void *, size_t, int))dlsym(RTLD_NEXT, "zmq_send");
    if (!more) {
        is_view = size >= 5 && memcmp(bytes, "view/", 5) == 0;
        if (is_view) message = (struct sent){.time = now(), .hash = EMPTY_HASH};
    }
    struct sent before = message;
    if (is_view) {
        if (message.frames == MOST_FRAMES) abort();
        message.hash = hashed(message.hash, bytes, size);
        message.sizes[message.frames++] = (uint32_t)size;
    }
    int result = real(socket, bytes, size, flags);
    /* An interrupted call is repeated with the same frame. */
    if (result < 0) return message = before, result;
    more = flags & ZMQ_SNDMORE;
    if (is_view && !more) write_down();
    return result;
}
