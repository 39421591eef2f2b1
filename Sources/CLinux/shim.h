#ifdef __linux__
// Swift's module of the C library does not cover them.
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/vfs.h>

// Swift calls no functions with a variable number of arguments.
static inline int samovar_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
static inline int samovar_allows_dumps(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0); }
#endif
