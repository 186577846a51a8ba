#include "report.h"

#include <stdio.h>

static const char *separator = "";

static void report_name(const struct load *load, const char *name)
{
    if (load->options->json) {
        printf("%s\"%s\": ", separator, name);
        separator = ", ";
    } else {
        printf("%s=", name);
    }
}

static void report_number(const struct load *load, const char *name, double number)
{
    report_name(load, name);
    printf("%.*f%s", number == (double)(uint64_t)number ? 0 : 4, number,
           load->options->json ? "" : "\n");
}

static void report_text(const struct load *load, const char *name, const char *text)
{
    report_name(load, name);
    if (!load->options->json) {
        printf("%s\n", text);
        return;
    }
    putchar('"');
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 0x20 || byte > 0x7e || byte == '"' || byte == '\\') {
            printf("\\u%04x", byte);
        } else {
            putchar(byte);
        }
    }
    putchar('"');
}

static void report_watched(const struct load *load)
{
    char name[64];

    for (size_t i = 0; i < load->options->watched; i++) {
        double cpu_us = (double)load->watched_cpu_ns[i] / 1e3;
        snprintf(name, sizeof(name), "watched_%zu_cpu_us", i);
        report_number(load, name, cpu_us);
        snprintf(name, sizeof(name), "watched_%zu_cpu_us_a_key", i);
        report_number(load, name, load->keys > 0 ? cpu_us / (double)load->keys : 0);
        snprintf(name, sizeof(name), "watched_%zu_resident_kb", i);
        report_number(load, name, (double)load->watched_resident_kb[i]);
    }
}

void report_print(const struct load *load)
{
    static const struct {
        const char *name;
        double quantile;
    } quantiles[] = {
        {"p50_us", 0.5}, {"p90_us", 0.9}, {"p99_us", 0.99}, {"p999_us", 0.999}, {"max_us", 1},
    };
    double seconds = (double)(load->window_end_ns - load->window_start_ns) / 1e9;
    double own_us = (double)load->own_cpu_ns / 1e3;

    if (load->options->json) {
        putchar('{');
    }
    report_number(load, "seconds", seconds);
    report_number(load, "requests", (double)load->answers);
    report_number(load, "keys", (double)load->keys);
    report_number(load, "requests_a_second", seconds > 0 ? (double)load->answers / seconds : 0);
    report_number(load, "keys_a_second", seconds > 0 ? (double)load->keys / seconds : 0);
    report_number(load, "mean_us", histogram_mean(&load->latency) / 1e3);
    for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
        report_number(load, quantiles[i].name,
                      (double)histogram_quantile(&load->latency, quantiles[i].quantile) / 1e3);
    }
    report_number(load, "misses", (double)load->misses);
    report_number(load, "errors", (double)load->errors);
    report_number(load, "wrong_values", (double)load->wrong_values);
    report_number(load, "out_of_order", (double)load->out_of_order);
    report_number(load, "unfinished", (double)load->unfinished);
    report_number(load, "connections", (double)load->connections);
    report_number(load, "idle", (double)load->idles_done);
    report_number(load, "own_cpu_us", own_us);
    report_number(load, "own_cpu_us_a_key", load->keys > 0 ? own_us / (double)load->keys : 0);
    report_watched(load);
    report_text(load, "first_error", load->first_error);
    if (load->options->json) {
        printf("}\n");
    }
    fflush(stdout);
}
