/*
 * The yardstick of many clients: what a bare ROUTER needs for peers that each have sent one message, got it back, and stay.
 *
 *     cc -O2 -o crowd crowd.c $(pkg-config --cflags --libs libzmq)
 *     ./crowd ADDRESS PEERS
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

/* Each with a quarter of the peers, for a process has only so many descriptors. */
enum { PROCESSES = 4, MOST_PEERS = 100000 };

static void check(int works, const char *what) {
    if (works) return;
    fprintf(stderr, "crowd: %s: %s\n", what, zmq_strerror(zmq_errno()));
    exit(1);
}

static void *context(void) {
    void *context = zmq_ctx_new();
    zmq_ctx_set(context, ZMQ_MAX_SOCKETS, 60000);
    return context;
}

static long residentKiB(void) {
    char line[256];
    long size = -1;
    FILE *file = fopen("/proc/self/status", "r");
    if (!file) return -1;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "VmRSS: %ld", &size) == 1) break;
    fclose(file);
    return size;
}

static void stay(const char *address, int peers) {
    static void *sockets[MOST_PEERS];
    void *all = context();
    char echo[64];
    for (int index = 0; index < peers; index++) {
        sockets[index] = zmq_socket(all, ZMQ_DEALER);
        check(sockets[index] != NULL, "socket");
        check(zmq_connect(sockets[index], address) == 0, address);
        check(zmq_send(sockets[index], echo, sizeof echo, 0) >= 0, "send");
    }
    for (int index = 0; index < peers; index++) check(zmq_recv(sockets[index], echo, sizeof echo, 0) >= 0, "receive");
    for (;;) pause();
}

int main(int count, char **arguments) {
    if (count != 3 || atoi(arguments[2]) < PROCESSES || atoi(arguments[2]) > MOST_PEERS)
        return fprintf(stderr, "usage: crowd ADDRESS PEERS\n"), 64;
    int peers = atoi(arguments[2]) / PROCESSES * PROCESSES;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);

    pid_t children[PROCESSES];
    /* Before there is a context, for no context survives a fork. Each ends by its alarm if this process does not end it. */
    for (int index = 0; index < PROCESSES; index++) {
        children[index] = fork();
        if (children[index] == 0) {
            alarm(60);
            stay(arguments[1], peers / PROCESSES);
        }
    }
    alarm(60);
    void *all = context();
    void *socket = zmq_socket(all, ZMQ_ROUTER);
    check(zmq_bind(socket, arguments[1]) == 0, arguments[1]);
    long before = residentKiB();
    for (int answered = 0; answered < peers; answered++) {
        zmq_msg_t route, message;
        zmq_msg_init(&route);
        zmq_msg_init(&message);
        check(zmq_msg_recv(&route, socket, 0) >= 0, "receive");
        check(zmq_msg_recv(&message, socket, 0) >= 0, "receive");
        check(zmq_msg_send(&route, socket, ZMQ_SNDMORE) >= 0, "send");
        check(zmq_msg_send(&message, socket, 0) >= 0, "send");
    }
    printf("peers %d\nkib_per_peer %.2f\n", peers, (residentKiB() - before) / (double)peers);
    for (int index = 0; index < PROCESSES; index++) {
        kill(children[index], SIGKILL);
        waitpid(children[index], NULL, 0);
    }
    return 0;
}
