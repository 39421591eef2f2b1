/*
 * The yardstick of durability: the median of one fdatasync after a page was overwritten, in the folder where the journals go. First one
 * after the other, then one each 50 ms, for a disk and a thread that have rested take longer.
 *
 *     cc -O2 -o sync sync.c
 *     ./sync FOLDER SECONDS
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 256, SAMPLES = 1 << 16 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void check(int works, const char *what) {
    if (works) return;
    perror(what);
    exit(1);
}

int main(int count, char **arguments) {
    if (count != 3) return fprintf(stderr, "usage: sync FOLDER SECONDS\n"), 64;
    char path[4096];
    snprintf(path, sizeof path, "%s/sync-%d", arguments[1], (int)getpid());
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    check(file >= 0, path);
    unlink(path);
    char page[PAGE];
    memset(page, 'x', PAGE);
    /* The file has its size before, as a log that is used again has: a sync then writes no metadata. */
    for (int i = 0; i < PAGES; i++) check(pwrite(file, page, PAGE, (off_t)i * PAGE) == PAGE, "write");
    check(fsync(file) == 0, "fsync");

    struct timespec pause = {0, 50000000};
    double rested[40];
    for (int i = 0; i < 40; i++) {
        nanosleep(&pause, NULL);
        double before = now();
        page[0] = (char)i;
        check(pwrite(file, page, PAGE, (off_t)i * PAGE) == PAGE, "write");
        check(fdatasync(file) == 0, "fdatasync");
        rested[i] = now() - before;
    }
    qsort(rested, 40, sizeof *rested, ascending);

    double *samples = malloc(SAMPLES * sizeof *samples);
    check(samples != NULL, "memory");
    int taken = 0;
    double end = now() + atof(arguments[2]);
    for (;;) {
        double before = now();
        if (before >= end || taken == SAMPLES) break;
        page[0] = (char)taken;
        check(pwrite(file, page, PAGE, (off_t)(taken % PAGES) * PAGE) == PAGE, "write");
        check(fdatasync(file) == 0, "fdatasync");
        samples[taken++] = now() - before;
    }
    check(taken > 0, "no sample was taken");
    qsort(samples, taken, sizeof *samples, ascending);
    printf("samples %d\nsync_microseconds %.1f\n", taken, samples[taken / 2] * 1e6);
    printf("paced_sync_microseconds %.1f\n", rested[20] * 1e6);
    return 0;
}
