/*
 * Messages from any thread to one: a list under a lock and an eventfd to wake
 * the reader. Not for the path of a request.
 */
#ifndef BASE_MAILBOX_H
#define BASE_MAILBOX_H

#include "base/list.h"
#include "base/slice.h"

#include <pthread.h>

/* Embedded first in each kind of message. */
struct mail {
    struct list link;
    int kind; /* the reader's business */
};

struct mailbox {
    pthread_mutex_t lock;
    struct list mails;
    int wake_fd; /* readable while there is mail */
};

/* False with errno set. */
MUST_CHECK bool mailbox_init(struct mailbox *box);
void mailbox_fini(struct mailbox *box); /* must be empty */

/* Hands mail over; the reader frees it. Any thread. */
void mailbox_post(struct mailbox *box, struct mail *mail);

/* Wakes the reader without mail, for what was said elsewhere; needs no memory. Any thread. */
void mailbox_wake(struct mailbox *box);

/* Moves all mail to the empty list *mails and clears the wake-up. The reader's thread. */
void mailbox_take(struct mailbox *box, struct list *mails);

#endif
