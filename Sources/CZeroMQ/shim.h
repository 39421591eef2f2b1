#include <zmq.h>

#ifdef __linux__
// Swift's Glibc module does not cover eventfd, nor ppoll, which the headers declare for _GNU_SOURCE alone.
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
int ppoll(struct pollfd *descriptors, nfds_t count, const struct timespec *timeout, const sigset_t *signals);
#endif
