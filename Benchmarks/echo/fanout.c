/*
 * The yardstick of views: a bare PUB socket, and the followers that measure it and a store alike.
 *
 * Followers are SUB sockets of one process. A view is known by its bytes, so each must differ. What is measured is the time from the
 * first follower that has a view to the last, for views that all of them got.
 *
 *     cc -O2 -o fanout fanout.c $(pkg-config --cflags --libs libzmq)
 *     ./fanout publish ADDRESS TOPIC BYTES FRAMES PER-SECOND SECONDS
 *     ./fanout follow ADDRESS TOPIC FOLLOWERS SECONDS
 *
 * A zero byte, in which each topic ends, is added. The topic is the first of the frames; the others share the rest of the bytes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

enum { MOST_FOLLOWERS = 1000, MOST_VIEWS = 1 << 16, LARGEST = 1 << 16 };

static void check(int works, const char *what) {
    if (works) return;
    fprintf(stderr, "fanout: %s: %s\n", what, zmq_strerror(zmq_errno()));
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static int publish(void *context, const char *address, const char *topic, int bytes, int frames, double rate, double seconds) {
    static char body[LARGEST];
    char text[32];
    void *socket = zmq_socket(context, ZMQ_PUB);
    check(zmq_bind(socket, address) == 0, address);
    int size = bytes - (int)strlen(topic) - 1;
    check(frames >= 2, "a topic and at least one frame");
    if (size < (int)sizeof text) size = sizeof text;
    if (size > LARGEST) size = LARGEST;
    double start = now();
    for (long sent = 0;; sent++) {
        double due = start + sent / rate, wait = due - now();
        if (due >= start + seconds) break;
        if (wait > 0) {
            struct timespec pause = {(time_t)wait, (long)((wait - (time_t)wait) * 1e9)};
            nanosleep(&pause, NULL);
        }
        snprintf(text, sizeof text, "%031ld", sent);
        memcpy(body, text, sizeof text);
        check(zmq_send(socket, topic, strlen(topic) + 1, ZMQ_SNDMORE) >= 0, "send");
        for (int frame = 1, from = 0; frame < frames; frame++) {
            int until = (int)((long)size * frame / (frames - 1));
            check(zmq_send(socket, body + from, until - from, frame < frames - 1 ? ZMQ_SNDMORE : 0) >= 0, "send");
            from = until;
        }
    }
    zmq_close(socket);
    return 0;
}

struct view {
    uint64_t hash;
    double first, last;
    int followers;
};

static struct view views[MOST_VIEWS];
static long messages, frames, bytes;

static struct view *find(uint64_t hash) {
    for (uint64_t index = hash;; index++) {
        struct view *view = &views[index % MOST_VIEWS];
        if (view->followers == 0 || view->hash == hash) return view->hash = hash, view;
    }
}

/* All that waits at one follower. */
static void take(void *socket) {
    for (;;) {
        uint64_t hash = 14695981039346656037u;
        int more = 1;
        while (more) {
            zmq_msg_t part;
            zmq_msg_init(&part);
            if (zmq_msg_recv(&part, socket, ZMQ_DONTWAIT) < 0) {
                check(zmq_errno() == EAGAIN, "receive");
                return;
            }
            const unsigned char *data = zmq_msg_data(&part);
            for (size_t index = 0; index < zmq_msg_size(&part); index++) hash = (hash ^ data[index]) * 1099511628211u;
            bytes += zmq_msg_size(&part);
            frames++;
            more = zmq_msg_more(&part);
            zmq_msg_close(&part);
        }
        messages++;
        struct view *view = find(hash);
        view->last = now();
        if (view->followers++ == 0) view->first = view->last;
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int follow(void *context, const char *address, const char *topic, int followers, double seconds) {
    static zmq_pollitem_t items[MOST_FOLLOWERS];
    static double spreads[MOST_VIEWS];
    for (int index = 0; index < followers; index++) {
        items[index].socket = zmq_socket(context, ZMQ_SUB);
        items[index].events = ZMQ_POLLIN;
        check(zmq_setsockopt(items[index].socket, ZMQ_SUBSCRIBE, topic, strlen(topic) + 1) == 0, "subscribe");
        check(zmq_connect(items[index].socket, address) == 0, address);
    }
    double start = now();
    while (now() < start + seconds) {
        check(zmq_poll(items, followers, 100) >= 0, "poll");
        for (int index = 0; index < followers; index++)
            if (items[index].revents) take(items[index].socket);
        /* A table that is full would end in a search without end. */
        check(messages < (long)MOST_VIEWS / 2 * followers, "more views than expected");
    }
    int complete = 0, partial = 0;
    for (int index = 0; index < MOST_VIEWS; index++) {
        if (views[index].followers == followers) spreads[complete++] = views[index].last - views[index].first;
        else if (views[index].followers) partial++;
    }
    for (int index = 0; index < followers; index++) zmq_close(items[index].socket);
    if (complete == 0) return fprintf(stderr, "fanout: no view reached all %d followers, %d some\n", followers, partial), 1;
    qsort(spreads, complete, sizeof *spreads, ascending);
    printf("views %d\npartial %d\nper_second %.1f\n", complete, partial, complete / seconds);
    printf("bytes %ld\nframes %.0f\n", bytes / messages, (double)frames / messages);
    printf("spread_microseconds %.1f\n", spreads[complete / 2] * 1e6);
    return 0;
}

int main(int count, char **arguments) {
    void *context = zmq_ctx_new();
    int code = 64;
    if (count == 8 && strcmp(arguments[1], "publish") == 0) {
        code = publish(context, arguments[2], arguments[3], atoi(arguments[4]), atoi(arguments[5]), atof(arguments[6]), atof(arguments[7]));
    } else if (count == 6 && strcmp(arguments[1], "follow") == 0 && atoi(arguments[4]) > 0 && atoi(arguments[4]) <= MOST_FOLLOWERS) {
        code = follow(context, arguments[2], arguments[3], atoi(arguments[4]), atof(arguments[5]));
    } else {
        fprintf(stderr, "usage: fanout publish ADDRESS TOPIC BYTES FRAMES PER-SECOND SECONDS | follow ADDRESS TOPIC FOLLOWERS SECONDS\n");
    }
    zmq_ctx_term(context);
    return code;
}
