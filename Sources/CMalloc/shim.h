#ifdef __linux__
// Swift's module of the C library does not cover it.
#include <malloc.h>
#endif
