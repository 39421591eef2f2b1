#include <zmq.h>

#ifdef __linux__
// Swift's Glibc module does not cover eventfd.
#include <sys/eventfd.h>
#endif
