/// `obstacles:` and `terrain:`, what is fixed in the world for links to touch besides the ground.
#include "sim/scene/scene_reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OBSTACLES = 4096 };

/// The name that a file gives an obstacle, or one of its place in the list.
static bool name_obstacle(source *s, const node *n, const scene_contact *of, scene_obstacle *to)
{
    char own[32];
    const char *name = own;
    snprintf(own, sizeof own, "obstacle.%d", of->nobstacle);
    if (n && !read_name(s, n, &name)) return false;
    for (int i = 0; i < of->nobstacle; i++)
        if (n && !strcmp(of->obstacles[i].name, name)) return bad_value(s, n, "obstacle %d is already called '%s'", i, name);
    to->name = reader_copy(s->r, name, strlen(name));
    return to->name || out_of_memory(s);
}

bool read_obstacles(source *s, const node *n, scene_contact *to)
{
    bool ok = true;
    if (n->kind != NODE_SEQUENCE) return bad_value(s, n, "expected a list of obstacles, found %s", found(n).text);
    if (n->size > MOST_OBSTACLES)
        return bad_value(s, n, "expected at most %d obstacles, found %d", (int)MOST_OBSTACLES, (int)n->size);
    to->obstacles = reader_alloc(s->r, (size_t)n->size * sizeof *to->obstacles + 1);
    if (!to->obstacles) return out_of_memory(s);
    for (const node *entry = n->child; entry && !hopeless(s); entry = entry->next) {
        scene_obstacle *const o = &to->obstacles[to->nobstacle];
        const node *name = NULL;
        bool left_out = false;
        *o = (scene_obstacle){0};
        const bool read = read_fixed_shape(s, entry, o, &left_out, &name) && (left_out || name_obstacle(s, name, to, o));
        if (!read || left_out) free(o->hull.numbers);
        to->nobstacle += read && !left_out, ok = ok && read;
    }
    return ok && !hopeless(s);
}

bool read_terrain(source *s, const node *n, scene_terrain *to)
{
    enum { KEY_FILE, HEIGHTS, SIZE, HEIGHT, RANGE, POSITION, ROTATION, EULER, FRICTION, LAYERS, COLOR, DRAW, KEYS };
    static const key keys[KEYS] = {
        [KEY_FILE] = {.name = "file"},     [HEIGHTS] = {.name = "heights"}, [SIZE] = {.name = "size"},
        [HEIGHT] = {.name = "height"},     [RANGE] = {.name = "range"},     [POSITION] = {.name = "position"},
        [ROTATION] = {.name = "rotation"}, [EULER] = {.name = "euler"},     [FRICTION] = {.name = "friction"},
        [LAYERS] = {.name = "layers"},     [COLOR] = {.name = "color"},     [DRAW] = {.name = "draw"}};
    const node *v[KEYS];
    *to = (scene_terrain){.rotation = {1, 0, 0, 0}, .friction = NAN, .layers = USUAL_LAYERS, .color = {0.55, 0.6, 0.5}};
    if (!read_keys(s, n, "a terrain", keys, KEYS, v)) return false;
    double height[2] = {0, 1}, range[2] = {0, 1};
    bool ok = true, draw = true;
    if (!v[KEY_FILE] && !v[HEIGHTS])
        ok = missing_key(s, n, "file", "missing; a terrain has a table or an image of its heights, or `heights`");
    if (v[KEY_FILE] && v[HEIGHTS]) ok = bad_key(s, v[HEIGHTS], "a `file` has them already; leave one of both out");
    if (v[RANGE] && v[HEIGHT]) ok = bad_key(s, v[RANGE], "`height` says how high black and white are; leave one of both out");
    if (!v[SIZE]) ok = missing_key(s, n, "size", "missing; a terrain has lengths along x and y, m");
    else ok = read_vector(s, v[SIZE], 2, POSITIVE, to->size) && ok;
    if (v[HEIGHT]) ok = read_vector(s, v[HEIGHT], 2, ANY_SIGN, height) && ok;
    if (v[RANGE]) ok = read_vector(s, v[RANGE], 2, ANY_SIGN, range) && ok;
    if (v[POSITION]) ok = read_vector(s, v[POSITION], 3, ANY_SIGN, to->position) && ok;
    ok = read_rotation(s, v[ROTATION], v[EULER], to->rotation) && ok;
    if (v[FRICTION]) ok = read_number(s, v[FRICTION], NOT_NEGATIVE, &to->friction) && ok;
    if (v[LAYERS]) ok = read_layers(s, v[LAYERS], &to->layers) && ok;
    if (v[COLOR]) ok = read_color(s, v[COLOR], to->color) && ok;
    if (v[DRAW]) ok = read_flag(s, v[DRAW], &draw) && ok;
    to->hidden = !draw;
    const height_nodes of = {v[KEY_FILE], v[HEIGHTS], v[HEIGHT] ? height : NULL, v[RANGE] ? range : NULL};
    return (!v[KEY_FILE] == !v[HEIGHTS] || read_heights(s, &of, to)) && ok;
}

void free_contact(scene_contact *contact)
{
    for (int i = 0; i < contact->nobstacle; i++) free(contact->obstacles[i].name), free(contact->obstacles[i].hull.numbers);
    free(contact->obstacles), free(contact->terrain.heights);
    contact->obstacles = NULL, contact->nobstacle = 0, contact->terrain = (scene_terrain){0};
}
