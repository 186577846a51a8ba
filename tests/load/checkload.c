/*
 * A load generator that believes nothing: every value says which key and which
 * version it is, and every reply is checked against what was written before.
 *
 * A key is written by one client only, its versions grow, and a delete takes a
 * version too. So for every key the oldest version that a read may still give
 * is known: the last write or delete that was acknowledged before the read was
 * sent. A write that failed may or may not have happened, so its version may be
 * seen until a later one is acknowledged. A miss is always allowed. It begins
 * with flush_all, as values of an earlier run would be taken for wrong ones.
 *
 * One thread, one epoll set. Ends after --seconds, or at SIGINT or SIGTERM, and
 * prints one JSON object; one more, of the counts so far, at each SIGUSR1. Exit 0
 * where no reply was wrong and no client hung.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    PIPELINE_MAX = 8,
    GET_KEYS_MAX = 8,
    VALUE_MAX = 5000,
    BUFFER_SIZE = 1 << 17,
    KINDS_MAX = 24,
    RETRY_MS = 5,      /* after a refused connection */
    STOPPED_MS = 1000, /* no turn takes so long by itself */
};

enum operation { OP_GET, OP_SET, OP_DELETE, OP_SET_NOREPLY, OP_COUNT };

static const char *const operation_names[] = {"get", "set", "delete", "set_noreply"};

struct key {
    uint64_t issued; /* the last version sent */
    uint64_t floor;  /* the last acknowledged */
};

struct request {
    enum operation operation;
    unsigned count; /* keys of a get */
    unsigned keys[GET_KEYS_MAX];
    uint64_t floors[GET_KEYS_MAX]; /* at the time of sending */
    uint64_t version;
    double sent_ms;
};

struct client {
    int fd; /* or -1 */
    unsigned number;
    struct request pending[PIPELINE_MAX]; /* a ring of those unanswered */
    unsigned first, waiting;
    unsigned next_value; /* how many keys of the first get were passed over */
    char *in;
    size_t in_len;
    char *out;
    size_t out_len, out_sent;
    double retry_ms; /* when to connect again */
    bool hung;
};

struct kind {
    char text[80];
    uint64_t count;
};

static struct options {
    const char *address;
    unsigned clients, keys, seconds, pipeline, timeout_ms;
    unsigned set_percent, delete_percent, noreply_percent;
    uint64_t rate; /* requests a second, 0: as fast as it goes */
    uint64_t seed;
    bool strict;
} options = {.clients = 50,
             .keys = 2000,
             .seconds = 10,
             .pipeline = 2,
             .timeout_ms = 5000,
             .set_percent = 20,
             .delete_percent = 3,
             .noreply_percent = 0,
             .seed = 1};

static struct key *keys;
static struct client *clients;
static int poller;
static volatile sig_atomic_t stopping, reporting;
static uint64_t chance_state;

static struct {
    uint64_t done[OP_COUNT], failed[OP_COUNT], lost[OP_COUNT];
    uint64_t hits, misses;
    uint64_t wrong_key, corrupt, stale, protocol;
    uint64_t closed, refused, hung;
    double slowest_ms, longest_gap_ms;
    double stopped_ms; /* in which this process, or its machine, stood still: nobody hung in that
                          time */
    struct kind kinds[KINDS_MAX];
    char first_wrong[400];
} counts;

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static uint64_t chance(uint64_t limit)
{
    uint64_t z = chance_state += 0x9e3779b97f4a7c15U;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (z ^ (z >> 31)) % limit;
}

static void note_wrong(uint64_t *counter, const char *what, unsigned key, uint64_t version,
                       uint64_t floor)
{
    (*counter)++;
    if (counts.first_wrong[0] == '\0') {
        snprintf(counts.first_wrong, sizeof(counts.first_wrong),
                 "%s: key k%u version %llu, at least %llu, issued %llu", what, key,
                 (unsigned long long)version, (unsigned long long)floor,
                 (unsigned long long)keys[key].issued);
    }
}

static void note_kind(const char *line, size_t len)
{
    len = len < sizeof(counts.kinds[0].text) - 1 ? len : sizeof(counts.kinds[0].text) - 1;
    for (int i = 0; i < KINDS_MAX; i++) {
        struct kind *kind = &counts.kinds[i];

        if (kind->count == 0) {
            memcpy(kind->text, line, len);
            kind->text[len] = '\0';
        }
        if (strncmp(kind->text, line, len) == 0 && kind->text[len] == '\0') {
            kind->count++;
            return;
        }
    }
}

/* ---- values */

/* "k<key>:<version>:" and as many letters as key and version say. */
static size_t make_value(unsigned key, uint64_t version, char *value)
{
    uint64_t mix = (version * 2654435761U) ^ (key * 40503U);
    size_t size = mix % 40 == 0 ? 500 + mix % 4000 : mix % 100;
    size_t len = (size_t)sprintf(value, "k%u:%llu:", key, (unsigned long long)version);

    memset(value + len, 'a' + (int)(mix % 26), size);
    return len + size;
}

/* Judges the value of a get: the right key, whole, and not too old. */
static void judge_value(unsigned key, uint64_t floor, const char *value, size_t len)
{
    char right[VALUE_MAX + 64];
    unsigned said_key;
    unsigned long long version;
    char head[64];

    snprintf(head, sizeof(head), "%.*s", (int)(len < 60 ? len : 60), value);
    if (sscanf(head, "k%u:%llu:", &said_key, &version) != 2) {
        note_wrong(&counts.corrupt, "no such value", key, 0, floor);
    } else if (said_key != key) {
        note_wrong(&counts.wrong_key, "another key's value", key, version, floor);
    } else if (make_value(key, version, right) != len || memcmp(right, value, len) != 0) {
        note_wrong(&counts.corrupt, "a changed value", key, version, floor);
    } else if (version > keys[key].issued) {
        note_wrong(&counts.corrupt, "a version never written", key, version, floor);
    } else if (version < floor) {
        note_wrong(&counts.stale, "an old value", key, version, floor);
    }
    counts.hits++;
}

/* ---- connections */

static void client_watch(struct client *client, int operation)
{
    struct epoll_event event = {.events =
                                    EPOLLIN | (client->out_sent < client->out_len ? EPOLLOUT : 0),
                                .data.ptr = client};

    if (epoll_ctl(poller, operation, client->fd, &event) == -1) {
        perror("epoll_ctl");
        exit(2);
    }
}

static int connect_socket(void)
{
    const char *colon = strrchr(options.address, ':');
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    char host[64];
    int fd;

    if (strncmp(options.address, "unix:", 5) == 0) {
        snprintf(path.sun_path, sizeof(path.sun_path), "%s", options.address + 5);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd != -1 && connect(fd, (struct sockaddr *)&path, sizeof(path)) == -1) {
            close(fd);
            fd = -1;
        }
        return fd;
    }
    if (colon == NULL) {
        fprintf(stderr, "checkload: an address is HOST:PORT or unix:PATH\n");
        exit(2);
    }
    snprintf(host, sizeof(host), "%.*s", (int)(colon - options.address), options.address);
    v4.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    if (inet_pton(AF_INET, host, &v4.sin_addr) != 1) {
        fprintf(stderr, "checkload: '%s' is no IPv4 address\n", host);
        exit(2);
    }
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd != -1 && connect(fd, (struct sockaddr *)&v4, sizeof(v4)) == -1) {
        close(fd);
        fd = -1;
    }
    if (fd != -1) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    }
    return fd;
}

static bool client_connect(struct client *client)
{
    client->fd = connect_socket();
    if (client->fd == -1) {
        counts.refused++;
        client->retry_ms = now_ms() + RETRY_MS;
        return false;
    }
    fcntl(client->fd, F_SETFL, O_NONBLOCK);
    client->in_len = client->out_len = client->out_sent = 0;
    client->first = client->waiting = client->next_value = 0;
    client->hung = false;
    client_watch(client, EPOLL_CTL_ADD);
    return true;
}

/* What was not answered is lost: it may have happened or not. */
static void client_drop(struct client *client)
{
    for (unsigned i = 0; i < client->waiting; i++) {
        counts.lost[client->pending[(client->first + i) % PIPELINE_MAX].operation]++;
    }
    close(client->fd);
    client->fd = -1;
    client->waiting = 0;
    client->retry_ms = now_ms() + RETRY_MS;
}

/* ---- requests */

/* A key that this client may write. */
static unsigned pick_own_key(const struct client *client)
{
    unsigned each = options.keys / options.clients;

    return client->number + options.clients * (unsigned)chance(each);
}

static enum operation pick_operation(void)
{
    unsigned pick = (unsigned)chance(100);

    if (pick < options.set_percent) {
        return OP_SET;
    }
    pick -= options.set_percent;
    if (pick < options.delete_percent) {
        return OP_DELETE;
    }
    pick -= options.delete_percent;
    return pick < options.noreply_percent ? OP_SET_NOREPLY : OP_GET;
}

static void client_ask(struct client *client)
{
    struct request *request = &client->pending[(client->first + client->waiting) % PIPELINE_MAX];
    char *out = client->out + client->out_len;
    char value[VALUE_MAX + 64];

    *request = (struct request){.operation = pick_operation(), .count = 1, .sent_ms = now_ms()};
    if (request->operation == OP_GET) {
        request->count = chance(3) != 0 ? 1 : 1 + (unsigned)chance(GET_KEYS_MAX);
        out += sprintf(out, "get");
        for (unsigned i = 0; i < request->count; i++) {
            request->keys[i] =
                chance(2) != 0 ? pick_own_key(client) : (unsigned)chance(options.keys);
            request->floors[i] = keys[request->keys[i]].floor;
            out += sprintf(out, " k%u", request->keys[i]);
        }
        out += sprintf(out, "\r\n");
    } else {
        unsigned key = request->keys[0] = pick_own_key(client);

        request->version = ++keys[key].issued;
        if (request->operation == OP_DELETE) {
            out += sprintf(out, "delete k%u\r\n", key);
        } else {
            size_t len = make_value(key, request->version, value);

            out += sprintf(out, "set k%u 0 0 %zu%s\r\n", key, len,
                           request->operation == OP_SET_NOREPLY ? " noreply" : "");
            memcpy(out, value, len);
            out += len;
            out += sprintf(out, "\r\n");
        }
    }
    client->out_len = (size_t)(out - client->out);
    if (request->operation == OP_SET_NOREPLY) {
        counts.done[OP_SET_NOREPLY]++;
    } else {
        client->waiting++;
    }
}

static bool client_write(struct client *client)
{
    while (client->out_sent < client->out_len) {
        ssize_t put = send(client->fd, client->out + client->out_sent,
                           client->out_len - client->out_sent, MSG_NOSIGNAL);

        if (put > 0) {
            client->out_sent += (size_t)put;
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            return false;
        }
    }
    if (client->out_sent == client->out_len) {
        client->out_sent = client->out_len = 0;
    }
    client_watch(client, EPOLL_CTL_MOD);
    return true;
}

/* ---- replies */

static void request_end(struct client *client, bool good)
{
    struct request *request = &client->pending[client->first];
    double took_ms = now_ms() - request->sent_ms;

    counts.slowest_ms = took_ms > counts.slowest_ms ? took_ms : counts.slowest_ms;
    if (good) {
        counts.done[request->operation]++;
        if (request->operation != OP_GET && keys[request->keys[0]].floor < request->version) {
            keys[request->keys[0]].floor = request->version;
        }
    } else {
        counts.failed[request->operation]++;
    }
    if (request->operation == OP_GET && good) {
        counts.misses += request->count - client->next_value;
    }
    client->first = (client->first + 1) % PIPELINE_MAX;
    client->waiting--;
    client->next_value = 0;
}

/* The floor of a read of a key: what it was when sent, or, for a key of this client's own, what
 * the answers before this one made it. */
static uint64_t floor_of(const struct client *client, const struct request *request, unsigned at)
{
    unsigned key = request->keys[at];

    if (!options.strict) {
        return 0;
    }
    return key % options.clients == client->number ? keys[key].floor : request->floors[at];
}

/* A VALUE line; its block lies behind it. False where it cannot be an answer. */
static bool take_value(struct client *client, const char *line, const char *block, size_t size)
{
    struct request *request = &client->pending[client->first];
    unsigned key;

    if (request->operation != OP_GET || sscanf(line, "VALUE k%u ", &key) != 1) {
        return false;
    }
    while (client->next_value < request->count && request->keys[client->next_value] != key) {
        client->next_value++;
        counts.misses++;
    }
    if (client->next_value == request->count) {
        note_wrong(&counts.wrong_key, "a key not asked for", key < options.keys ? key : 0, 0, 0);
        return true;
    }
    judge_value(key, floor_of(client, request, client->next_value), block, size);
    client->next_value++;
    return true;
}

static bool is_line(const char *line, size_t len, const char *text)
{
    return len == strlen(text) && memcmp(line, text, len) == 0;
}

static bool take_line(struct client *client, const char *line, size_t len)
{
    enum operation operation = client->pending[client->first].operation;

    if (len > 13 && memcmp(line, "SERVER_ERROR ", 13) == 0) {
        note_kind(line, len);
        request_end(client, false);
        return true;
    }
    if ((operation == OP_GET && is_line(line, len, "END")) ||
        (operation == OP_SET && is_line(line, len, "STORED")) ||
        (operation == OP_DELETE &&
         (is_line(line, len, "DELETED") || is_line(line, len, "NOT_FOUND")))) {
        request_end(client, true);
        return true;
    }
    note_kind(line, len);
    return false;
}

/* Takes all whole replies from the buffer; false where one cannot be an answer. */
static bool client_parse(struct client *client)
{
    size_t at = 0;

    while (at < client->in_len) {
        char *line = client->in + at;
        char *end = memchr(line, '\n', client->in_len - at);
        size_t len, size;

        if (end == NULL) {
            break;
        }
        len = (size_t)(end - line);
        if (client->waiting == 0 || len == 0 || line[len - 1] != '\r') {
            return false;
        }
        len--;
        if (len > 6 && memcmp(line, "VALUE ", 6) == 0) {
            line[len] = '\0';
            if (sscanf(line, "VALUE %*s %*u %zu", &size) != 1 || size > VALUE_MAX) {
                return false;
            }
            line[len] = '\r';
            if (client->in_len - at < len + 2 + size + 2) {
                break;
            }
            if (!take_value(client, line, end + 1, size)) {
                return false;
            }
            at += len + 2 + size + 2;
        } else {
            if (!take_line(client, line, len)) {
                return false;
            }
            at += len + 2;
        }
    }
    memmove(client->in, client->in + at, client->in_len - at);
    client->in_len -= at;
    return true;
}

static bool client_read(struct client *client)
{
    for (;;) {
        ssize_t got = read(client->fd, client->in + client->in_len, BUFFER_SIZE - client->in_len);

        if (got > 0) {
            client->in_len += (size_t)got;
            if (!client_parse(client)) {
                counts.protocol++;
                if (counts.first_wrong[0] == '\0') {
                    snprintf(counts.first_wrong, sizeof(counts.first_wrong),
                             "no answer to what was asked: %.*s",
                             (int)(client->in_len < 300 ? client->in_len : 300), client->in);
                }
                return false;
            }
        } else if (got == -1 && errno == EINTR) {
            continue;
        } else if (got == -1 && errno == EAGAIN) {
            return true;
        } else {
            counts.closed++;
            return false;
        }
    }
}

/* ---- the run */

static double began_ms;
static uint64_t asked;

static bool may_ask(double now)
{
    return options.rate == 0 || (double)asked < (now - began_ms) * (double)options.rate / 1e3;
}

/* now is the turn's: a stop of this process in the middle of it is seen by the next. */
static void client_go_on(struct client *client, double now, bool is_ending)
{
    if (client->fd == -1) {
        if (is_ending || now < client->retry_ms || !client_connect(client)) {
            return;
        }
    }
    if (client->waiting == 0 && client->out_len == 0 && !is_ending && may_ask(now)) {
        unsigned depth = 1 + (unsigned)chance(options.pipeline);

        for (unsigned i = 0; i < depth; i++, asked++) {
            client_ask(client);
        }
        if (!client_write(client)) {
            counts.closed++;
            client_drop(client);
        }
    }
    if (client->fd != -1 && client->waiting > 0 && !client->hung &&
        now - client->pending[client->first].sent_ms > options.timeout_ms) {
        counts.hung++;
        client->hung = true;
        client_drop(client);
    }
}

static void serve_events(int timeout_ms)
{
    struct epoll_event events[256];
    int ready = epoll_wait(poller, events, 256, timeout_ms);

    for (int i = 0; i < ready; i++) {
        struct client *client = events[i].data.ptr;
        bool fine = client->fd != -1;

        if (fine && (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
            fine = client_read(client);
        }
        if (fine && (events[i].events & EPOLLOUT) != 0) {
            fine = client_write(client);
        }
        if (!fine && client->fd != -1) {
            client_drop(client);
        }
    }
}

static uint64_t all_done(void)
{
    return counts.done[OP_GET] + counts.done[OP_SET] + counts.done[OP_DELETE];
}

static bool print_result(double took_ms);

/* This process itself did not run for so long: what was asked before counts from later on. */
static void forgive_stop(double stopped_ms)
{
    counts.stopped_ms += stopped_ms;
    for (unsigned i = 0; i < options.clients; i++) {
        for (unsigned j = 0; j < clients[i].waiting; j++) {
            clients[i].pending[(clients[i].first + j) % PIPELINE_MAX].sent_ms += stopped_ms;
        }
    }
}

static void run(void)
{
    double end, progress_ms, turn_ms;
    uint64_t done_before = 0;

    began_ms = progress_ms = turn_ms = now_ms();
    end = began_ms + options.seconds * 1e3;
    for (;;) {
        double now = now_ms();
        bool is_ending = stopping || now > end;
        unsigned waiting = 0;

        if (now - turn_ms > STOPPED_MS) {
            forgive_stop(now - turn_ms);
        }
        turn_ms = now;
        for (unsigned i = 0; i < options.clients; i++) {
            client_go_on(&clients[i], now, is_ending);
            waiting += clients[i].fd != -1 ? clients[i].waiting : 0;
        }
        if (is_ending && waiting == 0) {
            break;
        }
        serve_events(1);
        if (reporting) {
            reporting = 0;
            print_result(now_ms() - began_ms);
        }
        if (all_done() != done_before) {
            double gap = now_ms() - progress_ms;

            counts.longest_gap_ms = gap > counts.longest_gap_ms ? gap : counts.longest_gap_ms;
            done_before = all_done();
            progress_ms = now_ms();
        }
    }
}

static void print_json_text(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            putchar('\\');
        }
        if ((unsigned char)*text < ' ' || (unsigned char)*text > '~') {
            printf("\\u%04x", (unsigned char)*text);
        } else {
            putchar(*text);
        }
    }
    putchar('"');
}

static bool print_result(double took_ms)
{
    bool good =
        counts.wrong_key + counts.corrupt + counts.stale + counts.protocol + counts.hung == 0;

    printf("{\"seconds\": %.3f, \"requests_per_second\": %.0f", took_ms / 1e3,
           (double)all_done() / took_ms * 1e3);
    for (int i = 0; i < OP_COUNT; i++) {
        printf(", \"%s\": {\"done\": %llu, \"failed\": %llu, \"lost\": %llu}", operation_names[i],
               (unsigned long long)counts.done[i], (unsigned long long)counts.failed[i],
               (unsigned long long)counts.lost[i]);
    }
    printf(", \"hits\": %llu, \"misses\": %llu, \"wrong_key\": %llu, \"corrupt\": %llu, \"stale\": "
           "%llu"
           ", \"protocol\": %llu, \"closed\": %llu, \"refused\": %llu, \"hung\": %llu"
           ", \"slowest_ms\": %.1f, \"longest_gap_ms\": %.1f, \"stopped_ms\": %.1f",
           (unsigned long long)counts.hits, (unsigned long long)counts.misses,
           (unsigned long long)counts.wrong_key, (unsigned long long)counts.corrupt,
           (unsigned long long)counts.stale, (unsigned long long)counts.protocol,
           (unsigned long long)counts.closed, (unsigned long long)counts.refused,
           (unsigned long long)counts.hung, counts.slowest_ms, counts.longest_gap_ms,
           counts.stopped_ms);
    printf(", \"errors\": {");
    for (int i = 0; i < KINDS_MAX && counts.kinds[i].count > 0; i++) {
        printf("%s", i > 0 ? ", " : "");
        print_json_text(counts.kinds[i].text);
        printf(": %llu", (unsigned long long)counts.kinds[i].count);
    }
    printf("}, \"first_wrong\": ");
    print_json_text(counts.first_wrong);
    printf("}\n");
    fflush(stdout);
    return good;
}

/* True once everything was removed. */
static bool flush_all(void)
{
    char reply[5] = "";
    size_t len = 0;
    int fd = connect_socket();

    if (fd == -1 || send(fd, "flush_all\r\n", 11, MSG_NOSIGNAL) != 11) {
        return false;
    }
    while (len < 4) {
        ssize_t got = read(fd, reply + len, 4 - len);

        if (got <= 0) {
            break;
        }
        len += (size_t)got;
    }
    close(fd);
    return memcmp(reply, "OK\r\n", 4) == 0;
}

static void on_signal(int number)
{
    if (number == SIGUSR1) {
        reporting = 1;
    } else {
        stopping = 1;
    }
}

static void read_options(int argc, char **argv)
{
    static const struct {
        const char *name;
        unsigned *value;
    } numbers[] = {
        {"clients", &options.clients},        {"keys", &options.keys},
        {"seconds", &options.seconds},        {"pipeline", &options.pipeline},
        {"timeout-ms", &options.timeout_ms},  {"sets", &options.set_percent},
        {"deletes", &options.delete_percent}, {"noreply", &options.noreply_percent},
    };

    for (int i = 1; i < argc; i++) {
        const char *name = argv[i] + (strncmp(argv[i], "--", 2) == 0 ? 2 : 0);
        bool known = false;

        if (strcmp(name, "strict") == 0) {
            options.strict = true;
            continue;
        }
        if (i + 1 == argc) {
            name = "";
        }
        for (size_t j = 0; j < sizeof(numbers) / sizeof(numbers[0]); j++) {
            if (strcmp(name, numbers[j].name) == 0) {
                *numbers[j].value = (unsigned)strtoul(argv[++i], NULL, 10);
                known = true;
                break;
            }
        }
        if (known) {
            continue;
        }
        if (strcmp(name, "connect") == 0) {
            options.address = argv[++i];
        } else if (strcmp(name, "rate") == 0) {
            options.rate = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(name, "seed") == 0) {
            options.seed = strtoull(argv[++i], NULL, 10);
        } else {
            options.address = NULL;
            break;
        }
    }
    if (options.address == NULL || options.clients == 0 || options.keys < options.clients ||
        options.pipeline == 0 || options.pipeline > PIPELINE_MAX) {
        fprintf(stderr,
                "usage: checkload --connect ADDRESS [--clients 50] [--keys 2000] [--seconds 10]\n"
                "  [--pipeline 2 (at most 8)] [--sets 20] [--deletes 3] [--noreply 0] (percent)\n"
                "  [--rate N] [--timeout-ms 5000] [--seed 1] [--strict]\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    bool good;
    double start;

    read_options(argc, argv);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    signal(SIGUSR1, on_signal);
    chance_state = options.seed;
    poller = epoll_create1(EPOLL_CLOEXEC);
    keys = calloc(options.keys, sizeof(*keys));
    clients = calloc(options.clients, sizeof(*clients));
    if (poller == -1 || keys == NULL || clients == NULL) {
        perror("checkload");
        return 2;
    }
    for (unsigned i = 0; i < options.clients; i++) {
        clients[i].number = i;
        clients[i].fd = -1;
        clients[i].in = malloc(BUFFER_SIZE);
        clients[i].out = malloc((VALUE_MAX + 512) * PIPELINE_MAX);
        if (clients[i].in == NULL || clients[i].out == NULL) {
            perror("checkload");
            return 2;
        }
    }
    if (!flush_all()) {
        fprintf(stderr, "checkload: flush_all is not answered OK\n");
        return 2;
    }
    start = now_ms();
    run();
    good = print_result(now_ms() - start);
    for (unsigned i = 0; i < options.clients; i++) {
        free(clients[i].in);
        free(clients[i].out);
    }
    free(clients);
    free(keys);
    return good ? 0 : 1;
}
