#include "control/page.h"

const char page_html[] = {
#include "page_html.inc"
};

const size_t page_html_bytes = sizeof(page_html);
