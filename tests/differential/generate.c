#include "generate.h"

#include <stdlib.h>
#include <string.h>

/*
 * What keeps answers free of time and of chance:
 * - Times to live are 0, -1, far off, or past; R is far from all of them.
 * - memcached overwrites a number in place, padded with blanks and with all its
 *   marks, unless a reply still holds the item. So numbers live under keys of
 *   their own (they begin with n), which are never appended to, nor asked for
 *   what depends on that. And a number over 2^63 may be none to it, as it looks
 *   for a minus sign beyond the value's end.
 * - A CAS number is the last one seen on that side, or one far too high.
 * - memcached 1.6.18 loses the replies still to be written when a get with a key
 *   too long follows in the pipeline, and marks the keys before that as read, so
 *   it is sent "me" for it, whose reply is the same.
 * - ma with q tells of an item that N made, which nobody can know who was told
 *   of it without q. What a later version takes, but 1.6.18 refuses, is passed
 *   on by a proxy, which judges the block first: those blocks end well.
 */

static const char *const ttls[] = {"0", "0", "0", "100", "100000", "-1", "2592001", "4102444800"};
static const char *const bad_format = "CLIENT_ERROR bad command line format\r\n";

/* ---- keys and values */

struct key {
    char data[256];
    size_t len;
    char base64[352];
    size_t base64_len;
};

static struct key keys[KEY_COUNT];

/*
 * Keys that only base64 can name. Of an item that N made, memcached gives them back undecoded, so
 * that what looks like replies in them stands in the middle of a reply.
 */
static const char *const hidden_texts[] = {
    "\r\n",
    "x\r\nEND\r\n",
    "\r\nVALUE v 0 4\r\nevil\r\nEND\r\n",
    "a b\r\nSERVER_ERROR no\r\n",
    "\n",
    "HD\r\nNF\r\nMN\r\n",
    " \n",
    "\r\nSTORED\r\nEXISTS\r\n",
};
static struct key hidden_keys[sizeof(hidden_texts) / sizeof(hidden_texts[0])];

enum { NUMBER_KEYS = 8 }; /* the first so many keys hold numbers */

static void encode_base64(struct key *key)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *out = key->base64;

    for (size_t i = 0; i < key->len; i += 3) {
        size_t left = key->len - i;
        uint32_t bits = (uint32_t)(unsigned char)key->data[i] << 16;

        bits |= left > 1 ? (uint32_t)(unsigned char)key->data[i + 1] << 8 : 0;
        bits |= left > 2 ? (uint32_t)(unsigned char)key->data[i + 2] : 0;
        *out++ = letters[bits >> 18];
        *out++ = letters[(bits >> 12) & 63];
        *out++ = left > 1 ? letters[(bits >> 6) & 63] : '=';
        *out++ = left > 2 ? letters[bits & 63] : '=';
    }
    key->base64_len = (size_t)(out - key->base64);
}

static void make_keys(void)
{
    static const char odd[] = {'\t', 0x01, 0x7f, (char)0x80, (char)0xff, '\r', '%', '"'};

    for (int i = 0; i < KEY_COUNT; i++) {
        struct key *key = &keys[i];
        int len = snprintf(key->data, sizeof(key->data), "%c%d", i < NUMBER_KEYS ? 'n' : 't', i);

        key->len = (size_t)len;
        if (i >= 24 && i < 32) {
            key->data[key->len++] = odd[i - 24];
            key->data[key->len++] = 'z';
        } else if (i >= 32 && i < 36) {
            memset(key->data + key->len, 'l', 250 - key->len);
            key->len = i < 34 ? 250 : (size_t)(100 + 30 * (i - 34));
        } else if (i == 36) {
            key->len = (size_t)snprintf(key->data, sizeof(key->data), "noreply");
        } else if (i == 37) {
            key->len = (size_t)snprintf(key->data, sizeof(key->data), "VALUE");
        }
        encode_base64(key);
    }
    for (size_t i = 0; i < sizeof(hidden_texts) / sizeof(hidden_texts[0]); i++) {
        struct key *key = &hidden_keys[i];

        key->len = strlen(hidden_texts[i]);
        memcpy(key->data, hidden_texts[i], key->len);
        encode_base64(key);
    }
}

int key_number(const char *data, size_t len)
{
    for (int i = 0; i < KEY_COUNT; i++) {
        if (keys[i].len == len && memcmp(keys[i].data, data, len) == 0) {
            return i;
        }
    }
    return NO_KEY;
}

/* Flags that no key of a number may have. */
static const char not_for_numbers[] = "shlINR";

static bool is_number_key(int key)
{
    return key < NUMBER_KEYS;
}

static int pick_key(struct chance *chance)
{
    /* half of all commands meet on a few keys */
    if (chance_one_in(chance, 2)) {
        return (int)(chance_one_in(chance, 3) ? chance_below(chance, 3)
                                              : NUMBER_KEYS + chance_below(chance, 6));
    }
    return (int)chance_below(chance, KEY_COUNT);
}

static int pick_text_key(struct chance *chance)
{
    for (;;) {
        int key = pick_key(chance);

        if (!is_number_key(key)) {
            return key;
        }
    }
}

static void add_key(struct bytes *out, int key)
{
    bytes_add(out, keys[key].data, keys[key].len);
}

static size_t pick_size(struct chance *chance)
{
    static const unsigned sizes[] = {1,   2,   3,    5,    10,   31,   32,
                                     100, 500, 1000, 2047, 2048, 4096, 5000};
    static const unsigned large[] = {16383,  16384,   65536,   100000,  524288,
                                     600000, 1048000, 1048521, 1048576, 1048577};

    if (chance_one_in(chance, 4000)) {
        return PICK(chance, large) - chance_below(chance, 3);
    }
    if (chance_one_in(chance, 8)) {
        return PICK(chance, sizes);
    }
    return chance_below(chance, 24);
}

static void make_number(struct chance *chance, struct bytes *out)
{
    static const char *const numbers[] = {"0",
                                          "1",
                                          "5",
                                          "10",
                                          "99",
                                          "100",
                                          "12345",
                                          "007",
                                          "4294967295",
                                          "18446744073709551616",
                                          "4611686018427387904"};

    bytes_printf(out, "%s", PICK(chance, numbers));
}

/* Never begins with a digit, so it is no number, nor with a blank, behind which memcached would
 * look for one beyond the value's end. */
static void make_value(struct chance *chance, struct bytes *out)
{
    static const char *const traps[] = {"END\r\n",
                                        "v\r\n",
                                        "STORED\r\nEND\r\n",
                                        "-get t8\r\nflush_all",
                                        "VALUE t9 0 1\r\nx\r\nEND\r\n",
                                        "v\r\n\r\n\r\n",
                                        "x\r",
                                        "HD\r\nMN\r\n"};
    size_t size = pick_size(chance);
    size_t start = out->len;

    if (chance_one_in(chance, 6)) {
        bytes_printf(out, "%s", PICK(chance, traps));
        return;
    }
    if (size > 2000) {
        bytes_fill(out, (char)('a' + chance_below(chance, 26)), size);
        return;
    }
    for (size_t i = 0; i < size; i++) {
        unsigned bits = chance_below(chance, 1024);
        char byte = bits < 768 ? (char)('a' + bits % 26) : (char)bits;

        bytes_add(out, &byte, 1);
    }
    if (size > 0) {
        out->data[start] = 'v';
    }
}

static void make_value_for(struct chance *chance, int key, struct bytes *out)
{
    if (is_number_key(key) && !chance_one_in(chance, 12)) {
        make_number(chance, out);
    } else {
        make_value(chance, out);
    }
}

/* ---- valid commands */

static void add_noreply(struct chance *chance, struct bytes *out)
{
    if (chance_one_in(chance, 6)) {
        bytes_printf(out, " noreply");
    }
}

static void add_blank(struct chance *chance, struct bytes *out)
{
    bytes_fill(out, ' ', chance_one_in(chance, 60) ? 2 : 1);
}

static void end_line(struct chance *chance, struct bytes *out)
{
    if (chance_one_in(chance, 60)) {
        bytes_printf(out, " ");
    }
    bytes_printf(out, chance_one_in(chance, 40) ? "\n" : "\r\n");
}

static void add_block(struct chance *chance, struct bytes *out, const struct bytes *value,
                      bool ends_well)
{
    bytes_add(out, value->data, value->len);
    if (!ends_well && chance_one_in(chance, 50)) {
        /* a bad end: two bytes are taken, what follows is read as commands */
        bytes_printf(out, "%s", chance_one_in(chance, 2) ? "xx" : "\n\n");
    } else {
        bytes_printf(out, "\r\n");
    }
}

static void make_storage(struct chance *chance, struct command *command)
{
    static const char *const verbs[] = {"set",     "set",    "set",     "add",
                                        "replace", "append", "prepend", "cas"};
    static const char *const flags[] = {
        "0", "0", "1", "42", "4294967295", "007", "-0", "+3", "18446744073709551615"};
    const char *verb = PICK(chance, verbs);
    bool joins = strcmp(verb, "append") == 0 || strcmp(verb, "prepend") == 0;
    int key = joins ? pick_text_key(chance) : pick_key(chance);
    struct bytes *out = &command->request;
    struct bytes value = {0};

    make_value_for(chance, key, &value);
    bytes_printf(out, "%s", verb);
    add_blank(chance, out);
    add_key(out, key);
    add_blank(chance, out);
    bytes_printf(out, "%s %s %s%zu", PICK(chance, flags), PICK(chance, ttls),
                 chance_one_in(chance, 60) ? "0" : "", value.len);
    if (strcmp(verb, "cas") == 0) {
        bytes_printf(out, " ");
        command->cas_key = key;
        command->cas_at = out->len;
    }
    add_noreply(chance, out);
    end_line(chance, out);
    add_block(chance, out, &value, false);
    bytes_fini(&value);
}

static void make_get(struct chance *chance, struct command *command)
{
    static const char *const verbs[] = {"get", "get", "get", "gets", "gets", "gat", "gats", "bget"};
    const char *verb = PICK(chance, verbs);
    struct bytes *out = &command->request;
    bool touches = verb[1] == 'a';
    unsigned count = chance_one_in(chance, 3) ? 1 : 1 + chance_below(chance, 12);

    if (!touches && verb[0] == 'g' && chance_one_in(chance, 80)) {
        count = 300 + chance_below(chance, 300);
    }
    bytes_printf(out, "%s", verb);
    if (touches) {
        bytes_printf(out, " %s", PICK(chance, ttls));
    }
    for (unsigned i = 0; i < count; i++) {
        int key = pick_key(chance);

        add_blank(chance, out);
        if (touches && out->len + keys[key].len > 1900) {
            key = NUMBER_KEYS;
        }
        if (touches && out->len > 1900) {
            break;
        }
        add_key(out, key);
    }
    end_line(chance, out);
}

static void make_single(struct chance *chance, struct command *command)
{
    static const char *const deltas[] = {"1", "5", "100", "0", "4294967296", "007"};
    struct bytes *out = &command->request;
    int key = pick_key(chance);

    switch (chance_below(chance, 5)) {
    case 0:
        bytes_printf(out, "delete ");
        add_key(out, key);
        bytes_printf(out, chance_one_in(chance, 8) ? " 0" : "");
        break;
    case 1:
    case 2:
        if (chance_one_in(chance, 2)) {
            key = (int)chance_below(chance, NUMBER_KEYS);
        }
        bytes_printf(out, chance_one_in(chance, 2) ? "incr " : "decr ");
        add_key(out, key);
        bytes_printf(out, " %s", PICK(chance, deltas));
        break;
    case 3:
        bytes_printf(out, "touch ");
        add_key(out, key);
        bytes_printf(out, " %s", PICK(chance, ttls));
        break;
    default:
        bytes_printf(out, "delete ");
        add_key(out, key);
        break;
    }
    add_noreply(chance, out);
    end_line(chance, out);
}

/* ---- meta commands */

static void add_meta_key(struct chance *chance, struct bytes *out, int key, bool *base64)
{
    *base64 = !is_number_key(key) && chance_one_in(chance, 8) && keys[key].base64_len <= 250;
    if (*base64) {
        bytes_add(out, keys[key].base64, keys[key].base64_len);
    } else {
        add_key(out, key);
    }
}

static void add_cas_flag(struct command *command, int key)
{
    bytes_printf(&command->request, " C");
    command->cas_key = key;
    command->cas_at = command->request.len;
}

/* The flags of one meta command: letters it may have, each at most once but for a rare repeat. */
static void add_flags(struct chance *chance, struct command *command, int key, bool base64,
                      const char *letters)
{
    struct bytes *out = &command->request;
    unsigned want = chance_below(chance, 6);
    char taken[8] = "";

    if (base64) {
        bytes_printf(out, " b");
    }
    for (unsigned i = 0; i < want; i++) {
        char letter = letters[chance_below(chance, (unsigned)strlen(letters))];

        if ((strchr(taken, letter) != NULL && !chance_one_in(chance, 40)) ||
            (is_number_key(key) && strchr(not_for_numbers, letter) != NULL)) {
            continue;
        }
        taken[strlen(taken)] = letter;
        switch (letter) {
        case 'O':
            bytes_printf(out, " O%.*s", 1 + (int)chance_below(chance, 31),
                         "opaque-opaque-opaque-opaque-opaque");
            break;
        case 'T':
            bytes_printf(out, " T%s", PICK(chance, ttls));
            break;
        case 'N':
            bytes_printf(out, " N200");
            break;
        case 'R':
            bytes_printf(out, chance_one_in(chance, 2) ? " R30" : " R5000");
            break;
        case 'F':
            bytes_printf(out, " F%u", chance_below(chance, 100));
            break;
        case 'D':
        case 'J':
            bytes_printf(out, " %c%u", letter, chance_below(chance, 100));
            break;
        case 'C':
            if (command->cas_key == NO_KEY) {
                add_cas_flag(command, key);
            }
            break;
        default:
            bytes_printf(out, " %c", letter);
        }
    }
}

static void make_ms(struct chance *chance, struct command *command)
{
    static const char modes[] = "EAPRSeaprs";
    struct bytes *out = &command->request;
    struct bytes value = {0};
    int key = pick_key(chance);
    bool base64;
    bool ends_well = false;

    make_value_for(chance, key, &value);
    bytes_printf(out, "ms ");
    add_meta_key(chance, out, key, &base64);
    bytes_printf(out, " %zu", value.len);
    add_flags(chance, command, key, base64, "kkOOcTFFqICIPL");
    if (chance_one_in(chance, 3)) {
        char mode = modes[chance_below(chance, sizeof(modes) - 1)];

        if (!is_number_key(key) || strchr("AaPp", mode) == NULL) {
            bytes_printf(out, " M%c", mode);
            ends_well = mode >= 'a';
        }
    }
    end_line(chance, out);
    add_block(chance, out, &value, ends_well);
    bytes_fini(&value);
}

static void make_meta(struct chance *chance, struct command *command)
{
    struct bytes *out = &command->request;
    int key = pick_key(chance);
    bool base64;

    switch (chance_below(chance, 8)) {
    case 0:
    case 1:
    case 2:
        bytes_printf(out, "mg ");
        add_meta_key(chance, out, key, &base64);
        add_flags(chance, command, key, base64, "vvvvkkOOcfhlsttqqNRTPLE");
        break;
    case 3:
        bytes_printf(out, "md ");
        add_meta_key(chance, out, key, &base64);
        add_flags(chance, command, key, base64, "kkOOqqITCPLx");
        break;
    case 4:
    case 5:
        if (!is_number_key(key)) {
            key = (int)chance_below(chance, NUMBER_KEYS);
        }
        bytes_printf(out, "ma ");
        add_meta_key(chance, out, key, &base64);
        if (chance_one_in(chance, 3)) {
            bytes_printf(out, " N200");
            add_flags(chance, command, key, base64, "vvvkkOOcttJDDCPL");
        } else {
            add_flags(chance, command, key, base64, "vvvkkOOcttqqJDDCPL");
        }
        if (chance_one_in(chance, 3)) {
            bytes_printf(out, " M%c", "I+iD-d"[chance_below(chance, 6)]);
        }
        break;
    case 6:
        bytes_printf(out, chance_one_in(chance, 4) ? "mn x y" : "mn");
        break;
    default:
        key = pick_text_key(chance);
        bytes_printf(out, "me ");
        add_key(out, key);
        break;
    }
    end_line(chance, out);
}

/* k and v are not asked for together: compare.c reads a block behind a line, not behind many. */
static void make_hidden_key(struct chance *chance, struct command *command)
{
    static const struct {
        const char *name;
        const char *flags;
    } forms[] = {
        {"mg", " b N600\r\n"},   {"mg", " b N600 v\r\n"},  {"mg", " b k q\r\n"},
        {"mg", " b k s\r\n"},    {"ms", " 2 b\r\nhi\r\n"}, {"ms", " 0 b k\r\n\r\n"},
        {"md", " b k\r\n"},      {"md", " b\r\n"},         {"md", " b q\r\n"},
        {"ma", " b N600 k\r\n"}, {"ma", " b N600 v\r\n"},  {"mg", " b k Oopaque\r\n"},
        {"me", " b\r\n"},        {"me", " b\r\n"},         {"me", "\r\n"},
    };
    const unsigned form = chance_below(chance, sizeof(forms) / sizeof(forms[0]));
    const struct key *key = &PICK(chance, hidden_keys);

    bytes_printf(&command->request, "%s ", forms[form].name);
    bytes_add(&command->request, key->base64, key->base64_len);
    bytes_printf(&command->request, "%s", forms[form].flags);
}

/* ---- malformed commands */

static void make_odd_line(struct chance *chance, struct command *command)
{
    static const char *const lines[] = {
        "get",
        "get ",
        "gets",
        "gat",
        "gat 100",
        "gat abc t8",
        "gats abc t8 t9",
        "gats",
        "incr",
        "incr n1",
        "incr n1 abc",
        "incr n1 -1",
        "incr n1 18446744073709551616",
        "incr n1 1.5",
        "incr n1 1 2",
        "incr n1 1 2 3",
        "decr n1 0x1",
        "decr n1 1x",
        "touch t8",
        "touch t8 abc",
        "touch t8 0.2",
        "touch t8 1000 x",
        "touch t8 1000 noreply x",
        "touch",
        "delete",
        "delete t8 5",
        "delete t8 0 0",
        "delete t8 5 noreply",
        "delete t8 noreply x",
        "delete t8 -1",
        "delete t8 abc",
        "mg",
        "mg ",
        "md",
        "ma",
        "me",
        "me t8 x",
        "mg t8 ~",
        "md t8 ~",
        "ma n1 ~",
        "ma n1 MX",
        "ma n1 Dabc",
        "ma n1 D-1",
        "ma n1 MII",
        "mg t8 Tabc",
        "mg t8 N",
        "mg t8 k k",
        "mg $$ b v",
        "mg abc b v",
        "md = b",
        "ma n1 Jx",
        "mg t8 q k k",
        "",
        " ",
        "   ",
        "unknown",
        "GET t8",
        "Set t8",
        "gett t8",
        "rget t8",
        "mq",
        "mgg t8",
        "=",
        "get\tt8",
        "verbosity",
        "verbosity abc",
        "verbosity 1",
        "verbosity 0 noreply",
        "verbosity 1 2 3",
        "flush_all abc",
        "flush_all 0 2",
        "flush_all 1 2 3",
        "flush_all abc noreply",
        "flush_all noreply x",
        "\x01",
        "\xff\xfe",
        "incr n1 1 NOREPLY",
        "delete t8 NOREPLY",
        "md t8 q k O",
        "mg t8 S100",
        "mg t8 O",
        "mn\t",
        "mg t8 s v f \t",
        "mg t8 k f t v s O123456789012345678901234567890",
        "mg t8 O12345678901234567890123456789012",
        "mg t8 P P",
        "mg t8 v c c",
        "mg t8 1",
        "get t8 ",
        " get t8",
        "touch t8 -1",
        "gat -1 t8 t9",
        "mg t8 k f v t s c h l q O1 Ptoken Ltoken x y z A B D E F G H",
        "mg t8 a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a",
    };
    static const char *const long_key_lines[] = {
        "get %s",    "gets t8 %s t9",     "gat 0 %s",         "gat 0 %s t8", "delete %s",
        "incr %s 1", "touch %s 0",        "mg %s v",          "md %s q",     "ma %s",
        "me %s",     "delete %s noreply", "incr %s x noreply"};
    struct bytes *out = &command->request;
    char long_key[300];

    if (!chance_one_in(chance, 5)) {
        bytes_printf(out, "%s", PICK(chance, lines));
    } else {
        memset(long_key, 'x', sizeof(long_key));
        long_key[251 + chance_below(chance, 20)] = '\0';
        const char *format = PICK(chance, long_key_lines);
        const char *at = strchr(format, '%');

        bytes_add(out, format, (size_t)(at - format));
        bytes_printf(out, "%s%s", long_key, at + 2);
    }
    bytes_printf(out, "\r\n");
}

/* True where the word at the line's start is one that a changed byte must not make. */
static bool begins_with_word_of(const char *line, const char *const *words, size_t count)
{
    size_t len;

    line += strspn(line, " ");
    len = strcspn(line, " ");
    for (size_t i = 0; i < count; i++) {
        if (strlen(words[i]) == len && memcmp(words[i], line, len) == 0) {
            return true;
        }
    }
    return false;
}

/* A get with a key too long; those words are found in a line's copy. */
static bool has_long_key(const char *line, size_t len, bool *is_gat)
{
    static const char *const gets[] = {"get", "gets", "bget", "gat", "gats"};
    char copy[8192];
    size_t longest = 0;

    if (len >= sizeof(copy)) {
        return false;
    }
    memcpy(copy, line, len);
    copy[len] = '\0';
    if (!begins_with_word_of(copy, gets, sizeof(gets) / sizeof(gets[0]))) {
        return false;
    }
    *is_gat = copy[strspn(copy, " ") + 1] == 'a';
    for (const char *p = copy; *p != '\0';) {
        size_t word = strcspn(p, " \n");

        word -= word > 0 && p[word] == '\n' && p[word - 1] == '\r' ? 1 : 0;
        longest = word > longest ? word : longest;
        p += word + 1;
    }
    return longest > 250;
}

/* A time to live or a CAS that would make the answer a matter of luck. */
static bool is_lucky_word(const char *word, bool is_time)
{
    char letter = *word;
    long long number;

    if (!is_time && strchr("TNRC", letter) == NULL) {
        return false;
    }
    number = strtoll(is_time ? word : word + 1, NULL, 10);
    if (letter == 'C') {
        return number < 10000000000LL;
    }
    if (letter == 'R' && !is_time) {
        return number != 30 && number != 5000;
    }
    return number > 0 && number < 100;
}

static bool is_lucky_line(const char *line)
{
    static const char *const unwanted[] = {
        "set",       "add",         "replace",   "append",         "prepend",  "cas",
        "ms",        "stats",       "version",   "quit",           "shutdown", "watch",
        "lru",       "lru_crawler", "slabs",     "cache_memlimit", "extstore", "refresh_certs",
        "misbehave", "debugtime",   "flush_all", "verbosity",      "me",       "config",
        "proxy"};
    char copy[2400];
    char *rest = copy;
    char *word;
    bool is_number = false;
    bool is_ma = false;

    if (begins_with_word_of(line, unwanted, sizeof(unwanted) / sizeof(unwanted[0])) ||
        strlen(line) >= sizeof(copy) || strlen(line) > 2000) {
        return true;
    }
    snprintf(copy, sizeof(copy), "%s", line);
    for (int i = 0; (word = strsep(&rest, " ")) != NULL;) {
        if (*word == '\0') {
            continue;
        }
        is_ma = is_ma || (i == 0 && strcmp(word, "ma") == 0);
        is_number = is_number || (i == 1 && (*word == 'n' || *word == 'b'));
        if (i > 0 && (is_lucky_word(word, *word >= '0' && *word <= '9') ||
                      is_lucky_word(word, *word == '+'))) {
            return true;
        }
        if ((is_number && strchr(not_for_numbers, *word) != NULL && i > 1) ||
            (is_ma && strchr("NT", *word) != NULL)) {
            return true;
        }
        i++;
    }
    return false;
}

static void change_byte(struct chance *chance, struct bytes *line)
{
    static const char bytes[] = " \t\r\x01\x7f\x80\xff  0159-+.abgmqkvtOx%_=";
    size_t at = chance_below(chance, (unsigned)line->len + 1);
    char byte = bytes[chance_below(chance, sizeof(bytes) - 1)];

    switch (chance_below(chance, 3)) {
    case 0:
        bytes_fill(line, ' ', 1);
        memmove(line->data + at + 1, line->data + at, line->len - at - 1);
        line->data[at] = byte;
        break;
    case 1:
        if (at < line->len) {
            line->data[at] = byte;
        }
        break;
    default:
        if (at < line->len) {
            bytes_remove(line, at, 1);
        }
    }
}

static void make_changed_line(struct chance *chance, struct command *command)
{
    struct bytes *out = &command->request;

    for (;;) {
        bool is_gat = false;

        out->len = 0;
        command->cas_key = NO_KEY;
        if (chance_one_in(chance, 2)) {
            make_get(chance, command);
        } else if (chance_one_in(chance, 2)) {
            make_single(chance, command);
        } else {
            make_meta(chance, command);
        }
        if (command->cas_key != NO_KEY) {
            continue;
        }
        while (out->len > 0 && strchr("\r\n", out->data[out->len - 1]) != NULL) {
            out->len--;
        }
        if (out->len > 1500) {
            continue;
        }
        for (unsigned i = 1 + chance_below(chance, 3); i > 0; i--) {
            change_byte(chance, out);
        }
        bytes_reserve(out, 1);
        out->data[out->len] = '\0';
        if (has_long_key(out->data, out->len, &is_gat) && is_gat) {
            continue;
        }
        if (out->len == 0 || ((unsigned char)out->data[0] != 0x80 && !is_lucky_line(out->data))) {
            break;
        }
    }
    bytes_printf(out, "\r\n");
}

/* ---- where the two sides differ on purpose */

static void make_mark(struct chance *chance, char *mark, size_t size)
{
    snprintf(mark, size, "HD O%016llx\r\n", (unsigned long long)chance_next(chance));
}

static void add_mark_request(struct bytes *out, const char *mark)
{
    bytes_printf(out, "ms sentinel 0 %.*s\r\n\r\n", (int)strcspn(mark + 3, "\r"), mark + 3);
}

/* A storage line that is refused but says its length: memcached is not sent the block. */
static void make_refused_storage(struct chance *chance, struct command *command, bool strict)
{
    static const char *const lines[] = {
        "set %s -1 0 %zu",
        "set %s abc 0 %zu",
        "add %s 1.0 0 %zu noreply",
        "set %s 18446744073709551616 0 %zu",
        "replace %s 0 abc %zu",
        "append %s 0 9223372036854775808 %zu",
        "prepend %s 0 1.5 %zu noreply",
        "cas %s 0 0 %zu",
        "cas %s 0 0 %zu abc",
        "cas %s 0 0 %zu -1",
        "cas %s 0 0 %zu 18446744073709551616",
        "set %s 0 0 %zu one two",
        "set %s 0 0 %zu noreply x",
        "cas %s 0 0 %zu 1 x noreply",
        "cas %s x 0 %zu 1 noreply",
    };
    static const char *const long_lines[] = {"set %s 0 0 %zu",   "set %s 0 0 %zu noreply",
                                             "cas %s 0 0 %zu 1", "ms %s %zu",
                                             "ms %s %zu q k",    "append %s 0 0 %zu"};
    struct bytes value = {0};
    struct bytes line = {0};
    char key[300] = "t9";
    const char *format = PICK(chance, lines);

    make_value(chance, &value);
    if (chance_one_in(chance, 3)) {
        memset(key, 'x', sizeof(key));
        key[251 + chance_below(chance, 30)] = '\0';
        format = PICK(chance, long_lines);
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    bytes_printf(&line, format, key, value.len);
#pragma GCC diagnostic pop
    bytes_printf(&line, "\r\n");
    bytes_add(&command->instead, line.data, line.len);
    command->differs = true;
    bytes_add(&command->request, line.data, line.len);
    if (!strict) {
        bytes_add(&command->request, value.data, value.len);
        bytes_printf(&command->request, "%s", chance_one_in(chance, 10) ? "zz" : "\r\n");
    }
    bytes_fini(&line);
    bytes_fini(&value);
}

/* A storage line whose refusal memcached too answers by swallowing the block. */
static void make_swallowed_storage(struct chance *chance, struct command *command)
{
    static const char *const lines[] = {
        "ms t8 %zu ~",    "ms t8 %zu T1000 T1000", "ms t8 %zu MX",
        "ms t8 %zu MSS",  "ms t8 %zu Tabc",        "ms t8 %zu Cabc",
        "ms t8 %zu Fabc", "ms $$ %zu b",           "ms t8 %zu q MX",
        "ms t8 %zu S5",   "ms t8 %zu k k",         "ms t8 %zu O12345678901234567890123456789012",
        "ms t8 %zu F-1"};
    struct bytes value = {0};

    make_value(chance, &value);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    bytes_printf(&command->request, PICK(chance, lines), value.len);
#pragma GCC diagnostic pop
    bytes_printf(&command->request, "\r\n");
    bytes_add(&command->request, value.data, value.len);
    bytes_printf(&command->request, "\r\n");
    bytes_fini(&value);
}

/* Only the other side is sent the line, and answers as the specification says. */
static void make_extra(struct chance *chance, struct command *command, bool strict)
{
    static const struct {
        const char *line;
        size_t len;
        const char *answer;
    } lines[] = {
#define LINE(line, answer) {line, sizeof(line) - 1, answer}
        LINE("shutdown\r\n", "CLIENT_ERROR shutdown is not available through a proxy\r\n"),
        LINE("slabs reassign 1 2\r\n", "CLIENT_ERROR slabs is not available through a proxy\r\n"),
        LINE("lru_crawler crawl all\r\n",
             "CLIENT_ERROR lru_crawler is not available through a proxy\r\n"),
        LINE("cache_memlimit 10\r\n",
             "CLIENT_ERROR cache_memlimit is not available through a proxy\r\n"),
        LINE("watch\r\n", "CLIENT_ERROR watch is not available through a proxy\r\n"),
        LINE("misbehave 1\r\n", "CLIENT_ERROR misbehave is not available through a proxy\r\n"),
        LINE("get t8\0 t9\r\n", "CLIENT_ERROR bad command line format\r\n"),
        LINE("delete t8\0\r\n", "CLIENT_ERROR bad command line format\r\n"),
        LINE("mg t8 v\0k\r\n", "CLIENT_ERROR bad command line format\r\n"),
        LINE("incr n1 1\0\r\n", "CLIENT_ERROR bad command line format\r\n"),
        LINE("set t8\0x 0 0 9\r\nflush_all\r\n", "CLIENT_ERROR bad command line format\r\n"),
        LINE("ms t8\0x 9\r\nflush_all\r\n", "CLIENT_ERROR bad command line format\r\n"),
#undef LINE
    };
    size_t i = chance_below(chance, sizeof(lines) / sizeof(lines[0]));

    make_mark(chance, command->mark, sizeof(command->mark));
    add_mark_request(&command->instead, command->mark);
    add_mark_request(&command->request, command->mark);
    command->differs = true;
    if (!strict) {
        bytes_add(&command->request, lines[i].line, lines[i].len);
        command->extra = lines[i].answer;
    }
}

/* The other side answers as memcached, or as the specification says, and closes. */
static void make_unreadable(struct chance *chance, struct command *command)
{
    static const char *const lengths[] = {"abc",
                                          "-1",
                                          "-5",
                                          "1.0",
                                          "0x1",
                                          "5x",
                                          "2147483646",
                                          "2147483647",
                                          "9223372036854775807",
                                          "99999999999999999999"};
    static const char *const wrapped[] = {"4294967296", "4294967301", "4294967396", "8589934597"};
    static const char *const verbs[] = {"set", "add", "replace", "append", "cas", "ms"};
    const char *verb = PICK(chance, verbs);
    bool wraps = chance_one_in(chance, 3);
    const char *length = wraps ? PICK(chance, wrapped) : PICK(chance, lengths);
    struct bytes line = {0};

    if (*verb == 'm') {
        bytes_printf(&line, "ms t8 %s\r\n", length);
    } else {
        bytes_printf(&line, "%s t8 0 0 %s%s\r\n", verb, length, *verb == 'c' ? " 1" : "");
    }
    command->differs = true;
    if (wraps) {
        make_mark(chance, command->mark, sizeof(command->mark));
        add_mark_request(&command->instead, command->mark);
        add_mark_request(&command->request, command->mark);
        command->extra = bad_format;
    } else {
        bytes_add(&command->instead, line.data, line.len);
    }
    bytes_add(&command->request, line.data, line.len);
    bytes_fini(&line);
}

/* ---- streams */

static void make_command(struct chance *chance, struct command *command, bool strict)
{
    unsigned pick = chance_below(chance, 1000);
    bool is_gat;

    command->cas_key = NO_KEY;
    if (pick < 230) {
        make_storage(chance, command);
    } else if (pick < 430) {
        make_get(chance, command);
    } else if (pick < 570) {
        make_single(chance, command);
    } else if (pick < 680) {
        make_ms(chance, command);
    } else if (pick < 820) {
        make_meta(chance, command);
    } else if (pick < 840) {
        make_hidden_key(chance, command);
    } else if (pick < 890) {
        make_odd_line(chance, command);
    } else if (pick < 950) {
        make_changed_line(chance, command);
    } else if (pick < 970) {
        make_swallowed_storage(chance, command);
    } else if (pick < 987) {
        make_refused_storage(chance, command, strict);
    } else if (pick < 997) {
        make_extra(chance, command, strict);
    } else {
        bytes_printf(&command->request, "flush_all%s%s\r\n", chance_one_in(chance, 4) ? " 0" : "",
                     chance_one_in(chance, 4) ? " noreply" : "");
    }
    if (has_long_key(command->request.data, command->request.len, &is_gat)) {
        bytes_printf(&command->instead, "me\r\n");
        command->differs = true;
    }
}

void sentinel_request(const struct stream *stream, struct bytes *out)
{
    add_mark_request(out, stream->sentinel);
}

static void make_stream(struct chance *chance, struct stream *stream, bool strict)
{
    static const unsigned limits[] = {1, 3, 10, 50, 200, 200, 200};
    size_t count = 1 + chance_below(chance, PICK(chance, limits));
    unsigned end = chance_below(chance, 100);

    stream->commands = calloc(count + 1, sizeof(*stream->commands));
    if (stream->commands == NULL) {
        abort();
    }
    for (; stream->count < count; stream->count++) {
        make_command(chance, &stream->commands[stream->count], strict);
    }
    stream->split_seed = chance_next(chance);
    make_mark(chance, stream->sentinel, sizeof(stream->sentinel));
    stream->end = end < 60 ? END_SENTINEL : end < 75 ? END_RECONNECT : END_HALF_CLOSED;
    if (end >= 92 && !strict) {
        struct command *last = &stream->commands[stream->count++];

        stream->end = END_OTHER_CLOSES;
        last->cas_key = NO_KEY;
        make_unreadable(chance, last);
    }
}

void episode_make(struct episode *episode, uint64_t seed, uint64_t number, bool strict)
{
    struct chance chance = chance_make(seed, number);

    if (keys[0].len == 0) {
        make_keys();
    }
    *episode = (struct episode){.count = 1 + chance_below(&chance, EPISODE_STREAMS_MAX)};
    for (size_t i = 0; i < episode->count; i++) {
        make_stream(&chance, &episode->streams[i], strict);
    }
}

void episode_fini(struct episode *episode)
{
    for (size_t i = 0; i < episode->count; i++) {
        struct stream *stream = &episode->streams[i];

        for (size_t j = 0; j < stream->count; j++) {
            bytes_fini(&stream->commands[j].request);
            bytes_fini(&stream->commands[j].instead);
        }
        free(stream->commands);
    }
    *episode = (struct episode){0};
}

size_t episode_commands(const struct episode *episode)
{
    size_t count = 0;

    for (size_t i = 0; i < episode->count; i++) {
        count += episode->streams[i].count;
    }
    return count;
}
