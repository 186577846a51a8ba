/* See control/control.h. */
#include "control/control.h"

#include "base/clock.h"
#include "base/log.h"
#include "control/admin.h"
#include "control/admin_clients.h"
#include "control/event_log.h"
#include "control/http.h"
#include "control/member.h"
#include "control/metrics.h"
#include "control/process.h"
#include "control/rebuild.h"
#include "control/reload.h"
#include "control/reserve.h"
#include "control/resolver.h"
#include "control/return.h"
#include "control/timer.h"
#include "control/watch.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

static const int signals[CONTROL_SIGNALS] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};

enum { FIRST_NAMES_US = 1500000 }; /* to wait for the first answers of DNS */
enum { MALLOC_LARGE_BYTES = 1 << 20 };

/* As config says. False with a sentence in error. */
MUST_CHECK static bool open_log(const struct config *config, char *error, size_t error_size)
{
    log_set_level((enum log_level)config->log_level);
    switch (config->log_to) {
    case LOG_TO_STDERR:
        log_to_stderr();
        break;
    case LOG_TO_SYSLOG:
        log_to_syslog("ketamad", _PATH_LOG);
        break;
    case LOG_TO_FILE:
        if (!log_to_file(config->log_path)) {
            snprintf(error, error_size, "cannot open the log %s: %s", config->log_path,
                     strerror(errno));
            return false;
        }
        break;
    }
    return true;
}

/* From now on new clients are refused at once rather than left in a backlog. Once is enough. */
static void stop_listening(struct control *control)
{
    const struct topology *topology = control->slot.current;

    for (uint32_t i = 0; i < topology->listener_count; i++) {
        shutdown(topology->listeners[i].socket->fd, SHUT_RDWR);
    }
}

/* Begins to stop: gently the first time, at once the second. */
static void stop(struct control *control)
{
    if (control->is_stopping) {
        log_notice("stopping at once");
        workers_stop(&control->workers);
        return;
    }
    log_notice("stopping: clients are served what they asked for, for at most %llu ms",
               (unsigned long long)control->config->drain_timeout_ms);
    control->is_stopping = true;
    workers_drain(&control->workers);
    timer_set(control->drain_timer, control->config->drain_timeout_ms * 1000);
}

static void on_drain_timeout(evutil_socket_t fd, short what, void *arg)
{
    struct control *control = arg;

    (void)fd;
    (void)what;
    log_warn("drain_timeout passed with clients still being served: closing them");
    workers_stop(&control->workers);
}

static void on_signal(evutil_socket_t signal_number, short what, void *arg)
{
    struct control *control = arg;

    (void)what;
    switch (signal_number) {
    case SIGTERM:
    case SIGINT:
        stop(control);
        break;
    case SIGUSR1:
        if (log_reopen()) {
            log_notice("log opened again");
        } else {
            log_error("cannot open the log again, the old file stays in use: %s", strerror(errno));
        }
        break;
    case SIGHUP:
        reload_run(control, NULL);
        break;
    default:
        break;
    }
}

static void on_mail(evutil_socket_t fd, short what, void *arg)
{
    struct control *control = arg;
    struct list mails;
    struct list *at;

    (void)fd;
    (void)what;
    list_init(&mails);
    mailbox_take(&control->mailbox, &mails);
    while ((at = list_pop(&mails)) != NULL) {
        struct mail *mail = list_entry(at, struct mail, link);

        switch ((enum control_mail)mail->kind) {
        case CONTROL_MAIL_ROSTER:
            admin_clients_take(control, (struct control_roster_mail *)mail);
            continue;
        case CONTROL_MAIL_VERDICT:
            member_on_verdict(control, (struct verdict_mail *)mail);
            break;
        case CONTROL_MAIL_SURRENDER:
            return_on_surrender(control, (struct worker_surrender_mail *)mail);
            break;
        }
        free(mail);
    }
    if (control->admin != NULL) {
        admin_on_adopted(control->admin);
    }
    if (control->is_stopping && atomic_load(&control->workers.draining) == control->workers.count) {
        stop_listening(control);
    }
    if (atomic_load(&control->workers.stopped) == control->workers.count) {
        event_base_loopbreak(control->base);
    }
}

/* Addresses behind some names have changed; they move no key. */
static void on_addresses(void *arg)
{
    rebuild_standing(arg, NULL, 0);
}

/* Looks names up and publishes the first topology. */
static bool init_topology(struct control *control, char *error, size_t error_size)
{
    const struct resolver_options system_wide = {0};

    control->resolver = resolver_new(control->base, &system_wide, on_addresses, control);
    if (control->resolver == NULL || !reload_want_names(control, control->config)) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    resolver_wait(control->resolver, FIRST_NAMES_US);
    if (!rebuild_publish(control, control->config, NULL, 0, error, error_size)) {
        return false;
    }
    if (!members_adopt(control, control->slot.current)) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    return true;
}

/* Makes the loop and what it waits for. */
static bool init_events(struct control *control)
{
    control->base = event_base_new();
    if (control->base == NULL || !mailbox_init(&control->mailbox)) {
        return false;
    }
    control->mail_event =
        event_new(control->base, control->mailbox.wake_fd, EV_READ | EV_PERSIST, on_mail, control);
    control->drain_timer = evtimer_new(control->base, on_drain_timeout, control);
    control->later_timer = evtimer_new(control->base, rebuild_on_later, control);
    control->names_timer = evtimer_new(control->base, rebuild_on_names, control);
    if (control->mail_event == NULL || control->drain_timer == NULL ||
        control->later_timer == NULL || control->names_timer == NULL) {
        return false;
    }
    if (event_add(control->mail_event, NULL) == -1) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        control->signal_events[i] = evsignal_new(control->base, signals[i], on_signal, control);
        if (control->signal_events[i] == NULL) {
            return false;
        }
        if (event_add(control->signal_events[i], NULL) == -1) {
            return false;
        }
    }
    return true;
}

/* Signals wait: those of the start until there is something to reload or to stop. */
static void hold_signals(int how)
{
    sigset_t ours;

    sigemptyset(&ours);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        sigaddset(&ours, signals[i]);
    }
    sigprocmask(how, &ours, NULL);
}

static void fini(struct control *control)
{
    hold_signals(SIG_BLOCK); /* one more SIGTERM must not undo a clean end */
    if (control->mail_event != NULL) {
        on_mail(-1, 0, control); /* what workers said last */
        event_free(control->mail_event);
        mailbox_fini(&control->mailbox);
    }
    admin_free(control->admin);
    http_free(control->http);
    watch_free(control);
    event_log_free(control);
    admin_clients_free(control);
    metrics_free(control->metrics);
    for (size_t i = 0; i < ARRAY_LEN(control->signal_events); i++) {
        if (control->signal_events[i] != NULL) {
            event_free(control->signal_events[i]);
        }
    }
    if (control->drain_timer != NULL) {
        event_free(control->drain_timer);
    }
    if (control->later_timer != NULL) {
        event_free(control->later_timer);
    }
    if (control->names_timer != NULL) {
        event_free(control->names_timer);
    }
    members_free(control);
    resolver_free(control->resolver);
    rebuild_drop_fresh(control);
    topology_slot_fini(&control->slot);
    if (control->base != NULL) {
        event_base_free(control->base);
    }
    process_remove_pidfile(control->config);
    config_free(control->config);
    libevent_global_shutdown();
}

/* Everything that can fail at the start, in order; a sentence in error where it does. */
static bool start(struct control *control, bool detach, char *error, size_t error_size)
{
    process_raise_descriptor_limit(control->config->max_clients,
                                   control->config->workers * 2 * TUBES_MAX);
    if (control->config->has_admin) {
        control->admin = admin_open(control, error, error_size);
        if (control->admin == NULL) {
            return false;
        }
    }
    if (control->config->has_http) {
        control->http = http_open(control, error, error_size);
        if (control->http == NULL) {
            return false;
        }
    }
    /* last: who sees the proxy listen may turn to its other ports at once */
    if (!rebuild_open_listens(control, control->config, error, error_size)) {
        return false;
    }
    if ((detach && !process_detach(error, error_size)) ||
        !process_write_pidfile(control->config, error, error_size) ||
        !process_drop_privileges(control->config, error, error_size)) {
        return false;
    }
    if (!init_events(control) || (control->metrics = metrics_new(control)) == NULL) {
        snprintf(error, error_size, "cannot make the event loop");
        return false;
    }
    if (!init_topology(control, error, error_size)) {
        return false;
    }
    /* the loop was turned for the names' sake: nobody was to ask for what was not there yet */
    if (control->admin != NULL && !admin_start(control->admin)) {
        snprintf(error, error_size, "cannot start the admin port");
        return false;
    }
    if (control->http != NULL && !http_start(control->http)) {
        snprintf(error, error_size, "cannot start the http port");
        return false;
    }
    return workers_start(&control->workers, control->config->workers, &control->slot,
                         &control->mailbox, error, error_size);
}

int control_run(struct config *config, bool detach)
{
    struct control control = {.config = config};
    char error[600] = "";

    control.random = (uint64_t)getpid() * 2654435761u ^ clock_wall_us();
    control.started_us = clock_us();
    control.started_wall_us = clock_wall_us();
    reserve_begin();
    topology_slot_init(&control.slot);
    signal(SIGPIPE, SIG_IGN);
    /* fixed, since malloc would raise them by itself and then keep what threads have freed */
    mallopt(M_MMAP_THRESHOLD, MALLOC_LARGE_BYTES);
    mallopt(M_TRIM_THRESHOLD, MALLOC_LARGE_BYTES);
    hold_signals(SIG_BLOCK);
    if (!open_log(config, error, sizeof(error)) || !start(&control, detach, error, sizeof(error))) {
        fprintf(stderr, "ketamad: %s\n", error);
        fini(&control);
        return 1;
    }
    log_notice("ketamad %s serving %zu pool(s) with %u worker(s)", KETAMAD_VERSION,
               config->pool_count, config->workers);
    hold_signals(SIG_UNBLOCK);
    event_base_dispatch(control.base);
    workers_join(&control.workers);
    log_notice("stopped");
    fini(&control);
    return 0;
}
