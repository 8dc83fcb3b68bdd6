/// Scenes: a file's sections in order, and the public functions. sim/scene/scene_yaml.c makes the tree, sim/scene/scene_links.c
/// and its neighbours read the links.
#include "sim/base/config.h"
#include "sim/scene/foreign.h"
#include "sim/base/printable.h"
#include "sim/scene/robot.h"
#include "sim/scene/scene_reader.h"
#include "sim/base/status.h"

#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FORMAT_VERSION = 1 };

enum top_key {
    TOP_CATENA,
    TOP_NAME,
    TOP_GRAVITY,
    TOP_INERTIAS,
    TOP_DEFAULTS,
    TOP_INCLUDE,
    TOP_URDF,
    TOP_MJCF,
    TOP_LINKS,
    TOP_SPRINGS,
    TOP_PAIRS,
    TOP_EXCLUDE,
    TOP_LOOPS,
    TOP_COUPLINGS,
    TOP_TENDONS,
    TOP_FORCES,
    TOP_GAITS,
    TOP_MOTORS,
    TOP_SENSORS,
    TOP_CONTROLLER,
    TOP_SEARCH,
    TOP_FLUID,
    TOP_GROUND,
    TOP_OBSTACLES,
    TOP_TERRAIN,
    TOP_CONTACT,
    TOP_INTEGRATOR,
    TOP_DURATION,
    TOP_STATE,
    TOP_SAMPLE,
    TOP_REWARD,
    TOP_OPTIMIZE,
    TOP_CAMERA,
    TOP_CAMERAS,
    TOP_VIEW
};

static const key top_keys[] = {
    [TOP_CATENA] = {.name = "catena"},     [TOP_NAME] = {.name = "name"},
    [TOP_GRAVITY] = {.name = "gravity"},   [TOP_INERTIAS] = {.name = "inertias"},
    [TOP_DEFAULTS] = {.name = "defaults"}, [TOP_INCLUDE] = {.name = "include"},
    [TOP_URDF] = {.name = "urdf"},         [TOP_MJCF] = {.name = "mjcf"},
    [TOP_LINKS] = {.name = "links"},       [TOP_SPRINGS] = {.name = "springs"},
    [TOP_PAIRS] = {.name = "pairs"},       [TOP_EXCLUDE] = {.name = "exclude"},
    [TOP_LOOPS] = {.name = "loops"},       [TOP_COUPLINGS] = {.name = "couplings"},
    [TOP_TENDONS] = {.name = "tendons"},
    [TOP_FORCES] = {.name = "forces"},     [TOP_MOTORS] = {.name = "motors"},
    [TOP_GAITS] = {.name = "gaits"},       [TOP_SENSORS] = {.name = "sensors"},
    [TOP_FLUID] = {.name = "fluid"},       [TOP_GROUND] = {.name = "ground"},
    [TOP_CONTACT] = {.name = "contact"},   [TOP_INTEGRATOR] = {.name = "integrator"},
    [TOP_DURATION] = {.name = "duration"}, [TOP_STATE] = {.name = "state"},
    [TOP_SAMPLE] = {.name = "sample"},     [TOP_OBSTACLES] = {.name = "obstacles"},
    [TOP_TERRAIN] = {.name = "terrain"},   [TOP_CAMERA] = {.name = "camera"},
    [TOP_CAMERAS] = {.name = "cameras"},   [TOP_CONTROLLER] = {.name = "controller"},
    [TOP_REWARD] = {.name = "reward"},     [TOP_SEARCH] = {.name = "search"},
    [TOP_OPTIMIZE] = {.name = "optimize"}, [TOP_VIEW] = {.name = "view"},
    {.name = "record", .later = true},
};
enum { TOP_KEYS = sizeof top_keys / sizeof *top_keys };

void *reader_alloc(reader *r, size_t bytes)
{
    void *const block = malloc(bytes ? bytes : 1);
    if (!block) r->no_memory = true;
    return block;
}

char *reader_copy(reader *r, const char *text, size_t length)
{
    char *const copy = reader_alloc(r, length + 1);
    if (!copy) return 0;
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

int add_file(reader *r, const char *path, const char *text, size_t length)
{
    ctn_scene *const scene = r->scene;
    const size_t count = (size_t)scene->nfile + 1;
    scene_file *const files = realloc(scene->files, count * sizeof *files);
    if (files) scene->files = files;
    document **const documents = files ? realloc(r->documents, count * sizeof(document *)) : 0;
    if (documents) r->documents = documents;
    else r->no_memory = true;
    char *const name = documents ? reader_copy(r, path, strlen(path)) : 0, *const copy = name ? reader_copy(r, text, length) : 0;
    if (!copy) {
        free(name);
        return -1;
    }
    r->documents[scene->nfile] = 0;
    files[scene->nfile] = (scene_file){.path = name, .text = copy, .length = length};
    return scene->nfile++;
}

// ---- integrator

/// A number of the configuration, checked by the one table of ranges.
static bool read_setting(source *s, const node *n, const char *field, ctn_batch_config *cfg)
{
    ctn_error e;
    double value;
    if (!read_number(s, n, ANY_SIGN, &value)) return false;
    const ctn_status status = config_set(cfg, field, value, &e);
    return status == CTN_OK || bad_status(s, n, status, e.message);
}

/// `dt`, a number or auto. method: the name in the scene, 0 if it is none.
static bool read_time_step(source *s, const node *n, const char *method, ctn_batch_config *cfg)
{
    ctn_error e;
    ctn_method known;
    if (n->kind != NODE_SCALAR || strpbrk(n->text, "0123456789")) return read_setting(s, n, "dt", cfg);
    if (!n->plain || strcmp(n->text, "auto"))
        return bad_value(s, n, "expected a number or auto, found %s%s", found(n).text,
                         !n->plain && !strcmp(n->text, "auto") ? "; write it without quotes" : "");
    cfg->adaptive = true;
    if (!method || ctn_method_from_name(method, &known, 0) != CTN_OK) return true;  // the method is an error already
    const ctn_status status = config_check_adaptive(cfg, &e);
    return status == CTN_OK || bad_status(s, n, status, e.message);
}

/// What `parallel` asks for must go with the rest of the section.
static bool check_parallel(source *s, const node *integrator, const ctn_batch_config *cfg)
{
    ctn_error e;
    const node *at = integrator->child;
    while (at && strcmp(at->key->text, "parallel")) at = at->next;
    const ctn_status status = at ? config_check_parallel(cfg, &e) : CTN_OK;
    return status == CTN_OK || bad_status(s, at, status, e.message);
}

static bool read_integrator(source *s, const node *n, ctn_scene *scene)
{
    ctn_batch_config *const cfg = &scene->config;
    enum { METHOD, ORDER, STAGES, RHO, SOLVER, DT, TOLERANCE, INTERVAL, PARALLEL, LANES, NUMBERS, KEYS = NUMBERS + 2 };
    static const key keys[KEYS] = {{.name = "method"},   {.name = "order"}, {.name = "stages"},         {.name = "rho"},
                                   {.name = "solver"},   {.name = "dt"},    {.name = "tolerance"},      {.name = "interval"},
                                   {.name = "parallel"}, {.name = "lanes"}, {.name = "max_iterations"}, {.name = "max_halvings"}};
    const node *v[KEYS];
    if (!read_keys(s, n, "an integrator", keys, KEYS, v)) return false;
    ctn_error e;
    const char *method = ctn_method_name(cfg->method), *solver, *parallel;
    bool ok = true;
    if (v[METHOD]) {
        ctn_status status = CTN_BAD_CONFIG;
        ok = read_text(s, v[METHOD], &method);
        if (ok) status = ctn_method_from_name(method, &cfg->method, &e);
        if (ok && status != CTN_OK) ok = bad_status(s, v[METHOD], status, e.message);
        if (status == CTN_BAD_CONFIG) method = 0;
    }
    if (v[ORDER]) {
        if (method && strcmp(method, "collocation") && strcmp(method, "variational"))
            ok = bad_key(s, v[ORDER], "belongs to " METHODS_WITH_ORDER ", not to %s", method);
        else ok = read_setting(s, v[ORDER], "order", cfg) && ok;
    }
    if (v[STAGES]) {
        if (method && strcmp(method, "radau")) ok = bad_key(s, v[STAGES], "belongs to the method radau, not to %s", method);
        else ok = read_setting(s, v[STAGES], "stages", cfg) && ok;
    }
    if (v[RHO]) {
        if (method && strcmp(method, "alpha")) ok = bad_key(s, v[RHO], "belongs to the method alpha, not to %s", method);
        else ok = read_setting(s, v[RHO], "rho", cfg) && ok;
    }
    if (v[SOLVER]) {
        const bool text = read_text(s, v[SOLVER], &solver);
        ctn_status status = text ? ctn_solver_from_name(solver, &cfg->solver, &e) : CTN_OK;
        if (status == CTN_OK && text && method) status = config_check_solver(cfg, &e);
        if (status != CTN_OK) bad_status(s, v[SOLVER], status, e.message);
        ok = ok && text && status == CTN_OK;
    }
    if (v[DT]) ok = read_time_step(s, v[DT], method, cfg) && ok;
    if (v[TOLERANCE]) ok = read_setting(s, v[TOLERANCE], cfg->adaptive ? "error_tolerance" : "tolerance", cfg) && ok;
    if (v[INTERVAL] && !cfg->adaptive) ok = bad_key(s, v[INTERVAL], "belongs to `dt: auto`");
    else if (v[INTERVAL]) ok = read_setting(s, v[INTERVAL], "dt", cfg) && ok;
    if (v[PARALLEL]) {
        const bool text = read_text(s, v[PARALLEL], &parallel);
        const ctn_status status = text ? ctn_parallel_from_name(parallel, &cfg->parallel, &e) : CTN_OK;
        if (status != CTN_OK) bad_status(s, v[PARALLEL], status, e.message);
        ok = ok && text && status == CTN_OK;
    }
    if (v[LANES] && cfg->parallel == CTN_PARALLEL_WORLDS)
        ok = bad_key(s, v[LANES], "belongs to `parallel: links`, both or auto, not to worlds");
    else if (v[LANES]) ok = read_setting(s, v[LANES], "lanes", cfg) && ok;
    for (int k = NUMBERS; k < KEYS; k++)
        if (v[k]) ok = read_setting(s, v[k], keys[k].name, cfg) && ok;
    static const int setting[SETTINGS] = {METHOD, ORDER, SOLVER, DT, PARALLEL};
    for (int k = 0; k < SETTINGS; k++) {
        const node *const at = v[setting[k]] ? v[setting[k]] : n;
        scene->settings[k] = (scene_place){at->line, at->column};
    }
    return ok && check_parallel(s, n, cfg);
}

// ---- one file

/// Finds and checks `catena: 1`. False: this is not a scene that we can read.
static bool check_version(source *s, const node *root)
{
    const node *version = root->child;
    while (version && strcmp(version->key->text, top_keys[TOP_CATENA].name)) version = version->next;
    if (!version) {
        missing_key(s, root, "catena", "missing; a scene starts with `catena: %d`, the version of its format", FORMAT_VERSION);
        return true;
    }
    if (version != root->child) bad_key(s, version, "expected as the first key");
    int number;
    if (version->kind != NODE_SCALAR || !version->plain || strcmp(version->text, "1")) {
        s->quiet++;
        const bool whole = read_whole(s, version, 0, 1000000, &number);
        s->quiet--;
        bad_value(s, version,
                  whole ? "this program reads version %d of the format, found %s"
                        : "expected %d, the version of the format, found %s",
                  FORMAT_VERSION, found(version).text);
        return !whole;  // another version may have other rules
    }
    return true;
}

/// What only the scene itself decides; in an included file it is checked and has no effect.
static bool read_settings(source *s, const node *root, const node *const *v)
{
    ctn_scene unused = {.config = ctn_batch_config_default()}, *const scene = s->includer ? &unused : s->r->scene;
    if (s->includer) reset_contact(&unused.contact);
    for (int k = 0; k < SETTINGS; k++) scene->settings[k] = (scene_place){root->line, root->column};  // until `integrator` says
    const char *name;
    bool ok = true;
    if (v[TOP_NAME]) {
        ok = read_name(s, v[TOP_NAME], &name);
        if (ok && !s->includer) {
            scene->name = reader_copy(s->r, name, strlen(name));
            ok = scene->name;
        }
    }
    if (v[TOP_GRAVITY]) ok = read_vector(s, v[TOP_GRAVITY], 3, ANY_SIGN, scene->gravity) && ok;
    if (v[TOP_INERTIAS]) ok = read_choice(s, v[TOP_INERTIAS], "possible", "as-given", &s->inertias_as_given) && ok;
    if (v[TOP_INTEGRATOR]) ok = read_integrator(s, v[TOP_INTEGRATOR], scene) && ok;
    if (v[TOP_DURATION]) ok = read_number(s, v[TOP_DURATION], NOT_NEGATIVE, &scene->duration) && ok;
    const contact_nodes touched = {v[TOP_GROUND], v[TOP_OBSTACLES], v[TOP_TERRAIN], v[TOP_CONTACT], v[TOP_PAIRS]};
    ok = read_contact(s, &touched, &scene->contact) && ok;
    if (s->includer) free_contact(&scene->contact);
    // where `view` does not say: what is seen is what there is to touch
    if (scene->contact.ground && scene->contact.normal[2] >= 1) scene->floor = scene->contact.height;
    else if (scene->contact.nobstacle || scene->contact.terrain.columns) scene->floor = -INFINITY;
    return ok;
}

/// The document of a text; kept by the reader.
static const node *read_document(source *s, const char *text, size_t length)
{
    reader *const r = s->r;
    document *const doc = reader_alloc(r, sizeof *doc);
    if (!doc) return 0;
    document_problem problem;
    if (is_robot_text(text, length)) {
        const node *const root = robot_document(s, text, length, doc);
        r->documents[s->file] = doc, r->bytes += (long)length, r->nodes += doc->count;
        return root;
    }
    const char *const foreign = foreign_file(text, length);
    if (foreign) {
        r->documents[s->file] = doc, *doc = (document){0};
        bad_place(s, 1, 1, CTN_BAD_SCENE, foreign);
        return 0;
    }
    const ctn_status status = document_parse(doc, text, length, SCENE_MAX_NODES - r->nodes, &problem);
    r->documents[s->file] = doc;
    r->bytes += (long)length;
    r->nodes += doc->count;
    if (status == CTN_NO_MEMORY) r->no_memory = true;
    else if (status != CTN_OK) bad_place(s, problem.line, problem.column, status, problem.text);
    else if (!doc->root) bad_place(s, 1, 1, CTN_BAD_SCENE, "an empty file; a scene starts with `catena: 1`");
    else if (doc->root->kind != NODE_MAPPING)
        bad_value(s, doc->root, "expected a mapping that starts with `catena: 1`, found %s", found(doc->root).text);
    else return doc->root;
    return 0;
}

bool read_source(source *s, const char *text, size_t length)
{
    const node *const root = read_document(s, text, length), *v[TOP_KEYS];
    s->layout_known = root;
    const int errors = s->r->errors.count;
    if (!root || !check_version(s, root) || !read_keys(s, root, "a scene", top_keys, TOP_KEYS, v)) return false;
    bool ok = read_settings(s, root, v);
    s->r->motors = s->r->motors || v[TOP_MOTORS];
    if (v[TOP_DEFAULTS]) ok = read_link_defaults(s, v[TOP_DEFAULTS]) && ok;
    if (v[TOP_INCLUDE]) ok = read_include(s, v[TOP_INCLUDE], NULL) && ok;
    if (v[TOP_URDF]) ok = read_include(s, v[TOP_URDF], "URDF") && ok;
    if (v[TOP_MJCF]) ok = read_include(s, v[TOP_MJCF], "MJCF") && ok;
    if (v[TOP_LINKS]) ok = read_links(s, v[TOP_LINKS]) && ok;
    if (ok && s->r->scene->nlink == s->first_link) {
        if (v[TOP_LINKS]) ok = bad_value(s, v[TOP_LINKS], "expected at least one link, found none");
        else ok = missing_key(s, root, "links", "missing; a scene has links, of its own or of an included file");
    }
    if (v[TOP_SPRINGS] || v[TOP_FORCES] || (s->r->nend && !s->includer)) ok = read_loads(s, v[TOP_SPRINGS], v[TOP_FORCES]) && ok;
    if (v[TOP_PAIRS]) ok = read_touching(s, v[TOP_PAIRS]) && ok;
    if (v[TOP_EXCLUDE]) ok = read_excluded(s, v[TOP_EXCLUDE]) && ok;
    if (v[TOP_LOOPS]) ok = read_loops(s, v[TOP_LOOPS]) && ok;
    if (v[TOP_COUPLINGS]) ok = read_couplings(s, v[TOP_COUPLINGS]) && ok;
    if (v[TOP_TENDONS]) ok = read_tendons(s, v[TOP_TENDONS]) && ok;
    if (v[TOP_GAITS]) ok = read_gaits(s, v[TOP_GAITS]) && ok;
    if (v[TOP_MOTORS]) ok = read_motors(s, v[TOP_MOTORS]) && ok;
    if (v[TOP_SENSORS]) ok = read_sensors(s, v[TOP_SENSORS]) && ok;
    if (v[TOP_TENDONS] && ok) ok = check_tendons(s, v[TOP_TENDONS]);
    if (v[TOP_CONTROLLER] && ok) ok = read_controller(s, v[TOP_CONTROLLER]);  // it goes by motors and sensors as they are
    if (v[TOP_SEARCH]) ok = read_search(s, v[TOP_SEARCH]) && ok;
    if (v[TOP_FLUID]) ok = read_fluid(s, v[TOP_FLUID]) && ok;
    if (v[TOP_STATE]) ok = read_state(s, v[TOP_STATE]) && ok;
    if (v[TOP_SAMPLE]) ok = read_sample(s, v[TOP_SAMPLE]) && ok;
    if (v[TOP_REWARD]) ok = read_reward(s, v[TOP_REWARD]) && ok;
    if (v[TOP_OPTIMIZE] && ok) ok = read_optimize(s, v[TOP_OPTIMIZE]);  // likewise
    if (v[TOP_CAMERA] || v[TOP_CAMERAS]) ok = read_cameras(s, v[TOP_CAMERA], v[TOP_CAMERAS]) && ok;
    if (v[TOP_VIEW]) ok = read_view(s, v[TOP_VIEW]) && ok;
    return ok && s->r->errors.count == errors;
}

// ---- public functions

/// "arm" of "scenes/arm.yaml"; a name like those in scenes, whatever the file's.
static char *name_of_path(reader *r, const char *path)
{
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path, *const dot = strrchr(name, '.');
    char *const copy = reader_copy(r, name, dot && dot != name ? (size_t)(dot - name) : strlen(name));
    if (copy) make_printable(copy);
    return copy;
}

static const char *link_name(const void *scene, int link) { return ((const ctn_scene *)scene)->links[link].name; }

static bool start_scene(reader *r, const char *name, const char *text, size_t length)
{
    ctn_scene *const scene = calloc(1, sizeof *scene);
    r->scene = scene;
    r->names = (name_table){.name = link_name, .of = scene};
    r->parents_known = r->names_known = true;
    if (!scene) {
        r->no_memory = true;
        return false;
    }
    scene->gravity[2] = -9.81;
    scene->duration = -1, scene->floor = NAN;
    scene->grid = 1;
    scene->config = ctn_batch_config_default();
    reset_contact(&scene->contact), reset_search(&scene->search);
    scene->defaults = SCENE_DEFAULTS;
    scene->path = reader_copy(r, name, strlen(name));
    return scene->path && add_file(r, name, text, length) == 0;
}

static bool finish_scene(reader *r)
{
    ctn_scene *const scene = r->scene;
    if (r->errors.count || r->no_memory) return false;
    if (!scene->name) scene->name = name_of_path(r, scene->path);
    list_problems(&scene->warnings, scene->files, &scene->warned);
    return scene->name;
}

static void report_errors(reader *r, ctn_error *err)
{
    if (!err) return;
    if (r->no_memory) {
        fail(err, CTN_NO_MEMORY, "out of memory while reading the scene");
        return;
    }
    // a feature that is not there, a file that cannot be read: if that is all, the status says so
    err->status = r->errors.list[0].status;
    for (int i = 1; i < r->errors.count; i++)
        if (r->errors.list[i].status != err->status) err->status = CTN_BAD_SCENE;
    if (err->status == CTN_BAD_CONFIG) err->status = CTN_BAD_SCENE;
    list_problems(&r->errors, r->scene->files, err);
}

static void free_reader(reader *r)
{
    for (int i = 0; r->documents && i < r->scene->nfile; i++) {
        if (r->documents[i]) document_free(r->documents[i]);
        free(r->documents[i]);
    }
    free(r->documents);
    free(r->origins), free(r->ends);
    name_table_free(&r->names);
    free(r->given);
    free(r);
}

/// Text that a scene is to be converted to.
typedef struct conversion {
    char *text;
    bool elsewhere;  // it will not lie beside the scene's file
} conversion;

/// The scene of a text. device, inode: its file, 0 if there is none. from [nfrom]: what its files said; NULL: those on the disk.
/// into: NULL, or receives the text, NULL on error.
static ctn_scene *read_scene(const char *text, size_t length, const char *name, dev_t device, ino_t inode, const scene_file *from,
                             int nfrom, conversion *into, ctn_error *err)
{
    // numbers are read and printed with a decimal point, whatever the program's locale
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    reader *const r = c ? calloc(1, sizeof *r) : 0;
    if (!r) {
        if (c) freelocale(c);
        fail(err, CTN_NO_MEMORY, "out of memory while reading the scene");
        return 0;
    }
    const locale_t before = uselocale(c);
    r->from = from, r->nfrom = nfrom;
    source s = {.r = r, .prefix = "", .device = device, .inode = inode};
    const bool ok = start_scene(r, name, text, length) && read_source(&s, text, length);
    check_moving_masses(r);
    if (ok) start_followers(r), check_sizes(r), check_inertias(r), check_starts(r);
    ctn_scene *scene = r->scene;
    if (ok && into && !r->errors.count) into->text = document_as_yaml(&s, r->documents[0]->root, into->elsewhere);
    if (!ok || !finish_scene(r)) {
        report_errors(r, err);
        scene = 0;
    }
    ctn_scene *const failed = scene ? 0 : r->scene;
    free_reader(r);
    ctn_scene_free(failed);
    uselocale(before);
    freelocale(c);
    return scene;
}

ctn_scene *ctn_scene_parse(const char *text, size_t length, const char *name, ctn_error *err)
{
    if (missing(__func__, "text", text, err) || missing(__func__, "name", name, err)) return 0;
    if (length > (size_t)SCENE_MAX_BYTES) {
        fail(err, CTN_BAD_SCENE, "%s:1:1: too large; the files of a scene have at most %ld bytes together", name,
             SCENE_MAX_BYTES);
        return 0;
    }
    struct stat info = {0};
    if (stat(name, &info)) info = (struct stat){0};  // a text without a file cannot be included by others
    return read_scene(text, length, name, info.st_dev, info.st_ino, NULL, 0, NULL, err);
}

ctn_scene *scene_from_files(const scene_file *files, int count, ctn_error *err)
{
    return read_scene(files[0].text, files[0].length, files[0].path, 0, 0, files, count, NULL, err);
}

/// The text of a file, to free, or NULL.
static char *load_text(const char *path, size_t *length, ctn_error *err)
{
    char *text = 0, reason[128];
    const ctn_status status = read_file(path, false, SCENE_MAX_BYTES, &text, length, reason);
    if (status == CTN_OK) return text;
    if (status == CTN_NO_MEMORY) fail(err, status, "out of memory while reading the scene");
    else fail(err, status, "%s: %s", path, reason);
    return NULL;
}

ctn_scene *ctn_scene_load(const char *path, ctn_error *err)
{
    size_t length;
    char *const text = missing(__func__, "path", path, err) ? NULL : load_text(path, &length, err);
    ctn_scene *const scene = text ? ctn_scene_parse(text, length, path, err) : NULL;
    free(text);
    return scene;
}

/// The folder that a file lies in, without links; false: there is none.
static bool folder_of(const char *path, char whole[PATH_MAX])
{
    char folder[PATH_MAX];
    const char *const slash = strrchr(path, '/');
    if (slash && slash - path >= PATH_MAX - 1) return false;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash + 1 - path) : 1, slash ? path : ".");
    return realpath(folder, whole);
}

char *ctn_scene_convert(const char *path, const char *to, ctn_error *err)
{
    size_t length;
    char from[PATH_MAX], there[PATH_MAX];
    char *const text = missing(__func__, "path", path, err) ? NULL : load_text(path, &length, err);
    if (!text) return NULL;
    conversion into = {.elsewhere = to && folder_of(path, from) && (!folder_of(to, there) || strcmp(from, there) != 0)};
    ctn_scene *scene = NULL;
    if (is_robot_text(text, length)) scene = read_scene(text, length, path, 0, 0, NULL, 0, &into, err);
    else fail(err, CTN_BAD_SCENE, "%s: is no robot file: URDF begins with <robot>, MJCF with <mujoco>", path);
    if (!scene) free(into.text), into.text = NULL;
    ctn_scene_free(scene);
    free(text);
    return into.text;
}

void ctn_scene_free(ctn_scene *scene)
{
    if (!scene) return;
    for (int i = 0; i < scene->nlink; i++) {
        free(scene->links[i].name);
        // links of a generator stand together and share their shapes
        if (i == 0 || scene->links[i].shapes != scene->links[i - 1].shapes) free(scene->links[i].shapes);
    }
    for (int i = 0; i < scene->nfile; i++) free(scene->files[i].path), free(scene->files[i].text);
    for (int i = 0; i < scene->nsensor; i++) free(scene->sensors[i].name);
    free(scene->sensors);
    free_controller(&scene->controller);
    free(scene->links), free(scene->loads), free(scene->motors), free(scene->fluid.drag), free(scene->fluid.added);
    free(scene->files), free_reward(scene->reward, scene->nreward), free_optimize(&scene->optimize);
    for (int i = 0; i < scene->nmesh; i++) mesh_clear(&scene->meshes[i]->surface), free(scene->meshes[i]);
    free(scene->meshes);
    free_cameras(scene), free_signals(scene), free_contact(&scene->contact), free_bonds(scene);
    free(scene->path);
    free(scene->name);
    for (int k = 0; k < SAMPLES; k++) free(scene->spread[k]);
    free(scene);
}

const char *ctn_scene_name(const ctn_scene *scene) { return scene ? scene->name : NULL; }

const char *ctn_scene_text(const ctn_scene *scene) { return scene ? scene->files[0].text : NULL; }

const char *ctn_scene_warnings(const ctn_scene *scene) { return scene ? scene->warned.message : NULL; }

int ctn_scene_warning_count(const ctn_scene *scene) { return scene ? scene->warned.count : 0; }

ctn_status ctn_scene_warning(const ctn_scene *scene, int i, ctn_finding *finding)
{
    return scene ? ctn_error_finding(&scene->warned, i, finding) : CTN_BAD_ARGUMENT;
}

double ctn_scene_duration(const ctn_scene *scene) { return scene ? scene->duration : NAN; }

ctn_batch_config ctn_scene_config(const ctn_scene *scene) { return scene ? scene->config : (ctn_batch_config){0}; }
