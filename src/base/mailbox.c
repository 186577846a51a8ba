/* See base/mailbox.h. */
#include "base/mailbox.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

bool mailbox_init(struct mailbox *box)
{
    list_init(&box->mails);
    box->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (box->wake_fd == -1) {
        return false;
    }
    pthread_mutex_init(&box->lock, NULL);
    return true;
}

void mailbox_fini(struct mailbox *box)
{
    assert(list_is_empty(&box->mails));
    close(box->wake_fd);
    pthread_mutex_destroy(&box->lock);
}

void mailbox_wake(struct mailbox *box)
{
    const uint64_t one = 1;

    while (write(box->wake_fd, &one, sizeof(one)) == -1 && errno == EINTR) {
    }
}

void mailbox_post(struct mailbox *box, struct mail *mail)
{
    bool was_empty;

    pthread_mutex_lock(&box->lock);
    was_empty = list_is_empty(&box->mails);
    list_add_tail(&box->mails, &mail->link);
    pthread_mutex_unlock(&box->lock);
    if (was_empty) {
        mailbox_wake(box);
    }
}

void mailbox_take(struct mailbox *box, struct list *mails)
{
    uint64_t count;

    while (read(box->wake_fd, &count, sizeof(count)) == -1 && errno == EINTR) {
    }
    pthread_mutex_lock(&box->lock);
    if (!list_is_empty(&box->mails)) {
        *mails = box->mails;
        mails->next->prev = mails;
        mails->prev->next = mails;
        list_init(&box->mails);
    }
    pthread_mutex_unlock(&box->lock);
}
