/*
 * Round trips through Redis Streams: a producer adds entries of 64 bytes to one stream, a worker in another process reads them as a
 * consumer group, adds each to a second stream and acknowledges it, and the producer reads that one. 4,096 are under way.
 *
 *     cc -O2 -o streams streams.c $(pkg-config --cflags --libs hiredis)
 *     ./streams PORT SECONDS
 *
 * Prints round trips per second. Entries that were read are trimmed, so that memory is bounded.
 */
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAYLOAD = 64, WINDOW = 4096, PER_READ = 512, KEPT = 20000 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void check(int works, const char *what) {
    if (works) return;
    fprintf(stderr, "streams: %s\n", what);
    exit(1);
}

static redisContext *server(int port) {
    redisContext *server = redisConnect("127.0.0.1", port);
    check(server && !server->err, server ? server->errstr : "no connection");
    return server;
}

static redisReply *reply(redisContext *server) {
    redisReply *reply;
    check(redisGetReply(server, (void **)&reply) == REDIS_OK, server->errstr);
    check(reply->type != REDIS_REPLY_ERROR, reply->str);
    return reply;
}

static void skip(redisContext *server, long replies) {
    while (replies-- > 0) freeReplyObject(reply(server));
}

/* The entries of the only stream in the answer to XREAD or XREADGROUP. */
static redisReply *entries(redisReply *reply) {
    check(reply->type == REDIS_REPLY_ARRAY && reply->elements == 1, "nothing came within 5 s");
    return reply->element[0]->element[1];
}

static redisReply *payload(redisReply *entry) {
    redisReply *bytes = entry->element[1]->element[1];
    check(bytes->len == PAYLOAD, "not what was sent");
    return bytes;
}

static void work(int port) {
    redisContext *redis = server(port);
    for (;;) {
        redisReply *read =
            redisCommand(redis, "XREADGROUP GROUP workers one COUNT %d BLOCK 5000 STREAMS jobs >", (int)PER_READ);
        check(read != NULL, redis->errstr);
        redisReply *jobs = entries(read);
        for (size_t index = 0; index < jobs->elements; index++) {
            redisReply *job = jobs->element[index], *bytes = payload(job);
            redisAppendCommand(redis, "XADD answers MAXLEN ~ %d * d %b", (int)KEPT, bytes->str, (size_t)bytes->len);
            redisAppendCommand(redis, "XACK jobs workers %s", job->element[0]->str);
        }
        skip(redis, 2 * jobs->elements);
        freeReplyObject(read);
    }
}

static void order(redisContext *redis, long count) {
    char bytes[PAYLOAD];
    memset(bytes, 'x', sizeof bytes);
    for (long index = 0; index < count; index++)
        redisAppendCommand(redis, "XADD jobs MAXLEN ~ %d * d %b", (int)KEPT, bytes, sizeof bytes);
    skip(redis, count);
}

int main(int count, char **arguments) {
    if (count != 3) return fprintf(stderr, "usage: streams PORT SECONDS\n"), 64;
    int port = atoi(arguments[1]);
    double seconds = atof(arguments[2]);
    redisContext *redis = server(port);
    freeReplyObject(redisCommand(redis, "FLUSHALL"));
    freeReplyObject(redisCommand(redis, "XGROUP CREATE jobs workers $ MKSTREAM"));
    pid_t worker = fork();
    check(worker >= 0, "fork");
    alarm((unsigned)seconds + 30);
    if (worker == 0) work(port);

    char last[64] = "0";
    long answered = 0, counted = 0;
    double start = now(), begun = 0, end = 0;
    order(redis, WINDOW);
    /* The first half second warms up. */
    while (end == 0 || end < begun + seconds) {
        redisReply *read = redisCommand(redis, "XREAD COUNT %d BLOCK 5000 STREAMS answers %s", (int)PER_READ, last);
        check(read != NULL, redis->errstr);
        redisReply *answers = entries(read);
        for (size_t index = 0; index < answers->elements; index++) payload(answers->element[index]);
        long came = answers->elements;
        snprintf(last, sizeof last, "%s", answers->element[came - 1]->element[0]->str);
        freeReplyObject(read);
        answered += came;
        order(redis, came);
        end = now();
        if (begun == 0) {
            if (end < start + 0.5) {
                end = 0;
                continue;
            }
            begun = end;
        } else {
            counted += came;
        }
    }
    kill(worker, SIGKILL);
    waitpid(worker, NULL, 0);
    check(counted > 0, "there was no round trip");
    printf("round_trips_per_second %.0f\n", counted / (end - begun));
    return 0;
}
