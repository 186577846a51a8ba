/*
 * Repeated lists, Maglev's permutations, and slots dealt out by stable
 * matching.
 */
#include "ring/table.h"

#include "ring/score.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Primes; Maglev wants a hundred cells a server for shares within a percent. */
static const uint32_t maglev_sizes[] = {65537, 1000003, 10000019};
enum { MAGLEV_CELLS_A_SERVER = 100 };

size_t table_cells(enum table_rule rule, unsigned cells, const double *weights, size_t servers)
{
    double sum = 0;

    switch (rule) {
    case TABLE_MAGLEV:
        for (size_t i = 0; i < ARRAY_LEN(maglev_sizes); i++) {
            if (maglev_sizes[i] / MAGLEV_CELLS_A_SERVER >= servers) {
                return maglev_sizes[i];
            }
        }
        return servers <= maglev_sizes[ARRAY_LEN(maglev_sizes) - 1]
                   ? maglev_sizes[ARRAY_LEN(maglev_sizes) - 1]
                   : 0;
    case TABLE_SLOTS:
        return cells <= TABLE_CELLS_MAX ? cells : 0;
    case TABLE_REMAINDER:
    case TABLE_JUMP:
        break;
    }
    for (size_t i = 0; i < servers; i++) {
        sum += weights[i];
    }
    return sum <= TABLE_CELLS_MAX ? (size_t)sum : 0;
}

uint32_t jump_bucket(uint64_t hash, uint32_t count)
{
    int64_t bucket = -1;
    int64_t next = 0;

    while (next < (int64_t)count) {
        bucket = next;
        hash = hash * 2862933555777941757u + 1;
        next = (int64_t)((double)(bucket + 1) * (2147483648.0 / (double)((hash >> 33) + 1)));
    }
    return (uint32_t)bucket;
}

static void fill_repeated(uint32_t *cells, const struct labels *labels, const double *weights)
{
    size_t used = 0;

    for (size_t i = 0; i < labels->count; i++) {
        const uint32_t server = labels->by_rank[i];

        for (uint32_t left = (uint32_t)weights[server]; left > 0; left--) {
            cells[used++] = server;
        }
    }
}

/* One server's walk over the table: every cell once, in an order of its own. */
struct maglev_walk {
    uint32_t at;
    uint32_t step;
    double credit; /* a cell for each time this reaches the greatest weight */
};

static bool fill_maglev(uint32_t *cells, size_t count, const struct labels *labels,
                        const double *weights)
{
    struct maglev_walk *walks = calloc(labels->count, sizeof(*walks));
    double greatest = 0;
    size_t filled = 0;

    if (walks == NULL) {
        return false;
    }
    for (size_t i = 0; i < labels->count; i++) {
        const struct slice label = labels->of[i];

        walks[i].at = (uint32_t)(XXH3_64bits_withSeed(label.data, label.len, 1) % count);
        walks[i].step =
            (uint32_t)(XXH3_64bits_withSeed(label.data, label.len, 2) % (count - 1)) + 1;
        greatest = weights[i] > greatest ? weights[i] : greatest;
    }
    memset(cells, 0xff, count * sizeof(*cells));
    for (size_t turn = 0; filled < count; turn = (turn + 1) % labels->count) {
        const uint32_t server = labels->by_rank[turn];
        struct maglev_walk *walk = &walks[server];

        walk->credit += weights[server];
        if (walk->credit < greatest) {
            continue;
        }
        walk->credit -= greatest;
        while (cells[walk->at] != PLACEMENT_NONE) {
            walk->at = (uint32_t)(((uint64_t)walk->at + walk->step) % count);
        }
        cells[walk->at] = server;
        filled++;
    }
    free(walks);
    return true;
}

/* Slots a server is due: the whole parts, then the largest remainders, ties by rank. */
static void share_out(uint32_t *due, size_t count, const struct labels *labels,
                      const double *weights, double *rest)
{
    double sum = 0;
    size_t given = 0;

    for (size_t i = 0; i < labels->count; i++) {
        sum += weights[labels->by_rank[i]];
    }
    for (size_t i = 0; i < labels->count; i++) {
        const double exact = (double)count * weights[i] / sum;

        due[i] = (uint32_t)exact;
        rest[i] = exact - due[i];
        given += due[i];
    }
    for (; given < count; given++) {
        uint32_t best = labels->by_rank[0];

        for (size_t i = 1; i < labels->count; i++) {
            if (rest[labels->by_rank[i]] > rest[best]) {
                best = labels->by_rank[i];
            }
        }
        due[best]++;
        rest[best] = -1;
    }
}

/* The matching of slots to servers while it is made. */
struct deal {
    const struct labels *labels;
    const struct score_table *scores;
    uint64_t *label_hash;
    double *inverse_weight;
    uint32_t *due;
    uint32_t *takers; /* the servers that are due any */
    size_t taker_count;
    double *rest;
    uint32_t *held;      /* how many slots a server holds */
    uint32_t *last;      /* the slot that a server got last, or NONE: a list through before */
    uint32_t *before;    /* a slot's successor in that list */
    struct score *asked; /* the score that each slot was last turned down at, or held with */
};

static struct score slot_score(const struct deal *deal, uint32_t slot, uint32_t server)
{
    return score_of(deal->scores, hash_mix(slot + 1) ^ deal->label_hash[server],
                    deal->inverse_weight[server], deal->labels->rank[server]);
}

/* The best server for the slot among those that come after its last attempt. */
static uint32_t next_choice(const struct deal *deal, uint32_t slot, bool is_first,
                            struct score *found)
{
    uint32_t best = PLACEMENT_NONE;

    for (size_t i = 0; i < deal->taker_count; i++) {
        const uint32_t server = deal->takers[i];
        const struct score score = slot_score(deal, slot, server);

        if ((is_first || score_is_better(&deal->asked[slot], &score)) &&
            (best == PLACEMENT_NONE || score_is_better(&score, found))) {
            best = server;
            *found = score;
        }
    }
    return best;
}

/* Takes from a server that holds one too many the slot that fits it least. */
static uint32_t take_worst(struct deal *deal, uint32_t server)
{
    uint32_t *worst = &deal->last[server];

    for (uint32_t *link = worst; *link != PLACEMENT_NONE; link = &deal->before[*link]) {
        if (score_is_better(&deal->asked[*worst], &deal->asked[*link])) {
            worst = link;
        }
    }
    const uint32_t slot = *worst;

    *worst = deal->before[slot];
    deal->held[server]--;
    return slot;
}

/*
 * Each slot asks servers in the order of its scores; a server that holds all it is due
 * keeps the best. The outcome does not depend on the order of asking, and after
 * an edit most slots find what they had.
 */
static void match_slots(struct deal *deal, uint32_t *cells, size_t count)
{
    for (uint32_t first = 0; first < count; first++) {
        uint32_t slot = first;
        bool is_first = true;

        while (slot != PLACEMENT_NONE) {
            struct score score = {0};
            const uint32_t server = next_choice(deal, slot, is_first, &score);

            deal->asked[slot] = score;
            deal->before[slot] = deal->last[server];
            deal->last[server] = slot;
            deal->held[server]++;
            is_first = false;
            slot =
                deal->held[server] > deal->due[server] ? take_worst(deal, server) : PLACEMENT_NONE;
        }
    }
    for (uint32_t server = 0; server < deal->labels->count; server++) {
        for (uint32_t slot = deal->last[server]; slot != PLACEMENT_NONE;
             slot = deal->before[slot]) {
            cells[slot] = server;
        }
    }
}

static bool fill_slots(uint32_t *cells, size_t count, const struct labels *labels,
                       const double *weights)
{
    struct score_table scores;
    const size_t servers = labels->count;
    struct deal deal = {
        .labels = labels,
        .scores = &scores,
        .label_hash = calloc(servers, sizeof(uint64_t)),
        .inverse_weight = calloc(servers, sizeof(double)),
        .due = calloc(servers, sizeof(uint32_t)),
        .takers = calloc(servers, sizeof(uint32_t)),
        .rest = calloc(servers, sizeof(double)),
        .held = calloc(servers, sizeof(uint32_t)),
        .last = calloc(servers, sizeof(uint32_t)),
        .before = calloc(count, sizeof(uint32_t)),
        .asked = calloc(count, sizeof(struct score)),
    };
    const bool is_complete = deal.label_hash != NULL && deal.inverse_weight != NULL &&
                             deal.due != NULL && deal.takers != NULL && deal.rest != NULL &&
                             deal.held != NULL && deal.last != NULL && deal.before != NULL &&
                             deal.asked != NULL;

    if (is_complete) {
        score_table_init(&scores);
        for (size_t i = 0; i < servers; i++) {
            deal.label_hash[i] = XXH3_64bits(labels->of[i].data, labels->of[i].len);
            deal.inverse_weight[i] = 1 / weights[i];
            deal.last[i] = PLACEMENT_NONE;
        }
        share_out(deal.due, count, labels, weights, deal.rest);
        for (uint32_t i = 0; i < servers; i++) {
            if (deal.due[i] > 0) {
                deal.takers[deal.taker_count++] = i;
            }
        }
        match_slots(&deal, cells, count);
    }
    free(deal.label_hash);
    free(deal.inverse_weight);
    free(deal.due);
    free(deal.takers);
    free(deal.rest);
    free(deal.held);
    free(deal.last);
    free(deal.before);
    free(deal.asked);
    return is_complete;
}

bool table_fill(enum table_rule rule, uint32_t *cells, size_t count, const struct labels *labels,
                const double *weights)
{
    switch (rule) {
    case TABLE_MAGLEV:
        return fill_maglev(cells, count, labels, weights);
    case TABLE_SLOTS:
        return fill_slots(cells, count, labels, weights);
    case TABLE_REMAINDER:
    case TABLE_JUMP:
        fill_repeated(cells, labels, weights);
        break;
    }
    return true;
}
