/* See page.h. */
#include "control/page.h"

/* The path is as seen from the top, where the compiler is run. */
__asm__(".section .rodata\n"
        ".global page_html\n"
        ".global page_html_end\n"
        "page_html:\n"
        ".incbin \"src/control/page/index.html\"\n"
        "page_html_end:\n"
        ".byte 0\n"
        ".previous\n");
