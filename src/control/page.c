/* See page.h. */
#include "control/page.h"

#if __SIZEOF_SIZE_T__ == 8
#define SIZE ".quad"
#else
#define SIZE ".long"
#endif

/* The path is as seen from the top, where the compiler is run. */
__asm__(".section .rodata\n"
        ".global page_html\n"
        ".global page_html_bytes\n"
        "page_html:\n"
        ".incbin \"src/control/page/index.html\"\n"
        "1:\n"
        ".balign 8\n"
        "page_html_bytes:\n" SIZE " 1b - page_html\n"
        ".previous\n");
