#ifndef SAMOVAR_SQLITE_SHIM_H
#define SAMOVAR_SQLITE_SHIM_H

#include <sqlite3.h>

/// `sqlite3_db_config` is variadic, and Swift cannot call it.
///
/// With `isKept`, closing the connection neither copies the write-ahead log into the database nor removes it.
static inline int samovar_sqlite_keep_log_on_close(sqlite3 *connection, int isKept) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, isKept, (int *)0);
}

#endif
