// What is called is deprecated in favour of EVP, which asks its providers for a digest and allocates it.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>
