/*
 * The page of the http port: src/control/page/index.html, which the Makefile
 * turns into bytes. Any thread.
 */
#ifndef CONTROL_PAGE_H
#define CONTROL_PAGE_H

#include <stddef.h>

extern const char page_html[];
extern const size_t page_html_bytes;

#endif
