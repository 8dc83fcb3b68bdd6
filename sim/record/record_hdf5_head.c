/// What an HDF5 recording says before its records: attributes of the run, the scene's text, tables of the model.
#include "sim/record/record_hdf5.h"

#include "sim/scene/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Of datasets: of fixed length.
static hid_t text_type(size_t length)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, length ? length : 1);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

static bool put_attribute(hid_t at, const char *name, hid_t file_type, hid_t type, hsize_t count, const void *value)
{
    const hid_t space = count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, NULL);
    const hid_t id = H5Acreate2(at, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
    const bool ok = id >= 0 && H5Awrite(id, type, value) >= 0;
    if (id >= 0) H5Aclose(id);
    H5Sclose(space);
    return ok;
}

/// Of variable length: Python has these as str, those of fixed length as bytes. They are written before SWMR starts, which has no
/// such texts.
bool put_text_attribute(hid_t at, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    const bool ok = put_attribute(at, name, type, type, 1, &text);
    H5Tclose(type);
    return ok;
}

hid_t put_dataset(hid_t at, const char *name, hid_t file_type, hid_t type, int rank, const hsize_t *dims, const void *data)
{
    const hid_t space = rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR);
    hid_t id = H5Dcreate2(at, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (id >= 0 && H5Dwrite(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
        H5Dclose(id);
        id = -1;
    }
    H5Sclose(space);
    return id;
}

static bool done_with(hid_t dataset) { return dataset >= 0 && H5Dclose(dataset) >= 0; }

static bool put_notes(hid_t file, const record_head *head)
{
    bool ok = true;
    for (int i = 0; i < head->nnote && ok; i++) {
        const record_note *const n = &head->notes[i];
        const long long whole = (long long)n->numbers[0];
        if (n->text) ok = put_text_attribute(file, n->name, n->text);
        else if (n->whole) ok = put_attribute(file, n->name, H5T_STD_I64LE, H5T_NATIVE_LLONG, 1, &whole);
        else ok = put_attribute(file, n->name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, (hsize_t)n->count, n->numbers);
    }
    return ok;
}

/// scene/0: the scene's text, scene/1 ...: those of the files that it includes, and the bytes of its meshes.
static bool put_scene(hid_t file, const ctn_scene *scene)
{
    const hid_t group = H5Gcreate2(file, "scene", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = group >= 0;
    for (int i = 0; i < scene->nfile && ok; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        const scene_file *const f = &scene->files[i];
        const hid_t type = f->mesh ? H5Tcopy(H5T_STD_U8LE) : text_type(f->length);
        const hid_t id = put_dataset(group, name, type, type, f->mesh, &(hsize_t){f->length}, f->text);
        char hash[CONTENT_HASH];
        content_hash(f->text, f->length, hash);
        ok = id >= 0 && put_text_attribute(id, "path", f->path) && put_text_attribute(id, "hash", hash);
        if (id >= 0) H5Dclose(id);
        H5Tclose(type);
    }
    if (group >= 0) H5Gclose(group);
    return ok;
}

/// Texts [count][width].
typedef struct texts {
    char *data;
    size_t width;
    hsize_t count;
} texts;

static bool put_texts(hid_t group, const char *name, texts t)
{
    const hid_t type = text_type(t.width);
    const bool ok = done_with(put_dataset(group, name, type, type, 1, &t.count, t.data));
    H5Tclose(type);
    return ok;
}

/// model/*: tables by link, and the names and units of the entries of q and v.
static bool put_model(hid_t file, const record_head *head)
{
    const hsize_t n = (hsize_t)head->nlink, nq = (hsize_t)head->nq, nv = (hsize_t)head->nv, most = n > nq ? n : nq;
    enum { INTS = 5, REALS = 10, UNIT = 8, TYPE = 16 };
    size_t width = 1;
    for (int l = 0; l < head->nlink; l++) {
        const size_t length = strlen(ctn_model_link(head->model, l)->name);
        width = length > width ? length : width;
    }
    const size_t wide = width + 16;  // "q.NAME.angle"
    const hid_t group = H5Gcreate2(file, "model", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    char *const names = calloc(most + 1, wide), *const q = calloc(nq + 1, wide), *const v = calloc(nv + 1, wide),
                *const types = calloc(n + 1, TYPE), *const q_units = calloc(nq + 1, UNIT), *const v_units = calloc(nv + 1, UNIT);
    int *const ints = calloc(INTS * n + 1, sizeof *ints);
    double *const reals = calloc(REALS * n + 1, sizeof *reals);
    bool ok = group >= 0 && names && q && v && types && q_units && v_units && ints && reals;
    int *const parent = ints, *const slice_q = ints + n, *const slice_v = ints + 3 * n;
    double *const mass = reals, *const com = reals + n, *const inertia = reals + 4 * n;
    for (int l = 0; l < head->nlink && ok; l++) {
        const ctn_link *const k = ctn_model_link(head->model, l);
        memcpy(names + (size_t)l * width, k->name, strlen(k->name));
        snprintf(types + (size_t)l * TYPE, TYPE, "%s", joint_name(k->joint));
        parent[l] = k->parent, mass[l] = k->mass;
        slice_q[2 * l] = k->qadr, slice_q[2 * l + 1] = k->nq, slice_v[2 * l] = k->vadr, slice_v[2 * l + 1] = k->nv;
        memcpy(com + 3 * l, k->com, sizeof k->com), memcpy(inertia + 6 * l, k->inertia, sizeof k->inertia);
        for (int i = 0; i < k->nq; i++) {
            coordinate_name(k, i, q + (size_t)(k->qadr + i) * wide, wide);
            snprintf(q_units + (size_t)(k->qadr + i) * UNIT, UNIT, "%s", coordinate_unit(k, i));
        }
        for (int i = 0; i < k->nv; i++) {
            velocity_name(k, i, v + (size_t)(k->vadr + i) * wide, wide);
            snprintf(v_units + (size_t)(k->vadr + i) * UNIT, UNIT, "%s", velocity_unit(k, i));
        }
    }
    const hsize_t pair[2] = {n, 2}, three[2] = {n, 3}, six[2] = {n, 6};
    const hid_t ft = H5T_STD_I32LE, it = H5T_NATIVE_INT, rt = H5T_IEEE_F64LE, dt = H5T_NATIVE_DOUBLE;
    ok = ok && put_texts(group, "link_name", (texts){names, width, n}) &&
         put_texts(group, "link_joint", (texts){types, TYPE, n}) &&
         done_with(put_dataset(group, "link_parent", ft, it, 1, &n, parent)) &&
         done_with(put_dataset(group, "link_q", ft, it, 2, pair, slice_q)) &&
         done_with(put_dataset(group, "link_v", ft, it, 2, pair, slice_v)) &&
         done_with(put_dataset(group, "link_mass", rt, dt, 1, &n, mass)) &&
         done_with(put_dataset(group, "link_com", rt, dt, 2, three, com)) &&
         done_with(put_dataset(group, "link_inertia", rt, dt, 2, six, inertia)) &&
         put_texts(group, "q_name", (texts){q, wide, nq}) && put_texts(group, "q_unit", (texts){q_units, UNIT, nq}) &&
         put_texts(group, "v_name", (texts){v, wide, nv}) && put_texts(group, "v_unit", (texts){v_units, UNIT, nv});
    free(names), free(q), free(v), free(types), free(q_units), free(v_units), free(ints), free(reals);
    if (group >= 0) H5Gclose(group);
    return ok;
}

/// model/sensors_*: names and units of the numbers of sensors; nothing for models without.
static bool put_sensors(hid_t file, const record_head *head)
{
    enum { UNIT = 10 };
    const hsize_t n = (hsize_t)head->sensors;
    size_t width = 1;
    for (int i = 0; i < ctn_model_nsensor(head->model); i++) {
        const size_t length = strlen(ctn_model_sensor(head->model, i)->name) + 16;  // "sensor.NAME.angle"
        width = length > width ? length : width;
    }
    if (!n) return true;
    const hid_t group = H5Gopen2(file, "model", H5P_DEFAULT);
    char *const names = calloc(n + 1, width), *const units = calloc(n + 1, UNIT);
    for (int i = 0; i < ctn_model_nsensor(head->model) && names && units; i++) {
        const ctn_sensor *const s = ctn_model_sensor(head->model, i);
        for (int k = 0; k < s->count; k++) {
            sensor_name(head->model, s, k, names + (size_t)(s->first + k) * width, width);
            snprintf(units + (size_t)(s->first + k) * UNIT, UNIT, "%s", sensor_unit(head->model, s, k));
        }
    }
    const bool ok = group >= 0 && names && units && put_texts(group, "sensors_name", (texts){names, width, n}) &&
                    put_texts(group, "sensors_unit", (texts){units, UNIT, n});
    free(names), free(units);
    if (group >= 0) H5Gclose(group);
    return ok;
}

/// model/surface_name: what they may touch, by number.
static bool put_surfaces(hid_t group, const ctn_model *m)
{
    size_t n = 1, width = sizeof "terrain";
    for (const char *name; (name = ctn_model_surface(m, (int)n)); n++) width = strlen(name) >= width ? strlen(name) + 1 : width;
    char *const names = calloc(n, width);
    for (size_t k = 0; k < n && names; k++) {
        const char *const name = ctn_model_surface(m, (int)k);
        snprintf(names + k * width, width, "%s", name ? name : "");
    }
    const bool ok = names && put_texts(group, "surface_name", (texts){names, width, n});
    free(names);
    return ok;
}

/// model/contact_*: the contact points; nothing for models without.
static bool put_contacts(hid_t file, const record_head *head)
{
    const hsize_t n = (hsize_t)head->contacts, three[2] = {n, 3};
    if (!n) return true;
    const hid_t group = H5Gopen2(file, "model", H5P_DEFAULT), rt = H5T_IEEE_F64LE, dt = H5T_NATIVE_DOUBLE;
    int *const link = calloc(n, sizeof *link), *const surface = calloc(n, sizeof *surface);
    double *const point = calloc(n, 3 * sizeof *point), *const radius = calloc(n, sizeof *radius);
    bool ok = group >= 0 && link && surface && point && radius;
    for (int k = 0; k < head->contacts && ok; k++) {
        ctn_contact_point p;
        ok = ctn_model_contact(head->model, k, &p);
        link[k] = p.link, surface[k] = p.surface, radius[k] = p.radius, memcpy(point + 3 * k, p.point, sizeof p.point);
    }
    ok = ok && done_with(put_dataset(group, "contact_link", H5T_STD_I32LE, H5T_NATIVE_INT, 1, &n, link)) &&
         done_with(put_dataset(group, "contact_surface", H5T_STD_I32LE, H5T_NATIVE_INT, 1, &n, surface)) &&
         done_with(put_dataset(group, "contact_point", rt, dt, 2, three, point)) &&
         done_with(put_dataset(group, "contact_radius", rt, dt, 1, &n, radius)) && put_surfaces(group, head->model);
    free(link), free(surface), free(point), free(radius);
    if (group >= 0) H5Gclose(group);
    return ok;
}

/// start/*: the state, the parameters as pairs of kind and index with their values, and the forces.
static bool put_start(hid_t file, const record_start *s, hsize_t nv)
{
    const hsize_t size = s->size, n = (hsize_t)s->parameter_count, pairs[2] = {n, 2}, forces[2] = {(hsize_t)s->steps, nv};
    int *const ids = calloc(2 * n + 1, sizeof *ids);
    const hid_t group = H5Gcreate2(file, "start", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), ft = H5T_STD_I32LE, it = H5T_NATIVE_INT,
                rt = H5T_IEEE_F64LE, dt = H5T_NATIVE_DOUBLE;
    bool ok = ids && group >= 0;
    for (hsize_t k = 0; k < n && ok; k++) ids[2 * k] = (int)s->parameters[k].kind, ids[2 * k + 1] = s->parameters[k].index;
    ok = ok && done_with(put_dataset(group, "state", H5T_STD_U8LE, H5T_NATIVE_UCHAR, 1, &size, s->state));
    if (n)
        ok = ok && done_with(put_dataset(group, "parameters", ft, it, 2, pairs, ids)) &&
             done_with(put_dataset(group, "values", rt, dt, 1, &n, s->values));
    if (s->tau) ok = ok && done_with(put_dataset(group, "tau", rt, dt, 2, forces, s->tau));
    if (group >= 0) H5Gclose(group);
    free(ids);
    return ok;
}

bool put_head(hid_t file, const record_head *head)
{
    return put_notes(file, head) && put_scene(file, head->scene) && put_model(file, head) && put_sensors(file, head) &&
           put_contacts(file, head) && (!head->start || put_start(file, head->start, (hsize_t)head->nv));
}

size_t head_size(const record_head *head)
{
    size_t size = 1 << 20;  // attributes, object headers, empty datasets
    const record_start *const start = head->start;
    if (start)
        size += start->size + ((size_t)start->steps * (size_t)head->nv + 2 * (size_t)start->parameter_count) * sizeof(double);
    for (int i = 0; i < head->scene->nfile; i++) size += head->scene->files[i].length + strlen(head->scene->files[i].path);
    const size_t entries = (size_t)head->nlink + (size_t)head->nq + (size_t)head->nv + (size_t)head->sensors;
    size_t longest = 0;
    for (int l = 0; l < head->nlink; l++) {
        const size_t length = strlen(ctn_model_link(head->model, l)->name);
        longest = length > longest ? length : longest;
    }
    for (int i = 0; i < ctn_model_nsensor(head->model); i++) {
        const size_t length = strlen(ctn_model_sensor(head->model, i)->name);
        longest = length > longest ? length : longest;
    }
    return size + entries * (longest + 160);
}
