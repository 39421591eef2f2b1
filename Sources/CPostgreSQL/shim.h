// Debian has it in a folder of its own. Not by pkg-config: SwiftPM would warn everybody who has no libpq, and needs none.
#if __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#else
#include <libpq-fe.h>
#endif
