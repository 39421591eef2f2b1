/*
 * The yardstick of views: a bare PUB socket, and the followers that measure it and a store alike.
 *
 * Followers are SUB sockets of one process. A view is known by its bytes, so each must differ. What is measured is the time from when a
 * view was handed to libzmq, as sent.c has written it down, to when the last follower has it, for views that all of them got. (From the
 * first follower to the last would not do: followers that wake late find all views there, and so seem to be served fast.)
 *
 * `publish` sends what was written down once more: as many messages, of the same frames, at the same distances.
 *
 *     cc -O2 -o fanout fanout.c $(pkg-config --cflags --libs libzmq)
 *     SENT=AGAIN LD_PRELOAD=./sent.so ./fanout publish ADDRESS TOPIC SENT
 *     ./fanout follow ADDRESS TOPIC FOLLOWERS SECONDS SENT
 *
 * A zero byte, in which each topic ends, is added.
 */
#include "sent.h"
#include <stdio.h>
#include <stdlib.h>
#include <zmq.h>

enum { MOST_FOLLOWERS = 1000, MOST_VIEWS = 1 << 16, LARGEST = 1 << 20 };

static void check(int works, const char *what) {
    if (works) return;
    fprintf(stderr, "fanout: %s: %s\n", what, zmq_strerror(zmq_errno()));
    exit(1);
}

/* What was sent, in its order. */
static long sent_messages(const char *path, struct sent *sent) {
    FILE *file = fopen(path, "rb");
    check(file != NULL, path);
    long count = fread(sent, sizeof *sent, MOST_VIEWS, file);
    check(count > 0, "nothing was sent");
    fclose(file);
    return count;
}

static void rest_until(double due) {
    double wait = due - now();
    if (wait <= 0) return;
    struct timespec pause = {(time_t)wait, (long)((wait - (time_t)wait) * 1e9)};
    nanosleep(&pause, NULL);
}

static int publish(void *context, const char *address, const char *topic, const char *path) {
    static char body[LARGEST];
    static struct sent sent[MOST_VIEWS];
    long count = sent_messages(path, sent);
    void *socket = zmq_socket(context, ZMQ_PUB);
    check(zmq_bind(socket, address) == 0, address);
    double start = now() - sent[0].time;
    for (long number = 0; number < count; number++) {
        rest_until(start + sent[number].time);
        const char *rest = body;
        memcpy(body, &number, sizeof number);
        check(zmq_send(socket, topic, strlen(topic) + 1, ZMQ_DONTWAIT | ZMQ_SNDMORE) >= 0, "send");
        for (uint32_t frame = 1; frame < sent[number].frames; frame++) {
            int more = frame + 1 < sent[number].frames ? ZMQ_SNDMORE : 0;
            check(rest + sent[number].sizes[frame] <= body + LARGEST, "a message of this size");
            check(zmq_send(socket, rest, sent[number].sizes[frame], ZMQ_DONTWAIT | more) >= 0, "send");
            rest += sent[number].sizes[frame];
        }
    }
    zmq_close(socket);
    return 0;
}

struct view {
    uint64_t hash;
    double last;
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
        uint64_t hash = EMPTY_HASH;
        int more = 1;
        while (more) {
            zmq_msg_t part;
            zmq_msg_init(&part);
            if (zmq_msg_recv(&part, socket, ZMQ_DONTWAIT) < 0) {
                check(zmq_errno() == EAGAIN, "receive");
                return;
            }
            hash = hashed(hash, zmq_msg_data(&part), zmq_msg_size(&part));
            bytes += zmq_msg_size(&part);
            frames++;
            more = zmq_msg_more(&part);
            zmq_msg_close(&part);
        }
        messages++;
        struct view *view = find(hash);
        view->last = now();
        view->followers++;
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int follow(void *context, const char *address, const char *topic, int followers, double seconds, const char *path) {
    static zmq_pollitem_t items[MOST_FOLLOWERS];
    static double served[MOST_VIEWS];
    static struct sent sent[MOST_VIEWS];
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
    for (int index = 0; index < followers; index++) zmq_close(items[index].socket);
    int complete = 0, partial = 0;
    for (long index = 0, count = sent_messages(path, sent); index < count; index++) {
        struct view *view = find(sent[index].hash);
        if (view->followers == followers) served[complete++] = view->last - sent[index].time;
        else if (view->followers) partial++;
    }
    if (complete == 0) return fprintf(stderr, "fanout: no view reached all %d followers, %d some\n", followers, partial), 1;
    qsort(served, complete, sizeof *served, ascending);
    printf("views %d\npartial %d\nbytes %ld\nframes %.0f\n", complete, partial, bytes / messages, (double)frames / messages);
    printf("served_microseconds %.1f\n", served[complete / 2] * 1e6);
    printf("slowest_tenth_microseconds %.1f\n", served[complete - 1 - complete / 10] * 1e6);
    return 0;
}

int main(int count, char **arguments) {
    void *context = zmq_ctx_new();
    int code = 64;
    if (count == 5 && strcmp(arguments[1], "publish") == 0) {
        code = publish(context, arguments[2], arguments[3], arguments[4]);
    } else if (count == 7 && strcmp(arguments[1], "follow") == 0 && atoi(arguments[4]) > 0 && atoi(arguments[4]) <= MOST_FOLLOWERS) {
        code = follow(context, arguments[2], arguments[3], atoi(arguments[4]), atof(arguments[5]), arguments[6]);
    } else {
        fprintf(stderr, "usage: fanout publish ADDRESS TOPIC SENT | follow ADDRESS TOPIC FOLLOWERS SECONDS SENT\n");
    }
    zmq_ctx_term(context);
    return code;
}
