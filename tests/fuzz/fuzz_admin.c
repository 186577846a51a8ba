/*
 * Any bytes as lines for the admin port, over a control plane and a worker
 * that are both in this thread and reach nobody: every answer is made of whole
 * lines without control bytes, whatever was asked.
 */
#include "base/log.h"
#include "control/admin_clients.h"
#include "control/admin_command.h"
#include "control/event_log.h"
#include "control/member.h"
#include "control/metrics.h"
#include "control/rebuild.h"
#include "control/resolver.h"
#include "control/return.h"
#include "control/watch.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/eventfd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { LINES_MAX = 30 };

struct house {
    struct control control;
    struct worker worker;
};

static void on_addresses(void *arg)
{
    (void)arg;
}

/* The socket that the configuration listens on; nobody ever connects to it. */
static void add_listen_socket(struct control *control)
{
    struct listen_socket *socket = calloc(1, sizeof(*socket));

    assert(socket != NULL);
    atomic_init(&socket->refs, 1);
    socket->address = control->config->pools[0].listens[0].address;
    socket->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    control->fresh = malloc(sizeof(control->fresh[0]));
    assert(control->fresh != NULL);
    control->fresh[0] = socket;
    control->fresh_count = 1;
}

static void begin(struct house *house)
{
    static const char *const listens[] = {"127.0.0.1:9"};
    static const char *const servers[] = {"127.0.0.1:1 name=a", "127.0.0.1:2 name=b",
                                          "127.0.0.1:3 name=c"};
    const struct resolver_options options = {0};
    struct control *control = &house->control;
    struct config_errors errors;
    char error[200];
    bool done;

    control->config = config_from_words(listens, 1, servers, ARRAY_LEN(servers), &errors);
    assert(control->config != NULL);
    config_errors_fini(&errors);
    control->config->pools[0].points = 8;
    control->config->pools[0].probe_interval_ms = 0;
    topology_slot_init(&control->slot);
    control->base = event_base_new();
    control->metrics = metrics_new(control);
    control->resolver = resolver_new(control->base, &options, on_addresses, control);
    control->names_timer = evtimer_new(control->base, rebuild_on_names, control);
    done = control->base != NULL && control->resolver != NULL && control->metrics != NULL &&
           control->names_timer != NULL && mailbox_init(&control->mailbox);
    assert(done);
    add_listen_socket(control);
    done = rebuild_publish(control, control->config, NULL, 0, error, sizeof(error)) &&
           members_adopt(control, control->slot.current);
    assert(done);
    control->workers = (struct workers){
        .at = &house->worker, .count = 1, .slot = &control->slot, .control = &control->mailbox};
    done = worker_init(&house->worker, &control->workers, 0) && worker_begin(&house->worker);
    assert(done);
}

/* Lets the worker and the control plane answer each other. */
static void turn(struct house *house)
{
    struct list mails;
    struct list *at;

    worker_tick(&house->worker, false);
    list_init(&mails);
    mailbox_take(&house->control.mailbox, &mails);
    while ((at = list_pop(&mails)) != NULL) {
        struct mail *mail = list_entry(at, struct mail, link);

        if (mail->kind == CONTROL_MAIL_ROSTER) {
            admin_clients_take(&house->control, (struct control_roster_mail *)mail);
            continue;
        }
        assert(mail->kind == CONTROL_MAIL_SURRENDER);
        return_on_surrender(&house->control, (struct worker_surrender_mail *)mail);
        free(mail);
    }
}

static void end(struct house *house)
{
    struct control *control = &house->control;

    worker_end(&house->worker);
    worker_fini(&house->worker);
    watch_free(control);
    event_log_free(control);
    admin_clients_free(control);
    metrics_free(control->metrics);
    members_free(control);
    event_free(control->names_timer);
    resolver_free(control->resolver);
    topology_slot_fini(&control->slot);
    mailbox_fini(&control->mailbox);
    event_base_free(control->base);
    config_free(control->config);
}

static void check(struct evbuffer *out)
{
    size_t len = evbuffer_get_length(out);
    const unsigned char *text = evbuffer_pullup(out, -1);

    assert(len == 0 || (len >= 2 && text[len - 1] == '\n'));
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n') {
            assert(i > 0 && text[i - 1] == '\r');
        } else if (text[i] == '\r') {
            assert(i + 1 < len && text[i + 1] == '\n');
        } else {
            assert(text[i] >= ' ' && text[i] != 0x7f);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    /* not on the stack: gcc's sanitizer does not align it there as a worker wants it */
    static struct house house;
    struct slice rest = {(const char *)bytes, len};

    memset(&house, 0, sizeof(house));
    log_set_level(LOG_LEVEL_ERROR);
    begin(&house);
    for (unsigned i = 0; i < LINES_MAX && rest.len > 0; i++) {
        const char *newline = memchr(rest.data, '\n', rest.len);
        size_t line_len = newline != NULL ? (size_t)(newline - rest.data) : rest.len;
        struct evbuffer *out = evbuffer_new();
        bool goes_on;

        assert(out != NULL);
        goes_on = admin_command_run(&house.control, NULL, slice_make(rest.data, line_len), out);
        check(out);
        evbuffer_free(out);
        turn(&house);
        if (!goes_on) {
            break;
        }
        rest.data += newline != NULL ? line_len + 1 : line_len;
        rest.len -= newline != NULL ? line_len + 1 : line_len;
    }
    end(&house);
    return 0;
}
