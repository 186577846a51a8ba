/*
 * The table of keys and what can be said by looking at it alone.
 */
#include "config/keys.h"

#include "base/log.h"
#include "config/units.h"
#include "ring/placement.h"

#include <assert.h>
#include <inttypes.h>

#define AT(field)   offsetof(struct config, field)
#define POOL(field) offsetof(struct config_pool, field)

#define SECOND UINT64_C(1000)
#define HOUR   (3600 * SECOND)
#define KIB    (UINT64_C(1) << 10)
#define MIB    (UINT64_C(1) << 20)
#define GIB    (UINT64_C(1) << 30)

static const char *const on_failures[] = {"eject", "error", "miss", NULL};
static const char *const rejoins[] = {"replay", "flush", "keep", NULL};

/* clang-format off */
const struct config_key config_keys[] = {
    { SECTION_PROXY, "workers", KEY_NUMBER, "auto", 1, 256, KEY_FIXED | KEY_OR_AUTO, AT(workers), 0, NULL,
      "Worker threads; auto is one for each CPU the process may use." },
    { SECTION_PROXY, "admin", KEY_ADDRESS, NULL, 0, 0, KEY_FIXED, AT(admin), AT(has_admin), NULL,
      "Where the text admin port listens; without it there is none." },
    { SECTION_PROXY, "http", KEY_ADDRESS, NULL, 0, 0, KEY_FIXED, AT(http), AT(has_http), NULL,
      "Where dashboard, metrics and JSON are served; without it they are not." },
    { SECTION_PROXY, "user", KEY_TEXT, NULL, 1, 32, KEY_FIXED, AT(user), 0, NULL,
      "The user to run as once the listeners are open, when started by root." },
    { SECTION_PROXY, "pidfile", KEY_PATH, NULL, 0, 0, KEY_FIXED, AT(pidfile), 0, NULL,
      "File that holds the process number while the proxy runs." },
    { SECTION_PROXY, "log", KEY_LOG, "stderr", 0, 0, KEY_FIXED, AT(log_to), AT(log_path), NULL,
      "Where the log goes; a file is opened anew on SIGUSR1." },
    { SECTION_PROXY, "log_level", KEY_CHOICE, "info", 0, 0, KEY_LIVE, AT(log_level), 0, log_level_names,
      "The least important kind of line that is logged." },
    { SECTION_PROXY, "max_clients", KEY_NUMBER, "10000", 1, 1000000, KEY_LIVE, AT(max_clients), 0, NULL,
      "Client connections at once over all workers; further ones are refused." },
    { SECTION_PROXY, "client_idle_timeout", KEY_DURATION, "0", 1, 720 * HOUR, KEY_LIVE | KEY_OR_ZERO, AT(client_idle_timeout_ms), 0, NULL,
      "A client that sends nothing for this long is disconnected; 0 is never." },
    { SECTION_PROXY, "max_value_size", KEY_SIZE, "1m", KIB, GIB, KEY_LIVE, AT(max_value_bytes), 0, NULL,
      "The largest value a client may store; set it to what the servers take." },
    { SECTION_PROXY, "max_memory", KEY_SIZE, "0", MIB, 1024 * GIB, KEY_LIVE | KEY_OR_ZERO, AT(max_memory_bytes), 0, NULL,
      "Bytes held for clients and servers: buffers, requests under way, notes; 0 is a quarter of RAM." },
    { SECTION_PROXY, "drain_timeout", KEY_DURATION, "10s", 1, HOUR, KEY_LIVE | KEY_OR_ZERO, AT(drain_timeout_ms), 0, NULL,
      "How long requests under way may take to finish after SIGTERM; 0 is not at all." },

    { SECTION_POOL, "listen", KEY_LISTEN, NULL, 0, 0, KEY_LIVE | KEY_REPEATS | KEY_REQUIRED, POOL(listens), POOL(listen_count), NULL,
      "Where clients of the pool connect; one line an address." },
    { SECTION_POOL, "prefix", KEY_TEXT, "", 0, 250, KEY_LIVE, POOL(prefix), 0, NULL,
      "Keys with this prefix go to this pool, among pools on the same listen; the longest wins." },
    { SECTION_POOL, "placement", KEY_TEXT, "ketama", 1, 64, KEY_LIVE, POOL(placement), 0, NULL,
      "How keys are placed on servers; a change of it moves keys." },
    { SECTION_POOL, "key_hash", KEY_TEXT, NULL, 1, 128, KEY_LIVE, POOL(key_hash), 0, NULL,
      "Hash of the key, where the placement leaves a choice; without it the placement's own." },
    { SECTION_POOL, "hash_tag", KEY_TEXT, NULL, 2, 2, KEY_LIVE, POOL(hash_tag), 0, NULL,
      "Two characters such as {}; of a key that has both only what is between them is hashed." },
    { SECTION_POOL, "hash_skip", KEY_TEXT, NULL, 1, 250, KEY_LIVE, POOL(hash_skip), 0, NULL,
      "A prefix that is sent to servers but left out of the hash; without it the placement's own." },
    { SECTION_POOL, "points", KEY_NUMBER, NULL, 1, 10000, KEY_LIVE, POOL(points), 0, NULL,
      "Points on the ring for a unit of weight; without it the placement's own." },
    { SECTION_POOL, "connections", KEY_NUMBER, "1", 1, 64, KEY_LIVE, POOL(connections), 0, NULL,
      "Connections of each worker to each server." },
    { SECTION_POOL, "connect_timeout", KEY_DURATION, "500ms", 1, 600 * SECOND, KEY_LIVE, POOL(connect_timeout_ms), 0, NULL,
      "How long a connection to a server may take to open." },
    { SECTION_POOL, "request_timeout", KEY_DURATION, "1s", 1, HOUR, KEY_LIVE, POOL(request_timeout_ms), 0, NULL,
      "How long a server may take to answer before the client gets an error." },
    { SECTION_POOL, "probe_interval", KEY_DURATION, "1s", 10, HOUR, KEY_LIVE | KEY_OR_ZERO, POOL(probe_interval_ms), 0, NULL,
      "Time between two health probes of a server; 0 judges by its traffic alone." },
    { SECTION_POOL, "probe_timeout", KEY_DURATION, "500ms", 1, 600 * SECOND, KEY_LIVE, POOL(probe_timeout_ms), 0, NULL,
      "How long the answer to a probe may take." },
    { SECTION_POOL, "fall", KEY_NUMBER, "3", 1, 1000, KEY_LIVE, POOL(fall), 0, NULL,
      "Failures in a row after which a server counts as dead." },
    { SECTION_POOL, "rise", KEY_NUMBER, "2", 1, 1000, KEY_LIVE, POOL(rise), 0, NULL,
      "Successful probes in a row after which a dead server takes traffic again." },
    { SECTION_POOL, "on_failure", KEY_CHOICE, "eject", 0, 0, KEY_LIVE, POOL(on_failure), 0, on_failures,
      "What becomes of a dead server's keys: other servers take them, an error, a miss." },
    { SECTION_POOL, "min_live", KEY_PERCENT, "50%", 0, 100, KEY_LIVE, POOL(min_live_percent), 0, NULL,
      "Below this share of live servers no further one is ejected." },
    { SECTION_POOL, "rejoin", KEY_CHOICE, "replay", 0, 0, KEY_LIVE, POOL(rejoin), 0, rejoins,
      "How a server comes back without stale values: missed writes replayed, all flushed, kept as is." },
    { SECTION_POOL, "resolve_interval", KEY_DURATION, "30s", 100, 24 * HOUR, KEY_LIVE, POOL(resolve_interval_ms), 0, NULL,
      "Time between two look-ups of a server's host name." },
    { SECTION_POOL, "allow_flush", KEY_YES_NO, "yes", 0, 0, KEY_LIVE, POOL(allow_flush), 0, NULL,
      "Whether clients may send flush_all to this pool." },
    { SECTION_POOL, "server", KEY_SERVER, NULL, 0, 0, KEY_LIVE | KEY_REPEATS | KEY_REQUIRED, POOL(servers), POOL(server_count), NULL,
      "A memcached server; one line each. Its name is its identity on the ring." },
};
/* clang-format on */

const size_t config_key_count = ARRAY_LEN(config_keys);

_Static_assert(ARRAY_LEN(config_keys) <= CONFIG_KEYS_MAX, "raise CONFIG_KEYS_MAX");

const struct config_key *config_key_find(enum key_section section, struct slice name)
{
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_keys[i];

        if (key->section == section && slice_equals(slice_text(key->name), name)) {
            return key;
        }
    }
    return NULL;
}

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned smaller = a < b ? a : b;

    return smaller < c ? smaller : c;
}

unsigned config_key_distance(struct slice a, struct slice b, unsigned limit)
{
    enum { WORD_MAX = 32 };
    unsigned row[WORD_MAX + 1];

    if (a.len > WORD_MAX || b.len > WORD_MAX) {
        return limit + 1;
    }
    for (unsigned j = 0; j <= b.len; j++) {
        row[j] = j;
    }
    for (unsigned i = 1; i <= a.len; i++) {
        unsigned diagonal = row[0];

        row[0] = i;
        for (unsigned j = 1; j <= b.len; j++) {
            unsigned above = row[j];
            unsigned swap = diagonal + (a.data[i - 1] == b.data[j - 1] ? 0 : 1);

            row[j] = least(above + 1, row[j - 1] + 1, swap);
            diagonal = above;
        }
    }
    return row[b.len] > limit ? limit + 1 : row[b.len];
}

const struct config_key *config_key_nearest(enum key_section section, struct slice name)
{
    const struct config_key *nearest = NULL;
    unsigned limit = name.len < 5 ? 1 : name.len < 9 ? 2 : 3;

    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_keys[i];
        unsigned distance;

        if (key->section != section) {
            continue;
        }
        distance = config_key_distance(slice_text(key->name), name, limit);
        if (distance <= limit) {
            nearest = key;
            if (distance == 0) {
                break;
            }
            limit = distance - 1; /* the next has to be nearer */
        }
    }
    return nearest;
}

const char *config_section_text(enum key_section section)
{
    return section == SECTION_PROXY ? "[proxy]" : "[pool NAME]";
}

const char *config_key_type_text(const struct config_key *key)
{
    static const char *const texts[] = {
        [KEY_NUMBER] = "number",   [KEY_DURATION] = "duration", [KEY_SIZE] = "size",
        [KEY_PERCENT] = "percent", [KEY_YES_NO] = "yes/no",     [KEY_CHOICE] = "choice",
        [KEY_TEXT] = "text",       [KEY_PATH] = "path",         [KEY_LOG] = "log",
        [KEY_ADDRESS] = "address", [KEY_LISTEN] = "address",    [KEY_SERVER] = "server",
    };

    return texts[key->type];
}

static void allowed_range(const struct config_key *key, char *out)
{
    char min[UNITS_TEXT_MAX];
    char max[UNITS_TEXT_MAX];
    const char *more = (key->flags & KEY_OR_ZERO) != 0   ? ", or 0"
                       : (key->flags & KEY_OR_AUTO) != 0 ? ", or auto"
                                                         : "";

    switch (key->type) {
    case KEY_DURATION:
        units_format_duration(key->min, min);
        units_format_duration(key->max, max);
        break;
    case KEY_SIZE:
        units_format_size(key->min, min);
        units_format_size(key->max, max);
        break;
    default:
        snprintf(min, sizeof(min), "%" PRIu64, key->min);
        snprintf(max, sizeof(max), "%" PRIu64, key->max);
        break;
    }
    snprintf(out, KEY_ALLOWED_MAX, "%s to %s%s", min, max, more);
}

static void allowed_choices(const struct config_key *key, char *out)
{
    size_t used = 0;

    for (size_t i = 0; key->choices[i] != NULL; i++) {
        const char *join = i == 0 ? "" : key->choices[i + 1] == NULL ? " or " : ", ";
        int len = snprintf(out + used, KEY_ALLOWED_MAX - used, "%s%s", join, key->choices[i]);

        assert(len >= 0 && (size_t)len < KEY_ALLOWED_MAX - used);
        used += (size_t)len;
    }
}

static void allowed_text(const struct config_key *key, char *out)
{
    if (key->min == key->max) {
        snprintf(out, KEY_ALLOWED_MAX, "%" PRIu64 " characters, no blanks", key->min);
    } else {
        snprintf(out, KEY_ALLOWED_MAX, "%" PRIu64 " to %" PRIu64 " characters, no blanks", key->min,
                 key->max);
    }
}

char *config_key_allowed(const struct config_key *key, char *out)
{
    switch (key->type) {
    case KEY_NUMBER:
    case KEY_DURATION:
    case KEY_SIZE:
        allowed_range(key, out);
        break;
    case KEY_PERCENT:
        snprintf(out, KEY_ALLOWED_MAX, "%" PRIu64 "%% to %" PRIu64 "%%", key->min, key->max);
        break;
    case KEY_YES_NO:
        snprintf(out, KEY_ALLOWED_MAX, "yes or no");
        break;
    case KEY_CHOICE:
        allowed_choices(key, out);
        break;
    case KEY_TEXT:
        allowed_text(key, out);
        break;
    case KEY_PATH:
        snprintf(out, KEY_ALLOWED_MAX, "/PATH");
        break;
    case KEY_LOG:
        snprintf(out, KEY_ALLOWED_MAX, "stderr, syslog or file:/PATH");
        break;
    case KEY_ADDRESS:
    case KEY_LISTEN:
        snprintf(out, KEY_ALLOWED_MAX,
                 "IP:PORT or [IPv6]:PORT [allow=IP/BITS,...], unix:/PATH [mode=0660]");
        break;
    case KEY_SERVER:
        snprintf(out, KEY_ALLOWED_MAX,
                 "HOST:PORT, [IPv6]:PORT or unix:/PATH [name=NAME] [weight=W] [zone=ZONE]");
        break;
    }
    return out;
}

void *config_key_field(const struct config_key *key, void *target)
{
    return (char *)target + key->offset;
}

void *config_key_beside(const struct config_key *key, void *target)
{
    return (char *)target + key->beside;
}

/* "-" has no default; a text that is empty by default is shown as "". */
static const char *default_shown(const struct config_key *key)
{
    if (key->default_text == NULL) {
        return "-";
    }
    return key->default_text[0] == '\0' ? "\"\"" : key->default_text;
}

void config_print_keys(FILE *out)
{
    char allowed[KEY_ALLOWED_MAX];
    int width = 0;

    for (size_t i = 0; i < config_key_count; i++) {
        int len = (int)strlen(config_key_allowed(&config_keys[i], allowed));

        width = len > width && config_keys[i].type != KEY_SERVER ? len : width;
    }
    fprintf(out, "%-11s  %-19s  %-8s  %-7s  %-4s  %-*s  %s\n", "SECTION", "KEY", "TYPE", "DEFAULT",
            "LIVE", width, "ALLOWED", "WHAT IT IS");
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_keys[i];

        fprintf(out, "%-11s  %-19s  %-8s  %-7s  %-4s  %-*s  %s\n",
                config_section_text(key->section), key->name, config_key_type_text(key),
                default_shown(key), (key->flags & KEY_LIVE) != 0 ? "yes" : "no", width,
                config_key_allowed(key, allowed), key->help);
    }
    fprintf(out, "\n%-33s  %s\n", "PLACEMENT", "WHAT IT IS");
    for (size_t i = 0; placement_word(i) != NULL; i++) {
        fprintf(out, "%-33s  %s\n", placement_word(i), placement_word_help(i));
    }
}
