#include "load.h"

#include <math.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "process.h"

#define NS_A_SECOND      1000000000u
#define EVENTS           1024
#define WAIT_MAX_NS      (NS_A_SECOND / 10)
#define DRAIN_SECONDS    2
#define PREFILL_PIPELINE 16
#define IDLES_AT_ONCE    64

void load_tell_time(struct load *load)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    load->now_ns = (uint64_t)time.tv_sec * NS_A_SECOND + (uint64_t)time.tv_nsec;
}

static bool load_find_address(struct load *load, const char *text)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct sockaddr_un *local = (struct sockaddr_un *)&load->address;
    struct addrinfo *found;
    char host[256];
    const char *colon = strrchr(text, ':');

    if (strncmp(text, "unix:", 5) == 0) {
        local->sun_family = AF_UNIX;
        snprintf(local->sun_path, sizeof(local->sun_path), "%s", text + 5);
        load->address_len = sizeof(*local);
        return true;
    }
    if (colon == NULL) {
        fprintf(stderr, "load: %s: not HOST:PORT\n", text);
        return false;
    }
    bool bracketed = text[0] == '[' && colon > text + 1 && colon[-1] == ']';
    snprintf(host, sizeof(host), "%.*s", (int)(colon - text - 2 * bracketed), text + bracketed);
    int error = getaddrinfo(host, colon + 1, &hints, &found);
    if (error != 0) {
        fprintf(stderr, "load: %s: %s\n", text, gai_strerror(error));
        return false;
    }
    memcpy(&load->address, found->ai_addr, found->ai_addrlen);
    load->address_len = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

bool load_init(struct load *load, const struct options *options)
{
    *load = (struct load){.options = options};
    if (!load_find_address(load, options->address)) {
        return false;
    }
    load->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (load->epoll == -1) {
        perror("load: epoll_create1");
        return false;
    }
    keyspace_init(&load->space, options->key_prefix, options->keys, options->value_bytes,
                  options->zipf, options->seed);
    load->in = bytes_alloc(LOAD_READ_BYTES);
    load->set_tail_len = (size_t)snprintf(load->set_tail, sizeof(load->set_tail), " 0 0 %zu\r\n",
                                          options->value_bytes);
    load->value_tail_len = (size_t)snprintf(load->value_tail, sizeof(load->value_tail), " 0 %zu",
                                            options->value_bytes);
    load->clients = bytes_alloc(options->clients * sizeof(*load->clients));
    for (uint32_t i = 0; i < options->clients; i++) {
        client_init(&load->clients[i], CLIENT_LOADS, options->pipeline, options->multiget);
    }
    load->idles = bytes_alloc(options->idle * sizeof(*load->idles));
    for (uint32_t i = 0; i < options->idle; i++) {
        client_init(&load->idles[i], CLIENT_IDLES, 1, 1);
    }
    client_init(&load->prefiller, CLIENT_PREFILLS, PREFILL_PIPELINE, 1);
    load_tell_time(load);
    return true;
}

void load_fini(struct load *load)
{
    for (uint32_t i = 0; i < load->options->clients; i++) {
        client_fini(&load->clients[i]);
    }
    for (uint32_t i = 0; i < load->options->idle; i++) {
        client_fini(&load->idles[i]);
    }
    client_fini(&load->prefiller);
    free(load->clients);
    free(load->idles);
    free(load->in);
    bytes_fini(&load->out);
    keyspace_fini(&load->space);
    close(load->epoll);
}

void load_stop(struct load *load, const char *what, const char *why)
{
    if (!load->is_stopped) {
        load->is_stopped = true;
        load->errors++;
        if (load->first_error[0] == '\0') {
            snprintf(load->first_error, sizeof(load->first_error), "%s: %s", what, why);
        }
    }
}

void load_on_error(struct load *load, const char *error)
{
    if (load->errors == 0) {
        snprintf(load->first_error, sizeof(load->first_error), "%s", error);
    }
    load->errors++;
    if (load->errors >= load->options->max_errors) {
        load->is_stopped = true;
    }
}

uint32_t load_next_key(struct load *load, const struct client *client)
{
    return client->role == CLIENT_PREFILLS ? load->prefilled++ : keyspace_draw(&load->space);
}

void load_on_answer(struct load *load, const struct client *client, const struct request *request,
                    const char *error)
{
    load->last_answer_ns = load->now_ns;
    if (error != NULL) {
        load_on_error(load, error);
    }
    if (client->role != CLIENT_LOADS) {
        load->idles_done += client->role == CLIENT_IDLES;
        return;
    }
    load->under_way--;
    if (error != NULL) {
        return;
    }
    if (load->phase == LOAD_MEASURE) {
        load->answers++;
        load->keys += request->keys;
        load->misses += request->is_set ? 0 : request->keys - request->found;
    }
    if (load->phase >= LOAD_MEASURE && request->intended_ns >= load->window_start_ns &&
        (load->phase == LOAD_MEASURE || request->intended_ns < load->window_end_ns)) {
        uint64_t now_ns = load->now_ns;
        histogram_add(&load->latency,
                      now_ns > request->intended_ns ? now_ns - request->intended_ns : 0);
    }
}

static bool load_may_issue(const struct load *load)
{
    if (load->is_stopped || (load->phase == LOAD_DRAIN && load->options->rate == 0)) {
        return false;
    }
    return load->options->requests == 0 || load->issued < load->options->requests;
}

static bool load_issue(struct load *load, struct client *client, uint64_t intended_ns)
{
    const struct options *options = load->options;
    bool is_set =
        options->set_percent > 0 && keyspace_random(&load->space) % 100 < options->set_percent;

    load->under_way++;
    if (!client_ask(client, load, intended_ns, is_set, is_set ? 1 : options->multiget)) {
        load->under_way--;
        return false;
    }
    load->issued += load->phase == LOAD_MEASURE;
    return true;
}

static void load_make_ready(struct load *load, struct client *client)
{
    if (client->is_ready) {
        return;
    }
    client->is_ready = true;
    client->next_ready = NULL;
    if (load->ready_first == NULL) {
        load->ready_first = client;
    } else {
        load->ready_last->next_ready = client;
    }
    load->ready_last = client;
}

static void load_advance_schedule(struct load *load)
{
    double gap_ns = NS_A_SECOND / load->options->rate;

    if (load->options->poisson) {
        double random = (double)(keyspace_random(&load->space) >> 11) * 0x1p-53;
        gap_ns *= -log1p(-random);
    }
    load->next_due_ns += gap_ns;
}

static bool load_has_due(const struct load *load)
{
    double until_ns = (double)load->now_ns;

    if (load->phase == LOAD_DRAIN && until_ns > (double)load->window_end_ns) {
        until_ns = (double)load->window_end_ns;
    }
    return load->next_due_ns < until_ns;
}

/* Open loop: sends what is due while a client has room. */
static void load_issue_due(struct load *load)
{
    while (load->ready_first != NULL && load_has_due(load) && load_may_issue(load)) {
        struct client *client = load->ready_first;

        load->ready_first = client->next_ready;
        client->is_ready = false;
        if (!load_issue(load, client, (uint64_t)load->next_due_ns)) {
            return;
        }
        load_advance_schedule(load);
        client_flush(client, load);
        if (client_has_room(client, load->options->requests_per_connection)) {
            load_make_ready(load, client);
        }
    }
}

/* Gives a client that connected or was answered its next requests. */
static void load_feed(struct load *load, struct client *client)
{
    uint64_t requests_per_connection = load->options->requests_per_connection;

    if (requests_per_connection > 0 && client->issued == requests_per_connection &&
        client->in_flight == 0) {
        client_close(client);
    }
    if (load->options->rate > 0) {
        if (client_has_room(client, requests_per_connection)) {
            load_make_ready(load, client);
        }
        return;
    }
    while (client_has_room(client, requests_per_connection) && load_may_issue(load) &&
           load_issue(load, client, load->now_ns)) {
    }
    client_flush(client, load);
}

static void load_feed_prefiller(struct load *load)
{
    while (load->phase == LOAD_PREFILL && load->prefilled < load->options->keys &&
           client_has_room(&load->prefiller, 0) && !load->is_stopped &&
           client_ask(&load->prefiller, load, load->now_ns, true, 1)) {
    }
    client_flush(&load->prefiller, load);
}

/* Few at a time, so that no listen queue overflows. */
static void load_start_idles(struct load *load)
{
    while (load->idles_started < load->options->idle && !load->is_stopped &&
           load->idles_started - load->idles_done < IDLES_AT_ONCE) {
        struct client *client = &load->idles[load->idles_started++];

        if (!client_ask(client, load, load->now_ns, false, 1)) {
            return;
        }
        client_flush(client, load);
    }
}

static void load_on_event(struct load *load, struct client *client, uint32_t events)
{
    if ((events & EPOLLOUT) != 0 && client->pending.len > 0) {
        client_on_writable(client, load);
    }
    if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) {
        (void)client_on_readable(client, load);
        if (client->role == CLIENT_LOADS) {
            load_feed(load, client);
        } else if (client->role == CLIENT_PREFILLS) {
            load_feed_prefiller(load);
        } else {
            load_start_idles(load);
        }
    }
}

/* One turn of the event loop that lasts no longer than until the given time. */
static void load_turn(struct load *load, uint64_t until_ns)
{
    struct epoll_event events[EVENTS];
    uint64_t wait_ns = until_ns > load->now_ns ? until_ns - load->now_ns : 0;

    if (load->options->rate > 0 && load->ready_first != NULL && load->phase >= LOAD_WARMUP) {
        double due_ns = load->next_due_ns - (double)load->now_ns;
        if (due_ns < (double)wait_ns) {
            wait_ns = due_ns > 0 ? (uint64_t)due_ns : 0;
        }
    }
    if (wait_ns > WAIT_MAX_NS) {
        wait_ns = WAIT_MAX_NS;
    }
    struct timespec wait = {0, (long)wait_ns};
    int count = epoll_pwait2(load->epoll, events, EVENTS, &wait, NULL);
    load_tell_time(load);
    for (int i = 0; i < count; i++) {
        struct client *client = events[i].data.ptr;
        if (client->fd != -1) {
            load_on_event(load, client, events[i].events);
        }
    }
    if (load->options->rate > 0 && load->phase >= LOAD_WARMUP) {
        load_tell_time(load);
        load_issue_due(load);
    }
    double silence_ns = (double)load->now_ns - (double)load->last_answer_ns;
    if (silence_ns > load->options->timeout_seconds * NS_A_SECOND) {
        load_stop(load, "no answer", "timed out");
    }
}

static void load_prefill(struct load *load)
{
    load->phase = LOAD_PREFILL;
    load_feed_prefiller(load);
    while (!load->is_stopped &&
           (load->prefilled < load->options->keys || load->prefiller.in_flight > 0)) {
        load_turn(load, load->now_ns + WAIT_MAX_NS);
    }
    client_close(&load->prefiller);
}

static void load_make_idles(struct load *load)
{
    load->phase = LOAD_IDLES;
    load_start_idles(load);
    while (!load->is_stopped && load->idles_done < load->options->idle) {
        load_turn(load, load->now_ns + WAIT_MAX_NS);
    }
}

static void load_pause(double seconds)
{
    struct timespec time = {(time_t)seconds, 0};

    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * NS_A_SECOND);
    nanosleep(&time, NULL);
}

static void load_start_clients(struct load *load)
{
    load_tell_time(load);
    load->last_answer_ns = load->now_ns;
    load->next_due_ns = (double)load->now_ns;
    for (uint32_t i = 0; i < load->options->clients; i++) {
        load_tell_time(load);
        load_feed(load, &load->clients[i]);
    }
    load_pause(load->options->pause_seconds);
}

static void load_read_cpu(struct load *load, uint64_t sign)
{
    const struct options *options = load->options;

    load->own_cpu_ns += sign * process_own_cpu_ns();
    for (size_t i = 0; i < options->watched; i++) {
        load->watched_cpu_ns[i] += sign * process_cpu_ns(options->watch[i]);
        load->watched_resident_kb[i] = process_resident_kb(options->watch[i]);
    }
}

static void load_measure(struct load *load)
{
    const struct options *options = load->options;

    load->phase = LOAD_MEASURE;
    load_read_cpu(load, (uint64_t)-1);
    load_tell_time(load);
    load->window_start_ns = load->now_ns;
    if (options->warmup_seconds == 0) {
        load_start_clients(load);
    }
    uint64_t end_ns = load->window_start_ns + (uint64_t)(options->seconds * NS_A_SECOND);
    if (options->requests > 0) {
        end_ns = UINT64_MAX;
    }
    while (!load->is_stopped && load->now_ns < end_ns &&
           (options->requests == 0 || load->answers + load->errors < options->requests)) {
        load_turn(load, end_ns);
    }
    load_tell_time(load);
    load->window_end_ns = load->now_ns;
    load_read_cpu(load, 1);
}

/* Waits for the answers to what was due in the window; late ones count as late as they are. */
static void load_drain(struct load *load)
{
    uint64_t until_ns = load->window_end_ns + (uint64_t)DRAIN_SECONDS * NS_A_SECOND;

    load->phase = LOAD_DRAIN;
    while (!load->is_stopped && load->now_ns < until_ns &&
           (load->under_way > 0 || (load->options->rate > 0 && load_has_due(load)))) {
        load_turn(load, until_ns);
    }
    load->unfinished = load->under_way;
    while (load->options->rate > 0 && load_has_due(load)) {
        histogram_add(&load->latency, load->now_ns - (uint64_t)load->next_due_ns);
        load_advance_schedule(load);
        load->unfinished++;
    }
}

void load_run(struct load *load)
{
    const struct options *options = load->options;

    load->last_answer_ns = load->now_ns;
    if (options->prefill) {
        load_prefill(load);
    }
    load_make_idles(load);
    if (options->clients == 0) {
        load_read_cpu(load, 0);
        return;
    }
    if (options->warmup_seconds > 0) {
        load->phase = LOAD_WARMUP;
        load_start_clients(load);
        uint64_t until_ns = load->now_ns + (uint64_t)(options->warmup_seconds * NS_A_SECOND);
        while (!load->is_stopped && load->now_ns < until_ns) {
            load_turn(load, until_ns);
        }
    }
    load_measure(load);
    load_drain(load);
}
