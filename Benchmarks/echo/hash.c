/*
 * The yardstick of a search: reads files and prints their digests, as the workers of `dupes` compute them.
 *
 *     cc -O2 -o hash hash.c $(pkg-config --cflags --libs libcrypto)
 *     ./hash FILE...
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <fcntl.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <unistd.h>

int main(int count, char **arguments) {
    static unsigned char buffer[256 << 10];
    for (int index = 1; index < count; index++) {
        int file = open(arguments[index], O_RDONLY);
        if (file < 0) return perror(arguments[index]), 1;
        SHA256_CTX context;
        SHA256_Init(&context);
        ssize_t size;
        while ((size = read(file, buffer, sizeof buffer)) > 0) SHA256_Update(&context, buffer, (size_t)size);
        if (size < 0) return perror(arguments[index]), 1;
        close(file);
        unsigned char digest[SHA256_DIGEST_LENGTH];
        SHA256_Final(digest, &context);
        for (int byte = 0; byte < SHA256_DIGEST_LENGTH; byte++) printf("%02x", digest[byte]);
        printf("  %s\n", arguments[index]);
    }
    return 0;
}
