/* See admin_clients.h. */
#include "control/admin_clients.h"

#include "control/admin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SHOWN_DEFAULT = 100,
    SHOWN_MAX = 10000,
    QUESTIONS_MAX = 8,
};

struct question {
    struct list link;
    struct session *session; /* NULL: gone */
    uint64_t id;
    unsigned awaited; /* workers that have not answered */
    uint64_t clients;
    uint64_t shown;
    uint64_t shown_max;
};

struct questions {
    struct list list;
    uint64_t last_id;
    unsigned count;
};

static struct questions *questions_of(struct control *control)
{
    if (control->questions == NULL) {
        control->questions = calloc(1, sizeof(*control->questions));
        if (control->questions != NULL) {
            list_init(&control->questions->list);
        }
    }
    return control->questions;
}

static bool ask(struct control *control, struct question *question)
{
    for (unsigned w = 0; w < control->workers.count; w++) {
        if (!roster_ask(&control->workers.at[w], question->id, (uint32_t)question->shown_max)) {
            return question->awaited > 0;
        }
        question->awaited++;
    }
    return true;
}

bool admin_clients_run(struct admin_call *call)
{
    struct questions *questions = questions_of(call->control);
    uint64_t shown_max = SHOWN_DEFAULT;
    struct question *question;
    char digits[16] = "";
    char *end = digits;

    if (call->arguments.len > 0) {
        size_t len = call->arguments.len < sizeof(digits) ? call->arguments.len : 0;

        memcpy(digits, call->arguments.data, len);
        shown_max = strtoull(digits, &end, 10);
        if (end == digits || *end != '\0' || shown_max < 1 || shown_max > SHOWN_MAX) {
            evbuffer_add_printf(call->out, "ERROR clients takes how many to show, 1 to %d\r\n",
                                SHOWN_MAX);
            return true;
        }
    }
    question = questions != NULL && questions->count < QUESTIONS_MAX && call->session != NULL &&
                       !call->control->is_stopping
                   ? calloc(1, sizeof(*question))
                   : NULL;
    if (question == NULL) {
        evbuffer_add_printf(call->out, "ERROR cannot ask the workers now\r\n");
        return true;
    }
    question->session = call->session;
    question->id = ++questions->last_id;
    question->shown_max = shown_max;
    list_add_tail(&questions->list, &question->link);
    questions->count++;
    evbuffer_add_printf(call->out, "%-46s %6s %9s %9s %9s %9s %10s %s\r\n", "client", "worker",
                        "age_s", "idle_s", "in_flight", "held_b", "unsent_b", "state");
    if (!ask(call->control, question)) {
        evbuffer_add_printf(call->out, "ERROR out of memory\r\n");
        list_remove(&question->link);
        questions->count--;
        free(question);
        return true;
    }
    session_wait(call->session);
    return true;
}

static struct question *find(struct control *control, uint64_t id)
{
    if (control->questions != NULL) {
        list_each (at, &control->questions->list) {
            struct question *question = list_entry(at, struct question, link);

            if (question->id == id) {
                return question;
            }
        }
    }
    return NULL;
}

static void finish(struct control *control, struct question *question)
{
    struct session *session = question->session;

    if (session != NULL) {
        if (question->clients > question->shown) {
            evbuffer_add_printf(session_output(session), "# %" PRIu64 " more\r\n",
                                question->clients - question->shown);
        }
        evbuffer_add_printf(session_output(session), "END\r\n");
    }
    list_remove(&question->link);
    control->questions->count--;
    free(question);
    if (session != NULL) {
        session_go_on(session);
    }
}

void admin_clients_take(struct control *control, struct control_roster_mail *mail)
{
    struct question *question = find(control, mail->id);

    if (question != NULL) {
        question->clients += mail->client_count;
        for (uint32_t i = 0; question->session != NULL && i < mail->row_count; i++) {
            const struct roster_row *row = &mail->rows[i];

            if (question->shown == question->shown_max) {
                break;
            }
            question->shown++;
            evbuffer_add_printf(session_output(question->session),
                                "%-46s %6u %9.1f %9.1f %9u %9u %10" PRIu64 " %s\r\n", row->peer,
                                mail->worker, (double)row->age_us / 1e6, (double)row->idle_us / 1e6,
                                row->in_flight, row->held_bytes, row->unsent_bytes, row->state);
        }
        if (--question->awaited == 0) {
            finish(control, question);
        }
    }
    free(mail->rows);
    free(mail);
}

void admin_clients_forget(struct control *control, const struct session *session)
{
    if (control->questions != NULL) {
        list_each (at, &control->questions->list) {
            struct question *question = list_entry(at, struct question, link);

            if (question->session == session) {
                question->session = NULL;
            }
        }
    }
}

void admin_clients_free(struct control *control)
{
    if (control->questions != NULL) {
        list_each_safe (at, after, &control->questions->list) {
            free(list_entry(at, struct question, link));
        }
        free(control->questions);
        control->questions = NULL;
    }
}
