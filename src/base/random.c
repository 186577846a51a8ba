/* See base/random.h. */
#include "base/random.h"

#include "base/clock.h"

#include <sys/random.h>

uint64_t random_seed(void)
{
    uint64_t seed;

    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed)) {
        return clock_us();
    }
    return seed;
}
