#include "include/Strangers.h"
#include "means.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KEYS = 16, MOST_PEERS = 4096 };

enum kind { UNKNOWN_KEY, NOISE, SILENT };

struct peer {
    enum kind kind;
    /* Of libzmq, if it has a key. */
    void *socket, *monitor;
    /* Otherwise. */
    int descriptor;
    int has_spoken;
};

struct keys {
    char public_key[KEY_TEXT], secret_key[KEY_TEXT];
};

static struct peer all[MOST_PEERS];
static zmq_pollitem_t items[MOST_PEERS];
static struct keys keys[KEYS];
static long refused, unanswered, noisy, silent;

static void open_keyed(struct peer *peer, void *context, const char *address, const char *server_key) {
    static long number;
    char events[64];
    struct keys *own = &keys[number % KEYS];
    snprintf(events, sizeof events, "inproc://events-%ld", number++);
    peer->socket = dealer(context, server_key, own->public_key, own->secret_key);
    /* It comes again when we say so. */
    set(peer->socket, ZMQ_RECONNECT_IVL, -1);
    int failures = ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;
    check(zmq_socket_monitor(peer->socket, events, failures | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED) == 0, "monitor");
    peer->monitor = zmq_socket(context, ZMQ_PAIR);
    check(peer->monitor && zmq_connect(peer->monitor, events) == 0, "events");
    check(zmq_connect(peer->socket, address) == 0, address);
}

static void close_keyed(struct peer *peer) {
    zmq_socket_monitor(peer->socket, NULL, 0);
    zmq_close(peer->monitor);
    zmq_close(peer->socket);
}

static void open_bare(struct peer *peer, const struct sockaddr_in *address) {
    peer->descriptor = socket(AF_INET, SOCK_STREAM, 0);
    check(peer->descriptor >= 0 && fcntl(peer->descriptor, F_SETFL, O_NONBLOCK) == 0, "socket");
    /* What it closes is reset, and keeps no port. */
    struct linger linger = {1, 0};
    setsockopt(peer->descriptor, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    peer->has_spoken = 0;
    /* Fails at once or later; either way it shows as an end. */
    (void)!connect(peer->descriptor, (const struct sockaddr *)address, sizeof *address);
}

/* Every second one greets as CURVE demands and begins a handshake, so that the listener has to look into it; the others are noise at once. */
static void speak(struct peer *peer) {
    static const char greeting[] = "\xff\0\0\0\0\0\0\0\1\x7f\3\1CURVE";
    static unsigned number;
    char bytes[64 + 2 + 200];
    for (size_t index = 0; index < sizeof bytes; index++) bytes[index] = (char)random();
    if (number++ % 2) {
        memset(bytes, 0, 64);
        memcpy(bytes, greeting, sizeof greeting - 1);
        bytes[64] = 4;
        bytes[65] = (char)200;
        memcpy(bytes + 66, "\5HELLO\1\0", 8);
        memset(bytes + 74, 0, 72);
    }
    /* Whatever of it arrives. */
    (void)!send(peer->descriptor, bytes, sizeof bytes, 0);
    peer->has_spoken = 1;
}

/* Whether a connection has ended. */
static int has_ended_keyed(struct peer *peer) {
    unsigned char event[6];
    uint16_t kind;
    int has_ended = 0;
    while (zmq_recv(peer->monitor, event, sizeof event, ZMQ_DONTWAIT) == sizeof event) {
        memcpy(&kind, event, sizeof kind);
        zmq_recv(peer->monitor, NULL, 0, ZMQ_DONTWAIT);
        if (!has_ended) kind == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH ? refused++ : unanswered++;
        has_ended = 1;
    }
    return has_ended;
}

static int has_ended_bare(struct peer *peer, short events) {
    char byte[256];
    if (peer->kind == NOISE && !peer->has_spoken && events & ZMQ_POLLOUT) speak(peer);
    ssize_t size = recv(peer->descriptor, byte, sizeof byte, MSG_DONTWAIT);
    if (size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR))) return 0;
    peer->kind == NOISE ? noisy++ : silent++;
    return 1;
}

static void watch(zmq_pollitem_t *item, const struct peer *peer) {
    memset(item, 0, sizeof *item);
    item->socket = peer->kind == UNKNOWN_KEY ? peer->monitor : NULL;
    item->fd = peer->kind == UNKNOWN_KEY ? 0 : peer->descriptor;
    item->events = ZMQ_POLLIN | (peer->kind == NOISE && !peer->has_spoken ? ZMQ_POLLOUT : 0);
}

static void tell(void) {
    printf("refused %ld, unanswered %ld, noisy %ld, silent %ld\n", refused, unanswered, noisy, silent);
    fflush(stdout);
}

int strangers_flood(const char *host, int port, const char *server_key, int peers, int seconds) {
    char address[128];
    struct sockaddr_in bare = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (peers < 1 || peers > MOST_PEERS || inet_pton(AF_INET, host, &bare.sin_addr) != 1) return 64;
    snprintf(address, sizeof address, "tcp://%s:%d", host, port);
    /* Whoever is sent away may just be speaking. */
    signal(SIGPIPE, SIG_IGN);
    void *context = zmq_ctx_new();
    zmq_ctx_set(context, ZMQ_MAX_SOCKETS, 4 * MOST_PEERS);
    for (int index = 0; index < KEYS; index++) check(zmq_curve_keypair(keys[index].public_key, keys[index].secret_key) == 0, "key");
    for (int index = 0; index < peers; index++) {
        all[index].kind = index % 4 < 2 ? UNKNOWN_KEY : index % 4 == 2 ? NOISE : SILENT;
        if (all[index].kind == UNKNOWN_KEY) open_keyed(&all[index], context, address, server_key);
        else open_bare(&all[index], &bare);
    }
    long end = microseconds() + seconds * 1000000L, told = microseconds();
    while (microseconds() < end) {
        for (int index = 0; index < peers; index++) watch(&items[index], &all[index]);
        check(zmq_poll(items, peers, 100) >= 0 || zmq_errno() == EINTR, "poll");
        for (int index = 0; index < peers; index++) {
            struct peer *peer = &all[index];
            if (!items[index].revents) continue;
            if (peer->kind == UNKNOWN_KEY) {
                if (!has_ended_keyed(peer)) continue;
                close_keyed(peer);
                open_keyed(peer, context, address, server_key);
            } else if (has_ended_bare(peer, items[index].revents)) {
                close(peer->descriptor);
                open_bare(peer, &bare);
            }
        }
        if (microseconds() - told < 1000000) continue;
        told = microseconds();
        tell();
    }
    tell();
    return 0;
}
