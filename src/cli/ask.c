/*
 * Sends the command and then quit, so that the answer ends where the
 * connection does, however many lines it has. watch has no end but ours, and
 * top is asked again every second while a terminal shows it.
 */
#include "cli/ask.h"

#include "base/address.h"
#include "cli/json.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

enum { ANSWER_SECONDS = 30, COMMAND_MAX = 4096 };

static int connect_to(const struct sockaddr *address, socklen_t len)
{
    const struct timeval patience = {.tv_sec = ANSWER_SECONDS};
    const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd == -1) {
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(fd, address, len) == -1) {
        const int error = errno;

        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* Resolves where the address is a name. -1 with the reason said. */
static int connect_admin(const char *text)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    struct endpoint endpoint;
    struct address address;
    char port[8];
    const char *mistake = address_parse(&address, slice_text(text), -1);
    int fd = -1;

    if (mistake != NULL) {
        fprintf(stderr, "ketamactl: %s: %s\n", text, mistake);
        return -1;
    }
    if (address_to_endpoint(&address, &endpoint)) {
        fd = connect_to(&endpoint.at.any, endpoint.len);
    } else {
        snprintf(port, sizeof(port), "%u", address.port);
        const int error = getaddrinfo(address.host, port, &wanted, &found);

        if (error != 0) {
            fprintf(stderr, "ketamactl: %s: %s\n", text, gai_strerror(error));
            return -1;
        }
        for (const struct addrinfo *at = found; at != NULL && fd == -1; at = at->ai_next) {
            fd = connect_to(at->ai_addr, at->ai_addrlen);
        }
        freeaddrinfo(found);
    }
    if (fd == -1) {
        fprintf(stderr, "ketamactl: %s: %s\n", text, strerror(errno));
    }
    return fd;
}

static bool send_command(int fd, const struct cli_arguments *arguments, const char *end)
{
    char line[COMMAND_MAX];
    size_t used = 0;

    for (size_t i = 0; i < arguments->word_count; i++) {
        used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", i > 0 ? " " : "",
                                 arguments->words[i]);
        if (used >= sizeof(line) - strlen(end) - 1) {
            fprintf(stderr, "ketamactl: the command is longer than %d bytes\n", COMMAND_MAX);
            return false;
        }
    }
    used += (size_t)snprintf(line + used, sizeof(line) - used, "%s", end);
    for (size_t sent = 0; sent < used;) {
        const ssize_t len = send(fd, line + sent, used - sent, MSG_NOSIGNAL);

        if (len == -1) {
            fprintf(stderr, "ketamactl: sending: %s\n", strerror(errno));
            return false;
        }
        sent += (size_t)len;
    }
    return true;
}

/* True where nothing came though something was asked: quit alone is answered by the close. */
static bool is_missing(const struct cli_arguments *arguments, const char *answer)
{
    if (answer[0] != '\0' ||
        (arguments->word_count == 1 && strcmp(arguments->words[0], "quit") == 0)) {
        return false;
    }
    fprintf(stderr, "ketamactl: no answer: the proxy closed the connection\n");
    return true;
}

static void say_no_answer(int error)
{
    if (error == EAGAIN) {
        fprintf(stderr, "ketamactl: no answer: nothing came for %d seconds\n", ANSWER_SECONDS);
    } else {
        fprintf(stderr, "ketamactl: no answer: %s\n", strerror(error));
    }
}

/* Everything until the proxy closes; NULL with the reason said. */
static char *read_answer(int fd, size_t *used)
{
    size_t size = 1 << 16;
    char *answer = malloc(size);

    for (*used = 0; answer != NULL;) {
        if (*used + 1 == size) {
            char *larger = realloc(answer, size * 2);

            if (larger == NULL) {
                break;
            }
            answer = larger;
            size *= 2;
        }
        const ssize_t len = read(fd, answer + *used, size - 1 - *used);

        if (len == 0) {
            answer[*used] = '\0';
            return answer;
        }
        if (len == -1) {
            say_no_answer(errno);
            free(answer);
            return NULL;
        }
        *used += (size_t)len;
    }
    fprintf(stderr, "ketamactl: out of memory\n");
    free(answer);
    return NULL;
}

/* STAT lines become members; other answers a list of lines; JSON is left as it is. */
static void print_as_json(char *answer)
{
    const bool has_stats = strncmp(answer, "STAT ", 5) == 0;
    struct json json;

    if (answer[0] == '{' || answer[0] == '[') {
        fputs(answer, stdout);
        return;
    }
    json_init(&json, stdout);
    json_object(&json, NULL);
    if (!has_stats) {
        json_array(&json, "lines");
    }
    for (char *line; (line = strsep(&answer, "\n")) != NULL;) {
        line[strcspn(line, "\r")] = '\0';
        if (line[0] == '\0' || strcmp(line, "END") == 0) {
            continue;
        }
        if (!has_stats) {
            json_text(&json, NULL, line);
        } else if (strncmp(line, "STAT ", 5) == 0) {
            char *value = line + 5;
            const char *name = strsep(&value, " ");
            char *end = NULL;
            const double number = value != NULL ? strtod(value, &end) : 0;

            if (value != NULL && value[0] >= '0' && value[0] <= '9' && *end == '\0') {
                json_number(&json, name, number);
            } else {
                json_text(&json, name, value != NULL ? value : "");
            }
        }
    }
    if (!has_stats) {
        json_end(&json);
    }
    json_end(&json);
}

static bool is_error_line(const char *line)
{
    return strncmp(line, "ERROR", 5) == 0 || strncmp(line, "CLIENT_ERROR", 12) == 0 ||
           strncmp(line, "SERVER_ERROR", 12) == 0;
}

/* An error is the first line or, behind what is wrong, the last. */
static bool is_refusal(const char *answer, size_t len)
{
    while (len > 0 && (answer[len - 1] == '\n' || answer[len - 1] == '\r')) {
        len--;
    }
    while (len > 0 && answer[len - 1] != '\n') {
        len--;
    }
    return is_error_line(answer) || is_error_line(answer + len);
}

/* Passes on what comes until either side has enough. */
static enum cli_exit follow(const struct cli_arguments *arguments)
{
    const struct timeval for_ever = {0};
    const int fd = connect_admin(arguments->admin);
    char bytes[4096];
    ssize_t len;

    if (fd == -1) {
        return CLI_NO;
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &for_ever, sizeof(for_ever));
    if (send_command(fd, arguments, "\r\n")) {
        while ((len = read(fd, bytes, sizeof(bytes))) > 0) {
            fwrite(bytes, 1, (size_t)len, stdout);
            fflush(stdout);
        }
    }
    close(fd);
    return CLI_NO;
}

static enum cli_exit ask_once(const struct cli_arguments *arguments, const char *before)
{
    const int fd = connect_admin(arguments->admin);
    enum cli_exit status = CLI_NO;
    char *answer = NULL;
    size_t len = 0;

    if (fd == -1) {
        return CLI_NO;
    }
    if (send_command(fd, arguments, "\r\nquit\r\n")) {
        answer = read_answer(fd, &len);
    }
    if (answer != NULL && !is_missing(arguments, answer)) {
        status = is_refusal(answer, len) ? CLI_NO : CLI_DONE;
        if (arguments->as_json) {
            print_as_json(answer);
        } else {
            fputs(before, stdout);
            fwrite(answer, 1, len, stdout);
            fflush(stdout);
        }
    }
    free(answer);
    close(fd);
    return status;
}

enum cli_exit ask_run(const struct cli_arguments *arguments)
{
    const char *word = arguments->word_count > 0 ? arguments->words[0] : "";
    enum cli_exit status;

    if (strcmp(word, "watch") == 0) {
        return follow(arguments);
    }
    if (strcmp(word, "top") != 0 || arguments->as_json || !isatty(STDOUT_FILENO)) {
        return ask_once(arguments, "");
    }
    while ((status = ask_once(arguments, "\033[H\033[2J")) == CLI_DONE) {
        sleep(1);
    }
    return status;
}
