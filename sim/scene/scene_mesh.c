/// `file:` of a shape: meshes, each read once, beside the scene file that names it.
#include "sim/scene/scene_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static scene_mesh *load_mesh(source *s, const node *n, const char *path, mesh_format format)
{
    reader *const r = s->r;
    char *text, reason[128], message[256];
    size_t length;
    mesh_problem problem;
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
    source inner = {.r = r, .file = add_file(r, path, text, length)};
    free(text);
    if (inner.file < 0) return NULL;
    const scene_file *const file = &r->scene->files[inner.file];
    r->scene->files[inner.file].mesh = true, r->bytes += (long)length;
    scene_mesh *const mesh = add_mesh(r, inner.file);
    if (!mesh) return NULL;
    const ctn_status status = mesh_read(&mesh->surface, format, file->text, file->length, &problem);
    if (status == CTN_NO_MEMORY) r->no_memory = true;
    else if (status != CTN_OK) bad_place(&inner, problem.line, problem.column, status, problem.text);
    mesh->good = status == CTN_OK;
    return mesh;
}

bool read_mesh(source *s, const node *n, const scene_mesh **mesh)
{
    const ctn_scene *const scene = s->r->scene;
    const char *name;
    mesh_format format;
    const scene_mesh *found = NULL;
    if (!read_text(s, n, &name)) return false;
    if (!mesh_format_of(name, &format))
        return bad_value(s, n, "expected the name of an .obj or .stl file, found %s; convert others", printable(name).text);
    char *const path = beside(s->r, scene->files[s->file].path, name);
    if (!path) return false;
    for (int i = 0; i < scene->nmesh && !found; i++)
        if (!strcmp(scene->files[scene->meshes[i]->file].path, path)) found = scene->meshes[i];
    if (!found) found = load_mesh(s, n, path, format);
    free(path);
    if (!found || !found->good) return false;  // reported, at the first shape that has it
    *mesh = found;
    return true;
}
