/// `file:` of a shape: meshes, each read once, beside the scene file that names it.
#include "sim/scene/scene_reader.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- names of files in packages, as ROS has them: package://NAME/REST

enum { FOLDERS_ABOVE = 16 };

/// A package's file that is looked for.
typedef struct packaged {
    const char *name, *rest;
    int length;  // of the name
    char path[PATH_MAX];
} packaged;

static bool exists(packaged *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool exists(packaged *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(p->path, sizeof p->path, format, args);
    va_end(args);
    return length > 0 && length < PATH_MAX && !access(p->path, R_OK);
}

/// In a folder of packages, or in the package's own.
static bool stands_in(packaged *p, const char *folder)
{
    char whole[PATH_MAX];
    if (exists(p, "%s/%.*s/%s", folder, p->length, p->name, p->rest)) return true;
    if (!realpath(folder, whole)) return false;
    const char *const base = strrchr(whole, '/') + 1;
    return strlen(base) == (size_t)p->length && !strncmp(base, p->name, (size_t)p->length) && exists(p, "%s/%s", folder, p->rest);
}

/// In one of the folders of a variable of the environment, which have colons between them; `below` goes behind each.
static bool stands_in_any(packaged *p, const char *variable, const char *below)
{
    const char *list = getenv(variable);
    while (list && *list) {
        char folder[PATH_MAX];
        const size_t length = strcspn(list, ":");
        const bool fits = snprintf(folder, sizeof folder, "%.*s%s", (int)length, list, below) < PATH_MAX;
        if (length && fits && stands_in(p, folder)) return true;
        list += length + (list[length] == ':');
    }
    return false;
}

/// The path of package://NAME/REST: in the folders above the file that says it, then where ROS looks. NULL: reported, if there is
/// a node to report it at.
static char *find_packaged(source *s, const node *n, const char *name)
{
    reader *const r = s->r;
    packaged p = {.name = name, .length = (int)strcspn(name, "/")};
    p.rest = name + p.length + (name[p.length] == '/');
    if (r->from) {  // in what the files said once, they stand in the order in which they are named
        const size_t rest = strlen(p.rest);
        for (int i = 0; i <= r->scene->nmesh; i++) {
            const int file = i < r->scene->nmesh ? r->scene->meshes[i]->file : r->scene->nfile;
            const char *const path = file < r->nfrom ? r->from[file].path : "";
            const size_t length = strlen(path);
            if (length > rest && path[length - rest - 1] == '/' && !strcmp(path + length - rest, p.rest))
                return reader_copy(r, path, length);
        }
    } else {
        const char *const file = r->scene->files[s->file].path, *const slash = strrchr(file, '/');
        char folder[PATH_MAX];
        int length =
            snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - file) + (slash == file) : 1, slash ? file : ".");
        for (int k = 0; k < FOLDERS_ABOVE && length < PATH_MAX - 4; k++) {
            if (stands_in(&p, folder)) return reader_copy(r, p.path, strlen(p.path));
            length += snprintf(folder + length, sizeof folder - (size_t)length, "/..");
        }
        if (stands_in_any(&p, "ROS_PACKAGE_PATH", "") || stands_in_any(&p, "AMENT_PREFIX_PATH", "/share"))
            return reader_copy(r, p.path, strlen(p.path));
    }
    if (n)
        bad_value(s, n,
                  "%s of package '%.*s' is not in the folders above this file; name the folder of packages in ROS_PACKAGE_PATH",
                  printable(p.rest).text, p.length < 40 ? p.length : 40, p.name);
    return NULL;
}

char *mesh_path(source *s, const node *n, const char *name)
{
    if (!strncmp(name, "package://", 10)) return find_packaged(s, n, name + 10);
    if (!strncmp(name, "model://", 8)) return find_packaged(s, n, name + 8);
    if (!strncmp(name, "file://", 7)) name += 7;
    return beside(s->r, s->r->scene->files[s->file].path, name);
}

// ---- meshes

/// Room for one more mesh of the scene, which is not read yet.
static scene_mesh *add_mesh(reader *r, int file)
{
    ctn_scene *const scene = r->scene;
    scene_mesh **const meshes = realloc(scene->meshes, ((size_t)scene->nmesh + 1) * sizeof *meshes);
    if (meshes) scene->meshes = meshes;
    scene_mesh *const mesh = meshes ? calloc(1, sizeof *mesh) : NULL;
    if (!mesh) {
        r->no_memory = true;
        return NULL;
    }
    mesh->file = file;
    return meshes[scene->nmesh++] = mesh;
}

/// Puts what a COLLADA file becomes in the place of its text, nothing where it is no good: so the scene's files are the same where
/// they are read again, and what is left out is left out there, too.
static ctn_status convert_collada(reader *r, char **text, size_t *length, mesh_problem *problem)
{
    char *converted;
    size_t size;
    const ctn_status status = mesh_from_collada(*text, *length, SCENE_MAX_BYTES - r->bytes, &converted, &size, problem);
    if (status == CTN_OK) {
        free(*text);
        *text = converted, *length = size;
    } else **text = 0, *length = 0;
    return status;
}

static scene_mesh *load_mesh(source *s, const node *n, const char *path, mesh_format format)
{
    reader *const r = s->r;
    char *text, reason[128], message[256];
    size_t length;
    mesh_problem problem = {.line = 1, .column = 1};
    if (r->scene->nfile == SCENE_MAX_FILES) {
        bad_value(s, n, "too many files; a scene has at most %d", SCENE_MAX_FILES);
        return NULL;
    }
    const ctn_status found = next_text(r, path, &text, &length, reason);
    if (found != CTN_OK) {
        snprintf(message, sizeof message, "'%s' %s", printable(path).text, reason);
        found == CTN_NO_MEMORY ? out_of_memory(s) : bad_status(s, n, found, message);
        return NULL;
    }
    const bool convert = format == MESH_DAE && !r->from;  // what files said once has been converted
    const ctn_status read = convert ? convert_collada(r, &text, &length, &problem) : CTN_OK;
    const int at = read == CTN_NO_MEMORY ? -1 : add_file(r, path, text, length);
    if (read == CTN_NO_MEMORY) r->no_memory = true;
    free(text);
    if (at < 0) return NULL;
    scene_file *const file = &r->scene->files[at];
    file->mesh = true, r->bytes += (long)length;
    scene_mesh *const mesh = add_mesh(r, at);
    if (!mesh) return NULL;
    mesh->status = read == CTN_OK ? mesh_read(&mesh->surface, format, file->text, file->length, &problem) : read;
    mesh->good = mesh->status == CTN_OK, mesh->problem = problem;
    return mesh;
}

/// Says what is wrong with a mesh, for each shape that has it: it may have been left out of one, with a warning, that did not need
/// it. The same error twice is told once.
static bool bad_mesh(source *s, const scene_mesh *mesh)
{
    source of = {.r = s->r, .file = mesh->file, .lenient = s->lenient};
    if (mesh->status == CTN_NO_MEMORY) return out_of_memory(s);
    return bad_place(&of, mesh->problem.line, mesh->problem.column, mesh->status, mesh->problem.text);
}

/// Whether the files that a scene was read from have one of this path, or below some folder.
static bool was_read(const reader *r, const char *path)
{
    const size_t length = strlen(path);
    for (int i = 0; i < r->nfrom; i++) {
        const size_t whole = strlen(r->from[i].path);
        const char *const end = r->from[i].path + whole - length;
        if (whole >= length && !strcmp(end, path) && (whole == length || end[-1] == '/')) return true;
    }
    return false;
}

bool mesh_readable(source *s, const char *name)
{
    reader *const r = s->r;
    mesh_format format;
    if (!mesh_format_of(name, &format) || format != MESH_DAE) return mesh_format_of(name, &format);
    const char *const package = strstr(name, "://"), *const rest = package ? strchr(package + 3, '/') : NULL;
    if (r->from && rest && strncmp(name, "file://", 7) != 0) return was_read(r, rest + 1);
    if (!r->from && !mesh_reads_collada()) return false;
    char *const path = mesh_path(s, NULL, name);
    const bool good = path && (r->from ? was_read(r, path) : !access(path, R_OK));
    free(path);
    return good;
}

bool read_mesh(source *s, const node *n, const scene_mesh **mesh)
{
    const ctn_scene *const scene = s->r->scene;
    const char *name;
    mesh_format format;
    const scene_mesh *found = NULL;
    if (!read_text(s, n, &name)) return false;
    if (!mesh_format_of(name, &format))
        return bad_value(s, n, "expected the name of an .obj, .stl, .msh or .dae file, found %s; convert others",
                         printable(name).text);
    if (format == MESH_DAE && !s->r->from && !mesh_reads_collada())
        return bad_value(s, n,
                         "%s is COLLADA, and this catena was built without assimp, which reads that; build it with assimp "
                         "(Debian: libassimp-dev), or convert the file to .obj",
                         printable(name).text);
    char *const path = mesh_path(s, n, name);
    if (!path) return false;
    for (int i = 0; i < scene->nmesh && !found; i++)
        if (!scene->meshes[i]->mirrored && !strcmp(scene->files[scene->meshes[i]->file].path, path)) found = scene->meshes[i];
    if (!found) found = load_mesh(s, n, path, format);
    free(path);
    if (!found) return false;
    if (!found->good) return bad_mesh(s, found);
    *mesh = found;
    return true;
}

const scene_mesh *mirrored_mesh(reader *r, const scene_mesh *mesh, int along)
{
    const ctn_scene *const scene = r->scene;
    for (int i = 0; i < scene->nmesh; i++)
        if (scene->meshes[i]->file == mesh->file && scene->meshes[i]->mirrored == along) return scene->meshes[i];
    scene_mesh *const other = add_mesh(r, mesh->file);
    if (!other) return NULL;
    const mesh_surface *const from = &mesh->surface;
    mesh_surface *const to = &other->surface;
    *to = *from, other->good = true, other->mirrored = along;
    to->vertices = reader_alloc(r, (size_t)from->nvertex * sizeof *to->vertices);
    to->triangles = reader_alloc(r, (size_t)from->ntriangle * sizeof *to->triangles);
    if (!to->vertices || !to->triangles) {
        mesh_clear(to);
        return NULL;
    }
    double sign[3];
    for (int k = 0; k < 3; k++) sign[k] = along >> k & 1 ? -1 : 1;
    const bool inside_out = sign[0] * sign[1] * sign[2] < 0;
    for (int i = 0; i < from->nvertex; i++)
        for (int k = 0; k < 3; k++) to->vertices[i][k] = sign[k] * from->vertices[i][k];
    for (int i = 0; i < from->ntriangle; i++)
        for (int k = 0; k < 3; k++) to->triangles[i][k] = from->triangles[i][inside_out && k ? 3 - k : k];
    for (int k = 0; k < 3; k++) to->center[k] *= sign[k];
    to->second[3] *= sign[0] * sign[1], to->second[4] *= sign[0] * sign[2], to->second[5] *= sign[1] * sign[2];
    return other;
}
