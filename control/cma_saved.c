/// A saved search: a header, cma_numbers, then the arrays of CMA_ARRAYS in their order.
#include "control/cma.h"
#include "sim/base/status.h"

#include <string.h>
#include <xxhash.h>

typedef struct {
    char magic[8];         // "ctn-cma"
    uint64_t version;      // of this layout
    uint64_t fingerprint;  // of the configuration
    uint64_t hash;         // XXH3 of all that follows
} header;

static const char magic[8] = "ctn-cma";
enum { VERSION = 1 };

size_t ctn_cma_saved_bytes(const ctn_cma *c) { return c ? sizeof(header) + sizeof c->s + c->numbers * sizeof *c->arrays : 0; }

static ctn_status check_size(const char *call, const ctn_cma *c, size_t size, ctn_error *err)
{
    if (size == ctn_cma_saved_bytes(c)) return CTN_OK;
    return fail(err, CTN_BAD_ARGUMENT, "%s: %zu bytes, and this search has %zu: ask ctn_cma_saved_bytes()", call, size,
                ctn_cma_saved_bytes(c));
}

ctn_status ctn_cma_save(const ctn_cma *c, void *bytes, size_t size, ctn_error *err)
{
    if (missing("ctn_cma_save", "cma", c, err) || missing("ctn_cma_save", "bytes", bytes, err)) return CTN_BAD_ARGUMENT;
    const ctn_status status = check_size("ctn_cma_save", c, size, err);
    if (status) return status;
    char *const body = (char *)bytes + sizeof(header);
    memcpy(body, &c->s, sizeof c->s);
    memcpy(body + sizeof c->s, c->arrays, c->numbers * sizeof *c->arrays);
    header h = {.version = VERSION, .fingerprint = c->fingerprint, .hash = XXH3_64bits(body, size - sizeof h)};
    memcpy(h.magic, magic, sizeof magic);
    memcpy(bytes, &h, sizeof h);
    return CTN_OK;
}

ctn_status ctn_cma_restore(ctn_cma *c, const void *bytes, size_t size, ctn_error *err)
{
    if (missing("ctn_cma_restore", "cma", c, err) || missing("ctn_cma_restore", "bytes", bytes, err)) return CTN_BAD_ARGUMENT;
    header h;
    cma_numbers s;
    const char *const body = (const char *)bytes + sizeof h;
    if (size < sizeof h || memcmp(bytes, magic, sizeof magic) != 0)
        return fail(err, CTN_BAD_ARGUMENT, "ctn_cma_restore: these bytes are not a saved search");
    memcpy(&h, bytes, sizeof h);
    if (h.version != VERSION)
        return fail(err, CTN_BAD_ARGUMENT, "ctn_cma_restore: saved in version %llu, and this library has %d",
                    (unsigned long long)h.version, VERSION);
    if (h.fingerprint != c->fingerprint)
        return fail(err, CTN_BAD_ARGUMENT,
                    "ctn_cma_restore: saved by another configuration: all but target and max_evaluations must be the same");
    ctn_status status = check_size("ctn_cma_restore", c, size, err);
    if (status) return status;
    if (h.hash != XXH3_64bits(body, size - sizeof h))
        return fail(err, CTN_BAD_ARGUMENT, "ctn_cma_restore: the bytes are damaged: their hash is another");
    memcpy(&s, body, sizeof s);
    status = cma_resize(c, (int)s.lambda, err);
    if (status) return status;
    c->s = s;
    memcpy(c->arrays, body + sizeof s, c->numbers * sizeof *c->arrays);
    // more evaluations than when it was saved, or a smaller target: it goes on
    const bool by_target = s.stop == CTN_CMA_TARGET && !(s.best <= c->cfg.target);
    const bool by_evaluations = s.stop == CTN_CMA_MAX_EVALUATIONS && s.evaluations < c->cfg.max_evaluations;
    if (by_target || by_evaluations) c->s.stop = CTN_CMA_RUNS;
    return CTN_OK;
}
