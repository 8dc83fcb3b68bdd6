/// `sensors:`, what is measured: of joints, motors, frames on links, pairs of points, trees of links, loops, couplings, tendons.
#include "sim/base/sensor_types.h"
#include "sim/scene/scene_reader.h"

#include <stdlib.h>
#include <string.h>

enum sensor_key {
    SENSOR_KEY_NAME,
    SENSOR_KEY_TYPE,
    SENSOR_KEY_JOINT,
    SENSOR_KEY_DOF,
    SENSOR_KEY_LINK,
    SENSOR_KEY_POINT,
    SENSOR_KEY_ROTATION,
    SENSOR_KEY_EULER,
    SENSOR_KEY_TO_LINK,
    SENSOR_KEY_TO_POINT,
    SENSOR_KEY_RADIUS,
    SENSOR_KEY_NOISE,
    SENSOR_KEY_DELAY,
    SENSOR_KEY_MOTOR,
    SENSOR_KEY_LOOP,
    SENSOR_KEY_COUPLING,
    SENSOR_KEY_TENDON,
    SENSOR_KEYS
};

static const key sensor_keys[SENSOR_KEYS] = {
    [SENSOR_KEY_NAME] = {.name = "name"},         [SENSOR_KEY_TYPE] = {.name = "type"},
    [SENSOR_KEY_JOINT] = {.name = "joint"},       [SENSOR_KEY_DOF] = {.name = "dof"},
    [SENSOR_KEY_LINK] = {.name = "link"},         [SENSOR_KEY_POINT] = {.name = "point"},
    [SENSOR_KEY_ROTATION] = {.name = "rotation"}, [SENSOR_KEY_EULER] = {.name = "euler"},
    [SENSOR_KEY_TO_LINK] = {.name = "to_link"},   [SENSOR_KEY_TO_POINT] = {.name = "to_point"},
    [SENSOR_KEY_RADIUS] = {.name = "radius"},     [SENSOR_KEY_NOISE] = {.name = "noise"},
    [SENSOR_KEY_DELAY] = {.name = "delay"},       [SENSOR_KEY_MOTOR] = {.name = "motor"},
    [SENSOR_KEY_LOOP] = {.name = "loop"},         [SENSOR_KEY_COUPLING] = {.name = "coupling"},
    [SENSOR_KEY_TENDON] = {.name = "tendon"},
};

#define BIT(k) (1u << SENSOR_KEY_##k)
enum {
    ALWAYS = BIT(NAME) | BIT(TYPE) | BIT(NOISE) | BIT(DELAY),
    JOINT = ALWAYS | BIT(JOINT) | BIT(DOF),
    LINK = ALWAYS | BIT(LINK),
    POINT = BIT(POINT),
    AXES = BIT(ROTATION) | BIT(EULER),
    PAIR = BIT(TO_LINK) | BIT(TO_POINT),
};

/// The keys of a sensor, by what it is of.
static const unsigned keys_of[] = {
    [SENSOR_OF_JOINT] = JOINT,
    [SENSOR_OF_MOTOR] = JOINT | BIT(LINK) | BIT(MOTOR) | BIT(TENDON),
    [SENSOR_OF_FRAME] = LINK | POINT | AXES,
    [SENSOR_OF_POINT] = LINK | POINT,
    [SENSOR_OF_AXES] = LINK | AXES,
    [SENSOR_OF_BODY] = LINK,
    [SENSOR_OF_PAIR] = LINK | POINT | PAIR,
    [SENSOR_OF_PAIR_IN_AXES] = LINK | POINT | AXES | PAIR,
    [SENSOR_OF_CONTACT] = LINK | POINT | BIT(RADIUS),
    [SENSOR_OF_TREE] = LINK,
    [SENSOR_OF_ALL] = ALWAYS,
    [SENSOR_OF_LOOP] = ALWAYS | BIT(LOOP),
    [SENSOR_OF_COUPLING] = ALWAYS | BIT(COUPLING),
    [SENSOR_OF_TENDON] = ALWAYS | BIT(TENDON),
};

static bool read_type(source *s, const node *n, ctn_sensor_type *type)
{
    int row;
    if (!read_kind(s, n, sensor_types, sizeof *sensor_types, SENSOR_TYPES, "docs/scene.md lists the types of sensors: joint_position, pose, accelerometer, com, ...", &row)) return false;
    *type = (ctn_sensor_type)row;
    return true;
}

static bool has_motor(const ctn_scene *scene, int link, int dof)
{
    for (int k = 0; k < scene->nmotor; k++)
        if (scene->motors[k].link == link && scene->motors[k].dof == dof && scene->motors[k].type < MOTOR_THRUST &&
            !scene->motors[k].tendon)
            return true;
    return false;
}

/// The joint that is measured, or its motor.
static bool read_sensed_joint(source *s, const node *n, const node *const v[SENSOR_KEYS], scene_sensor *sensor)
{
    const node *const joint = v[SENSOR_KEY_JOINT], *const dof = v[SENSOR_KEY_DOF];
    const ctn_scene *const scene = s->r->scene;
    if (!joint) return missing_key(s, n, "joint", "missing; it is the link whose joint is measured");
    if (!read_link_name(s, joint, &sensor->link)) return false;
    const ctn_joint_type type = scene->links[sensor->link].joint.type;
    const int nv = joint_nv(type);
    if (!nv) return bad_value(s, joint, "the joint of %s is fixed: there is nothing to measure", found(joint).text);
    if (dof && !read_whole(s, dof, 0, nv - 1, &sensor->dof)) return false;
    if (dof && sensor->type == CTN_SENSE_JOINT_POSITION && joint_nq(type) != nv)
        return bad_key(s, dof, "a joint that is %s has a quaternion, whose numbers are measured together: leave `dof` out",
                       joint_name(type));
    if (sensor->type != CTN_SENSE_MOTOR_EFFORT) return true;
    const bool ball = type == CTN_BALL;
    if (!dof && nv > 1 && !ball)
        return missing_key(s, n, "dof", "missing; the joint has several degrees of freedom: 0 to %d", nv - 1);
    if (!dof && !ball) sensor->dof = 0;
    return has_motor(scene, sensor->link, ball ? 0 : sensor->dof) ||
           bad_value(s, joint, "the joint of %s has no motor there; give it one in `motors`, or measure its joint_force",
                     found(joint).text);
}

/// The thruster of a link that is measured: one of them, counted from 0 in the order of the scene.
static bool read_sensed_thruster(source *s, const node *n, const node *const v[SENSOR_KEYS], scene_sensor *sensor)
{
    const node *const link = v[SENSOR_KEY_LINK], *const which = v[SENSOR_KEY_MOTOR];
    const ctn_scene *const scene = s->r->scene;
    int count = 0, chosen = 0;
    for (int k = SENSOR_KEY_JOINT; k <= SENSOR_KEY_DOF; k++)
        if (v[k]) return bad_key(s, v[k], "stands beside `link`: the motor is on a joint, or on a link");
    if (!link) return bad_key(s, which, "goes with a `link`, of whose thrusters it is one");
    if (!read_link_name(s, link, &sensor->link)) return false;
    for (int k = 0; k < scene->nmotor; k++)
        count += scene->motors[k].link == sensor->link && scene->motors[k].type >= MOTOR_THRUST;
    if (!count)
        return bad_value(s, link, "nothing pushes %s; give it a motor of the type thrust, or name a `joint`", found(link).text);
    if (!which && count > 1) return missing_key(s, n, "motor", "missing; the link has %d thrusters: 0 to %d", count, count - 1);
    if (which && !read_whole(s, which, 0, count - 1, &chosen)) return false;
    sensor->dof = chosen;
    for (int k = 0; k < scene->nmotor; k++)
        if (scene->motors[k].link == sensor->link && scene->motors[k].type >= MOTOR_THRUST && chosen-- == 0) sensor->motor = k;
    return true;
}

/// The motor of a tendon.
static bool read_pulling(source *s, const node *const v[SENSOR_KEYS], scene_sensor *sensor)
{
    const ctn_scene *const scene = s->r->scene;
    const node *const tendon = v[SENSOR_KEY_TENDON];
    static const int others[] = {SENSOR_KEY_JOINT, SENSOR_KEY_DOF, SENSOR_KEY_LINK, SENSOR_KEY_MOTOR};
    for (int k = 0; k < 4; k++)
        if (v[others[k]]) return bad_key(s, v[others[k]], "stands beside `tendon`: the motor is on a joint, a link or a tendon");
    sensor->bond = read_bond_name(s, tendon, "tendons");
    for (int k = 0; k < scene->nmotor && sensor->bond >= 0; k++)
        if (scene->motors[k].tendon == sensor->bond + 1) sensor->motor = k;
    return sensor->bond >= 0 &&
           (sensor->motor >= 0 ||
            bad_value(s, tendon, "%s has no motor; give it one in `motors`, or measure its tendon_force", found(tendon).text));
}

/// The loop, coupling or tendon that is measured; of a coupling the joint that follows, too.
static bool read_sensed_bond(source *s, const node *n, const node *const v[SENSOR_KEYS], sensor_of of, scene_sensor *sensor)
{
    static const char *const lists[] = {"loops", "couplings", "tendons"};
    const int k = of - SENSOR_OF_LOOP;
    const node *const name = v[SENSOR_KEY_LOOP + k];
    if (!name)
        return missing_key(s, n, sensor_keys[SENSOR_KEY_LOOP + k].name, "missing; it is the name of one of `%s`", lists[k]);
    sensor->bond = read_bond_name(s, name, lists[k]);
    if (of == SENSOR_OF_COUPLING && sensor->bond >= 0) sensor->link = s->r->scene->bonds[sensor->bond].a;
    return sensor->bond >= 0;
}

/// The link of a frame or of a tree.
static bool read_sensed_link(source *s, const node *n, const node *link, sensor_of of, scene_sensor *sensor)
{
    const ctn_scene *const scene = s->r->scene;
    if (!link) return of >= SENSOR_OF_TREE || missing_key(s, n, "link", "missing; it is the one that is measured");
    if (!read_link_name(s, link, &sensor->link)) return false;
    if (of != SENSOR_OF_TREE || scene->links[sensor->link].joint.type != CTN_FIXED) return true;
    return bad_value(s, link,
                     "%s is fixed to another link: name the one that it moves with, which is measured with all that hangs "
                     "on it",
                     found(link).text);
}

/// Standard deviations: one number for all, or one each; of a quaternion an angle for each axis.
static bool read_noise(source *s, const node *n, scene_sensor *sensor)
{
    const sensor_type *const type = &sensor_types[sensor->type];
    const ctn_joint_type joint = sensor->link < 0 ? CTN_FIXED : s->r->scene->links[sensor->link].joint.type;
    const int turn = sensor_type_quaternion(sensor->type);
    const bool rate = sensor->type == CTN_SENSE_JOINT_VELOCITY, of_joint = rate || sensor->type == CTN_SENSE_JOINT_POSITION;
    value_unit units[CTN_SENSOR_NUMBERS] = {NO_UNIT};
    int count = type->count;
    if (type->of <= SENSOR_OF_MOTOR) count = sensor->dof >= 0 || sensor->bond >= 0 ? 1 : joint_nv(joint);
    else if (turn >= 0) count--;
    for (int k = 0; k < count; k++) {
        const char *const unit = type->unit && type->second && k >= type->second ? type->second_unit : type->unit;
        const bool turns = of_joint && velocity_units(joint)[sensor->dof < 0 ? k : sensor->dof] == ANGULAR_VELOCITY;
        if (turn >= 0 && k >= turn) units[k] = ANGLE;
        else if (turns) units[k] = rate ? ANGULAR_VELOCITY : ANGLE;
        else if (unit && !strcmp(unit, "rad/s")) units[k] = ANGULAR_VELOCITY;
    }
    return read_each(s, n, count, NOT_NEGATIVE, units, sensor->noise);
}

static bool read_sensor(source *s, const node *n, scene_sensor *sensor)
{
    const node *v[SENSOR_KEYS];
    const char *name = NULL;
    *sensor = (scene_sensor){
        .link = -1, .dof = -1, .motor = -1, .bond = -1, .to_link = -1, .axes = {1}, .line = n->line, .column = n->column};
    if (!read_keys(s, n, "a sensor", sensor_keys, SENSOR_KEYS, v)) return false;
    bool ok = v[SENSOR_KEY_NAME] ? read_name(s, v[SENSOR_KEY_NAME], &name)
                                 : missing_key(s, n, "name", "missing; recordings and plots call the sensor by it");
    if (!v[SENSOR_KEY_TYPE]) return missing_key(s, n, "type", "missing; as accelerometer, pose or joint_position");
    if (!read_type(s, v[SENSOR_KEY_TYPE], &sensor->type)) return false;
    const sensor_of of = sensor_types[sensor->type].of;
    for (int k = 0; k < SENSOR_KEYS; k++)
        if (v[k] && !(keys_of[of] & (1u << k)))
            ok = bad_key(s, v[k], "a sensor of the type %s has none", sensor_types[sensor->type].name);
    if (!ok) return false;
    if (of >= SENSOR_OF_LOOP) ok = read_sensed_bond(s, n, v, of, sensor);
    else if (of == SENSOR_OF_MOTOR && v[SENSOR_KEY_TENDON]) ok = read_pulling(s, v, sensor);
    else if (of == SENSOR_OF_MOTOR && (v[SENSOR_KEY_LINK] || v[SENSOR_KEY_MOTOR])) ok = read_sensed_thruster(s, n, v, sensor);
    else if (of <= SENSOR_OF_MOTOR) ok = read_sensed_joint(s, n, v, sensor);
    else ok = read_sensed_link(s, n, v[SENSOR_KEY_LINK], of, sensor);
    if (v[SENSOR_KEY_POINT]) ok = read_vector(s, v[SENSOR_KEY_POINT], 3, ANY_SIGN, sensor->point) && ok;
    ok = read_rotation(s, v[SENSOR_KEY_ROTATION], v[SENSOR_KEY_EULER], sensor->axes) && ok;
    if (v[SENSOR_KEY_TO_LINK]) ok = read_link_name(s, v[SENSOR_KEY_TO_LINK], &sensor->to_link) && ok;
    if (v[SENSOR_KEY_TO_POINT]) ok = read_vector(s, v[SENSOR_KEY_TO_POINT], 3, ANY_SIGN, sensor->to_point) && ok;
    if (keys_of[of] & PAIR && !v[SENSOR_KEY_TO_LINK] && !v[SENSOR_KEY_TO_POINT])
        ok = missing_key(s, n, "to_link", "missing; the other point is on it, or, with `to_point` alone, in the world");
    if (v[SENSOR_KEY_RADIUS]) ok = read_number(s, v[SENSOR_KEY_RADIUS], POSITIVE, &sensor->radius) && ok;
    if (of == SENSOR_OF_CONTACT && v[SENSOR_KEY_POINT] && !v[SENSOR_KEY_RADIUS])
        ok = missing_key(s, n, "radius", "missing; contact points that are within it of `point` are felt; without both all are");
    const bool meets = s->r->scene->contact.between != BETWEEN_WORLD || s->r->scene->npair;  // other links, it may be
    if (of == SENSOR_OF_CONTACT && ok && !meets && !link_touches(s->r->scene, sensor->link))
        warn(s, n, "says 0 for ever: the link touches no ground; give it a sphere, capsule or box, and the scene a `ground`");
    if (v[SENSOR_KEY_DELAY]) ok = read_number(s, v[SENSOR_KEY_DELAY], NOT_NEGATIVE, &sensor->delay) && ok;
    if (ok && v[SENSOR_KEY_NOISE]) ok = read_noise(s, v[SENSOR_KEY_NOISE], sensor);
    if (!ok) return false;
    const size_t before = strlen(s->prefix), length = strlen(name);
    sensor->name = reader_alloc(s->r, before + length + 1);
    if (!sensor->name) return false;
    memcpy(sensor->name, s->prefix, before), memcpy(sensor->name + before, name, length + 1);
    return true;
}

static const char *sensor_name(const void *scene, int k) { return ((const ctn_scene *)scene)->sensors[k].name; }

/// No two sensors have one name. `first` is the number of the first one of the list `n`, of which all could be read.
static bool check_names(source *s, const node *n, int first)
{
    const ctn_scene *const scene = s->r->scene;
    name_table names = {.name = sensor_name, .of = scene};
    const node *at = n->child;
    bool ok = true, room = true;
    for (int k = 0; k < scene->nsensor && room; k++) {
        const char *const name = scene->sensors[k].name;  // NULL: of another file, and could not be read
        const int other = name ? name_table_find(&names, name) : -1;
        if (name && other < 0) room = name_table_add(&names, k);
        else if (name && k >= first) ok = bad_value(s, at, "there is a sensor called '%s' already", printable(name).text);
        if (k >= first) at = at->next;
    }
    name_table_free(&names);
    return room ? ok : out_of_memory(s);
}

bool read_sensors(source *s, const node *n)
{
    ctn_scene *const scene = s->r->scene;
    if (n->kind != NODE_SEQUENCE) return bad_value(s, n, "expected a list of sensors, found %s", found(n).text);
    const int first = scene->nsensor;
    scene_sensor *const sensors = realloc(scene->sensors, ((size_t)first + (size_t)n->size + 1) * sizeof *sensors);
    if (!sensors) return out_of_memory(s);
    scene->sensors = sensors;
    bool ok = true;
    for (const node *sensor = n->child; sensor && !hopeless(s); sensor = sensor->next)
        ok = read_sensor(s, sensor, &sensors[scene->nsensor++]) && ok;
    return ok && check_names(s, n, first);
}

int scene_sensor_size(const ctn_scene *scene, int sensor)
{
    const scene_sensor *const x = &scene->sensors[sensor];
    const ctn_joint_type joint = x->link < 0 ? CTN_FIXED : scene->links[x->link].joint.type;
    if (sensor_types[x->type].count) return sensor_types[x->type].count;
    if (x->dof >= 0 || x->bond >= 0) return 1;
    return x->type == CTN_SENSE_JOINT_POSITION ? joint_nq(joint) : joint_nv(joint);
}

int scene_sensor_numbers(const ctn_scene *scene)
{
    int count = 0;
    for (int k = 0; k < scene->nsensor; k++) count += scene_sensor_size(scene, k);
    return count;
}
