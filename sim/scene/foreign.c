/// Tables of words, and the first bytes of files.
#include "sim/scene/foreign.h"

#include "sim/base/suggest.h"

#include <stdbool.h>
#include <string.h>

// ---- keys

typedef enum place { SCENE = 1, LINK, JOINT, SHAPE, INTEGRATOR, CAMERA, STATE } place;

static const struct {
    const char *what;
    place is;
} places[] = {
    {"a scene", SCENE},          {"a link", LINK},   {"a chain", LINK},  {"a tree", LINK},
    {"a set of defaults", LINK}, {"a joint", JOINT}, {"a shape", SHAPE}, {"an integrator", INTEGRATOR},
    {"a camera", CAMERA},        {"a state", STATE},
};

/// Words for the same thing, separated by spaces, in lower case.
typedef struct foreign_words {
    place in;
    const char *words;
    const char *hint;
    const char *ours;  // the key that takes the value as it is
} foreign_words;

#define CALLED(name) "catena calls this `" name "`"
#define OF_JOINT "this is a key of `joint`: `joint: {type: revolute, axis: [0, 1, 0], ...}`"
#define OF_SHAPE "this is a key of a shape: `shapes: [{type: box, size: [1, 1, 1], ...}]`"

static const foreign_words keys[] = {
    // scenes
    {SCENE, "timestep time_step dt step_size stepsize h", "the time step is `integrator: {dt: 0.01}`", NULL},
    {SCENE, "method order stages solver tolerance interval max_iterations parallel lanes", "this is a key of `integrator`", NULL},
    {SCENE, "option options simulation solver_options", "catena has `integrator`, `gravity` and `duration` for this", NULL},
    {SCENE, "worldbody body bodies joint joints robot world mujoco sdf",
     "catena has `links`, a list: each link has a `name`, its `parent` and its `joint`", NULL},
    {SCENE, "link", CALLED("links") ", a list", NULL},
    {SCENE, "actuator actuators transmission", "catena has `motors` for this, a list: each drives a `joint`", NULL},
    {SCENE, "tendon", CALLED("tendons") ", a list", NULL},
    {SCENE, "equality constraints constraint connect weld closures loop closed_loops",
     "catena has `loops` for what closes, and `couplings` for joints that follow others", NULL},
    {SCENE, "mimic gear gears coupling", CALLED("couplings") ", a list: `{joint: finger2, follows: finger1, ratio: -1}`", NULL},
    {SCENE, "collision_pairs contact_pairs", CALLED("pairs"), "pairs"},
    {SCENE, "disable_collisions exclude_contacts", CALLED("exclude") ": `exclude: [[upper, lower]]`", NULL},
    {SCENE, "keyframe qpos qvel initial_state init", "catena has `state: {q: [...], v: [...]}` for this", NULL},
    {SCENE, "asset assets mesh meshes material texture", "meshes are named by their shapes: `{type: mesh, file: part.stl}`",
     NULL},
    {SCENE, "model", CALLED("name"), "name"},
    {SCENE, "time t_end tend end_time t_final time_span simulation_time", CALLED("duration"), "duration"},
    {SCENE, "seed", "this is a key of `sample`", NULL},
    {SCENE, "chain chains tree trees cable cables generator generators",
     "a generator is an entry of `links`: `links: [chain: {...}]`, `tree`, `cable`", NULL},
    {SCENE, "compiler", "there is none: units are SI units, angles rad or, as in `90 deg`, degrees", NULL},
    // links
    {LINK, "pos xyz translation", CALLED("position"), "position"},
    {LINK, "origin pose frame", "catena has `position`, and `rotation` or `euler`, for this", NULL},
    {LINK, "quat quaternion orientation orn", CALLED("rotation") ", a quaternion w x y z", "rotation"},
    {LINK, "rpy", CALLED("euler"), "euler"},
    {LINK, "axisangle axis_angle zaxis xyaxes", "catena has `rotation`, a quaternion w x y z, or `euler` for this", NULL},
    {LINK, "inertial", "catena has `mass`, `com` and `inertia` for this, as keys of the link", NULL},
    {LINK, "ipos center_of_mass centre_of_mass cog", CALLED("com"), "com"},
    {LINK, "diaginertia fullinertia ixx iyy izz ixy ixz iyz",
     "catena has `inertia: [ixx, iyy, izz, ixy, ixz, iyz]` about the centre of mass for this", NULL},
    {LINK, "geom geoms geometry visual visuals collision collisions", CALLED("shapes") ", a list", NULL},
    {LINK, "freejoint", "catena calls this `joint: free`", NULL},
    {LINK, "child children body bodies links",
     "links are no parts of each other: give the other one `parent:` with the name of this one", NULL},
    {LINK,
     "type axis axis2 pitch damping stiffness rest armature friction presliding limits range lower upper limit effort q0 v0 ref "
     "springref",
     OF_JOINT, NULL},
    {LINK, "rgba color colour radius radii fromto material", OF_SHAPE, NULL},
    {LINK, "gravcomp", "gravity is the same for all links", NULL},
    // joints
    {JOINT, "range", CALLED("limits"), "limits"},
    {JOINT, "lower upper min max", "catena has `limits: [low, high]` for this", NULL},
    {JOINT, "limited", "a joint with `limits` is limited; `limits: none` for none", NULL},
    {JOINT, "pos position origin xyz rpy quat", "the joint is at the origin of its link: `position` and `rotation` of the link",
     NULL},
    {JOINT, "parent child", "catena has `parent`, a key of the link, for this", NULL},
    {JOINT, "springref", CALLED("rest"), "rest"},
    {JOINT, "ref qpos qpos0 initial_position angle", CALLED("q0"), "q0"},
    {JOINT, "qvel initial_velocity", CALLED("v0"), "v0"},
    {JOINT, "springdamper dynamics", "catena has `stiffness` and `damping` for this", NULL},
    {JOINT, "frictionloss dry_friction coulomb", CALLED("friction") ", in N m or N", "friction"},
    {JOINT, "velocity max_velocity", "velocities have no limits; `v0` is the initial one", NULL},
    {JOINT, "solreflimit solimplimit margin soft_lower_limit safety_controller",
     "catena has `limit_stiffness` and `limit_damping` for this", NULL},
    {JOINT, "forcerange actuatorfrcrange max_force max_torque", CALLED("effort"), NULL},
    {JOINT, "rotor_inertia reflected_inertia", CALLED("armature"), "armature"},
    {JOINT, "mimic", "catena has `couplings` for this, beside `links`: `couplings: [{joint: finger2, follows: finger1, ratio: -1}]`", NULL},
    {JOINT, "name", "joints have no names; their links have", NULL},
    // shapes
    {SHAPE, "rgba material", CALLED("color") ", red, green, blue from 0 to 1", NULL},
    {SHAPE, "pos xyz origin", CALLED("center") ", of a mesh `position`", NULL},
    {SHAPE, "quat quaternion orientation", CALLED("rotation") ", a quaternion w x y z", "rotation"},
    {SHAPE, "rpy", CALLED("euler"), "euler"},
    {SHAPE, "fromto", "catena has `from` and `to`, the ends, for this", NULL},
    {SHAPE, "length height", "a cylinder or capsule has `from` and `to`, the ends of its axis, for this", NULL},
    {SHAPE, "half_size halfsize half_extents dimensions extents", "catena has `size`, full lengths, for this", NULL},
    {SHAPE, "filename mesh uri", CALLED("file"), "file"},
    {SHAPE, "mass", "shapes have a `density`; a mass is the link's", NULL},
    {SHAPE, "name", "shapes have no names; their links have", NULL},
    // integrators
    {INTEGRATOR, "timestep time_step step_size stepsize step h", CALLED("dt"), "dt"},
    {INTEGRATOR, "integrator type name scheme", CALLED("method"), "method"},
    {INTEGRATOR, "iterations max_iter maxiter newton_iterations", CALLED("max_iterations"), "max_iterations"},
    {INTEGRATOR, "tol atol rtol", CALLED("tolerance"), "tolerance"},
    {INTEGRATOR, "gravity duration", "this is a key of the scene, beside `integrator`", NULL},
    // cameras, states
    {CAMERA, "fov fovy", CALLED("field_of_view"), "field_of_view"},
    {CAMERA, "lookat look_at", CALLED("target"), "target"},
    {STATE, "qpos positions", CALLED("q"), "q"},
    {STATE, "qvel velocities", CALLED("v"), "v"},
};

const char *foreign_key(const char *what, const char *word, const char **ours)
{
    int in = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (!strcmp(places[i].what, what)) in = (int)places[i].is;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if ((int)keys[i].in != in || !is_word_of(keys[i].words, word)) continue;
        *ours = keys[i].ours;
        return keys[i].hint;
    }
    return NULL;
}

const char *foreign_joint(const char *word)
{
    static const char *const types[][2] = {
        {"hinge continuous rotational rotary pin", "revolute"},
        {"slide slider linear", "prismatic"},
        {"screw", "helical"},
        {"cardan hooke", "universal"},
        {"spherical", "ball"},
        {"floating freeflyer freejoint", "free"},
        {"weld rigid none", "fixed"},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is_word_of(types[i][0], word)) return types[i][1];
    return NULL;
}

// ---- files

/// Whether the first bytes of a text, as far as people look for what it is, have `word`.
static bool mentions(const char *text, size_t length, const char *word)
{
    const size_t size = strlen(word);
    for (size_t i = 0; i + size <= length && i < 4096; i++)
        if (!memcmp(text + i, word, size)) return true;
    return false;
}

/// The first byte from `text` on that is no blank; it may be `end`.
static const char *skip_blanks(const char *text, const char *end)
{
    while (text < end && (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n')) text++;
    return text;
}

const char *foreign_file(const char *text, size_t length)
{
    const char *const end = text + length, *const first = skip_blanks(text, end);
    const size_t rest = (size_t)(end - first);
    if (length >= 8 && !memcmp(text, "\x89HDF\r\n\x1a\n", 8))
        return "is an HDF5 file, no scene; recordings are for `catena replay`, `plot` and `render`";
    if (length >= 2 && (!memcmp(text, "\xff\xfe", 2) || !memcmp(text, "\xfe\xff", 2))) return "is UTF-16 text; save it as UTF-8";
    if (memchr(text, 0, length < 4096 ? length : 4096)) return "is a binary file, no scene";
    const char *const second = rest && *first == '{' ? skip_blanks(first + 1, end) : end;
    if (second < end && *second == '"' && !mentions(first, rest, "catena"))
        return "is JSON, no scene; a scene starts with `catena: 1`, and states are for `catena eval --in`";
    if (length >= 6 && !memcmp(text, "solid ", 6))
        return "is an STL mesh, no scene; a shape names it: `{type: mesh, file: part.stl}`";
    return NULL;
}
