/*
 * The yardstick: what bare libzmq does between two processes of this machine, in C, with nothing durable and nothing decoded.
 *
 * A DEALER sends messages of 64 bytes to a ROUTER in another process, which sends each one back. First with 256 of them under
 * way, which gives a rate, then with one, which gives a latency. Takes 3 seconds, or as many as are asked for. With `paced`, then one each
 * 50 ms for 2 seconds, when all threads have gone to sleep in between: how late the sender wakes, and how long the echo takes from there.
 *
 *     cc -O2 -o echo echo.c $(pkg-config --cflags --libs libzmq)
 *     ./echo ipc          or: ./echo tcp 1.5          or: ./echo ipc 1.5 paced
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

enum { PAYLOAD = 64, WINDOW = 256, SAMPLES = 1 << 20 };

static void fail(const char *what) {
    fprintf(stderr, "echo: %s: %s\n", what, zmq_strerror(zmq_errno()));
    exit(1);
}

static void check(int result, const char *what) {
    if (result < 0) fail(what);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

/* Sends back what comes, until it is empty. */
static void serve(const char *address, int ready) {
    void *context = zmq_ctx_new();
    void *socket = zmq_socket(context, ZMQ_ROUTER);
    if (!socket) fail("no socket");
    int none = 0;
    zmq_setsockopt(socket, ZMQ_RCVHWM, &none, sizeof none);
    zmq_setsockopt(socket, ZMQ_SNDHWM, &none, sizeof none);
    check(zmq_bind(socket, address), "bind");
    char bound[256];
    size_t length = sizeof bound;
    check(zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, bound, &length), "address");
    if (write(ready, bound, length) != (ssize_t)length) fail("write");
    close(ready);

    zmq_msg_t route, message;
    zmq_msg_init(&route);
    zmq_msg_init(&message);
    for (;;) {
        check(zmq_msg_recv(&route, socket, 0), "receive");
        check(zmq_msg_recv(&message, socket, 0), "receive");
        if (zmq_msg_size(&message) == 0) break;
        check(zmq_msg_send(&route, socket, ZMQ_SNDMORE), "send");
        check(zmq_msg_send(&message, socket, 0), "send");
    }
    zmq_close(socket);
    zmq_ctx_term(context);
}

static void sendOne(void *socket) {
    char payload[PAYLOAD];
    memset(payload, 'x', sizeof payload);
    check(zmq_send(socket, payload, sizeof payload, 0), "send");
}

static void receiveOne(void *socket) {
    zmq_msg_t message;
    zmq_msg_init(&message);
    check(zmq_msg_recv(&message, socket, 0), "receive");
    if (zmq_msg_size(&message) != PAYLOAD) fail("not what was sent");
    zmq_msg_close(&message);
}

static double rate(void *socket, double seconds) {
    for (int i = 0; i < WINDOW; i++) sendOne(socket);
    for (int i = 0; i < 10 * WINDOW; i++) {
        receiveOne(socket);
        sendOne(socket);
    }
    long count = 0;
    double start = now(), end = start;
    while (end < start + seconds) {
        for (int i = 0; i < WINDOW; i++) {
            receiveOne(socket);
            sendOne(socket);
        }
        count += WINDOW;
        end = now();
    }
    for (int i = 0; i < WINDOW; i++) receiveOne(socket);
    return count / (end - start);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(void *socket, double seconds) {
    double *samples = malloc(SAMPLES * sizeof *samples);
    if (!samples) fail("no memory");
    int count = 0;
    double end = now() + seconds, before;
    while ((before = now()) < end && count < SAMPLES) {
        sendOne(socket);
        receiveOne(socket);
        samples[count++] = now() - before;
    }
    qsort(samples, count, sizeof *samples, ascending);
    double middle = samples[count / 2];
    free(samples);
    return middle;
}

/* One each 50 ms. */
static void paced(void *socket) {
    enum { COUNT = 40 };
    double late[COUNT], took[COUNT], start = now();
    for (int i = 0; i < COUNT; i++) {
        double due = start + (i + 1) * 0.05, wait = due - now();
        if (wait > 0) {
            struct timespec pause = {0, (long)(wait * 1e9)};
            nanosleep(&pause, NULL);
        }
        double sent = now();
        late[i] = sent - due;
        sendOne(socket);
        receiveOne(socket);
        took[i] = now() - sent;
    }
    qsort(late, COUNT, sizeof *late, ascending);
    qsort(took, COUNT, sizeof *took, ascending);
    printf("paced_late_microseconds %.1f\npaced_latency_microseconds %.1f\n", late[COUNT / 2] * 1e6, took[COUNT / 2] * 1e6);
}

int main(int count, char **arguments) {
    const char *transport = count > 1 ? arguments[1] : "ipc";
    double seconds = count > 2 ? atof(arguments[2]) : 3;
    char address[256] = "tcp://127.0.0.1:*";
    if (strcmp(transport, "ipc") == 0) {
        const char *folder = getenv("TMPDIR");
        snprintf(address, sizeof address, "ipc://%s/echo-%d", folder ? folder : "/tmp", (int)getpid());
    } else if (strcmp(transport, "tcp") != 0) {
        fprintf(stderr, "usage: echo [ipc|tcp [SECONDS [paced]]]\n");
        return 64;
    }

    int ready[2];
    if (pipe(ready) != 0) fail("pipe");
    /* Before there is a context, for no context survives a fork. */
    pid_t server = fork();
    if (server < 0) fail("fork");
    alarm(30);
    if (server == 0) {
        close(ready[0]);
        serve(address, ready[1]);
        return 0;
    }
    close(ready[1]);
    ssize_t length = read(ready[0], address, sizeof address - 1);
    if (length <= 0) return 1;
    address[length] = 0;

    void *context = zmq_ctx_new();
    void *socket = zmq_socket(context, ZMQ_DEALER);
    if (!socket) fail("no socket");
    int none = 0;
    zmq_setsockopt(socket, ZMQ_RCVHWM, &none, sizeof none);
    zmq_setsockopt(socket, ZMQ_SNDHWM, &none, sizeof none);
    check(zmq_connect(socket, address), "connect");
    printf("round_trips_per_second %.0f\n", rate(socket, seconds * 2 / 3));
    printf("latency_microseconds %.1f\n", median(socket, seconds / 3) * 1e6);
    if (count > 3 && strcmp(arguments[3], "paced") == 0) paced(socket);
    check(zmq_send(socket, "", 0, 0), "send");
    zmq_close(socket);
    zmq_ctx_term(context);

    int status = 0;
    waitpid(server, &status, 0);
    if (strncmp(address, "ipc://", 6) == 0) unlink(address + 6);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
