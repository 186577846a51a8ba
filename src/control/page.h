/*
 * The page of the http port: the bytes of src/control/page/index.html, which
 * the Makefile knows to be a part of page.o. Any thread.
 */
#ifndef CONTROL_PAGE_H
#define CONTROL_PAGE_H

#include <stddef.h>

extern const char page_html[];
extern const size_t page_html_bytes;

#endif
