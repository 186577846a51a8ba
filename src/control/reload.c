/* See control/reload.h. */
#include "control/reload.h"

#include "base/clock.h"
#include "base/log.h"
#include "config/diff.h"
#include "config/keys.h"
#include "config/value.h"
#include "control/admin.h"
#include "control/event_log.h"
#include "control/member.h"
#include "control/rebuild.h"
#include "control/resolver.h"
#include "control/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Says a line in the log and in the answer. */
__attribute__((format(printf, 3, 4))) static void say(struct evbuffer *out, enum log_level level,
                                                      const char *format, ...)
{
    char line[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    log_line(level, "reload: %s", line);
    if (out != NULL) {
        text_add_line(out, slice_text(line));
        evbuffer_add(out, "\r\n", 2);
    }
}

static void on_fixed(void *arg, const char *key)
{
    say(arg, LOG_LEVEL_WARN, "%s differs, but takes effect only at the next start", key);
}

static const struct config_server *find_server(const struct config_pool *pool, const char *label)
{
    for (size_t i = 0; i < pool->server_count; i++) {
        if (strcmp(pool->servers[i].label, label) == 0) {
            return &pool->servers[i];
        }
    }
    return NULL;
}

/* The server of pool that server was called before or is called after; NULL: it kept its name. */
static const struct config_server *find_renamed(const struct config_pool *pool,
                                                const struct config_pool *servers_pool,
                                                const struct config_server *server)
{
    for (size_t i = 0; i < pool->server_count; i++) {
        const struct config_server *other = &pool->servers[i];

        if (address_equals(&other->address, &server->address) &&
            find_server(servers_pool, other->label) == NULL) {
            return other;
        }
    }
    return NULL;
}

/* What is different about a server of the same name. */
static void say_server(struct evbuffer *out, const char *pool, const struct config_server *before,
                       const struct config_server *after)
{
    char was[ADDRESS_TEXT_MAX];
    char is[ADDRESS_TEXT_MAX];

    if (!address_equals(&before->address, &after->address)) {
        say(out, LOG_LEVEL_NOTICE,
            "pool %s: server %s is at %s instead of %s: its keys stay with it, and a new host "
            "begins without them",
            pool, after->label, address_format(&after->address, is, sizeof(is)),
            address_format(&before->address, was, sizeof(was)));
    }
    if (before->weight != after->weight) {
        say(out, LOG_LEVEL_NOTICE, "pool %s: server %s has weight %g instead of %g", pool,
            after->label, after->weight, before->weight);
    }
}

static void say_servers(struct evbuffer *out, const struct config_pool *before,
                        const struct config_pool *after)
{
    for (size_t i = 0; i < before->server_count; i++) {
        const struct config_server *server = &before->servers[i];
        const struct config_server *now = find_server(after, server->label);

        if (now != NULL) {
            say_server(out, before->name, server, now);
        } else if ((now = find_renamed(after, before, server)) != NULL) {
            say(out, LOG_LEVEL_NOTICE,
                "pool %s: server %s is called %s now, which is another one on the ring",
                before->name, server->label, now->label);
        } else {
            say(out, LOG_LEVEL_NOTICE, "pool %s: server %s removed", before->name, server->label);
        }
    }
    for (size_t i = 0; i < after->server_count; i++) {
        const struct config_server *server = &after->servers[i];

        if (find_server(before, server->label) == NULL &&
            find_renamed(before, after, server) == NULL) {
            say(out, LOG_LEVEL_NOTICE, "pool %s: server %s added", after->name, server->label);
        }
    }
}

static void on_changed(void *arg, const char *key)
{
    say(arg, LOG_LEVEL_NOTICE, "%s changed", key);
}

struct pool_answer {
    struct evbuffer *out;
    const char *pool;
};

static void on_changed_of_pool(void *arg, const char *key)
{
    struct pool_answer *answer = arg;

    say(answer->out, LOG_LEVEL_NOTICE, "pool %s: %s changed", answer->pool, key);
}

static const struct config_listen *find_listen(const struct config_pool *pool,
                                               const struct address *address)
{
    for (size_t i = 0; i < pool->listen_count; i++) {
        if (address_equals(&pool->listens[i].address, address)) {
            return &pool->listens[i];
        }
    }
    return NULL;
}

/* Names the listen lines of one that are not in the other. */
static void say_listens(struct evbuffer *out, const struct config_pool *one,
                        const struct config_pool *other, const char *what)
{
    for (size_t i = 0; i < one->listen_count; i++) {
        char text[ADDRESS_TEXT_MAX];

        if (find_listen(other, &one->listens[i].address) == NULL) {
            say(out, LOG_LEVEL_NOTICE, "pool %s: listen %s %s", one->name,
                address_format(&one->listens[i].address, text, sizeof(text)), what);
        }
    }
}

/* Names the listen lines of both that allow others now. */
static void say_allows(struct evbuffer *out, const struct config_pool *before,
                       const struct config_pool *after)
{
    for (size_t i = 0; i < after->listen_count; i++) {
        const struct config_listen *now = &after->listens[i];
        const struct config_listen *old = find_listen(before, &now->address);
        char text[ADDRESS_TEXT_MAX];

        if (old != NULL && !networks_equal(&old->allow, &now->allow)) {
            say(out, LOG_LEVEL_NOTICE, "pool %s: listen %s allows other networks", after->name,
                address_format(&now->address, text, sizeof(text)));
        }
    }
}

static void say_changes(struct evbuffer *out, const struct config *before,
                        const struct config *after)
{
    for (size_t p = 0; p < before->pool_count; p++) {
        const struct config_pool *pool = config_find_pool(after, before->pools[p].name);

        if (pool == NULL) {
            say(out, LOG_LEVEL_NOTICE, "pool %s removed", before->pools[p].name);
            continue;
        }
        say_servers(out, &before->pools[p], pool);
        say_listens(out, &before->pools[p], pool, "removed");
        say_listens(out, pool, &before->pools[p], "added");
        say_allows(out, &before->pools[p], pool);
        config_diff_pool(&before->pools[p], pool, on_changed_of_pool,
                         &(struct pool_answer){out, pool->name});
    }
    for (size_t p = 0; p < after->pool_count; p++) {
        if (config_find_pool(before, after->pools[p].name) == NULL) {
            say(out, LOG_LEVEL_NOTICE, "pool %s added", after->pools[p].name);
        }
    }
    config_diff_live(before, after, on_changed, out);
}

/* The listen line of any pool that opened the address, or NULL: it is new. */
static const struct config_listen *find_opened(const struct config *config,
                                               const struct address *address)
{
    const struct config_listen *listen = NULL;

    for (size_t p = 0; p < config->pool_count && listen == NULL; p++) {
        listen = find_listen(&config->pools[p], address);
    }
    return listen;
}

/* Gives unix sockets that stay the modes that their lines have now. */
static void set_modes(struct evbuffer *out, const struct config *before, const struct config *after)
{
    for (size_t p = 0; p < after->pool_count; p++) {
        const struct config_pool *pool = &after->pools[p];

        for (size_t i = 0; i < pool->listen_count; i++) {
            const struct config_listen *now = &pool->listens[i];
            const struct config_listen *old = find_opened(before, &now->address);
            const char *path = now->address.host;

            if (old == NULL || old->mode == now->mode) {
                continue;
            }
            if (now->mode == 0) {
                say(out, LOG_LEVEL_WARN,
                    "pool %s: listen unix:%s keeps mode %04o until it is "
                    "opened anew",
                    pool->name, path, (unsigned)old->mode);
            } else if (chmod(path, now->mode) == -1) {
                say(out, LOG_LEVEL_ERROR, "pool %s: listen unix:%s cannot be given mode %04o: %s",
                    pool->name, path, (unsigned)now->mode, strerror(errno));
            } else {
                say(out, LOG_LEVEL_NOTICE, "pool %s: listen unix:%s has mode %04o now", pool->name,
                    path, (unsigned)now->mode);
            }
        }
    }
}

/* Wants no longer the names of config looked up, of its first most servers. */
static void unwant_names(struct control *control, const struct config *config, size_t most)
{
    for (size_t p = 0; p < config->pool_count; p++) {
        const struct config_pool *pool = &config->pools[p];

        for (size_t s = 0; s < pool->server_count && most > 0; s++, most--) {
            resolver_remove(control->resolver, &pool->servers[s].address,
                            pool->resolve_interval_ms * 1000);
        }
    }
}

bool reload_want_names(struct control *control, const struct config *config)
{
    size_t wanted = 0;

    for (size_t p = 0; p < config->pool_count; p++) {
        const struct config_pool *pool = &config->pools[p];

        for (size_t s = 0; s < pool->server_count; s++, wanted++) {
            if (!resolver_add(control->resolver, &pool->servers[s].address,
                              pool->resolve_interval_ms * 1000)) {
                unwant_names(control, config, wanted);
                return false;
            }
        }
    }
    return true;
}

/* Puts config in force. False with a sentence in error, and nothing changed. */
static bool put_in_force(struct control *control, struct config *config, char *moved,
                         size_t moved_size, char *error, size_t error_size)
{
    struct config *before = control->config;

    if (!rebuild_open_listens(control, config, error, error_size) ||
        !reload_want_names(control, config)) {
        rebuild_drop_fresh(control);
        return false;
    }
    if (!rebuild_publish(control, config, moved, moved_size, error, error_size)) {
        unwant_names(control, config, SIZE_MAX);
        return false;
    }
    control->config = config;
    if (!members_adopt(control, control->slot.current)) {
        log_error("out of memory: some servers are not watched yet");
        rebuild_later(control);
    }
    unwant_names(control, before, SIZE_MAX);
    return true;
}

static void count_attempt(struct control *control, bool was_taken)
{
    control->changes.reload_was_taken = was_taken;
    control->changes.reload_wall_us = clock_wall_us();
    if (was_taken) {
        control->changes.reloads++;
    } else {
        control->changes.reloads_refused++;
    }
}

/* What cannot change while running stays as it was; the file's wish goes with the old one. */
static void carry_fixed(struct config *before, struct config *after)
{
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_keys[i];

        if (key->section != SECTION_PROXY || (key->flags & KEY_LIVE) != 0) {
            continue;
        }
        config_value_swap(key, before, after);
        if (key->type == KEY_ADDRESS) { /* who is allowed there is as the file says */
            struct config_listen *wish = config_key_field(key, before);
            struct config_listen *kept = config_key_field(key, after);

            if (*(bool *)config_key_beside(key, before) && *(bool *)config_key_beside(key, after) &&
                address_equals(&wish->address, &kept->address)) {
                struct networks allow = wish->allow;

                wish->allow = kept->allow;
                kept->allow = allow;
            }
        }
    }
}

bool reload_run(struct control *control, struct evbuffer *out)
{
    struct config_errors errors = {0};
    struct config *before = control->config;
    struct config *config;
    char error[600] = "out of memory";
    char moved[256] = "";

    if (control->is_stopping) {
        say(out, LOG_LEVEL_WARN, "the proxy is stopping: nothing is reloaded");
        count_attempt(control, false);
        return false;
    }
    if (before->path == NULL) {
        say(out, LOG_LEVEL_WARN, "there is no configuration file: nothing to reload");
        count_attempt(control, false);
        return false;
    }
    config = config_load(before->path, &errors);
    for (size_t i = 0; i < errors.count; i++) {
        say(out, LOG_LEVEL_ERROR, "%s", errors.lines[i]);
    }
    if (errors.count > 0) {
        snprintf(error, sizeof(error), "%s", errors.lines[0]);
    }
    config_errors_fini(&errors);
    if (config == NULL ||
        !put_in_force(control, config, moved, sizeof(moved), error, sizeof(error))) {
        if (config != NULL) {
            say(out, LOG_LEVEL_ERROR, "%s", error);
            config_free(config);
        }
        say(out, LOG_LEVEL_ERROR, "failed: nothing has changed");
        event_log_note(control, "reload refused: %s", error);
        count_attempt(control, false);
        return false;
    }
    count_attempt(control, true);
    say_changes(out, before, config);
    set_modes(out, before, config);
    config_diff_fixed(before, config, on_fixed, out);
    log_set_level((enum log_level)config->log_level);
    say(out, LOG_LEVEL_NOTICE, "done, generation %llu%s",
        (unsigned long long)control->slot.current->generation,
        moved[0] != '\0' ? moved : "; no key moves");
    event_log_note(control, "reload taken, generation %llu%s",
                   (unsigned long long)control->slot.current->generation,
                   moved[0] != '\0' ? moved : "; no key moves");
    carry_fixed(before, config);
    if (control->admin != NULL) {
        admin_end_denied(control->admin);
    }
    config_free(before);
    return true;
}
