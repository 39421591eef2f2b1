/// Two connected PAIR sockets of libzmq in one process: the wrapper's yardstick.
struct bare_pair;

/// NULL if they cannot be made.
struct bare_pair *bare_pair_open(const char *address);

/// Sends two frames to one of them and takes them from the other: 16 bytes and 64 bytes. The bytes received, or -1.
int bare_pair_carry(struct bare_pair *pair);

void bare_pair_close(struct bare_pair *pair);
