/*
 * A main for a fuzz target without a fuzzer: runs each file named on the
 * command line once. This is how `make check` replays the kept inputs. With
 * --random SEED COUNT it runs so many random inputs instead; what fails is
 * left in the file random-input.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANDOM_BYTES_MAX = 800 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the whole file, *size bytes, for the caller to free; NULL with errno set. */
static uint8_t *file_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    size_t have = 0;

    if (file == NULL) {
        return NULL;
    }
    for (size_t room = 4096;; room *= 2) {
        uint8_t *grown = realloc(bytes, room);

        if (grown == NULL) {
            free(bytes);
            fclose(file);
            return NULL;
        }
        bytes = grown;
        have += fread(bytes + have, 1, room - have, file);
        if (have < room) {
            break;
        }
    }
    fclose(file);
    *size = have;
    return bytes;
}

/* The target gets a block of exactly its size, so that a checker sees a read behind its end. */
static void run_exact(const uint8_t *bytes, size_t size)
{
    uint8_t *exact = malloc(size > 0 ? size : 1);

    if (exact == NULL) {
        abort();
    }
    for (size_t i = 0; i < size; i++) {
        exact[i] = bytes[i];
    }
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static uint64_t random_next(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15;
    uint64_t z = (*state ^ *state >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Keeps the input, for whoever looks at a crash. */
static void keep(const uint8_t *bytes, size_t size)
{
    FILE *file = fopen("random-input", "wb");

    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
        perror("random-input");
        exit(1);
    }
}

static int run_random(uint64_t seed, unsigned long count)
{
    static uint8_t bytes[RANDOM_BYTES_MAX];

    for (unsigned long i = 0; i < count; i++) {
        uint64_t state = seed + i;
        size_t size = random_next(&state) % sizeof(bytes);

        for (size_t at = 0; at < size; at++) {
            bytes[at] = (uint8_t)random_next(&state);
        }
        keep(bytes, size);
        run_exact(bytes, size);
    }
    remove("random-input");
    printf("%lu random inputs from seed %lu\n", count, (unsigned long)seed);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--random") == 0) {
        return run_random(strtoull(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
    }
    for (int i = 1; i < argc; i++) {
        size_t size;
        uint8_t *bytes = file_read(argv[i], &size);

        if (bytes == NULL) {
            perror(argv[i]);
            return 1;
        }
        /* said before the run: a crash is then known by its last line */
        printf("%s\n", argv[i]);
        fflush(stdout);
        run_exact(bytes, size);
        free(bytes);
    }
    printf("%d inputs\n", argc - 1);
    return 0;
}
