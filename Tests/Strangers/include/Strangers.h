/*
 * Peers that know libzmq alone: those whom nobody knows, and for comparison a listener with keys that does nothing but echo, and somebody
 * who is let in there. Each runs until its time is over and tells what it did on standard output.
 */
#pragma once

/*
 * A thousand peers, say, that connect to a port with keys and come again as soon as they are sent away: half of them with keys that nobody
 * knows, a quarter with noise, a quarter that say nothing. A line each second: how many handshakes were refused, how many connections with
 * noise and how many silent ones ended, all from the beginning.
 */
int strangers_flood(const char *host, int port, const char *server_key, int peers, int seconds);

/* Echoes whatever one key sends, and refuses all others. Its first line: its own public key, and both halves of the key that it lets in. */
int strangers_listen(const char *host, int port, int seconds);

/* Has itself echoed, at a rate, by that listener. Its line: how many came back, how many did not, median and 99th percentile in µs. */
int strangers_ask(
    const char *host, int port, const char *server_key, const char *public_key, const char *secret_key, int rate, int seconds);
