/*
 * Most rules hash the text label-0, label-1, ...; the number is written behind
 * the label in one buffer.
 */
#include "ring/points.h"

#include "ring/crc.h"
#include "ring/label.h"

#include <endian.h>
#include <md5.h>
#include <stdio.h>

enum { NUMBER_MAX = 12 };

bool points_are_digests(const struct recipe *recipe)
{
    return recipe->points == POINTS_DIGEST ||
           (recipe->points == POINTS_DIGEST_IF_MD5 && recipe->key_hash == HASH_MD5);
}

bool points_are_64(const struct recipe *recipe)
{
    return recipe->points == POINTS_XXH3 || recipe->points == POINTS_MD5_64;
}

static size_t write_number(char *out, char separator, uint32_t number)
{
    char digits[NUMBER_MAX];
    size_t count = 0;

    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    out[0] = separator;
    for (size_t i = 0; i < count; i++) {
        out[1 + i] = digits[count - 1 - i];
    }
    return 1 + count;
}

/* The four points of one digest, 32 bits each. */
static void put_digest(struct slice text, uint32_t server, struct ring_point *points)
{
    unsigned char digest[MD5_DIGEST_LENGTH];
    MD5_CTX md5;

    MD5Init(&md5);
    MD5Update(&md5, (const uint8_t *)text.data, text.len);
    MD5Final(digest, &md5);
    for (size_t i = 0; i < 4; i++) {
        uint32_t word;

        memcpy(&word, digest + 4 * i, sizeof(word));
        points[i] = (struct ring_point){(uint64_t)le32toh(word) << 32, server};
    }
}

static void put_crc_chain(struct slice label, uint32_t server, uint32_t count,
                          struct ring_point *points)
{
    const uint32_t base = crc32_extend(0, label.data, label.len);
    uint32_t point = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t before = htole32(point);

        point = crc32_extend(base, &before, sizeof(before));
        points[i] = (struct ring_point){(uint64_t)point << 32, server};
    }
}

static uint64_t single_point(const struct recipe *recipe, struct slice text)
{
    switch (recipe->points) {
    case POINTS_XXH3:
        return hash_value(HASH_XXH3, 0, text);
    case POINTS_MD5_64:
        return hash_value(HASH_MD5_64, 0, text);
    case POINTS_XXH3_32:
        return hash_value(HASH_XXH3_32, 0, text) << 32;
    case POINTS_ONE_AT_A_TIME:
        return hash_value(HASH_ONE_AT_A_TIME, 0, text) << 32;
    default:
        return hash_value(recipe->key_hash, 0, text) << 32;
    }
}

void points_make(const struct recipe *recipe, struct slice label, uint32_t server, uint32_t count,
                 struct ring_point *points)
{
    const bool digests = points_are_digests(recipe);
    const char separator = recipe->points == POINTS_MD5_64 ? '#' : '-';
    char text[LABEL_MAX + NUMBER_MAX];

    if (recipe->points == POINTS_CRC_CHAIN) {
        put_crc_chain(label, server, count, points);
        return;
    }
    memcpy(text, label.data, label.len);
    for (uint32_t i = 0; i * (digests ? 4 : 1) < count; i++) {
        const size_t len = label.len + write_number(text + label.len, separator, i);

        if (digests) {
            put_digest(slice_make(text, len), server, points + 4 * i);
        } else {
            points[i] = (struct ring_point){single_point(recipe, slice_make(text, len)), server};
        }
    }
}
