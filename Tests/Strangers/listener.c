#include "include/Strangers.h"
#include "means.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

enum { MOST_FRAMES = 16 };

static unsigned char admitted[32];

/* Answers for keys, as https://rfc.zeromq.org/spec/27/ has it. */
static void *answer(void *socket) {
    char frames[MOST_FRAMES][256];
    for (;;) {
        int size[MOST_FRAMES], count = 0, more = 1;
        size_t length = sizeof more;
        while (more && count < MOST_FRAMES) {
            size[count] = zmq_recv(socket, frames[count], sizeof frames[count], 0);
            if (size[count] < 0) return NULL;
            count++;
            zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &length);
        }
        if (count < 7) continue;
        int is_known = size[6] == sizeof admitted && memcmp(frames[6], admitted, sizeof admitted) == 0;
        zmq_send(socket, "1.0", 3, ZMQ_SNDMORE);
        zmq_send(socket, frames[1], (size_t)size[1], ZMQ_SNDMORE);
        zmq_send(socket, is_known ? "200" : "400", 3, ZMQ_SNDMORE);
        zmq_send(socket, "", 0, ZMQ_SNDMORE);
        zmq_send(socket, is_known ? "asker" : "", is_known ? 5 : 0, ZMQ_SNDMORE);
        zmq_send(socket, "", 0, 0);
    }
}

int strangers_listen(const char *host, int port, int seconds) {
    char address[128], own[KEY_TEXT], secret[KEY_TEXT], asker[KEY_TEXT], asker_secret[KEY_TEXT];
    check(zmq_curve_keypair(own, secret) == 0 && zmq_curve_keypair(asker, asker_secret) == 0, "key");
    zmq_z85_decode(admitted, asker);
    void *context = zmq_ctx_new();
    void *zap = zmq_socket(context, ZMQ_REP);
    check(zap && zmq_bind(zap, "inproc://zeromq.zap.01") == 0, "zap");
    pthread_t thread;
    check(pthread_create(&thread, NULL, answer, zap) == 0, "thread");

    void *router = zmq_socket(context, ZMQ_ROUTER);
    set(router, ZMQ_CURVE_SERVER, 1);
    set(router, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MILLISECONDS);
    set(router, ZMQ_BACKLOG, BACKLOG);
    set(router, ZMQ_LINGER, 0);
    check(zmq_setsockopt(router, ZMQ_CURVE_SECRETKEY, secret, KEY_TEXT) == 0, "secret key");
    check(zmq_setsockopt(router, ZMQ_ZAP_DOMAIN, "bare", 4) == 0, "domain");
    snprintf(address, sizeof address, "tcp://%s:%d", host, port);
    check(zmq_bind(router, address) == 0, address);
    printf("listening %s %s %s\n", own, asker, asker_secret);
    fflush(stdout);
    long end = microseconds() + seconds * 1000000L;
    while (microseconds() < end) {
        zmq_pollitem_t item = {.socket = router, .events = ZMQ_POLLIN};
        if (zmq_poll(&item, 1, 100) <= 0) continue;
        zmq_msg_t route, message;
        zmq_msg_init(&route);
        zmq_msg_init(&message);
        check(zmq_msg_recv(&route, router, 0) >= 0 && zmq_msg_recv(&message, router, 0) >= 0, "receive");
        check(zmq_msg_send(&route, router, ZMQ_SNDMORE) >= 0 && zmq_msg_send(&message, router, 0) >= 0, "send");
    }
    return 0;
}

static int by_size(const void *left, const void *right) {
    long a = *(const long *)left, b = *(const long *)right;
    return (a > b) - (a < b);
}

int strangers_ask(
    const char *host, int port, const char *server_key, const char *public_key, const char *secret_key, int rate, int seconds) {
    char address[128], payload[64] = {0};
    if (rate < 1 || rate > 100000 || seconds < 1 || seconds > 3600) return 64;
    void *context = zmq_ctx_new();
    void *socket = dealer(context, server_key, public_key, secret_key);
    snprintf(address, sizeof address, "tcp://%s:%d", host, port);
    check(zmq_connect(socket, address) == 0, address);
    long total = (long)rate * seconds, sent = 0, came = 0;
    long *times = calloc((size_t)total, sizeof *times);
    check(times != NULL, "memory");
    /* Time runs from when it is in. */
    check(zmq_send(socket, payload, sizeof payload, 0) >= 0 && zmq_recv(socket, payload, sizeof payload, 0) >= 0, "first echo");
    long begin = microseconds(), end = begin + seconds * 1000000L;
    /* What has not come within five seconds after the last has not come. */
    while (came < total && microseconds() < end + 5000000) {
        long due = begin + sent * 1000000L / rate, now = microseconds();
        if (sent < total && now >= due) {
            /* Its latency counts from when it was due, so that whoever is late is not quick. */
            memcpy(payload, &due, sizeof due);
            check(zmq_send(socket, payload, sizeof payload, 0) >= 0, "send");
            sent++;
            continue;
        }
        zmq_pollitem_t item = {.socket = socket, .events = ZMQ_POLLIN};
        long wait = sent < total ? (due - now + 999) / 1000 : 100;
        if (zmq_poll(&item, 1, wait) < 0) check(zmq_errno() == EINTR, "poll");
        while (zmq_recv(socket, payload, sizeof payload, ZMQ_DONTWAIT) == sizeof payload) {
            memcpy(&due, payload, sizeof due);
            if (came < total) times[came++] = microseconds() - due;
        }
    }
    qsort(times, (size_t)came, sizeof *times, by_size);
    printf("came %ld, missing %ld, p50 %ld, p99 %ld\n", came, total - came, came ? times[came / 2] : 0, came ? times[came * 99 / 100] : 0);
    return 0;
}
