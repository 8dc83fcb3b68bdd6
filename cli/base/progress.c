/// The progress bar: only where someone watches, and seldom enough to cost nothing.
#include "cli/base/progress.h"

#include "sim/base/clock.h"

#include <stdio.h>
#include <unistd.h>

enum { WIDTH = 30 };

progress progress_start(bool quiet)
{
    const double now = clock_now();
    return (progress){.shown = !quiet && isatty(STDERR_FILENO), .started = now, .drawn = now};
}

void progress_show(progress *p, const char *unit, long done, long all)
{
    const double now = clock_now();
    if (!p->shown || now - p->drawn < 0.1) return;
    p->drawn = now;
    const double part = (double)done / (double)all, spent = now - p->started;
    char bar[WIDTH + 1];
    for (int k = 0; k < WIDTH; k++) bar[k] = k < (int)(part * WIDTH) ? '#' : '.';
    bar[WIDTH] = 0;
    fprintf(stderr, "\r[%s] %5.1f %%  %s %ld of %ld, %.3g %ss/s, %.3g s left \033[K", bar, 100 * part, unit, done, all,
            (double)done / spent, unit, part > 0 ? spent / part - spent : 0);
}

void progress_end(progress *p)
{
    if (p->shown && p->drawn > p->started) fputs("\r\033[K", stderr);
}
