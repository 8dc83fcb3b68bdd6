/// Prefixes of units, and what to press.
#include "render/view/words.h"

#include <math.h>
#include <stdio.h>

void quantity_words(double x, const char *unit, char text[QUANTITY_WORDS])
{
    static const char *const prefixes[] = {"p", "n", "µ", "m", "", "k", "M", "G", "T"};
    enum { ONE = 4, PREFIXES = sizeof prefixes / sizeof *prefixes };
    char rounded[24];
    snprintf(rounded, sizeof rounded, "%.2e", x);  // 999.9 ms are 1 s
    double number;
    if (sscanf(rounded, "%lf", &number) != 1) number = x;
    const int k = number != 0 && isfinite(number) ? ONE + (int)floor(floor(log10(fabs(number)) + 1e-9) / 3) : ONE;
    if (k < 0 || k >= PREFIXES) snprintf(text, QUANTITY_WORDS, "%.3g %.8s", x, unit);
    else snprintf(text, QUANTITY_WORDS, "%.3g %s%.8s", number * pow(10, 3 * (ONE - k)), prefixes[k], unit);
}

void frozen_words(const player_run *r, int worlds, bool recorded, char *text, size_t size)
{
    char which[60];
    *text = 0;
    if (r->frozen == CTN_RUNNING) return;
    if (worlds == 1) snprintf(which, sizeof which, "It froze");
    else snprintf(which, sizeof which, "%d of %d worlds froze, one", r->froze, worlds);
    static const char *const keys[] = {
        "Press left arrow (shift: ten) to go back before it, then M for another integrator or comma for half the time step; "
        "space goes on. R is for the beginning.",
        "Press left arrow to go back, R for the beginning."};
    snprintf(text, size, "%s at %.4g s: %s.\n%s", which, r->frozen_time, r->why, keys[recorded]);
}
