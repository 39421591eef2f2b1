#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <zmq.h>

enum { KEY_TEXT = 41, HANDSHAKE_MILLISECONDS = 5000, BACKLOG = 1024 };

static inline void check(int works, const char *what) {
    if (works) return;
    fprintf(stderr, "strangers: %s: %s\n", what, zmq_strerror(zmq_errno()));
    exit(1);
}

static inline void set(void *socket, int option, int value) {
    check(zmq_setsockopt(socket, option, &value, sizeof value) == 0, "option");
}

static inline long microseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000L + time.tv_nsec / 1000;
}

/* A DEALER with a key. */
static inline void *dealer(void *context, const char *server_key, const char *public_key, const char *secret_key) {
    void *socket = zmq_socket(context, ZMQ_DEALER);
    check(socket != NULL, "socket");
    set(socket, ZMQ_LINGER, 0);
    check(zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server_key, KEY_TEXT) == 0, "server key");
    check(zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, public_key, KEY_TEXT) == 0, "public key");
    check(zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret_key, KEY_TEXT) == 0, "secret key");
    return socket;
}
