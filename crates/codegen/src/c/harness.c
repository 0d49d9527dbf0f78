/* Runs or times functions, written by nestegg. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The at-th number of a stream; splitmix64, by Sebastiano Vigna, public domain. */
static uint64_t draw(uint64_t stream, uint64_t at)
{
    uint64_t z = stream*UINT64_C(0xd1342543de82ef95) + (at + 1)*UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30))*UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27))*UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A number of size in [0.5, 2) and either sign, with 20 bits behind the point. */
static double dyadic(uint64_t bits)
{
    const double size = 0.5 + (double)((bits >> 1)%1572864u)/1048576.0;
    return (bits & 1) != 0 ? -size : size;
}

/* A number in [1, 1.5), with 20 bits behind the point. */
static double near_one(uint64_t bits)
{
    return 1.0 + (double)(bits%524288u)/1048576.0;
}

/* On a line of the cache: where vectors cross lines or not must not differ between functions that are compared. */
static void *allocate(size_t n, size_t size)
{
    void *const memory = aligned_alloc(64, ((n + 1)*size + 63)/64*64);
    if (!memory) {
        fprintf(stderr, "not enough memory\n");
        exit(2);
    }
    return memory;
}

#define FOR_FLOATS(type) \
    static inline void fill_##type(void *memory, size_t n, uint64_t stream, double (*number)(uint64_t)) \
    { \
        for (size_t i = 0; i < n; ++i) ((type *)memory)[i] = (type)number(draw(stream, i)); \
    }
#define FOR_INTEGERS(type) \
    static inline void fill_##type(void *memory, size_t n, uint64_t stream, int64_t limit) \
    { \
        for (size_t i = 0; i < n; ++i) ((type *)memory)[i] = (type)(draw(stream, i)%(uint64_t)limit); \
    }
#define FOR_ALL(type) \
    static inline void print_##type(const void *memory, size_t n) \
    { \
        for (size_t i = 0; i < n; ++i) { \
            const double value = (double)((const type *)memory)[i]; \
            uint64_t bits; \
            memcpy(&bits, &value, sizeof bits); \
            printf("%016" PRIx64 "\n", bits); \
        } \
    } \
    static inline double difference_##type(const void *left, const void *right, size_t n) \
    { \
        double greatest = 0.0; \
        for (size_t i = 0; i < n; ++i) { \
            const double a = (double)((const type *)left)[i], b = (double)((const type *)right)[i]; \
            if ((isnan(a) && isnan(b)) || a == b) continue; \
            const double relative = fabs(a - b)/fmax(1.0, fmax(fabs(a), fabs(b))); \
            greatest = isnan(relative) ? INFINITY : fmax(greatest, relative); \
        } \
        return greatest; \
    }
FOR_FLOATS(double)
FOR_FLOATS(float)
FOR_INTEGERS(int32_t)
FOR_INTEGERS(int64_t)
FOR_INTEGERS(int8_t)
FOR_INTEGERS(int16_t)
FOR_INTEGERS(uint8_t)
FOR_INTEGERS(uint16_t)
FOR_INTEGERS(uint32_t)
FOR_INTEGERS(uint64_t)
static inline void fill_bool(void *memory, size_t n, uint64_t stream, int64_t limit)
{
    (void)limit;
    for (size_t i = 0; i < n; ++i) ((bool *)memory)[i] = (draw(stream, i) & 1) != 0;
}
FOR_ALL(double)
FOR_ALL(float)
FOR_ALL(int32_t)
FOR_ALL(int64_t)
FOR_ALL(int8_t)
FOR_ALL(int16_t)
FOR_ALL(uint8_t)
FOR_ALL(uint16_t)
FOR_ALL(uint32_t)
FOR_ALL(uint64_t)
FOR_ALL(bool)

/* Nanoseconds since some moment. */
static double now(void)
{
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return 1e9*(double)time.tv_sec + (double)time.tv_nsec;
}

static int run_print(int n_functions, void (*prepare)(int), int (*call)(int, int), void (*print)(int))
{
    for (int function = 0; function < n_functions; ++function) {
        prepare(function);
        if (call(function, 0) != 0) return 1;
        print(function);
    }
    return 0;
}

/* Nanoseconds of so many calls on fresh sets of arguments in turn; negative if one fails.
   A call on each set goes ahead untimed: what the functions before have driven out of the caches comes back. */
static double batch(int function, int n_sets, long n_calls, void (*prepare)(int), int (*call)(int, int))
{
    int failed = 0, set = 0;
    prepare(function);
    for (int ahead = 0; ahead < n_sets; ++ahead) failed |= call(function, ahead);
    const double start = now();
    for (long i = 0; i < n_calls; ++i) {
        failed |= call(function, set);
        set = set + 1 == n_sets ? 0 : set + 1;
    }
    const double end = now();
    return failed != 0 ? -1.0 : end - start;
}

static int run_time(
    int n_functions, int n_sets, int n_rounds, int milliseconds,
    void (*prepare)(int), int (*call)(int, int), double (*difference)(int))
{
    long *const n_calls = allocate((size_t)n_functions, sizeof(long));
    double greatest = 0.0;
    for (int function = 0; function < n_functions; ++function) {
        prepare(function);
        if (call(function, 0) != 0) return 1;
        greatest = fmax(greatest, difference(function));
    }
    printf("difference %.3e\n", greatest);
    for (int function = 0; function < n_functions; ++function) {
        for (n_calls[function] = 1; n_calls[function] < (1L << 40); n_calls[function] *= 2) {
            const double time = batch(function, n_sets, n_calls[function], prepare, call);
            if (time < 0.0) return 1;
            if (time >= 1e6*milliseconds) break;
        }
    }
    for (int round = 0; round < n_rounds; ++round) {
        printf("round");
        for (int function = 0; function < n_functions; ++function) {
            const double time = batch(function, n_sets, n_calls[function], prepare, call);
            if (time < 0.0) return 1;
            printf(" %.3f", time/(double)n_calls[function]);
        }
        printf("\n");
    }
    free(n_calls);
    return 0;
}

