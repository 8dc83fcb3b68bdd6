/// `include:`, `urdf:`, `mjcf:`: links of other files, under other names and at other places.
#include "sim/scene/robot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/// Turns errno into words.
static ctn_status cannot_read(char reason[128])
{
    snprintf(reason, 128, "cannot be read: %s", strerror(errno));
    return CTN_IO;
}

ctn_status read_file(const char *path, bool regular, long most, char **text, size_t *length, char reason[128])
{
    struct stat info;
    if (stat(path, &info)) return cannot_read(reason);
    if (S_ISDIR(info.st_mode) || (regular && !S_ISREG(info.st_mode))) {
        snprintf(reason, 128, "cannot be read: it is %s", S_ISDIR(info.st_mode) ? "a folder" : "no file");
        return CTN_IO;
    }
    FILE *const stream = fopen(path, "rb");
    if (!stream) return cannot_read(reason);
    ctn_status status = CTN_OK;
    char *buffer = 0;
    size_t used = 0, size = 0;
    for (size_t n = 1; n && status == CTN_OK; used += n) {
        if (used == size) {
            size = size ? 2 * size : 64 * 1024;
            char *const larger = realloc(buffer, size + 1);
            if (!larger) {
                status = CTN_NO_MEMORY;
                break;
            }
            buffer = larger;
        }
        n = fread(buffer + used, 1, size - used, stream);
        if (used + n > (size_t)most) {
            snprintf(reason, 128, "is too large; the files of a scene have at most %ld bytes together", SCENE_MAX_BYTES);
            status = CTN_BAD_SCENE;
        } else if (!n && ferror(stream)) {
            status = cannot_read(reason);
        }
    }
    fclose(stream);
    if (status != CTN_OK) {
        free(buffer);
        return status;
    }
    buffer[used] = 0;
    *text = buffer, *length = used;
    return CTN_OK;
}

bool scene_file_stands(const scene_file *file)
{
    char *text, reason[128];
    size_t length;
    if (read_file(file->path, true, SCENE_MAX_BYTES, &text, &length, reason) != CTN_OK) return false;
    const bool same = length == file->length && !memcmp(text, file->text, length);
    free(text);
    return same;
}

enum include_key {
    INCLUDE_FILE,
    INCLUDE_AS,
    INCLUDE_PARENT,
    INCLUDE_POSITION,
    INCLUDE_ROTATION,
    INCLUDE_EULER,
    INCLUDE_BASE,
    INCLUDE_MIMIC,
    INCLUDE_PHASE,
    INCLUDE_KEYS
};

static const key include_keys[INCLUDE_KEYS] = {
    [INCLUDE_FILE] = {.name = "file"},         [INCLUDE_AS] = {.name = "as"},
    [INCLUDE_PARENT] = {.name = "parent"},     [INCLUDE_POSITION] = {.name = "position"},
    [INCLUDE_ROTATION] = {.name = "rotation"}, [INCLUDE_EULER] = {.name = "euler"},
    [INCLUDE_BASE] = {.name = "base"},         [INCLUDE_MIMIC] = {.name = "mimic"},
    [INCLUDE_PHASE] = {.name = "phase"},
};

/// An entry of the list, read.
typedef struct inclusion {
    const node *file;    // its name
    const node *parent;  // NULL: the world
    int link;            // that parent, or -1
    const char *kind;    // "URDF", "MJCF", NULL: of any kind
    const node *base;    // of a robot file, NULL: not given
    const node *mimic;   // likewise
    bool free_base, free_mimics;
    double position[3], rotation[4];
    double phase;  // cycles by which its gaits are ahead
    char prefix[SCENE_MAX_NAME + 2];
} inclusion;

static bool read_entry(source *s, const node *entry, inclusion *in)
{
    *in = (inclusion){.kind = in->kind, .link = -1, .rotation = {1, 0, 0, 0}};
    const node *v[INCLUDE_KEYS] = {entry};
    const char *text;
    if (entry->kind != NODE_SCALAR && !read_keys(s, entry, "an included file", include_keys, INCLUDE_KEYS, v)) return false;
    bool ok = true;
    if (!v[INCLUDE_FILE]) ok = missing_key(s, entry, "file", "missing; the name of the file to include");
    else ok = read_text(s, v[INCLUDE_FILE], &text);
    in->file = v[INCLUDE_FILE];

    const char *as = "";
    if (v[INCLUDE_AS]) ok = read_name(s, v[INCLUDE_AS], &as) && ok;
    const int length = snprintf(in->prefix, sizeof in->prefix, "%s%s%s", s->prefix, as, *as ? "." : "");
    if (length >= (int)sizeof in->prefix)
        ok = bad_value(s, v[INCLUDE_AS] ? v[INCLUDE_AS] : entry, "expected a shorter name: at most %d bytes with those around it",
                       SCENE_MAX_NAME);

    const char *parent;
    if (v[INCLUDE_PARENT]) {
        if (!read_name(s, v[INCLUDE_PARENT], &parent)) {
            ok = false;
        } else if (strcmp(parent, "world")) {
            in->parent = v[INCLUDE_PARENT];
            in->link = find_link(s, parent);
            if (in->link < 0 && s->r->names_known)
                ok = bad_value(s, in->parent, "unknown link %s; a parent is a link of a file included before, or world",
                               found(in->parent).text);
        }
    }
    in->base = v[INCLUDE_BASE];
    if (in->base) ok = read_choice(s, in->base, "fixed", "free", &in->free_base) && ok;
    in->mimic = v[INCLUDE_MIMIC];
    if (in->mimic) ok = read_choice(s, in->mimic, "coupled", "free", &in->free_mimics) && ok;
    if (v[INCLUDE_PHASE]) ok = read_number(s, v[INCLUDE_PHASE], ANY_SIGN, &in->phase) && ok;
    if (v[INCLUDE_POSITION]) ok = read_vector(s, v[INCLUDE_POSITION], 3, ANY_SIGN, in->position) && ok;
    return read_rotation(s, v[INCLUDE_ROTATION], v[INCLUDE_EULER], in->rotation) && ok;
}

char *beside(reader *r, const char *includer, const char *file)
{
    const char *const slash = strrchr(includer, '/');
    const size_t folder = slash && file[0] != '/' ? (size_t)(slash + 1 - includer) : 0, length = strlen(file);
    char *const path = reader_alloc(r, folder + length + 1);
    if (!path) return 0;
    memcpy(path, includer, folder);
    memcpy(path + folder, file, length + 1);
    return path;
}

/// Moves what hangs on the world in the included file to where the entry wants it.
static bool hang(source *s, const inclusion *in, int first)
{
    ctn_scene *const scene = s->r->scene;
    for (int i = first; i < scene->nlink; i++) {
        scene_link *const link = &scene->links[i];
        if (link->parent >= 0) continue;
        const bool is_free = link->joint.type == CTN_FREE;
        if (is_free && in->parent)
            return bad_value(s, in->parent, "link '%s' of the file has a free joint, which hangs on the world only",
                             printable(link->name).text);
        double *const p = is_free ? link->joint.q0 : link->position, *const q = is_free ? link->joint.q0 + 3 : link->rotation;
        rotate(in->rotation, p, p);
        for (int k = 0; k < 3; k++) p[k] += in->position[k];
        quaternion_product(in->rotation, q, q);
        if (is_free) rotate(in->rotation, link->joint.v0, link->joint.v0);
        link->parent = in->link;
    }
    return true;
}

/// Whether the file at `path` is being read already; `inner` receives its identity.
static bool in_cycle(const source *s, const char *path, source *inner)
{
    struct stat info;
    if (stat(path, &info)) return false;
    inner->device = info.st_dev, inner->inode = info.st_ino;
    for (; s; s = s->includer)
        if (s->inode == info.st_ino && s->device == info.st_dev) return true;
    return false;
}

ctn_status next_text(reader *r, const char *path, char **text, size_t *length, char reason[128])
{
    const int next = r->scene->nfile;
    if (!r->from) return read_file(path, true, SCENE_MAX_BYTES - r->bytes, text, length, reason);
    if (next >= r->nfrom || strcmp(r->from[next].path, path)) {
        snprintf(reason, 128, "is not among the files that the scene was read from");
        return CTN_IO;
    }
    *length = r->from[next].length;
    *text = reader_copy(r, r->from[next].text, *length);
    return *text ? CTN_OK : CTN_NO_MEMORY;
}

/// What `urdf`, `mjcf` and `base` ask of a file.
static bool robot_as_asked(source *s, const inclusion *in, const char *text, size_t length)
{
    const bool robot = is_robot_text(text, length);
    if (in->base && !robot) return bad_key(s, in->base, "belongs to robot files; a scene's links have joints of their own");
    if (in->mimic && !robot) return bad_key(s, in->mimic, "belongs to robot files, whose joints may follow others");
    return robot || !in->kind || bad_value(s, in->file, "is no %s file: these are XML; `include` takes scenes", in->kind);
}

static bool read_included(source *s, const inclusion *in, char *path)
{
    reader *const r = s->r;
    char *text, reason[128], message[256];
    size_t length;
    int depth = 0;
    source inner = {.r = r,
                    .includer = s,
                    .prefix = in->prefix,
                    .first_link = r->scene->nlink,
                    .free_base = in->free_base,
                    .free_mimics = in->free_mimics,
                    .phase = s->phase + in->phase};
    for (const source *outer = s; outer; outer = outer->includer) depth++;
    if (!r->from && in_cycle(s, path, &inner))
        return bad_value(s, in->file, "a cycle: '%s' is being read already", printable(path).text);
    if (depth > SCENE_MAX_INCLUDE_DEPTH)
        return bad_value(s, in->file, "too deep; at most %d files include each other", SCENE_MAX_INCLUDE_DEPTH);
    if (r->scene->nfile == SCENE_MAX_FILES)
        return bad_value(s, in->file, "too many files; a scene has at most %d", SCENE_MAX_FILES);
    const ctn_status status = next_text(r, path, &text, &length, reason);
    if (status == CTN_NO_MEMORY) return out_of_memory(s);
    if (status != CTN_OK) {
        snprintf(message, sizeof message, "'%s' %s", printable(path).text, reason);
        return bad_status(s, in->file, status, message);
    }
    bool ok = robot_as_asked(s, in, text, length);
    inner.file = ok ? add_file(r, path, text, length) : -1;
    ok = inner.file >= 0 && read_source(&inner, text, length);
    free(text);
    if (!inner.layout_known) s->layout_known = false;
    if (ok) ok = hang(s, in, inner.first_link);
    return ok;
}

bool read_include(source *s, const node *n, const char *kind)
{
    const bool one = kind && n->kind != NODE_SEQUENCE;
    if (!one && n->kind != NODE_SEQUENCE) {
        links_unknown(s);
        return bad_value(s, n, "expected a list of files, found %s", found(n).text);
    }
    bool ok = true;
    for (const node *entry = one ? n : n->child; entry && !hopeless(s); entry = one ? NULL : entry->next) {
        inclusion in = {.kind = kind};
        char *path = 0;
        const bool good = read_entry(s, entry, &in) && (path = beside(s->r, s->r->scene->files[s->file].path, in.file->text)) &&
                          read_included(s, &in, path);
        free(path);
        if (!good) links_unknown(s);
        ok = ok && good;
    }
    return ok;
}
