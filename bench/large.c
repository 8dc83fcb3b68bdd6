/// Very large trees on universal joints, that swing gently, in one thread: what they cost to make, to hold and to step.
/// usage: large SHAPE LINKS METHOD STEPS
///        large --hinges yaml|parents LINKS    (for bench/large.py)
/// SHAPE: rope, ropes (of 1000 links each) or tree (of random parents). METHOD: semi-implicit in steps of 1 us, as long ropes are
/// stiff; alpha or collocation (of order 2) in steps of 10 ms. Prints a line of Markdown: shape, links, method; s to make the
/// model, bytes a link that this took at most, and that stay; s to create the batch, bytes a link of it, and of its state;
/// iterations a step; ns a link and step, without the first. Times are of the CPU; memory is what the process has more of after
/// than before.
#include <catena/catena.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/// s of CPU time
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/// A line of /proc/self/status, in bytes.
static double memory(const char *key)
{
    char line[256];
    double kilobytes = 0;
    FILE *const file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, key, strlen(key))) kilobytes = atof(line + strlen(key) + 1);
    if (file) fclose(file);
    return 1024 * kilobytes;
}

/// Slightly bent, in waves of 300 links. The more hangs on a link, the less: its weight would throw a bend of the uppermost links
/// about. context: the links of a rope.
static void bend(void *context, int i, ctn_link_spec *link)
{
    const double most = 0.1 / *(const int *)context;
    link->q0[0] = most * cos(i / 50.0), link->q0[1] = most * sin(i / 50.0);
}

/// A model of `n` hinges in a row from a scene's text.
static ctn_model *by_text(int n, ctn_error *err)
{
    char text[512];
    const int length = snprintf(
        text, sizeof text,
        "catena: 1\nlinks:\n  - chain: {name: a, count: %d, step: [0.01, 0, 0], joint: {type: revolute, axis: [0, 1, 0]}, "
        "mass: 0.001, com: [0.005, 0, 0], inertia: [5e-8, 3.3e-8, 3.3e-8, 0, 0, 0]}\n",
        n);
    ctn_scene *const scene = ctn_scene_parse(text, (size_t)length, "chain", err);
    ctn_model *const model = scene ? ctn_model_create(scene, err) : NULL;
    ctn_scene_free(scene);
    return model;
}

/// The same from an array.
static ctn_model *by_parents(int n, ctn_error *err)
{
    ctn_tree_spec spec = ctn_tree_spec_default();
    int *const parent = malloc((size_t)n * sizeof *parent);
    for (int i = 0; i < n && parent; i++) parent[i] = i - 1;
    spec.links = n, spec.parent = parent;
    spec.like.position[0] = 0.01, spec.like.axis[1] = 1, spec.like.axis[2] = 0, spec.like.mass = 0.001, spec.like.com[0] = 0.005;
    memcpy(spec.like.inertia, (double[]){5e-8, 3.3e-8, 3.3e-8, 0, 0, 0}, sizeof spec.like.inertia);
    ctn_model *const model = ctn_model_from_parents(&spec, err);
    free(parent);
    return model;
}

/// One step of a chain, for bench/large.py: seconds to make it, seconds of the step, bytes.
static int step_chain(const char *way, int n)
{
    ctn_error err;
    const double begin = now();
    ctn_model *const model = strcmp(way, "yaml") ? by_parents(n, &err) : by_text(n, &err);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_SEMI_IMPLICIT, cfg.dt = 1e-6;
    ctn_batch *const batch = model ? ctn_batch_create(model, &cfg, &err) : NULL;
    const double made = now();
    if (!batch || ctn_batch_step(batch, 1, NULL, &err) != CTN_OK) return fprintf(stderr, "%s\n", err.message), 1;
    printf("ok %.4g %.4g %.0f\n", made - begin, now() - made, memory("VmHWM:"));
    ctn_batch_free(batch);
    ctn_model_free(model);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "--hinges")) return step_chain(argv[2], atoi(argv[3]));
    if (argc < 5) return fprintf(stderr, "usage: large SHAPE LINKS METHOD STEPS\n"), 2;
    const char *const shape = argv[1];
    const int n = atoi(argv[2]), steps = atoi(argv[4]);
    ctn_error err;
    ctn_tree_spec spec = ctn_tree_spec_default();
    int *const parent = malloc((size_t)(n > 0 ? n : 1) * sizeof *parent);
    if (!parent) return fprintf(stderr, "large: not enough memory\n"), 1;
    unsigned seed = 1;
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        parent[i] = !strcmp(shape, "tree")                     ? (i ? (int)((unsigned long long)seed * (unsigned)i >> 32) : -1)
                    : !strcmp(shape, "ropes") && i % 1000 == 0 ? -1
                                                               : i - 1;
    }
    int rope = strcmp(shape, "rope") || n < 1000 ? 1000 : n;
    spec.links = n, spec.parent = parent, spec.link = bend, spec.context = &rope;
    spec.like.joint = CTN_UNIVERSAL, spec.like.position[2] = -0.01;
    memcpy(spec.like.axis, (double[]){1, 0, 0}, sizeof spec.like.axis);
    memcpy(spec.like.axis2, (double[]){0, 1, 0}, sizeof spec.like.axis2);
    spec.like.mass = 0.001, spec.like.com[2] = -0.005;
    memcpy(spec.like.inertia, (double[]){3.3333333333e-8, 3.3333333333e-8, 5e-8, 0, 0, 0}, sizeof spec.like.inertia);
    ctn_batch_config cfg = ctn_batch_config_default();
    if (ctn_method_from_name(argv[3], &cfg.method, &err) != CTN_OK) return fprintf(stderr, "large: %s\n", err.message), 1;
    if (cfg.method == CTN_SEMI_IMPLICIT) cfg.dt = 1e-6;

    const double held = memory("VmRSS:"), begin = now();
    ctn_model *const model = ctn_model_from_parents(&spec, &err);
    if (!model) return fprintf(stderr, "large: %s\n", err.message), 1;
    const double made = now() - begin, of_model = memory("VmRSS:") - held, most = memory("VmHWM:") - held;
    const double start = now();
    ctn_batch *const batch = ctn_batch_create(model, &cfg, &err);
    if (!batch) return fprintf(stderr, "large: %s\n", err.message), 1;
    const double created = now() - start;
    ctn_step_stats stats = {0}, one;
    if (ctn_batch_step(batch, 1, &stats, &err) != CTN_OK)
        return fprintf(stderr, "large: %s\n", err.message), 1;  // touches all memory
    const double first = now();
    for (int k = 0; k < steps; k++) {
        if (ctn_batch_step(batch, 1, &one, &err) != CTN_OK) return fprintf(stderr, "large: %s\n", err.message), 1;
        ctn_step_stats_add(&stats, &one);
    }
    const double stepping = now() - first, of_batch = memory("VmRSS:") - held - of_model;
    printf("| %s | %d | %s | %.2f | %.0f | %.0f | %.2f | %.0f | %.0f | %.2f | %.0f |\n", shape, n, argv[3], made, most / n,
           of_model / n, created, of_batch / n, (double)ctn_batch_saved_size(batch) / n, (double)stats.iterations / (steps + 1),
           1e9 * stepping / steps / n);
    ctn_batch_free(batch);
    ctn_model_free(model);
    free(parent);
    return 0;
}
