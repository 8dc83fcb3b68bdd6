/// Steps with contact between links, loops and couplings beside those of a dense prototype (tests/golden/pairs), turned into scenes.
#include "sim/model/model.h"
#include "tests/golden.h"
#include "tests/scene_check.h"
#include "tests/suite.h"

#include <catena/motors.h>
#include <stdarg.h>
#include <stdlib.h>

/// Largest differences that are allowed, of q (m, rad) and v.
static const struct {
    const char *name;
    double q, v;
} cases[] = {
    {"fourbar", 1e-11, 1e-10}, {"ring6", 2e-11, 5e-10},  {"spheres2", 2e-12, 1e-11},
    {"chains3", 5e-12, 2e-10}, {"boxes2", 1e-14, 1e-12}, {"gripper", 1e-12, 1e-11},
};
enum { CASES = sizeof cases / sizeof *cases };

typedef struct {
    char *text;
    size_t size, room;
} writer;

__attribute__((format(printf, 2, 3))) static void put(writer *w, const char *format, ...)
{
    va_list args;
    if (w->room - w->size < 1000) w->text = realloc(w->text, w->room = 2 * w->room + 1000);
    va_start(args, format);
    w->size += (size_t)vsnprintf(w->text + w->size, w->room - w->size, format, args);
    va_end(args);
}

static const cJSON *get(const cJSON *of, const char *key) { return cJSON_GetObjectItemCaseSensitive(of, key); }
static double number(const cJSON *of, const char *key) { return get(of, key)->valuedouble; }
static int whole(const cJSON *of, const char *key) { return get(of, key)->valueint; }
static double entry(const cJSON *of, const char *key, int k) { return cJSON_GetArrayItem(get(of, key), k)->valuedouble; }

static void put_vector(writer *w, const char *key, const cJSON *of, const char *from, double scale, double more)
{
    put(w, "%s: [", key);
    for (int k = 0; k < 3; k++) put(w, "%s%.17g", k ? ", " : "", scale * (entry(of, from, k) + more));
    put(w, "]");
}

/// Mass, centre and inertia about it, of second moments about the origin: I = tr(S) - S, S = S_0 - m c c'.
static void put_mass(writer *w, const cJSON *link)
{
    double M[16], c[3], S[9], trace = 0;
    for (int k = 0; k < 16; k++) M[k] = entry(link, "pseudo_inertia", k);
    const double mass = M[15];
    for (int i = 0; i < 3; i++) c[i] = M[4 * i + 3] / mass;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) S[3 * i + j] = M[4 * i + j] - mass * c[i] * c[j];
    for (int i = 0; i < 3; i++) trace += S[4 * i];
    put(w, "mass: %.17g, com: [%.17g, %.17g, %.17g], inertia: [%.17g, %.17g, %.17g, %.17g, %.17g, %.17g]", mass, c[0], c[1], c[2],
        trace - S[0], trace - S[4], trace - S[8], -S[1], -S[2], -S[5]);
}

static void put_shapes(writer *w, const cJSON *golden, int link)
{
    const cJSON *s;
    int n = 0;
    put(w, ", shapes: [");
    cJSON_ArrayForEach(s, get(golden, "shapes"))
    {
        if (whole(s, "link") != link) continue;
        const double radius = number(s, "radius");
        put(w, "%s{", n++ ? ", " : "");
        if (!strcmp(get(s, "kind")->valuestring, "box")) {
            put(w, "type: box, contact: {rounding: %.17g}, ", radius);
            put_vector(w, "center", s, "centre", 1, 0), put(w, ", "), put_vector(w, "size", s, "core_half", 2, radius);
        } else if (cJSON_Compare(get(s, "p"), get(s, "q"), true)) {
            put(w, "type: sphere, radius: %.17g, ", radius), put_vector(w, "center", s, "p", 1, 0);
        } else {
            put(w, "type: capsule, radius: %.17g, ", radius), put_vector(w, "from", s, "p", 1, 0), put(w, ", "),
                put_vector(w, "to", s, "q", 1, 0);
        }
        put(w, "}");
    }
    put(w, "]");
}

static void put_links(writer *w, const cJSON *golden)
{
    const cJSON *link;
    int number_of = 0;
    put(w, "links:\n");
    cJSON_ArrayForEach(link, get(golden, "links"))
    {
        const char *const kind = get(link, "joint")->valuestring;
        const bool hinge = !strcmp(kind, "hinge"), slide = !strcmp(kind, "slide"), turns = hinge || slide;
        char key[16];
        snprintf(key, sizeof key, "%d", number_of);
        const cJSON *const damper = get(get(golden, "dampers"), key);
        put(w, "  - {name: l%d, ", number_of);
        if (whole(link, "parent") >= 0) put(w, "parent: l%d, ", whole(link, "parent"));
        put_vector(w, "position", link, "position", 1, 0);
        put(w, ", joint: {type: %s", hinge ? "revolute" : slide ? "prismatic" : kind);
        if (turns) put(w, ", "), put_vector(w, "axis", link, "axis", 1, 0);
        if (damper) put(w, ", damping: %.17g", damper->valuedouble);
        put(w, "}, "), put_mass(w, link), put_shapes(w, golden, number_of), put(w, "}\n");
        number_of++;
    }
}

static void put_state(writer *w, const char *key, const cJSON *numbers)
{
    const cJSON *x;
    put(w, "%s: [", key);
    cJSON_ArrayForEach(x, numbers) put(w, "%s%.17g", x->prev && x != numbers->child ? ", " : "", x->valuedouble);
    put(w, "]");
}

static char link_name[2][16];
static const char *name_of(int link, int which)
{
    if (link < 0) return "world";
    snprintf(link_name[which], sizeof link_name[which], "l%d", link);
    return link_name[which];
}

static void put_bonds(writer *w, const cJSON *golden)
{
    const cJSON *x;
    if (cJSON_GetArraySize(get(golden, "loops"))) put(w, "loops:\n");
    cJSON_ArrayForEach(x, get(golden, "loops"))
    {
        put(w, "  - {type: point, a: %s, b: %s, ", name_of(whole(x, "a"), 0), name_of(whole(x, "b"), 1));
        put_vector(w, "at_a", x, "pa", 1, 0), put(w, ", "), put_vector(w, "at_b", x, "pb", 1, 0), put(w, "}\n");
    }
    if (cJSON_GetArraySize(get(golden, "couplings"))) put(w, "couplings:\n");
    cJSON_ArrayForEach(x, get(golden, "couplings"))
        put(w, "  - {joint: l%d, follows: l%d, ratio: %.17g, offset: %.17g}\n", whole(x, "follower"), whole(x, "leader"),
            number(x, "ratio"), number(x, "offset"));
    if (cJSON_GetArraySize(get(golden, "springs"))) put(w, "springs:\n");
    cJSON_ArrayForEach(x, get(golden, "springs"))
    {
        put(w, "  - {link: l%d, b: l%d, stiffness: %.17g, rest: %.17g, ", whole(x, "a"), whole(x, "b"), number(x, "k"),
            number(x, "rest"));
        put_vector(w, "point", x, "pa", 1, 0), put(w, ", "), put_vector(w, "b_point", x, "pb", 1, 0), put(w, "}\n");
    }
    if (get(golden, "motors")->child) put(w, "motors:\n");
    cJSON_ArrayForEach(x, get(golden, "motors")) put(w, "  - {joint: l%s, type: position, kp: %.17g, kd: %.17g, target: %.17g}\n",
                                                     x->string, number(x, "kp"), number(x, "kd"), number(x, "ref"));
}

/// The scene of a case. The depth is that at which all that moves is borne by `k`.
static char *scene_text(const cJSON *golden)
{
    writer w = {0};
    const cJSON *link, *const first = cJSON_GetArrayItem(get(golden, "steps"), 0), *const ground = get(golden, "ground");
    double mass = 0, g = 0;
    cJSON_ArrayForEach(link, get(golden, "links")) mass += number(link, "mass");
    for (int k = 0; k < 3; k++) g = hypot(g, entry(golden, "gravity", k));
    put(&w, "catena: 1\n"), put_vector(&w, "gravity", golden, "gravity", 1, 0), put(&w, "\n");
    if (cJSON_IsArray(ground)) put(&w, "ground: true\n");
    if (cJSON_IsNumber(get(golden, "k")))
        put(&w, "contact: {between: all, friction: %.17g, relaxation: %.17g, depth: %.17g}\n", number(golden, "friction"),
            number(golden, "relaxation"), mass * fmax(g, 1) / number(golden, "k"));
    put_links(&w, golden), put_bonds(&w, golden);
    put(&w, "state: {"), put_state(&w, "q", get(first, "q")), put(&w, ", "), put_state(&w, "v", get(first, "v")), put(&w, "}\n");
    put(&w, "integrator: {method: collocation, order: 2, dt: %.17g, tolerance: 1e-15}\n", number(golden, "dt"));
    return w.text;
}

/// What the prototype does besides: its gripper is lifted, told in every step where at its end.
static void drive(ctn_batch *b, const char *name, double end)
{
    if (strcmp(name, "gripper") != 0) return;
    double u[3];
    ctn_model_targets(ctn_batch_model(b), u);
    u[0] = 0.5 * fmin(fmax(end - 0.1, 0), 0.3);
    ck_assert_int_eq(ctn_batch_set_parameters(b, u, NULL), CTN_OK);
}

/// q [nq] with the quaternions of the golden state's side.
static void turn_sides(const ctn_model *m, const double *golden, double *q)
{
    for (int l = 0; l < m->nlink; l++) {
        const ctn_link *const k = &m->links[l];
        const int first = k->qadr + link_quaternion(k);
        double side = 0;
        if (link_quaternion(k) == k->nq) continue;
        for (int i = 0; i < 4; i++) side += q[first + i] * golden[first + i];
        for (int i = 0; i < 4 && side < 0; i++) q[first + i] = -q[first + i];
    }
}

START_TEST(steps)
{
    char file[64];
    snprintf(file, sizeof file, "%s.json", cases[_i].name);
    cJSON *const golden = golden_json("pairs", file);
    char *const text = scene_text(golden);
    ctn_scene *const scene = parse(text);
    ctn_error err = {0};
    ctn_model *const m = ctn_model_create(scene, &err);
    ck_assert_msg(m, "%s\nin\n%s", err.message, text);
    long elements = m->ncontact;
    for (int k = 0; k < m->npair; k++) {
        elements += m->touch_pairs[k].elements;
        NEAR(&m->touch_pairs[k].grip, 1e-9 * number(golden, "k"), number(golden, "k"));
        NEAR(&m->touch_pairs[k].slide, 1e-9 * number(golden, "k"), number(golden, "k_t"));
    }
    ck_assert_int_eq(elements, cJSON_GetArraySize(get(golden, "elements")));
    ctn_parameter targets[8];
    ctn_batch_config cfg = ctn_scene_config(scene);
    ck_assert_int_le(ctn_model_ntarget(m), 8);
    ctn_model_target_parameters(m, targets);
    if (ctn_model_ntarget(m)) cfg.parameters = targets, cfg.parameter_count = ctn_model_ntarget(m);
    ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b, "%s", err.message);
    const cJSON *const list = get(golden, "steps");
    double worst[2] = {0, 0}, *const q = malloc(((size_t)m->nq + (size_t)m->nv) * sizeof *q), *const v = q + m->nq;
    for (int k = 1; k < cJSON_GetArraySize(list); k++) {
        double *const gq = golden_numbers(cJSON_GetArrayItem(list, k), "q", m->nq), *const gv = golden_numbers(
                                                                                        cJSON_GetArrayItem(list, k), "v", m->nv);
        drive(b, cases[_i].name, k * cfg.dt);
        ck_assert_int_eq(ctn_batch_step(b, 1, NULL, NULL), CTN_OK);
        ctn_batch_state(b, q, v);
        turn_sides(m, gq, q);
        for (int i = 0; i < m->nq; i++) worst[0] = fmax(worst[0], fabs(q[i] - gq[i]));
        for (int i = 0; i < m->nv; i++) worst[1] = fmax(worst[1], fabs(v[i] - gv[i]));
        if (getenv("CATENA_GOLDEN_STEPS")) printf("%s %d: %.2e %.2e\n", cases[_i].name, k, worst[0], worst[1]);
        free(gq), free(gv);
    }
    printf("%s: q %.2e, v %.2e\n", cases[_i].name, worst[0], worst[1]);
    ck_assert_msg(worst[0] <= cases[_i].q && worst[1] <= cases[_i].v, "%s: q differs by %g, v by %g", cases[_i].name, worst[0],
                  worst[1]);
    free(q), ctn_batch_free(b), ctn_model_free(m), ctn_scene_free(scene), free(text), cJSON_Delete(golden);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("pairs golden");
    TCase *const tcase = tcase_create("cases");
    tcase_add_loop_test(tcase, steps, 0, CASES);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
