/// Puts the file CATENA_FONT into the program.
#include "render/draw/font.h"

__asm__(".section .rodata\n"
        ".balign 16\n"
        ".global font_file\n"
        ".hidden font_file\n"
        "font_file:\n"
        ".incbin \"" CATENA_FONT "\"\n"
        ".global font_end\n"
        ".hidden font_end\n"
        "font_end:\n"
        ".byte 0\n"
        ".text\n");
