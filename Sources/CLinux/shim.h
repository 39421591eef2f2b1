#ifdef __linux__
// Swift's module of the C library does not cover them.
#include <malloc.h>
#include <sys/vfs.h>
#endif
