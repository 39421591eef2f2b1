/*
 * Round trips through NATS JetStream: a producer publishes messages of 64 bytes to one stream, a worker in another process takes them by
 * a durable pull consumer, publishes each to a second stream and acknowledges it, and the producer takes that one. 4,096 are under way.
 *
 *     cc -O2 -o jetstream jetstream.c -lnats
 *     ./jetstream PORT memory|file SECONDS
 *
 * Prints round trips per second. Both streams are work queues, so that what was acknowledged is gone.
 */
#include <nats/nats.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAYLOAD = 64, WINDOW = 4096, PER_FETCH = 256 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void check(natsStatus status, const char *what) {
    if (status == NATS_OK) return;
    fprintf(stderr, "jetstream: %s: %s\n", what, natsStatus_GetText(status));
    exit(1);
}

static natsConnection *connection;

static jsCtx *server(const char *port) {
    char address[64];
    jsOptions options;
    jsCtx *stream;
    snprintf(address, sizeof address, "nats://127.0.0.1:%s", port);
    check(natsConnection_ConnectTo(&connection, address), address);
    jsOptions_Init(&options);
    options.PublishAsync.MaxPending = 2 * WINDOW;
    check(natsConnection_JetStream(&stream, connection, &options), "JetStream");
    return stream;
}

static void makeStream(jsCtx *server, const char *name, int inMemory) {
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    config.Name = name;
    config.Subjects = &name;
    config.SubjectsLen = 1;
    config.Retention = js_WorkQueuePolicy;
    config.Storage = inMemory ? js_MemoryStorage : js_FileStorage;
    check(js_AddStream(NULL, server, &config, NULL, NULL), name);
}

static natsSubscription *consumer(jsCtx *server, const char *name) {
    natsSubscription *subscription;
    jsSubOptions options;
    jsSubOptions_Init(&options);
    options.Config.MaxAckPending = 2 * WINDOW;
    check(js_PullSubscribe(&subscription, server, name, "one", NULL, &options, NULL), name);
    return subscription;
}

/* Takes what is there, has `answer` do with each what it does, and tells how many. */
static int take(natsSubscription *subscription, void (*answer)(jsCtx *, const char *, int), jsCtx *server) {
    natsMsgList list;
    natsStatus status = natsSubscription_Fetch(&list, subscription, PER_FETCH, 5000, NULL);
    check(status, "nothing came within 5 s");
    int count = list.Count;
    for (int index = 0; index < count; index++) {
        if (natsMsg_GetDataLength(list.Msgs[index]) != PAYLOAD) check(NATS_ERR, "not what was sent");
        answer(server, natsMsg_GetData(list.Msgs[index]), PAYLOAD);
        check(natsMsg_Ack(list.Msgs[index], NULL), "acknowledge");
    }
    natsMsgList_Destroy(&list);
    return count;
}

static void answer(jsCtx *server, const char *bytes, int size) { check(js_PublishAsync(server, "answers", bytes, size, NULL), "publish"); }

static void order(jsCtx *server, const char *bytes, int size) { check(js_PublishAsync(server, "jobs", bytes, size, NULL), "publish"); }

int main(int count, char **arguments) {
    if (count != 4) return fprintf(stderr, "usage: jetstream PORT memory|file SECONDS\n"), 64;
    double seconds = atof(arguments[3]);
    /* Before the library has threads. */
    int ready[2];
    if (pipe(ready) != 0) return 1;
    pid_t worker = fork();
    if (worker < 0) return 1;
    alarm((unsigned)seconds + 30);
    if (worker == 0) {
        char byte;
        if (read(ready[0], &byte, 1) != 1) return 1;
        jsCtx *jobs = server(arguments[1]);
        natsSubscription *subscription = consumer(jobs, "jobs");
        for (;;) take(subscription, answer, jobs);
    }
    jsCtx *jobs = server(arguments[1]);
    makeStream(jobs, "jobs", strcmp(arguments[2], "memory") == 0);
    makeStream(jobs, "answers", strcmp(arguments[2], "memory") == 0);
    natsSubscription *subscription = consumer(jobs, "answers");
    if (write(ready[1], "r", 1) != 1) return 1;

    char bytes[PAYLOAD];
    memset(bytes, 'x', sizeof bytes);
    for (int index = 0; index < WINDOW; index++) order(jobs, bytes, sizeof bytes);
    long counted = 0;
    double start = now(), end = start;
    /* The first half second warms up. */
    while (end < start + 0.5) {
        take(subscription, order, jobs);
        end = now();
    }
    start = end;
    while (end < start + seconds) {
        counted += take(subscription, order, jobs);
        end = now();
    }
    kill(worker, SIGKILL);
    waitpid(worker, NULL, 0);
    if (counted == 0) return fprintf(stderr, "jetstream: there was no round trip\n"), 1;
    printf("round_trips_per_second %.0f\n", counted / (end - start));
    return 0;
}
