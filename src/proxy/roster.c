/* See roster.h. */
#include "proxy/roster.h"

#include "base/address.h"
#include "proxy/client.h"

#include <stdio.h>
#include <stdlib.h>

bool roster_ask(struct worker *worker, uint64_t id, uint32_t max)
{
    struct worker_roster_mail *mail = malloc(sizeof(*mail));

    if (mail == NULL) {
        return false;
    }
    mail->answer = calloc(1, sizeof(*mail->answer));
    if (mail->answer == NULL) {
        free(mail);
        return false;
    }
    mail->mail.kind = WORKER_MAIL_ROSTER;
    mail->id = id;
    mail->max = max;
    mailbox_post(&worker->mailbox, &mail->mail);
    return true;
}

static const char *state_of(const struct client *client)
{
    switch ((enum client_state)client->state) {
    case CLIENT_OPEN:
        return client->is_paused ? "paused" : "open";
    case CLIENT_FINISHING:
        return "finishing";
    case CLIENT_LINGERING:
        return "lingering";
    case CLIENT_GONE:
        break;
    }
    return "gone";
}

static void fill(struct roster_row *row, const struct client *client)
{
    snprintf(row->peer, sizeof(row->peer), "-");
    client_peer(client, row->peer, sizeof(row->peer));
    row->state = state_of(client);
    row->age_us = client->worker->now_us - client->since_us;
    row->idle_us = client->worker->now_us - client->active_us;
    row->in_flight = client->exchange_count;
    row->held_bytes = client->held != NULL ? client->held->filled - client->held_start : 0;
    row->unsent_bytes = client->out.bytes;
}

void roster_answer(struct worker *worker, const struct worker_roster_mail *question)
{
    uint32_t max = worker->client_count < question->max ? worker->client_count : question->max;
    struct control_roster_mail *mail = question->answer;

    mail->mail.kind = CONTROL_MAIL_ROSTER;
    mail->id = question->id;
    mail->worker = worker->number;
    mail->client_count = worker->client_count;
    mail->rows = calloc(max > 0 ? max : 1, sizeof(mail->rows[0]));
    list_each (at, &worker->clients) {
        if (mail->rows == NULL || mail->row_count == max) {
            break;
        }
        fill(&mail->rows[mail->row_count++], list_entry(at, struct client, link));
    }
    mailbox_post(worker->all->control, &mail->mail);
}
