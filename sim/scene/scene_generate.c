/// Generators: a chain, each link hung on the one before it; a balanced tree, in preorder.
#include "sim/scene/scene_reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// `axes:`, a list of directions.
typedef struct axis_list {
    double (*axes)[3];
    int count;
} axis_list;

static bool read_axes(source *s, const link_plan *plan, axis_list *list)
{
    const node *const n = plan->own[LINK_KEY_AXES];
    const scene_joint *const joint = &plan->link.joint;
    *list = (axis_list){0};
    if (!n || !plan->joint_known) return true;
    if (!joint_has_axis(joint->type)) return bad_key(s, n, "a %s joint has no axis", joint_name(joint->type));
    if (n->kind != NODE_SEQUENCE || n->size == 0)
        return bad_value(s, n, "expected a list of axes [[x, y, z], ...], found %s", found(n).text);
    list->axes = reader_alloc(s->r, (size_t)n->size * sizeof *list->axes);
    if (!list->axes) return false;
    bool ok = true;
    for (const node *entry = n->child; entry && !hopeless(s); entry = entry->next) {
        double *const axis = list->axes[list->count++];
        const bool good = read_direction(s, entry, axis);
        ok = good && (joint->type != CTN_UNIVERSAL || check_axes(s, entry, axis, joint->axis2)) && ok;
    }
    return ok;
}

/// Adds the next link of a plan.
static bool add_next(source *s, link_plan *plan, const axis_list *list, const char *name)
{
    if (list->count) memcpy(plan->link.joint.axis, list->axes[plan->count % list->count], sizeof plan->link.joint.axis);
    return add_link(s, plan, name);
}

/// All links but the first hang on links of the generator.
static bool no_free_joints(source *s, const link_plan *plan)
{
    const node *const type = plan->own_joint[JOINT_KEY_TYPE];
    return plan->link.joint.type != CTN_FREE ||
           bad_value(s, type ? type : plan->mapping, "a free joint hangs on the world only, and these links hang on each other");
}

static bool too_many_links(source *s, const node *n)
{
    return bad_value(s, n, "too many links; a scene has at most %d", SCENE_MAX_LINKS);
}

// ---- chain

static bool expand_chain(source *s, link_plan *plan, const axis_list *list, int count, const double step[3])
{
    char name[SCENE_MAX_NAME + 16];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s.%d", plan->link.name, i);
        if (!add_next(s, plan, list, name)) return false;
        plan->link.parent = s->r->scene->nlink - 1;
        memcpy(plan->link.position, step, sizeof plan->link.position);
        memcpy(plan->link.rotation, (double[4]){1, 0, 0, 0}, sizeof plan->link.rotation);
    }
    return true;
}

static bool read_chain(source *s, link_plan *plan)
{
    const node *const n = plan->own[LINK_KEY_COUNT], *const step_node = plan->own[LINK_KEY_STEP];
    int count = 0;
    double step[3] = {0};
    axis_list list = {0};
    bool ok = plan->link.name;
    if (!n) ok = missing_key(s, plan->mapping, "count", "missing; a chain has a count of links");
    else if (!read_whole(s, n, 1, SCENE_MAX_LINKS, &count)) ok = false;
    else if (s->r->scene->nlink + count > SCENE_MAX_LINKS) ok = too_many_links(s, n);
    if (step_node) ok = read_vector(s, step_node, 3, ANY_SIGN, step) && ok;
    else if (count > 1)
        ok = missing_key(s, plan->mapping, "step", "missing; where each further link is in the one before it (m)");
    if (count > 1) ok = no_free_joints(s, plan) && ok;
    ok = read_axes(s, plan, &list) && ok;
    if (ok) ok = expand_chain(s, plan, &list, count, step);
    free(list.axes);
    return ok;
}

// ---- tree

enum { MAX_DEPTH = SCENE_MAX_NAME / 2 + 1 };  // every level adds two bytes or more to the names

typedef struct tree_shape {
    int depth, branching;
    double (*positions)[3], (*rotations)[4];  // [branching], of a child in its parent
} tree_shape;

/// Cosine and sine of numerator/denominator < 1 of a turn, exact at quarter turns.
static void part_of_turn(int numerator, int denominator, double *c, double *s)
{
    static const double quarter_cosine[4] = {1, 0, -1, 0};
    if (4LL * numerator % denominator == 0) {
        const int k = (int)(4LL * numerator / denominator);
        *c = quarter_cosine[k], *s = quarter_cosine[(k + 3) % 4];
        return;
    }
    const double angle = 2 * M_PI * numerator / denominator;
    *c = cos(angle), *s = sin(angle);
}

/// Children around the parent's z: child k is placed and turned by k/branching of a turn.
static void place_around(tree_shape *tree, const double step[3])
{
    for (int k = 0; k < tree->branching; k++) {
        double c, s;
        part_of_turn(k, tree->branching, &c, &s);
        double *const p = tree->positions[k], *const q = tree->rotations[k];
        p[0] = c * step[0] - s * step[1], p[1] = s * step[0] + c * step[1], p[2] = step[2];
        part_of_turn(k, 2 * tree->branching, &q[0], &q[3]);
        q[1] = q[2] = 0;
    }
}

static bool read_steps(source *s, const link_plan *plan, tree_shape *tree)
{
    const node *const step_node = plan->own[LINK_KEY_STEP], *const steps = plan->own[LINK_KEY_STEPS];
    if (step_node && steps) return bad_key(s, steps, "`step` is given already; only one of the two is allowed");
    if (step_node) {
        double step[3];
        if (!read_vector(s, step_node, 3, ANY_SIGN, step)) return false;
        place_around(tree, step);
        return true;
    }
    if (!steps)
        return tree->depth == 1 ||
               missing_key(s, plan->mapping, "step", "missing; where the children are in their parent (m), or `steps`");
    if (steps->kind != NODE_SEQUENCE || steps->size != tree->branching)
        return bad_value(s, steps, "expected a list of %d steps [x, y, z], one for each branch, found %s", tree->branching,
                         found(steps).text);
    bool ok = true;
    int k = 0;
    for (const node *entry = steps->child; entry && !hopeless(s); entry = entry->next, k++) {
        ok = read_vector(s, entry, 3, ANY_SIGN, tree->positions[k]) && ok;
        memcpy(tree->rotations[k], (double[4]){1, 0, 0, 0}, sizeof tree->rotations[k]);
    }
    return ok;
}

/// Preorder: a link, then its children one after the other, each with all that hangs on it.
static bool expand_tree(source *s, link_plan *plan, const axis_list *list, const tree_shape *tree)
{
    char name[2 * SCENE_MAX_NAME + 16];
    int child[MAX_DEPTH] = {0};  // [level] which child of its parent the link of this level is
    int parent[MAX_DEPTH + 1];   // [level] the index of that parent
    size_t end[MAX_DEPTH + 1];   // [level] where its name ends
    snprintf(name, sizeof name, "%s", plan->link.name);
    parent[0] = plan->link.parent, end[0] = strlen(name);
    for (int level = 0;;) {
        if (level > 0) {
            const int written = snprintf(name + end[level - 1], sizeof name - end[level - 1], ".%d", child[level]);
            end[level] = end[level - 1] + (size_t)written;
            memcpy(plan->link.position, tree->positions[child[level]], sizeof plan->link.position);
            memcpy(plan->link.rotation, tree->rotations[child[level]], sizeof plan->link.rotation);
        }
        plan->link.parent = parent[level];
        if (!add_next(s, plan, list, name)) return false;
        if (level + 1 < tree->depth) {
            parent[++level] = s->r->scene->nlink - 1;
            child[level] = 0;
            continue;
        }
        while (level > 0 && ++child[level] == tree->branching) level--;
        if (level == 0) return true;
    }
}

/// 1 + b + b^2 + ... + b^(depth - 1) links, or -1 if they are too many.
static long long count_tree(int depth, int branching)
{
    long long total = 0, level = 1;
    for (int i = 0; i < depth; i++) {
        total += level;
        if (total > SCENE_MAX_LINKS) return -1;
        level *= branching;  // at most SCENE_MAX_LINKS squared
    }
    return total;
}

static bool read_tree(source *s, link_plan *plan)
{
    const node *const depth = plan->own[LINK_KEY_DEPTH], *const branching = plan->own[LINK_KEY_BRANCHING];
    tree_shape tree = {0};
    axis_list list = {0};
    bool ok = plan->link.name, sized = true;
    if (!depth) sized = missing_key(s, plan->mapping, "depth", "missing; a tree has a depth, the number of its levels");
    else sized = read_whole(s, depth, 1, MAX_DEPTH, &tree.depth) && sized;
    if (!branching) sized = missing_key(s, plan->mapping, "branching", "missing; how many children each link of a tree has");
    else sized = read_whole(s, branching, 1, SCENE_MAX_LINKS, &tree.branching) && sized;
    if (sized) {
        const long long links = count_tree(tree.depth, tree.branching);
        if (links < 0 || s->r->scene->nlink + links > SCENE_MAX_LINKS) sized = too_many_links(s, depth);
        else if (links > 1) ok = no_free_joints(s, plan) && ok;
    }
    if (sized) {
        tree.positions = reader_alloc(s->r, (size_t)tree.branching * sizeof *tree.positions);
        tree.rotations = reader_alloc(s->r, (size_t)tree.branching * sizeof *tree.rotations);
        ok = tree.positions && tree.rotations && read_steps(s, plan, &tree) && ok;
    }
    ok = read_axes(s, plan, &list) && ok && sized;
    if (ok) ok = expand_tree(s, plan, &list, &tree);
    free(tree.positions);
    free(tree.rotations);
    free(list.axes);
    return ok;
}

bool read_generator(source *s, const node *mapping, link_form form)
{
    link_plan plan;
    const bool planned = read_plan(s, mapping, form, &plan);
    const bool ok = mapping->kind == NODE_MAPPING && (form == CHAIN ? read_chain(s, &plan) : read_tree(s, &plan));
    if (!ok) links_unknown(s);
    free_plan(&plan);
    return ok && planned;
}
