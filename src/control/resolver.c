/* Names, their timers and their look-ups; see resolver.h. */
#include "control/resolver.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "control/addresses.h"
#include "control/timer.h"

#include <assert.h>
#include <ctype.h>
#include <event2/dns.h>
#include <event2/event_struct.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
    BUCKETS = 1024,
    SECOND_US = 1000 * 1000,
    LOOKUP_MAX_US = 30 * SECOND_US, /* libevent gives up earlier, where it has a nameserver */
    RETRY_FIRST_US = SECOND_US,
    AWAITED_US = SECOND_US / 2, /* of a name's first answer; later it counts as one that has none */
    TURNS_MAX = 1000,           /* of the loop, for look-ups to be cancelled; one or two do it */
};

/* What was seen of a file when it was read. */
struct file_mark {
    struct timespec changed;
    ino_t inode;
    off_t bytes;
};

struct resolver {
    struct event_base *base;
    struct evdns_base *dns;
    char *resolv_conf;
    char *hosts;
    char *nameserver; /* or NULL */
    struct file_mark resolv_conf_mark;
    struct file_mark hosts_mark;
    uint64_t timeout_us;
    void (*on_change)(void *arg);
    void *arg;
    struct event change_event;
    struct list buckets[BUCKETS];
    struct list all;
    unsigned pending;   /* look-ups under way, of names given up too */
    unsigned unsettled; /* names that have neither been answered nor failed */
    bool is_quiet;      /* nobody is told of changes */
};

/* A name, as long as somebody wants it or its look-up is under way. */
struct name {
    struct list bucket_link;
    struct list all_link;
    struct resolver *resolver;
    char *text;          /* lower case */
    uint64_t *intervals; /* one a wish */
    size_t interval_count;
    struct event timer; /* the next look-up, or the end of the one under way */
    struct evdns_getaddrinfo_request *request;
    bool is_asking;
    bool is_settled; /* answered or failed once */
    uint64_t added_us;
    struct addresses addresses;
    uint64_t retry_us;
    char error[64]; /* of the last look-up; "": none */
};

static unsigned hash_of(const char *text)
{
    unsigned hash = 5381;

    while (*text != '\0') {
        hash = hash * 33 + (unsigned char)*text++;
    }
    return hash;
}

/* The name of an address in its one spelling; false: it needs no look-up. */
static bool name_of(const struct address *address, char *out)
{
    struct endpoint endpoint;
    size_t i;

    if (address->is_unix || address_to_endpoint(address, &endpoint)) {
        return false;
    }
    for (i = 0; address->host[i] != '\0'; i++) {
        out[i] = (char)tolower((unsigned char)address->host[i]);
    }
    out[i] = '\0';
    return true;
}

static struct name *find(struct resolver *resolver, const char *text)
{
    struct list *bucket = &resolver->buckets[hash_of(text) % BUCKETS];

    list_each (at, bucket) {
        struct name *name = list_entry(at, struct name, bucket_link);

        if (strcmp(name->text, text) == 0) {
            return name;
        }
    }
    return NULL;
}

static void name_free(struct name *name)
{
    event_del(&name->timer);
    list_remove(&name->bucket_link);
    list_remove(&name->all_link);
    free(name->text);
    free(name->intervals);
    free(name);
}

static uint64_t interval_of(const struct name *name)
{
    uint64_t least = UINT64_MAX;

    for (size_t i = 0; i < name->interval_count; i++) {
        if (name->intervals[i] < least) {
            least = name->intervals[i];
        }
    }
    return least;
}

/* Plans the next look-up: sooner where nothing is known yet. */
static void schedule(struct name *name)
{
    uint64_t interval = interval_of(name);
    uint64_t wait;

    if (name->addresses.count == 0 && name->retry_us < interval) {
        wait = name->retry_us;
        name->retry_us *= 2;
    } else {
        /* up to a tenth sooner, a name always by the same: they do not come all at once */
        wait = interval - interval / 10 * (hash_of(name->text) % 64) / 64;
    }
    timer_set(&name->timer, wait);
}

/* An answer came; look-ups that failed before are over. */
static void take_answer(struct name *name, const struct evutil_addrinfo *answer)
{
    char before[ADDRESSES_TEXT_MAX];
    char text[ADDRESSES_TEXT_MAX];
    bool had_others = name->addresses.count > 0;
    bool is_change;

    addresses_format(&name->addresses, before);
    is_change = addresses_take(&name->addresses, answer);
    addresses_format(&name->addresses, text);
    if (is_change && had_others) {
        log_notice("name %s: %s; its addresses have changed from %s", name->text, text, before);
    } else if (is_change || name->error[0] != '\0') {
        log_notice("name %s: %s", name->text, text);
    }
    if (is_change) {
        event_active(&name->resolver->change_event, 0, 0);
    }
    name->retry_us = RETRY_FIRST_US;
    name->error[0] = '\0';
}

static void take_failure(struct name *name, const char *why)
{
    if (name->error[0] == '\0') {
        log_warn("name %s does not resolve: %s%s", name->text, why,
                 name->addresses.count > 0 ? "; the last addresses stay in use" : "");
    }
    snprintf(name->error, sizeof(name->error), "%s", why);
}

static void settle(struct name *name)
{
    if (!name->is_settled) {
        name->is_settled = true;
        name->resolver->unsettled--;
    }
}

static void on_answer(int result, struct evutil_addrinfo *answer, void *arg)
{
    struct name *name = arg;

    name->request = NULL;
    name->is_asking = false;
    name->resolver->pending--;
    if (name->interval_count == 0) {
        name_free(name);
    } else {
        if (result == 0 && answer != NULL) {
            take_answer(name, answer);
        } else {
            take_failure(name,
                         result == EVUTIL_EAI_CANCEL ? "no answer" : evutil_gai_strerror(result));
        }
        if (!name->is_settled) { /* also where it failed: it is awaited no more */
            event_active(&name->resolver->change_event, 0, 0);
        }
        settle(name);
        schedule(name);
    }
    if (answer != NULL) {
        evutil_freeaddrinfo(answer);
    }
}

static bool has_changed(const char *path, struct file_mark *mark)
{
    struct file_mark now = {.bytes = -1};
    struct stat file;
    bool is_same;

    if (stat(path, &file) == 0) {
        now = (struct file_mark){
            .changed = file.st_mtim,
            .inode = file.st_ino,
            .bytes = file.st_size,
        };
    }
    is_same = now.bytes == mark->bytes && now.inode == mark->inode &&
              now.changed.tv_sec == mark->changed.tv_sec &&
              now.changed.tv_nsec == mark->changed.tv_nsec;
    *mark = now;
    return !is_same;
}

static void set_timeout_option(struct resolver *resolver)
{
    char text[32];

    if (resolver->timeout_us != 0) {
        snprintf(text, sizeof(text), "%.3f", (double)resolver->timeout_us / SECOND_US);
        evdns_base_set_option(resolver->dns, "timeout:", text);
        evdns_base_set_option(resolver->dns, "getaddrinfo-allow-skew:", text);
        evdns_base_set_option(resolver->dns, "attempts:", "2");
    }
}

/* Reads the system's files where they have changed since. */
static void read_files(struct resolver *resolver)
{
    if (has_changed(resolver->hosts, &resolver->hosts_mark)) {
        evdns_base_clear_host_addresses(resolver->dns);
        evdns_base_load_hosts(resolver->dns, resolver->hosts);
    }
    if (resolver->nameserver == NULL &&
        has_changed(resolver->resolv_conf, &resolver->resolv_conf_mark)) {
        evdns_base_clear_nameservers_and_suspend(resolver->dns);
        evdns_base_search_clear(resolver->dns);
        evdns_base_resolv_conf_parse(resolver->dns,
                                     DNS_OPTION_SEARCH | DNS_OPTION_NAMESERVERS | DNS_OPTION_MISC,
                                     resolver->resolv_conf);
        set_timeout_option(resolver);
        evdns_base_resume(resolver->dns);
    }
}

/* Looks the name up; the answer may come before this returns. */
static void ask(struct name *name)
{
    struct evutil_addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct evdns_getaddrinfo_request *request;

    read_files(name->resolver);
    name->is_asking = true;
    name->resolver->pending++;
    timer_set(&name->timer, LOOKUP_MAX_US);
    request = evdns_getaddrinfo(name->resolver->dns, name->text, NULL, &hints, on_answer, name);
    if (request != NULL) {
        name->request = request;
    }
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct name *name = arg;

    (void)fd;
    (void)what;
    if (!name->is_asking) {
        ask(name);
    } else if (name->request != NULL) {
        evdns_getaddrinfo_cancel(name->request);
    }
}

static void on_changed(evutil_socket_t fd, short what, void *arg)
{
    struct resolver *resolver = arg;

    (void)fd;
    (void)what;
    if (!resolver->is_quiet) {
        resolver->on_change(resolver->arg);
    }
}

static void log_evdns(int is_warning, const char *text)
{
    (void)is_warning;
    log_debug("dns: %s", text);
}

struct resolver *resolver_new(struct event_base *base, const struct resolver_options *options,
                              void (*on_change)(void *arg), void *arg)
{
    struct resolver *resolver = calloc(1, sizeof(*resolver));

    if (resolver == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < BUCKETS; i++) {
        list_init(&resolver->buckets[i]);
    }
    list_init(&resolver->all);
    resolver->base = base;
    resolver->on_change = on_change;
    resolver->arg = arg;
    resolver->timeout_us = options->timeout_us;
    event_assign(&resolver->change_event, base, -1, 0, on_changed, resolver);
    evdns_set_log_fn(log_evdns);
    resolver->dns = evdns_base_new(base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    resolver->resolv_conf =
        strdup(options->resolv_conf != NULL ? options->resolv_conf : "/etc/resolv.conf");
    resolver->hosts = strdup(options->hosts != NULL ? options->hosts : "/etc/hosts");
    if (resolver->dns == NULL || resolver->resolv_conf == NULL || resolver->hosts == NULL) {
        goto fail;
    }
    if (options->nameserver != NULL) {
        resolver->nameserver = strdup(options->nameserver);
        if (resolver->nameserver == NULL ||
            evdns_base_nameserver_ip_add(resolver->dns, options->nameserver) != 0) {
            goto fail;
        }
        set_timeout_option(resolver);
    }
    return resolver;

fail:
    resolver_free(resolver);
    return NULL;
}

/* Nobody wants the name any more. */
static void give_up(struct name *name)
{
    settle(name);
    name->interval_count = 0;
    list_remove(&name->bucket_link);
    if (!name->is_asking) {
        name_free(name);
        return;
    }
    event_del(&name->timer);
    if (name->request != NULL) {
        /* its call comes from the loop, and frees the name */
        evdns_getaddrinfo_cancel(name->request);
    }
}

void resolver_free(struct resolver *resolver)
{
    if (resolver == NULL) {
        return;
    }
    resolver->is_quiet = true;
    list_each_safe (at, after, &resolver->all) {
        give_up(list_entry(at, struct name, all_link));
    }
    for (unsigned turns = 0; resolver->pending > 0 && turns < TURNS_MAX; turns++) {
        event_base_loop(resolver->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    }
    event_del(&resolver->change_event);
    if (resolver->dns != NULL) {
        evdns_base_free(resolver->dns, 0);
    }
    free(resolver->resolv_conf);
    free(resolver->hosts);
    free(resolver->nameserver);
    free(resolver);
}

static struct name *name_new(struct resolver *resolver, const char *text)
{
    struct name *name = calloc(1, sizeof(*name));

    if (name == NULL) {
        return NULL;
    }
    name->text = strdup(text);
    if (name->text == NULL) {
        free(name);
        return NULL;
    }
    name->resolver = resolver;
    name->added_us = clock_us();
    resolver->unsettled++;
    name->retry_us = RETRY_FIRST_US;
    evtimer_assign(&name->timer, resolver->base, on_timer, name);
    list_add_tail(&resolver->all, &name->all_link);
    list_add_tail(&resolver->buckets[hash_of(text) % BUCKETS], &name->bucket_link);
    return name;
}

bool resolver_add(struct resolver *resolver, const struct address *address, uint64_t interval_us)
{
    char text[ADDRESS_HOST_MAX + 1];
    struct name *name;
    uint64_t *intervals;
    bool is_new;

    assert(interval_us > 0);
    if (!name_of(address, text)) {
        return true;
    }
    name = find(resolver, text);
    is_new = name == NULL;
    if (is_new) {
        name = name_new(resolver, text);
        if (name == NULL) {
            return false;
        }
    }
    intervals = realloc(name->intervals, (name->interval_count + 1) * sizeof(intervals[0]));
    if (intervals == NULL) {
        if (is_new) {
            give_up(name);
        }
        return false;
    }
    name->intervals = intervals;
    intervals[name->interval_count++] = interval_us;
    if (is_new) {
        timer_set(&name->timer, 0);
    } else if (!name->is_asking && name->is_settled) {
        schedule(name);
    }
    return true;
}

void resolver_remove(struct resolver *resolver, const struct address *address, uint64_t interval_us)
{
    char text[ADDRESS_HOST_MAX + 1];
    struct name *name;
    size_t i = 0;

    if (!name_of(address, text)) {
        return;
    }
    name = find(resolver, text);
    assert(name != NULL);
    while (name->intervals[i] != interval_us) {
        i++;
        assert(i < name->interval_count);
    }
    name->intervals[i] = name->intervals[--name->interval_count];
    if (name->interval_count == 0) {
        give_up(name);
    }
}

uint32_t resolver_lookup(void *resolver, const struct address *address, struct endpoint *endpoints)
{
    char text[ADDRESS_HOST_MAX + 1];
    const struct name *name;

    if (!name_of(address, text)) {
        return address_to_endpoint(address, &endpoints[0]) ? 1 : 0;
    }
    name = find(resolver, text);
    if (name == NULL) {
        return 0;
    }
    return addresses_copy(&name->addresses, address->port, endpoints);
}

bool resolver_is_awaited(struct resolver *resolver, const struct address *address, uint64_t *for_us)
{
    char text[ADDRESS_HOST_MAX + 1];
    const struct name *name = name_of(address, text) ? find(resolver, text) : NULL;
    uint64_t waited_us;

    if (name == NULL || name->is_settled) {
        return false;
    }
    waited_us = clock_us() - name->added_us;
    *for_us = waited_us < AWAITED_US ? AWAITED_US - waited_us : 0;
    return waited_us < AWAITED_US;
}

static void on_wait_over(evutil_socket_t fd, short what, void *arg)
{
    bool *is_over = arg;

    (void)fd;
    (void)what;
    *is_over = true;
}

void resolver_wait(struct resolver *resolver, uint64_t timeout_us)
{
    struct event timer;
    bool is_over = false;

    resolver->is_quiet = true;
    evtimer_assign(&timer, resolver->base, on_wait_over, &is_over);
    timer_set(&timer, timeout_us);
    while (!is_over && resolver->unsettled > 0) {
        event_base_loop(resolver->base, EVLOOP_ONCE);
    }
    event_del(&timer);
    event_del(&resolver->change_event);
    resolver->is_quiet = false;
}

const char *resolver_error(struct resolver *resolver, const struct address *address)
{
    char text[ADDRESS_HOST_MAX + 1];
    const struct name *name = name_of(address, text) ? find(resolver, text) : NULL;

    return name != NULL && name->error[0] != '\0' ? name->error : NULL;
}
