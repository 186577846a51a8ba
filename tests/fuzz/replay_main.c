/*
 * A main for a fuzz target without a fuzzer: runs each file named on the
 * command line once. This is how `make check` replays the kept inputs.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

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

int main(int argc, char **argv)
{
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
