#include "proxy/worker.h"
#include "unit/run_suite.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct workers all;
static struct worker *worker;

static void set_up(void)
{
    worker = aligned_alloc(64, sizeof(*worker));
    ck_assert_ptr_nonnull(worker);
    memset(worker, 0, sizeof(*worker));
    all = (struct workers){.at = worker, .count = 1};
    ck_assert(worker_init(worker, &all, 0));
}

static void tear_down(void)
{
    free(worker);
}

/* A client that another worker accepted; *fd is its connection. */
static struct mail *client_through(struct listen_socket *socket, int *fd)
{
    struct worker_client_mail *mail = calloc(1, sizeof(*mail));

    ck_assert_ptr_nonnull(mail);
    *fd = eventfd(0, 0);
    mail->mail.kind = WORKER_MAIL_CLIENT;
    mail->fd = *fd;
    mail->socket = listen_socket_get(socket);
    return &mail->mail;
}

/* One in the mailbox still, and one that waits for a listener there is no memory for. */
START_TEST(a_worker_that_stops_lets_go_of_clients_it_has_not_taken_in)
{
    struct listen_socket *socket = calloc(1, sizeof(*socket));
    int fds[2];

    ck_assert_ptr_nonnull(socket);
    atomic_init(&socket->refs, 1);
    socket->fd = eventfd(0, 0);
    mailbox_post(&worker->mailbox, client_through(socket, &fds[0]));
    list_add_tail(&worker->handed_over, &client_through(socket, &fds[1])->link);
    worker_fini(worker);
    ck_assert_uint_eq(atomic_load(&socket->refs), 1);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        ck_assert_int_eq(fcntl(fds[i], F_GETFD), -1);
        ck_assert_int_eq(errno, EBADF);
    }
    listen_socket_put(socket);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("worker");
    TCase *tests = tcase_create("worker");

    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_worker_that_stops_lets_go_of_clients_it_has_not_taken_in);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
