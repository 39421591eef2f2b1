#include <stddef.h>
#include <stdint.h>

/// libFuzzer's loop, from the toolchain's libclang_rt.fuzzer_no_main.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));
