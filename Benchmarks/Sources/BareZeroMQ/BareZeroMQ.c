#include "BareZeroMQ.h"
#include <stdlib.h>
#include <zmq.h>

struct bare_pair {
    void *context, *sender, *receiver;
};

struct bare_pair *bare_pair_open(const char *address) {
    struct bare_pair *pair = malloc(sizeof *pair);
    if (!pair) return NULL;
    pair->context = zmq_ctx_new();
    pair->sender = zmq_socket(pair->context, ZMQ_PAIR);
    pair->receiver = zmq_socket(pair->context, ZMQ_PAIR);
    if (zmq_bind(pair->receiver, address) == 0 && zmq_connect(pair->sender, address) == 0) return pair;
    bare_pair_close(pair);
    return NULL;
}

static int receive(void *socket) {
    zmq_msg_t message;
    zmq_msg_init(&message);
    int size = zmq_msg_recv(&message, socket, 0);
    zmq_msg_close(&message);
    return size;
}

int bare_pair_carry(struct bare_pair *pair) {
    static const char header[16], body[64];
    if (zmq_send(pair->sender, header, sizeof header, ZMQ_SNDMORE) < 0) return -1;
    if (zmq_send(pair->sender, body, sizeof body, 0) < 0) return -1;
    int first = receive(pair->receiver), second = receive(pair->receiver);
    return first < 0 || second < 0 ? -1 : first + second;
}

void bare_pair_close(struct bare_pair *pair) {
    int none = 0;
    zmq_setsockopt(pair->sender, ZMQ_LINGER, &none, sizeof none);
    zmq_close(pair->sender);
    zmq_close(pair->receiver);
    zmq_ctx_term(pair->context);
    free(pair);
}
