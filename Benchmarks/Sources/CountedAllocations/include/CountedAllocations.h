/// How often this process has allocated memory; only where the C library is glibc, elsewhere always -1.
long samovar_allocations(void);

/// Nanoseconds of processor time that this thread has used. Unlike the time of day it says the same on a busy machine.
long long samovar_processor_time(void);
