/*
 * Files, texts and command lines to configurations: which section a line is
 * in, which key it names. The control thread, or the only one (see reader.h).
 */
#include "config/load.h"

#include "config/alloc.h"
#include "config/draft.h"
#include "config/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POOL_NAME_MAX = 64 };

enum place { OUTSIDE, IN_PROXY, IN_POOL, IN_UNKNOWN };

struct loader {
    struct draft *draft;
    enum place place;
    unsigned proxy_line; /* where [proxy] began, or 0 */
};

static const char *const sections_allowed = "[proxy], [pool NAME]";

static bool is_pool_name(struct slice name)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] == '\0' || strchr(letters, name.data[i]) == NULL) {
            return false;
        }
    }
    return name.len > 0 && name.len <= POOL_NAME_MAX;
}

/* "[text]", printable; out has ERRORS_QUOTE_MAX bytes. */
static const char *section_shown(struct slice text, char *out)
{
    size_t len;

    error_quote(text, out);
    len = strlen(out);
    out[0] = '[';
    out[len - 1] = ']';
    return out;
}

static void begin_proxy(struct loader *loader, unsigned line)
{
    loader->place = IN_PROXY;
    if (loader->proxy_line != 0) {
        error_list_add(&loader->draft->errors, line, "[proxy]",
                       "there is one in line %u, allowed: one", loader->proxy_line);
        return;
    }
    loader->proxy_line = line;
}

static void begin_pool(struct loader *loader, struct slice text, struct slice name, unsigned line)
{
    char shown[ERRORS_QUOTE_MAX];

    loader->place = IN_POOL;
    if (!is_pool_name(name)) {
        loader->place = IN_UNKNOWN;
        error_list_add(&loader->draft->errors, line, section_shown(text, shown),
                       "the pool's name is %s, allowed: 1 to %d of A-Z a-z 0-9 . _ -",
                       name.len == 0 ? "missing" : "wrong", POOL_NAME_MAX);
        return;
    }
    if (!draft_add_pool(loader->draft, name, line)) {
        loader->place = IN_UNKNOWN;
    }
}

static void begin_unknown(struct loader *loader, struct slice text, struct slice word,
                          unsigned line)
{
    char shown[ERRORS_QUOTE_MAX];
    const char *hint = "";

    loader->place = IN_UNKNOWN;
    if (config_key_distance(SLICE("proxy"), word, 2) <= 2) {
        hint = "did you mean [proxy]? ";
    } else if (config_key_distance(SLICE("pool"), word, 2) <= 2) {
        hint = "did you mean [pool NAME]? ";
    }
    error_list_add(&loader->draft->errors, line, section_shown(text, shown),
                   "unknown section, %sallowed: %s", hint, sections_allowed);
}

static void on_section(void *arg, struct slice text, unsigned line)
{
    struct loader *loader = (struct loader *)arg;
    struct slice word = text;
    struct slice name;

    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == ' ' || text.data[i] == '\t') {
            word.len = i;
            break;
        }
    }
    name = slice_make(text.data + word.len, text.len - word.len);
    while (name.len > 0 && (name.data[0] == ' ' || name.data[0] == '\t')) {
        name = slice_make(name.data + 1, name.len - 1);
    }
    if (slice_equals(text, SLICE("proxy"))) {
        begin_proxy(loader, line);
    } else if (slice_equals(word, SLICE("pool"))) {
        begin_pool(loader, text, name, line);
    } else {
        begin_unknown(loader, text, word, line);
    }
}

/* The name of a key in a message, printable, without quotes; out has ERRORS_QUOTE_MAX bytes. */
static const char *key_shown(struct slice name, char *out)
{
    size_t len;

    error_quote(name, out);
    len = strlen(out);
    memmove(out, out + 1, len - 2);
    out[len - 2] = '\0';
    return out;
}

static void say_unknown_key(struct loader *loader, enum key_section section, struct slice name,
                            unsigned line)
{
    enum key_section other = section == SECTION_PROXY ? SECTION_POOL : SECTION_PROXY;
    const struct config_key *nearest = config_key_nearest(section, name);
    struct error_list *errors = &loader->draft->errors;
    char shown[ERRORS_QUOTE_MAX];

    key_shown(name, shown);
    if (memchr(name.data, ' ', name.len) != NULL || memchr(name.data, '\t', name.len) != NULL) {
        error_list_add(errors, line, shown, "is no key, allowed: a line key = value");
    } else if (config_key_find(other, name) != NULL) {
        error_list_add(errors, line, shown, "is not a key of %s, allowed: in %s",
                       config_section_text(section), config_section_text(other));
    } else {
        error_list_add(errors, line, shown,
                       "unknown key, %s%s%sallowed: the keys of %s, see ketamad --keys",
                       nearest == NULL ? "" : "did you mean ", nearest == NULL ? "" : nearest->name,
                       nearest == NULL ? "" : "? ", config_section_text(section));
    }
}

static void say_outside(struct loader *loader, struct slice name, unsigned line)
{
    bool in_proxy = config_key_find(SECTION_PROXY, name) != NULL;
    bool in_pool = config_key_find(SECTION_POOL, name) != NULL;
    char shown[ERRORS_QUOTE_MAX];

    error_list_add(&loader->draft->errors, line, key_shown(name, shown),
                   "is outside a section, allowed: in %s",
                   in_proxy  ? config_section_text(SECTION_PROXY)
                   : in_pool ? config_section_text(SECTION_POOL)
                             : sections_allowed);
}

static void on_pair(void *arg, struct slice name, struct slice value, unsigned line)
{
    struct loader *loader = (struct loader *)arg;
    struct draft *draft = loader->draft;
    struct config *config = draft->config;
    enum key_section section = loader->place == IN_PROXY ? SECTION_PROXY : SECTION_POOL;
    const struct config_key *key;

    if (loader->place == OUTSIDE) {
        say_outside(loader, name, line);
    }
    if (loader->place == OUTSIDE || loader->place == IN_UNKNOWN) {
        return;
    }
    key = config_key_find(section, name);
    if (key == NULL) {
        say_unknown_key(loader, section, name, line);
    } else if (section == SECTION_PROXY) {
        draft_set(draft, &draft->proxy, config, key, value, line);
    } else {
        draft_set(draft, &draft->pools[config->pool_count - 1],
                  &config->pools[config->pool_count - 1], key, value, line);
    }
}

static void on_bad_line(void *arg, struct slice text, const char *what, unsigned line)
{
    struct loader *loader = (struct loader *)arg;
    char quoted[ERRORS_QUOTE_MAX];

    if (text.data[0] == '[') {
        loader->place = IN_UNKNOWN; /* what follows belongs to no section we know */
    }
    error_list_add(&loader->draft->errors, line, "line", "%s: %s", error_quote(text, quoted), what);
}

struct config *config_load_text(const char *name, const char *text, size_t len,
                                struct config_errors *errors)
{
    static const struct reader_events events = {on_section, on_pair, on_bad_line};
    struct draft draft;
    struct loader loader = {.draft = &draft};

    if (draft_init(&draft, name) && !reader_run(slice_make(text, len), &events, &loader)) {
        draft.errors.is_out_of_memory = true;
    }
    return draft_finish(&draft, errors);
}

/* Reads all of an open file; NULL with errno, EFBIG where it is over the limit. */
static char *read_all(int fd, size_t *len)
{
    char *text = (char *)malloc(CONFIG_FILE_MAX + 1);

    *len = 0;
    while (text != NULL) {
        ssize_t got = read(fd, text + *len, CONFIG_FILE_MAX + 1 - *len);

        if (got == 0) {
            return text;
        }
        if (got > 0) {
            *len += (size_t)got;
        }
        if (got > 0 && *len <= CONFIG_FILE_MAX) {
            continue;
        }
        if (got == -1 && errno == EINTR) {
            continue;
        }
        if (got > 0) {
            errno = EFBIG;
        }
        free(text);
        return NULL;
    }
    return NULL;
}

/* The file's text, which the caller frees; NULL and what is wrong. */
static char *read_file(const char *path, size_t *len, const char **wrong)
{
    struct stat status;
    char *text = NULL;
    /* not blocking, lest a pipe without a writer holds up a reload */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd == -1) {
        *wrong = strerror(errno);
        return NULL;
    }
    if (fstat(fd, &status) == -1) {
        *wrong = strerror(errno);
    } else if (S_ISDIR(status.st_mode)) {
        *wrong = strerror(EISDIR);
    } else if (!S_ISREG(status.st_mode)) {
        *wrong = "not a regular file";
    } else {
        text = read_all(fd, len);
        if (text == NULL) {
            *wrong = errno == EFBIG ? "larger than 16 MiB" : strerror(errno);
        }
    }
    close(fd);
    return text;
}

struct config *config_load(const char *path, struct config_errors *errors)
{
    struct config *config;
    const char *wrong = NULL;
    size_t len = 0;
    char *text = read_file(path, &len, &wrong);

    if (text == NULL) {
        struct error_list list;

        error_list_init(&list, path);
        error_list_add(&list, 0, "file", "cannot be read: %s, allowed: a readable text file",
                       wrong);
        error_list_finish(&list, errors);
        return NULL;
    }
    config = config_load_text(path, text, len, errors);
    free(text);
    return config;
}

static void set_words(struct draft *draft, struct slice name, const char *const *words,
                      size_t count)
{
    const struct config_key *key = config_key_find(SECTION_POOL, name);

    for (size_t i = 0; i < count; i++) {
        draft_set(draft, &draft->pools[0], &draft->config->pools[0], key, slice_text(words[i]), 0);
    }
}

struct config *config_from_words(const char *const *listens, size_t listen_count,
                                 const char *const *servers, size_t server_count,
                                 struct config_errors *errors)
{
    struct draft draft;
    bool is_begun = draft_init(&draft, "command line");

    draft.from_words = true;
    if (is_begun && draft_add_pool(&draft, SLICE("main"), 0)) {
        free(draft.config->path);
        draft.config->path = NULL;
        set_words(&draft, SLICE("listen"), listens, listen_count);
        set_words(&draft, SLICE("server"), servers, server_count);
    }
    return draft_finish(&draft, errors);
}
