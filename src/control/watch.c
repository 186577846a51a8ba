/* See watch.h. */
#include "control/watch.h"

#include "base/clock.h"
#include "config/units.h"
#include "control/admin.h"
#include "control/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LOOK_US = 100000,
    WATCHERS_MAX = 8,
    FILTER_MAX = 256,
    BACKLOG_MAX = 1 << 20, /* bytes a watcher has not taken: more is left out */
    SIGN_OF_LIFE_US = 2000000,
    HOT_SHOWN = 20,
    SLOW_SHOWN = 20,
};

struct watcher {
    struct session *session; /* NULL: free */
    char filter[FILTER_MAX];
    uint64_t slower_us;
    uint64_t left_out;
    uint64_t sign_at_us; /* when it gets a line again, whatever happens; 0: never */
};

struct watching {
    struct watcher watchers[WATCHERS_MAX];
    unsigned count;
    struct event *timer;
};

/* "hit", "miss", "2 of 3", "stored", "error: connection refused". */
static const char *outcome_text(const struct trace_record *record, char *text, size_t size)
{
    static const char *const codes[CODE_SERVER_ERROR + 1] = {
        [CODE_END] = "done",
        [CODE_STORED] = "stored",
        [CODE_NOT_STORED] = "not stored",
        [CODE_EXISTS] = "exists",
        [CODE_NOT_FOUND] = "not found",
        [CODE_DELETED] = "deleted",
        [CODE_TOUCHED] = "touched",
        [CODE_OK] = "ok",
        [CODE_NUMBER] = "number",
        [CODE_VERSION] = "version",
        [CODE_RESET] = "reset",
        [CODE_HD] = "hd",
        [CODE_VA] = "va",
        [CODE_EN] = "miss",
        [CODE_NF] = "not found",
        [CODE_NS] = "not stored",
        [CODE_EX] = "exists",
        [CODE_ME] = "me",
        [CODE_MN] = "mn",
        [CODE_ERROR] = "ERROR",
        [CODE_CLIENT_ERROR] = "CLIENT_ERROR",
        [CODE_SERVER_ERROR] = "SERVER_ERROR",
    };

    if (record->cause != LEG_OK) {
        snprintf(text, size, "error: %s", leg_cause_text((enum leg_cause)record->cause));
    } else if (record->is_retrieval && record->key_count > 1) {
        snprintf(text, size, "%u of %u", record->hits, record->key_count);
    } else if (record->is_retrieval) {
        return record->hits > 0 ? "hit" : "miss";
    } else {
        return codes[record->code];
    }
    return text;
}

/* One line, without its end. */
static void add_record(struct evbuffer *out, const struct trace_record *record)
{
    char time[32];
    char outcome[128];

    evbuffer_add_printf(out, "%s %s %s ", text_time(record->wall_us, time),
                        record->client[0] != '\0' ? record->client : "-", record->command);
    if (record->key_len > 0) {
        text_add_word(out, slice_make(record->key, record->key_len));
    } else {
        evbuffer_add(out, "-", 1);
    }
    if (record->key_count > 1) {
        evbuffer_add_printf(out, " +%u", record->key_count - 1);
    }
    evbuffer_add(out, " ", 1);
    text_add_word(out, slice_text(record->server[0] != '\0' ? record->server : "-"));
    if (record->server_count > 1) {
        evbuffer_add_printf(out, " +%u", record->server_count - 1);
    }
    evbuffer_add_printf(out, " %" PRIu64 "us %" PRIu64 "b %s", record->took_us,
                        record->answer_bytes, outcome_text(record, outcome, sizeof(outcome)));
}

/* Hands a record to everyone who wants it; line is scratch. */
static void show(struct watching *watch, const struct trace_record *record, struct evbuffer *line)
{
    const char *text;

    evbuffer_drain(line, evbuffer_get_length(line));
    add_record(line, record);
    evbuffer_add(line, "\0", 1);
    text = (const char *)evbuffer_pullup(line, -1);
    for (int i = 0; text != NULL && i < WATCHERS_MAX; i++) {
        struct watcher *watcher = &watch->watchers[i];
        struct evbuffer *out;

        if (watcher->session == NULL || record->took_us < watcher->slower_us ||
            strstr(text, watcher->filter) == NULL) {
            continue;
        }
        out = session_output(watcher->session);
        if (evbuffer_get_length(out) > BACKLOG_MAX) {
            watcher->left_out++;
            continue;
        }
        evbuffer_add_printf(out, "%s\r\n", text);
    }
}

static uint64_t drain(struct watching *watch, struct trace_ring *ring, struct evbuffer *line)
{
    uint64_t written = atomic_load_explicit(&ring->written, memory_order_acquire);
    uint64_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);

    while (read < written) {
        show(watch, &ring->records[read % TRACE_RING], line);
        atomic_store_explicit(&ring->read, ++read, memory_order_release);
    }
    return atomic_exchange_explicit(&ring->lost, 0, memory_order_relaxed);
}

/*
 * Who has ended his side may be gone altogether, which shows only when something is sent to him;
 * a filter may let nothing through for ever.
 */
static void give_sign_of_life(struct watcher *watcher, uint64_t now_us)
{
    struct evbuffer *out = session_output(watcher->session);

    if (watcher->sign_at_us != 0 && now_us >= watcher->sign_at_us) {
        watcher->sign_at_us = now_us + SIGN_OF_LIFE_US;
        if (evbuffer_get_length(out) < BACKLOG_MAX) {
            evbuffer_add_printf(out, "# still watching\r\n");
        }
    }
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
    struct control *control = arg;
    struct watching *watch = control->watch;
    struct evbuffer *line = evbuffer_new();
    uint64_t now_us = clock_us();
    uint64_t lost = 0;

    (void)fd;
    (void)what;
    for (unsigned w = 0; line != NULL && w < control->workers.count; w++) {
        if (control->workers.at[w].trace->ring != NULL) {
            lost += drain(watch, control->workers.at[w].trace->ring, line);
        }
    }
    for (int i = 0; i < WATCHERS_MAX; i++) {
        struct watcher *watcher = &watch->watchers[i];

        if (watcher->session == NULL) {
            continue;
        }
        give_sign_of_life(watcher, now_us);
        if (lost + watcher->left_out > 0) {
            evbuffer_add_printf(session_output(watcher->session),
                                "# %" PRIu64 " more not shown\r\n", lost + watcher->left_out);
            watcher->left_out = 0;
        }
    }
    if (line != NULL) {
        evbuffer_free(line);
    }
}

/* Opens or shuts the workers' rings. */
static bool tell_workers(struct control *control, bool on)
{
    for (unsigned w = 0; w < control->workers.count; w++) {
        struct trace *trace = control->workers.at[w].trace;

        if (on && trace->ring == NULL) {
            trace->ring = calloc(1, sizeof(*trace->ring));
            if (trace->ring == NULL) {
                return false;
            }
        }
        atomic_store_explicit(&trace->watch, on ? trace->ring : NULL, memory_order_release);
    }
    workers_wake(&control->workers);
    return true;
}

/* Makes what watching takes. False: out of memory. */
static bool make_watching(struct control *control)
{
    if (control->watch == NULL) {
        control->watch = calloc(1, sizeof(*control->watch));
    }
    if (control->watch != NULL && control->watch->timer == NULL) {
        control->watch->timer = event_new(control->base, -1, EV_PERSIST, on_look, control);
    }
    return control->watch != NULL && control->watch->timer != NULL;
}

/* For the first watcher. False, and nothing is begun: out of memory. */
static bool begin_watching(struct control *control)
{
    const struct timeval gap = {0, LOOK_US};

    if (!tell_workers(control, true) || event_add(control->watch->timer, &gap) == -1) {
        tell_workers(control, false);
        return false;
    }
    return true;
}

/* Reads "us>N" as a number; true where filter begins so, with UINT64_MAX where it is none. */
static bool parse_slower(struct slice filter, uint64_t *slower_us)
{
    const struct slice word = SLICE("us>");

    if (filter.len < word.len || memcmp(filter.data, word.data, word.len) != 0) {
        return false;
    }
    if (units_parse_number(slice_make(filter.data + word.len, filter.len - word.len), slower_us) !=
        UNITS_DONE) {
        *slower_us = UINT64_MAX;
    }
    return true;
}

static struct watcher *find_free(struct watching *watch)
{
    for (int i = 0; i < WATCHERS_MAX; i++) {
        if (watch->watchers[i].session == NULL) {
            return &watch->watchers[i];
        }
    }
    return NULL;
}

bool watch_run(struct admin_call *call)
{
    struct control *control = call->control;
    struct watcher *watcher;
    struct slice filter = call->arguments;
    uint64_t slower_us = 0;

    if (parse_slower(filter, &slower_us)) {
        filter.len = 0;
    }
    if (slower_us == UINT64_MAX) {
        evbuffer_add_printf(call->out, "ERROR us> takes a number of microseconds\r\n");
        return true;
    }
    if (call->session == NULL || filter.len >= FILTER_MAX || !make_watching(control)) {
        evbuffer_add_printf(call->out, "ERROR cannot watch\r\n");
        return true;
    }
    watcher = find_free(control->watch);
    if (watcher == NULL) {
        evbuffer_add_printf(call->out, "ERROR %d are watching already\r\n", WATCHERS_MAX);
        return true;
    }
    if (control->watch->count == 0 && !begin_watching(control)) {
        evbuffer_add_printf(call->out, "ERROR cannot watch\r\n");
        return true;
    }
    *watcher = (struct watcher){.session = call->session, .slower_us = slower_us};
    memcpy(watcher->filter, filter.data, filter.len);
    control->watch->count++;
    evbuffer_add_printf(
        call->out, "# time client command key server took answer outcome; any line ends it\r\n");
    return true;
}

bool watch_is_on(const struct control *control, const struct session *session)
{
    for (int i = 0; control->watch != NULL && i < WATCHERS_MAX; i++) {
        if (control->watch->watchers[i].session == session) {
            return true;
        }
    }
    return false;
}

void watch_half_closed(struct control *control, const struct session *session)
{
    for (int i = 0; control->watch != NULL && i < WATCHERS_MAX; i++) {
        if (control->watch->watchers[i].session == session) {
            control->watch->watchers[i].sign_at_us = clock_us() + SIGN_OF_LIFE_US;
        }
    }
}

void watch_stop(struct control *control, const struct session *session)
{
    if (!watch_is_on(control, session)) {
        return;
    }
    for (int i = 0; i < WATCHERS_MAX; i++) {
        if (control->watch->watchers[i].session == session) {
            control->watch->watchers[i].session = NULL;
            control->watch->count--;
        }
    }
    if (control->watch->count == 0) {
        event_del(control->watch->timer);
        tell_workers(control, false);
    }
}

void watch_free(struct control *control)
{
    if (control->watch != NULL) {
        if (control->watch->timer != NULL) {
            event_free(control->watch->timer);
        }
        free(control->watch);
        control->watch = NULL;
    }
}

static int slower_first(const void *left, const void *right)
{
    const struct trace_record *a = left;
    const struct trace_record *b = right;

    return a->took_us < b->took_us ? 1 : -(a->took_us > b->took_us);
}

bool watch_slow_run(struct admin_call *call)
{
    unsigned count = 0;
    struct trace_record *all =
        calloc((size_t)call->control->workers.count * TRACE_SLOW, sizeof(all[0]));

    for (unsigned w = 0; all != NULL && w < call->control->workers.count; w++) {
        struct trace_published *published = &call->control->workers.at[w].trace->published;

        pthread_mutex_lock(&published->lock);
        memcpy(all + count, published->slow, published->slow_count * sizeof(all[0]));
        count += published->slow_count;
        pthread_mutex_unlock(&published->lock);
    }
    if (count > 0) {
        qsort(all, count, sizeof(all[0]), slower_first);
    }
    for (unsigned i = 0; i < count && i < SLOW_SHOWN; i++) {
        add_record(call->out, &all[i]);
        evbuffer_add(call->out, "\r\n", 2);
    }
    free(all);
    evbuffer_add_printf(call->out, "END\r\n");
    return true;
}

static bool same_key(const struct hot_key *a, const struct hot_published_key *b)
{
    return a->len == b->len && memcmp(a->key, b->key, a->len) == 0;
}

static int more_first(const void *left, const void *right)
{
    const struct hot_key *a = left;
    const struct hot_key *b = right;

    return a->count < b->count ? 1 : -(a->count > b->count);
}

/* Adds one worker's keys to all, which holds count; returns how many it holds then. */
static size_t merge(struct hot_key *all, size_t count, const struct hot_published *published)
{
    for (uint32_t i = 0; i < published->count; i++) {
        const struct hot_published_key *hot = &published->keys[i];
        size_t at = 0;

        while (at < count && !same_key(&all[at], hot)) {
            at++;
        }
        if (at == count) {
            all[count] = (struct hot_key){.len = hot->len};
            memcpy(all[count].key, hot->key, hot->len);
            count++;
        }
        all[at].count += hot->count;
        all[at].error += hot->error;
    }
    return count;
}

size_t watch_hot(const struct control *control, struct hot_key *keys, size_t max, uint64_t *total)
{
    size_t room = (size_t)control->workers.count * HOT_PUBLISHED;
    struct hot_key *all = calloc(room, sizeof(all[0]));
    size_t count = 0;

    *total = 0;
    for (unsigned w = 0; all != NULL && w < control->workers.count; w++) {
        struct hot_published *published = &control->workers.at[w].hot->published;

        pthread_mutex_lock(&published->lock);
        count = merge(all, count, published);
        *total += published->total;
        pthread_mutex_unlock(&published->lock);
    }
    if (count > 0) {
        qsort(all, count, sizeof(all[0]), more_first);
    }
    count = count < max ? count : max;
    if (count > 0) {
        memcpy(keys, all, count * sizeof(keys[0]));
    }
    free(all);
    return count;
}

bool watch_hot_run(struct admin_call *call)
{
    struct hot_key keys[HOT_SHOWN];
    uint64_t total;
    size_t count = watch_hot(call->control, keys, HOT_SHOWN, &total);

    evbuffer_add_printf(call->out,
                        "# count, of it at most so many too much, share, key; of about "
                        "%" PRIu64 " keys, those of late weigh most\r\n",
                        total);
    for (size_t i = 0; i < count; i++) {
        evbuffer_add_printf(call->out, "%10" PRIu64 " %8" PRIu64 " %6.2f%% ", keys[i].count,
                            keys[i].error,
                            total > 0 ? 100.0 * (double)keys[i].count / (double)total : 0);
        text_add_word(call->out, slice_make(keys[i].key, keys[i].len));
        evbuffer_add(call->out, "\r\n", 2);
    }
    evbuffer_add_printf(call->out, "END\r\n");
    return true;
}
