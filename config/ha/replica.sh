#!/bin/sh
# A replica of the server at /sockets/a: a copy of it first, then what it writes.
set -eu
data=/var/lib/postgresql/data
if [ ! -s "$data/PG_VERSION" ]; then
    pg_basebackup -d "host=/sockets/a user=replica application_name=replica" -D "$data" -X stream -S replica -R
fi
chmod 0700 "$data"
exec postgres -D "$data"
