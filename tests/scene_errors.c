/// Bad scenes: every error at its place, with its key and what is allowed, all of them in one go and nothing besides.
/// Statuses and limits are in scene_limits.c.
#include "tests/scene_check.h"
#include "tests/suite.h"

// ---- the files of bad-scenes, against expected.tsv

static bool has_any(const char *message, const char *file, int line, int column, const char *alternatives)
{
    char words[256];
    snprintf(words, sizeof words, "%s", alternatives);
    if (!strcmp(words, "-")) return has_error(message, file, line, column, "", true);
    for (char *rest, *word = strtok_r(words, "|", &rest); word; word = strtok_r(0, "|", &rest))
        if (has_error(message, file, line, column, word, true)) return true;
    return false;
}

START_TEST(bad_files)
{
    FILE *const table = fopen(CATENA_SOURCE_DIR "/tests/bad-scenes/expected.tsv", "r");
    ck_assert_ptr_nonnull(table);
    char row[512];
    int rows = 0;
    ck_assert_ptr_nonnull(fgets(row, sizeof row, table));
    while (fgets(row, sizeof row, table)) {
        char name[128], keyword[128], also[128], path[512];
        int line, column;
        ck_assert_int_eq(sscanf(row, "%127[^\t]\t%d\t%d\t%127[^\t]\t%127[^\t\n]", name, &line, &column, keyword, also), 5);
        snprintf(path, sizeof path, "%s/tests/bad-scenes/%s", CATENA_SOURCE_DIR, name);
        ctn_error err = {0};
        ck_assert_msg(!ctn_scene_load(path, &err), "%s was accepted", name);
        ck_assert_msg(err.status == CTN_BAD_SCENE && err.count > 0, "%s: status %d, %d errors", name, err.status, err.count);
        bool found = has_any(err.message, path, line, column, keyword);
        for (char *rest, *place = strtok_r(also, ";", &rest); place && !found; place = strtok_r(0, ";", &rest)) {
            if (sscanf(place, "%d:%d", &line, &column) == 2) found = has_any(err.message, path, line, column, keyword);
        }
        ck_assert_msg(found, "%s: no error for the row %s in\n%s", name, row, err.message);
        rows++;
    }
    fclose(table);
    ck_assert_int_eq(rows, 50);
}
END_TEST

// ---- texts: a ^ stands before every place where an error is to be reported, and is taken out before the text is read

#define JOINT(text) LINKS "  - {name: a, " MASS ", joint: " text "}\n"
#define BODY(text) LINKS "  - {name: a, joint: revolute, " text "}\n"
#define SHAPE(text) LINKS "  - {name: a, joint: revolute, density: 1, shapes: [" text "]}\n"
#define CHAIN(text) LINKS "  - chain: {name: c, count: 3, step: [1, 0, 0], " MASS ", " text "}\n"
#define TREE(text) LINKS "  - tree: {name: t, " MASS ", joint: ball, " text "}\n"

/// A controller of the type gait, on motors on b, c, d and, of another type, e.
#define GAIT(legs, rest)                                                                                                         \
    LINKS "  - {name: a, joint: revolute, " MASS "}\n  - {name: b, joint: revolute, " MASS "}\n"                                 \
          "  - {name: c, joint: revolute, " MASS "}\n  - {name: d, joint: revolute, " MASS "}\n"                                 \
          "  - {name: e, joint: revolute, " MASS "}\nmotors: [{joint: b, type: torque}, {joint: c, type: torque}, "              \
          "{joint: d, type: torque}, {joint: e, type: velocity, kd: 1}]\n"                                                       \
          "controller: {type: gait, frequency: [1, 2], legs: " legs ", " rest "}\n"

#define LONG16 "0000000000000000"
#define LONG LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16

static const struct {
    const char *text;
    const char *errors[4];  // in the order of their places
} cases[] = {
    // YAML
    {"^", {"empty file"}},
    {"^# nothing but a comment\n", {"empty file"}},
    {"^---\n...\n", {"empty file"}},
    {"^- a\n- b\n", {"expected a mapping that starts with `catena: 1`, found a list"}},
    {"^catena\n", {"expected a mapping that starts with `catena: 1`, found 'catena'"}},
    {TOP("^---\ncatena: 1"), {"a second document"}},
    {TOP("gravity: ^&g [0, 0, 0]"), {"anchors and aliases"}},
    {TOP("gravity: ^*g"), {"anchors and aliases"}},
    {TOP("gravity: ^&g 5"), {"anchors and aliases"}},
    {TOP("state: ^&g {}"), {"anchors and aliases"}},
    {TOP("duration: ^!!float 5"), {"tags (!) are not part of the format"}},
    {TOP("gravity: ^!vector [0, 0, 0]"), {"tags (!) are not part of the format"}},
    {TOP("state: ^!state {}"), {"tags (!) are not part of the format"}},
    {TOP("? ^[1, 2]\n: 3"), {"a key must be a word"}},
    {TOP("state: {^{a: 1}: 3}"), {"a key must be a word"}},
    {TOP("name: ^\"a\\0b\""), {"NUL"}},
    {LINKS A "duration: [5\n^",
     {"syntax: did not find expected ',' or ']', while parsing a flow sequence that starts in line 4"}},
    {LINKS A "name: 'never closed\n^",
     {"syntax: found unexpected end of stream, while scanning a quoted scalar that starts in line 4; the closing quote is "
      "missing"}},
    {TOP("state:\n^\tq: [0]"), {"syntax: a tab cannot indent"}},
    {TOP("n\xc3\xa4me: \xc3\xa4\xc3\xb6\nname: ^@x"), {"syntax: found character that cannot start any token"}},
    {TOP("name: \xc3\xa4^\xff"), {"not UTF-8 text"}},
    {TOP("name: ^\x01"), {"not UTF-8 text"}},
    {TOP("sample: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[^[["), {"nested too deeply; at most 32 levels"}},
    {"\xef\xbb\xbf"
     "catena: ^2\n",
     {"reads version 1"}},

    {TOP("name: a^: b"),
     {"syntax: mapping values are not allowed in this context; check the indentation of this line and of those above"}},
    {LINKS "  - name: a\n   ^joint: ball\n",
     {"syntax: did not find expected '-' indicator, while parsing a block collection that starts in line 3; check the "
      "indentation"}},
    {"catena: 1\nlinks: ^- name: a\n",
     {"syntax: block sequence entries are not allowed in this context; a list begins in a line"}},
    {LINKS "  - name: a\n    mass:1\n    ^joint: ball\n",
     {"syntax: could not find expected ':', while scanning a simple key that starts in line 4; a key needs ': ' behind it"}},
    {"catena: 1\nlinks: [{name: a mass^: 3}]\n", {"a comma is missing, or the closing brace"}},
    {TOP("name: \"a\" ^b"), {"check the indentation: the keys of a mapping begin in one column, and text after a closing quote"}},
    {TOP("name: ^`x`"), {"syntax: found character that cannot start any token, while scanning for the next token; put a text"}},
    {TOP("gravity: [1,^,2]"), {"syntax: did not find expected node content, while parsing a flow node; a value is missing"}},
    {"  catena: 1\n^links: 3\n", {"syntax: did not find expected <document start>; check the indentation"}},

    // files that are no scenes
    {"^<sdf/>", {"is SDF: nothing here reads such files; export it as URDF"}},
    {"<html><body>^", {"XML: no element found"}},
    {"^{\n  \"q\": [0]}\n", {"is JSON, no scene; a scene starts with `catena: 1`, and states are for `catena eval --in`"}},
    {"^solid part\n facet normal 0 0 1\n", {"is an STL mesh, no scene; a shape names it"}},
    {"^\xff\xfe"
     "c",
     {"is UTF-16 text; save it as UTF-8"}},

    // words of other simulators
    {"catena: 1\n^worldbody: []\n^timestep: 0.1\n^option: {}\nlinks:\n" A,
     {"worldbody: unknown key; catena has `links`, a list", "timestep: unknown key; the time step is `integrator: {dt: 0.01}`",
      "option: unknown key; catena has `integrator`, `gravity` and `duration` for this"}},
    {TOP("^dt: 0.1\n^method: rk4\n^keyframe: []"),
     {"dt: unknown key; the time step is `integrator", "method: unknown key; this is a key of `integrator`",
      "keyframe: unknown key; catena has `state: {q: [...], v: [...]}` for this"}},
    {TOP("integrator: {^timestep: 0.1, ^Integrator: rk4}"),
     {"integrator.timestep: unknown key; catena calls this `dt`",
      "integrator.Integrator: unknown key; catena calls this `method`"}},
    {LINKS "  - {name: a, ^freejoint: {}, ^pos: ^[1, 2], ^geom: {}, " MASS "}\n",
     {"freejoint: unknown key; catena calls this `joint: free`", "pos: unknown key; catena calls this `position`",
      "pos: expected 3 numbers, found 2", "geom: unknown key; catena calls this `shapes`, a list"}},
    {LINKS "  - {name: a, ^quat: [1, 0, 0, 0], ^inertial: {}, ^axis: [0, 0, 1], ^range: [0, 1]}\n",
     {"quat: unknown key; catena calls this `rotation`, a quaternion w x y z",
      "inertial: unknown key; catena has `mass`, `com` and `inertia` for this", "axis: unknown key; this is a key of `joint`",
      "range: unknown key; this is a key of `joint`"}},
    {LINKS "  - {name: a, ^origin: {}, ^xyz: [0, 0, 0], ^rpy: [0, 0, 0], ^child: b}\n",
     {"origin: unknown key; catena has `position`, and `rotation` or `euler`, for this",
      "xyz: unknown key; catena calls this `position`", "rpy: unknown key; catena calls this `euler`",
      "child: unknown key; links are no parts of each other: give the other one `parent:`"}},
    {JOINT("{type: revolute, ^range: [0, 1], ^lower: 0, ^parent: b, ^frictionloss: 1}"),
     {"joint.range: unknown key; catena calls this `limits`",
      "joint.lower: unknown key; catena has `limits: [low, high]` for this",
      "joint.parent: unknown key; catena has `parent`, a key of the link, for this",
      "joint.frictionloss: unknown key; catena calls this `friction`, in N m or N"}},
    {SHAPE("{type: sphere, radius: 1, ^rgba: [1, 0, 0, 1], ^pos: [0, 0, 0], ^fromto: []}"),
     {"shapes[0].rgba: unknown key; catena calls this `color`, red, green, blue from 0 to 1",
      "shapes[0].pos: unknown key; catena calls this `center`, of a mesh `position`",
      "shapes[0].fromto: unknown key; catena has `from` and `to`, the ends, for this"}},
    {JOINT("^freejoint"), {"joint: unknown 'freejoint'; did you mean 'free'?"}},
    {JOINT("{type: ^slider}"), {"joint.type: unknown 'slider'; did you mean 'prismatic'?"}},
    {TOP("camera: {^fovy: 45}"), {"camera.fovy: unknown key; catena calls this `field_of_view`"}},

    // version
    {"^links:\n" A, {"catena: missing; a scene starts with `catena: 1`"}},
    {"links:\n" A "^catena: 1\n", {"catena: expected as the first key"}},
    {"catena: ^2\nunknown: 3\n", {"catena: this program reads version 1 of the format, found '2'"}},
    {"catena: ^1.0\nlinks:\n" A, {"catena: expected 1, the version of the format, found '1.0'"}},
    {"catena: ^'1'\nlinks:\n" A, {"catena: expected 1, the version of the format, found text '1'"}},
    {"catena: ^[1]\nlinks:\n" A, {"catena: expected 1, the version of the format, found a list"}},

    // top level
    {"^catena: 1\n", {"links: missing"}},
    {"catena: 1\nlinks: ^[]\n", {"links: expected at least one link"}},
    {"catena: 1\nlinks:^\n", {"links: expected a list of links, found nothing"}},
    {"catena: 1\nlinks: ^{a: 1}\n", {"links: expected a list of links, found a mapping"}},
    {"catena: 1\nlinks: [^5]\n", {"links[0]: expected a link"}},
    {TOP("^gravty: [0, 0, 0]"), {"gravty: unknown key; did you mean 'gravity'?"}},
    {TOP("^weight: 3"),
     {"weight: unknown key; a scene has: catena, name, gravity, inertias, defaults, include, urdf, mjcf, links, springs, "
      "pairs, exclude, loops, couplings, tendons, forces, gaits, motors, sensors, controller, search, fluid, ground, obstacles, terrain, contact, integrator, duration, "
      "state"}},
    {TOP("^<<: {name: a}"), {"<<: unknown key"}},
    {TOP("name: b\n^name: c"), {"name: given twice; first in line 4"}},
    {TOP("name:^"), {"name: expected text, found nothing"}},
    {TOP("name: ^~"), {"name: expected text, found nothing"}},
    {TOP("name: ^null"), {"name: expected text, found nothing"}},
    {TOP("name: ^\"\""), {"name: expected text, found text ''"}},
    {TOP("name: ^\"a\\nb\""), {"name: expected a name of printable characters, found text 'a?b' with U+000A"}},
    {TOP("name: ^\"a\\x9bb\""), {"name: expected a name of printable characters, found text 'a?b' with U+009B"}},
    {TOP("name: ^a\u202eb"), {"name: expected a name of printable characters, found 'a?b' with U+202E"}},
    {TOP("name: ^a\u2066b"), {"name: expected a name of printable characters, found 'a?b' with U+2066"}},
    {TOP("name: ^a\u200bb"), {"name: expected a name of printable characters, found 'a?b' with U+200B"}},
    {TOP("name: ^a\U000e0041b"), {"name: expected a name of printable characters, found 'a?b' with U+E0041"}},
    {LINKS "  - {name: ^\"\\e[31ma\", " MASS "}\n",
     {"name: expected a name of printable characters, found text '?[31ma' with U+001B"}},
    {TOP("^\"\\x9b\": 1"), {"?: unknown key"}},
    {TOP("name: ^[a]"), {"name: expected text, found a list"}},
    {TOP("gravity: ^-9.81"), {"gravity: expected 3 numbers, found '-9.81'"}},
    {TOP("gravity: [0, ^down, ^.inf]"),
     {"gravity[1]: expected a number, found 'down'", "gravity[2]: expected a finite number, found '.inf'"}},
    {TOP("duration: ^-1"), {"duration: expected a number >= 0, found '-1'"}},
    {TOP("duration: ^1e999"), {"duration: expected a finite number, found '1e999'"}},
    {TOP("duration: ^NaN"), {"duration: expected a finite number, found 'NaN'"}},
    {TOP("duration: ^-.Inf"), {"duration: expected a finite number, found '-.Inf'"}},
    {TOP("duration: ^\"5\""), {"duration: expected a number >= 0, found text '5'"}},
    {TOP("duration: ^1_000"), {"duration: expected a number >= 0, found '1_000'"}},
    {TOP("duration: ^0x10"), {"duration: expected a number >= 0, found '0x10'"}},
    {TOP("duration: ^."), {"expected a number >= 0, found '.'"}},
    {TOP("duration: ^1e"), {"expected a number >= 0, found '1e'"}},
    {TOP("duration: ^5 s"), {"expected a number >= 0, found '5 s'"}},
    {TOP("duration: ^+-5"), {"expected a number >= 0, found '+-5'"}},
    {TOP("duration: ^1e-400"), {"expected a number >= 0, found '1e-400'; it would be rounded to zero; the least is 4.9e-324"}},
    {TOP("gravity: [^1e400, ^-1e999, ^0X1p3]"),
     {"expected a finite number, found '1e400'; the largest is 1.8e308", "expected a finite number, found '-1e999'",
      "expected a number, found '0X1p3'; numbers are decimal"}},
    {TOP("gravity: [^inf, ^+Infinity, ^1_000]"),
     {"expected a finite number, found 'inf'", "expected a finite number, found '+Infinity'",
      "expected a number, found '1_000'; write the digits without _"}},
    {TOP("duration: ^0,5"), {"expected a number >= 0, found '0,5'; numbers have a decimal point, no comma"}},
    {TOP("duration: ^'5'"), {"expected a number >= 0, found text '5'; write it without quotes"}},
    {TOP("duration: ^10 ms"), {"expected a number >= 0, found '10 ms'; units are SI units: give the number alone"}},

    // units
    {TOP("duration: ^90 deg"), {"expected a number >= 0, found '90 deg'; this is no angle: give the number alone"}},
    {TOP("gravity: [^1 rad, ^1rad/s, 0]"),
     {"found '1 rad'; this is no angle: give the number alone", "found '1rad/s'; this is no angle: give the number alone"}},
    {JOINT("{type: revolute, q0: ^90 degrees, v0: ^90 deg, damping: ^1 rad}"),
     {"joint.q0: expected a number, found '90 degrees'; degrees are written as in `90 deg`",
      "joint.v0: expected a number, found '90 deg'; this is an angular velocity: rad/s or deg/s",
      "joint.damping: expected a number >= 0, found '1 rad'; this is no angle"}},
    {JOINT("{type: revolute, v0: ^90 degrees/s}"),
     {"joint.v0: expected a number, found '90 degrees/s'; degrees a second are written as in `90 deg/s`"}},
    {JOINT("{type: revolute, q0: ^90 deg/s, rest: ^90\xc2\xb0, limits: [^-1 turn, 1]}"),
     {"joint.q0: expected a number, found '90 deg/s'; this is an angle: rad or deg",
      "joint.rest: expected a number, found '90\xc2\xb0'; degrees are written as in `90 deg`",
      "joint.limits[0]: expected a number, found '-1 turn'; units are SI units: give the number alone"}},
    {JOINT("{type: prismatic, q0: ^90 deg, limits: [^-1 deg, 1]}"),
     {"joint.q0: expected a number, found '90 deg'; this is no angle", "joint.limits[0]: expected a number, found '-1 deg'"}},
    {JOINT("{type: planar, rest: ^1 deg, q0: [0, ^1 deg, 1 deg], v0: [0, 0, ^1 deg]}"),
     {"joint.rest: expected a number, found '1 deg'; this is no angle", "joint.q0[1]: expected a number, found '1 deg'",
      "joint.v0[2]: expected a number, found '1 deg'; this is an angular velocity"}},
    {JOINT("{type: free, v0: [^1 rad/s, 0, 0, 1 deg/s, 0, 0], q0: [0, 0, 0, ^1 rad, 0, 0, 0]}"),
     {"joint.v0[0]: expected a number, found '1 rad/s'; this is no angle", "joint.q0[3]: expected a number, found '1 rad'"}},
    {JOINT("{type: ball, limits: ^180.1 deg}"), {"joint.limits: expected an angle of at most pi (rad), found '180.1 deg'"}},
    {TOP("state: {q: [^90 deg/s], v: [^90 deg]}"),
     {"state.q[0]: expected a number, found '90 deg/s'; this is an angle", "state.v[0]"}},
    {TOP("state: {q: ^[90 deg, 1 rad]}"), {"state.q: expected 1 number (q of all links in order), found 2"}},
    {TOP("sample: {v: {a: {uniform: [^-1 deg, 1 deg/s]}}, force: {a: {uniform: [^-1 deg, 1]}}}"),
     {"sample.v.a.uniform[0]: expected a number, found '-1 deg'; this is an angular velocity",
      "sample.force.a.uniform[0]: expected a number, found '-1 deg'; this is no angle"}},
    {LINKS A "  - {name: b, joint: prismatic, " MASS "}\nsample: {q: {b: {grid: [0, ^9 deg, 2]}}}\n",
     {"sample.q.b.grid[1]: expected a number, found '9 deg'; this is no angle"}},
    {LINKS A "  - {name: b, joint: prismatic, " MASS "}\nsample: {q: {all: {uniform: [^-9 deg, 0]}}}\n",
     {"sample.q.all.uniform[0]: expected a number, found '-9 deg'; this is no angle"}},
    {TOP("sample: {q: {a: {grid: [-90 deg, 90 deg, ^3 deg]}}}"), {"sample.q.a.grid[2]: expected a number, found '3 deg'"}},
    {TOP("camera: {azimuth: ^7 rad, elevation: ^91 deg, field_of_view: ^121 deg}"),
     {"camera.azimuth: expected degrees from -360 to 360, found '7 rad'", "camera.elevation: expected degrees from -90",
      "camera.field_of_view: expected degrees from 1 to 120"}},

    // sections of later versions
    {TOP("^record: []"), {"record: not available in this version"}},

    // rewards
    {TOP("reward: ^{}"), {"reward: expected a list of terms, found a mapping"}},
    {TOP("reward: ^[]"), {"reward: expected at least one term, found none"}},
    {TOP("reward: [^3, ^{term: posture}]"),
     {"reward[0]: expected a term of the reward as a mapping of keys to values, found '3'",
      "reward[1].weight: missing; what the term counts, below 0 for what is to be avoided"}},
    {TOP("reward: [{term: posture, weight: ^0}]"),
     {"reward[0].weight: expected a number other than 0, found '0'; leave the term out"}},
    {TOP("reward: [^{weight: 1}]"), {"reward[0].term: missing; as progress, upright or effort"}},
    {TOP("reward: [{term: ^progres, weight: 1}, {term: ^x, weight: ^.inf}, {term: posture, ^wieght: 1}]"),
     {"reward[0].term: unknown 'progres'; did you mean 'progress'?", "reward[1].term: unknown 'x'; terms are progress, speed,",
      "reward[1].weight: expected a finite number, found '.inf'", "reward[2].wieght: unknown key; did you mean 'weight'?"}},
    {TOP("reward: [{term: effort, weight: 1, ^link: a}, {term: upright, weight: 1, link: a, ^point: [0, 0, 0]}, {term: progress, "
         "weight: 1, of: com, ^target: 3}]\nmotors: [{joint: a, type: torque}]"),
     {"reward[0].link: the term effort has none", "reward[1].point: the term upright has none",
      "reward[2].target: the term progress has none"}},
    {TOP("reward: [^{term: height, weight: 1}, ^{term: upright, weight: 1}, {term: height, weight: 1, link: ^ab}, {term: speed, "
         "weight: 1, link: a, ^of: com}]"),
     {"reward[0].link: missing; name the link, or `of: com` for the centre of mass of all",
      "reward[1].link: missing; name the link", "reward[2].link: unknown link 'ab'; did you mean 'a'?",
      "reward[3].of: stands beside `link`"}},
    {TOP("reward: [{term: height, weight: 1, of: ^a}, {term: height, weight: 1, of: com, ^point: [1, 2, 3]}, {term: height, "
         "weight: "
         "1, link: a, point: ^[1, 2]}, {term: upright, weight: 1, ^of: com, link: a}]"),
     {"reward[0].of: expected com, the centre of mass of all links, found 'a'", "reward[1].point: goes with a `link`",
      "reward[2].point: expected 3 numbers, found 2", "reward[3].of: the term upright has none"}},
    {LINKS "  - {name: a, mass: 0}\nreward: [{term: height, weight: 1, of: ^com}]\n",
     {"reward[0].of: no link has a mass; name a `link`"}},
    {TOP("reward: [{term: posture, weight: 1, from: ^-1}, {term: posture, weight: 1, to: ^0}, {term: posture, weight: 1, from: "
         "2, "
         "to: ^2}, {term: posture, weight: 1, when: ^late}]"),
     {"reward[0].from: expected a number >= 0, found '-1'", "reward[1].to: expected a positive number, found '0'",
      "reward[2].to: expected a time after `from` (2 s), found '2'", "reward[3].when: expected running or end, found 'late'"}},
    {TOP("reward: [{term: smoothness, weight: 1, when: ^end}]\nmotors: [{joint: a, type: torque}]"),
     {"reward[0].when: expected running: a state has no smoothness, only the way there has"}},
    {TOP("reward: [{term: upright, weight: 1, link: a, axis: ^[0, 0, 0]}, ^{term: reach, weight: 1, link: a}, {term: reach, "
         "weight: "
         "1, link: a, target: ^3}, {term: speed, weight: 1, link: a, target: ^[1, 2, 3]}]"),
     {"reward[0].axis: ", "reward[1].target: missing; the point of the world to be reached, [x, y, z] in m",
      "reward[2].target: expected 3 numbers, found '3'", "reward[3].target: expected a number, found a list"}},
    {TOP("reward: [{term: ^effort, weight: 1}, {term: ^energy, weight: 1, joints: [a]}, {term: ^smoothness, weight: 1}]"),
     {"reward[0].term: the scene has no motors; give it some in `motors`", "reward[1].term: the scene has no motors",
      "reward[2].term: the scene has no motors"}},
    {TOP("motors: []\nreward: [{term: ^effort, weight: 1}]"),
     {"reward[0].term: the scene has no motors; give it some in `motors`"}},
    {TOP("motors: [{joint: a, type: ^torq}]\nreward: [{term: effort, weight: 1, joints: [a]}]"),
     {"motors[0].type: unknown 'torq'"}},
    {LINKS A "  - {name: b, joint: ball, " MASS "}\n  - {name: c, parent: a, " MASS
             "}\nmotors: [{joint: a, type: torque}]\nreward: "
             "[{term: effort, weight: 1, joints: [a, ^b]}]\n",
     {"reward[0].joints[1]: the joint of 'b' has no motor; give it one in `motors`, or leave it out"}},
    {LINKS A "  - {name: c, parent: a, " MASS "}\nreward: [{term: posture, weight: 1, joints: [^c, a, ^a, ^d]}]\n",
     {"reward[0].joints[0]: the joint of 'c' is fixed: it has no motion", "reward[0].joints[2]: 'a' is named twice",
      "reward[0].joints[3]: unknown link 'd'"}},
    {TOP("reward: [{term: posture, weight: 1, joints: ^a}, {term: posture, weight: 1, joints: ^[]}]"),
     {"reward[0].joints: expected a list of links, whose joints count, found 'a'",
      "reward[1].joints: expected at least one link, found none; without `joints` all count"}},
    {TOP("reward: [^{term: alive, weight: 1, link: a}, {term: alive, weight: 1, link: a, above: 2, below: ^2}, {term: alive, "
         "weight: 1, link: a, above: 1, ends: ^maybe}, {term: alive, weight: 1, ^of: com, link: a, above: 1}]"),
     {"reward[0].above: missing; give the least height, `below` for the largest, or both, m",
      "reward[1].below: expected a height over `above` (2 m), found '2'", "reward[2].ends: expected true or false",
      "reward[3].of: the term alive has none"}},

    // sensors
    {TOP("sensors: ^{}"), {"sensors: expected a list of sensors, found a mapping"}},
    {TOP("sensors: [^{type: com}, ^{name: a}, {name: ^'', type: com}]"),
     {"sensors[0].name: missing; recordings and plots call the sensor by it",
      "sensors[1].type: missing; as accelerometer, pose or joint_position", "sensors[2].name: expected text, found text ''"}},
    {TOP("sensors: [{name: a, type: ^acelerometer, link: a}, {name: b, type: ^x, link: a}]"),
     {"sensors[0].type: unknown 'acelerometer'; did you mean 'accelerometer'?",
      "sensors[1].type: unknown 'x'; docs/scene.md lists the types of sensors"}},
    {TOP("sensors: [{name: a, type: com, ^point: [0, 0, 0]}, {name: b, type: gyro, link: a, ^point: [0, 0, 0]}, {name: c, type: "
         "energy, ^link: a}]"),
     {"sensors[0].point: a sensor of the type com has none", "sensors[1].point: a sensor of the type gyro has none",
      "sensors[2].link: a sensor of the type energy has none"}},
    {TOP("sensors: [^{name: a, type: joint_force}, ^{name: b, type: gyro}, {name: c, type: pose, link: ^ab}]"),
     {"sensors[0].joint: missing; it is the link whose joint is measured",
      "sensors[1].link: missing; it is the one that is measured", "sensors[2].link: unknown link 'ab'"}},
    {TOP("sensors: [^{name: a, type: distance, link: a}, {name: b, type: motor_effort, joint: ^a}]"),
     {"sensors[0].to_link: missing; the other point is on it, or, with `to_point` alone, in the world",
      "sensors[1].joint: the joint of 'a' has no motor there; give it one in `motors`, or measure its joint_force"}},
    {TOP("sensors: [{name: a, type: pose, link: a, noise: ^[1, 2]}, {name: b, type: pose, link: a, noise: [1, 2, 3, 1 deg, 0, "
         "^-1]}, "
         "{name: c, type: com, delay: ^-1}]"),
     {"sensors[0].noise: expected one number or 6, found 2", "sensors[1].noise[5]: expected a number >= 0",
      "sensors[2].delay: expected a number >= 0"}},
    {TOP("sensors: [{name: a, type: com}, ^{name: a, type: energy}]"), {"sensors[1]: there is a sensor called 'a' already"}},

    // motors
    {TOP("motors: ^{}"), {"motors: expected a list of motors, found a mapping"}},
    {TOP("motors: [^{joint: a}, ^{type: torque}]"),
     {"motors[0].type: missing; a motor is of the type position, velocity or torque",
      "motors[1].joint: missing; it is the link whose joint the motor drives"}},
    {TOP("motors: [{joint: ^b, type: ^torqe}]"),
     {"motors[0].joint: unknown link 'b'", "motors[0].type: unknown 'torqe'; did you mean 'torque'?"}},
    {TOP("motors: [^{joint: a, type: position}, ^{joint: a, type: velocity, ^kp: 1}, {joint: a, type: torque, ^kd: 1}]"),
     {"motors[0].kp: missing; a motor of the type position has one",
      "motors[1].kd: missing; a motor of the type velocity has one", "motors[1].kp: a motor of the type velocity has none",
      "motors[2].kd: a motor of the type torque has none"}},
    {TOP("motors: [{joint: a, type: position, kp: ^-1, target: ^x}]"),
     {"motors[0].kp: expected a number >= 0, found '-1'", "motors[0].target: expected a number, found 'x'"}},
    {TOP("motors: [{joint: a, type: torque, gear: ^0, effort: ^-2}]"),
     {"motors[0].gear: expected a number that is not 0, found 0", "motors[0].effort: expected a number >= 0, found '-2'"}},
    {TOP("motors: [{joint: a, type: torque}, ^{joint: a, type: velocity, kd: 1}]"),
     {"motors[1]: the joint of 'a' has a motor already"}},
    {TOP("motors: [{joint: a, type: torque}]\nsample: {parameters: {motor_kp: {^a: {uniform: [0, 1]}}}}"),
     {"sample.parameters.motor_kp.a: the joint of this link has no motor that has one; give it one in `motors`"}},
    {TOP("motors: [{joint: a, dof: ^1, type: torque}]"), {"motors[0].dof: expected"}},
// thrusters
#define ROOT "  - {name: root, " MASS "}\n"
    {TOP("motors: [^{type: thrust}]"), {"motors[0].link: missing; it is the one that a motor of the type thrust pushes"}},
    {TOP("motors: [{type: thrust, link: a, ^joint: a}]"), {"motors[0].joint: a motor of the type thrust has none"}},
    {TOP("motors: [{type: moment, link: a, ^reaction: 1}]"), {"motors[0].reaction: a motor of the type moment has none"}},
    {TOP("motors: [{type: torque, joint: a, ^link: a}]"), {"motors[0].link: a motor of the type torque has none"}},
    {TOP("motors: [{type: thrust, link: a, limits: ^[1, 2]}]"),
     {"motors[0].limits: expected [least, most] with 0 between them, or one of them 0, found [1, 2]"}},
    {TOP("motors: [{type: thrust, link: a, axis: ^[0, 0, 0]}]"), {"motors[0].axis: "}},
    {LINKS A ROOT "motors: [{type: thrust, link: ^root}]", {"motors[0].link: 'root' does not move: nothing can push it"}},
    {TOP("sensors: [{name: s, type: motor_effort, link: ^a}]"),
     {"sensors[0].link: nothing pushes 'a'; give it a motor of the type thrust, or name a `joint`"}},
    {TOP("motors: [{link: a, type: thrust}, {link: a, type: thrust}]\nsensors: [^{name: s, type: motor_effort, link: a}]"),
     {"sensors[0].motor: missing; the link has 2 thrusters: 0 to 1"}},
    {TOP("motors: [{link: a, type: thrust}]\nsensors: [{name: s, type: motor_effort, ^joint: a, link: a}]"),
     {"sensors[0].joint: stands beside `link`: the motor is on a joint, or on a link"}},
// what moves with time
#define TOLD(target) TOP("gaits: [{name: g, frequency: 1}]\nmotors: [{joint: a, type: position, kp: 1, target: " target "}]")
    {TOLD("^{}"), {"motors[0].target: expected a number, or one of sinusoid, spline, table, gait"}},
    {TOLD("^[1]"), {"motors[0].target: expected a number, found a list"}},
    {TOLD("{sinusoid: ^{frequency: 1}}"),
     {"motors[0].target.sinusoid.amplitude: missing; how far it goes to both sides of its mean"}},
    {TOLD("{sinusoid: ^{amplitude: 1}}"), {"motors[0].target.sinusoid.frequency: missing; cycles a second"}},
    {TOLD("{sinusoid: {amplitude: 1, frequency: ^0, phase: ^1 m}}"),
     {"motors[0].target.sinusoid.frequency: expected a positive number, found '0'", "motors[0].target.sinusoid.phase: "}},
    {TOLD("{sinusoid: {amplitude: 1, frequency: 1}, ^gait: g}"),
     {"motors[0].target.gait: stands beside `sinusoid`: one of them"}},
    {TOLD("{sinusoid: {amplitude: 1, frequency: 1}, ^mean: 1}"),
     {"motors[0].target.mean: does not go with `sinusoid`; it may belong inside it"}},
    {TOLD("^{sinusoid: {amplitude: 1, frequency: 1}, hold: first}"),
     {"motors[0].target.every: missing; s from one sample to the next"}},
    {TOLD("{sinusoid: {amplitude: 1, frequency: 1}, hold: ^second, every: 1}"),
     {"motors[0].target.hold: unknown 'second'; none, zero (steps) or first (lines)"}},
    {TOLD("{sinusoid: {amplitude: 1, frequency: 1}, hold: none, ^every: 1}"),
     {"motors[0].target.every: belongs to `hold: zero` or first"}},
    {TOLD("{gait: ^h, amplitude: 1}"), {"motors[0].target.gait: no gait is called 'h'; list it in `gaits` of this file"}},
    {TOLD("^{gait: g}"), {"motors[0].target.amplitude: missing; how far it goes from its mean"}},
    {TOLD("{gait: g, amplitude: 1, wave: ^square}"),
     {"motors[0].target.wave: unknown 'square'; the waves of a gait are sine, stride, lift"}},
    {TOLD("{spline: ^{}}"), {"motors[0].target.spline.times: missing; a list of times, s, one for each value"}},
    {TOLD("{spline: {times: ^[0], values: [1]}}"), {"motors[0].target.spline.times: expected a list of at least 2 times"}},
    {TOLD("{spline: {times: [0, 1], values: ^[1]}}"),
     {"motors[0].target.spline.values: expected a list of 2 values, one for each time"}},
    {TOLD("{spline: {times: [0, 1, ^1], values: [1, 2, 3]}}"),
     {"motors[0].target.spline.times[2]: expected a time after 1, found '1'"}},
    {TOLD("{spline: {times: [0, 1], values: [1, 2], period: ^1}}"),
     {"motors[0].target.spline.period: expected more than the 1 s from the first time to the last: after it the first value "
      "comes "
      "again"}},
    {TOLD("{table: {times: [0, 1], values: [1, 2]}, ^column: x}"), {"motors[0].target.column: belongs to the table of a file"}},
    {TOLD("{table: {times: [0, 1], values: [1, 2]}, hold: ^none}"),
     {"motors[0].target.hold: unknown 'none'; zero (steps) or first (lines)"}},
    {TOLD("^{table: nowhere.csv}"), {"motors[0].target.column: missing; it names the column of the table"}},
    {TOLD("{table: ^nowhere.csv, column: x}"), {"motors[0].target.table: 'nowhere.csv' cannot be read"}},
    {TOP("gaits: ^{}"), {"gaits: expected a list of gaits, found a mapping"}},
    {TOP("gaits: [^{frequency: 1}, ^{name: g}]"),
     {"gaits[0].name: missing; motors call the gait by it", "gaits[1].frequency: missing; cycles a second"}},
    {TOP("gaits: [{name: g, frequency: 1, duty: ^1, ramp: ^-1}]"),
     {"gaits[0].duty: expected a share of the cycle, above 0 and below 1, found 1",
      "gaits[0].ramp: expected a number >= 0, found '-1'"}},
    {TOP("gaits: [{name: g, frequency: 1}, {name: ^g, frequency: 2}]"), {"gaits[1].name: 'g' is the name of a gait above"}},
#undef TOLD
    {JOINT("universal") "motors: [^{joint: a, type: torque}]\n",
     {"motors[0].dof: missing; the joint has several degrees of freedom: 0 to 1"}},
    {JOINT("free") "motors: [{joint: ^a, type: torque}]\n",
     {"motors[0].joint: the joint of 'a' is free: nothing holds a motor there; push its link with `forces`"}},
    {JOINT("fixed") "motors: [{joint: ^a, type: torque}]\n",
     {"motors[0].joint: the joint of 'a' is fixed: there is nothing to drive"}},

    // samples
    {TOP("sample: ^[]"), {"sample: expected a sample as a mapping of keys to values, found a list"}},
    {TOP("sample: {^seeds: 1, q: {^b: {uniform: [0, 1]}}}"), {"sample.seeds: unknown key", "sample.q.b: no link is called 'b'"}},
    {TOP("sample: {seed: ^-1, v: ^3}"),
     {"sample.seed: expected a whole number, 0 or more, found '-1'",
      "sample.v: expected distributions by names of links, found '3'"}},
    {TOP("sample: {q: {a: ^{}, ^a: {normal: [0, 1]}}}"), {"expected one distribution: {uniform: [lo, hi]} or", "given twice"}},
    {TOP("sample: {q: {a: ^{uniform: [0, 1], normal: [0, 1]}, all: {uniform: ^[1, 0]}}}"),
     {"expected one distribution", "expected [lo, hi] with lo <= hi, found [1, 0]"}},
    {TOP("sample: {v: {a: {normal: [0, ^-1]}}}"), {"expected a standard deviation >= 0, found -1"}},
    {TOP("sample: {q: {a: {latin: ^[1, 0]}}, v: {a: {grid: ^[1, 0, 3]}}}"),
     {"sample.q.a.latin: expected [lo, hi] with lo <= hi, found [1, 0]",
      "sample.v.a.grid: expected [lo, hi, number of values] with lo <= hi, found [1, 0, 3]"}},
    {TOP("sample: {q: {a: {grid: ^[0, 1]}}, v: {a: {grid: [0, 1, ^0]}}}"),
     {"sample.q.a.grid: expected 3 numbers, found 2", "sample.v.a.grid[2]: expected a whole number, 1 or more, found '0'"}},
    {TOP("sample: ^{q: {a: {grid: [0, 1, 2000000000]}}, v: {a: {grid: [0, 1, 10000000]}}}"),
     {"sample: all grids together have more than 2^53 points"}},
    {TOP("sample: {parameters: {^weight: {}, gravity: {^w: {uniform: [0, 1]}, z: ^3}}}"),
     {"sample.parameters.weight: unknown key; parameters has: gravity, mass_scale, armature, damping, stiffness, rest",
      "sample.parameters.gravity.w: unknown key", "sample.parameters.gravity.z: expected a distribution as a mapping"}},
    {TOP("sample: {parameters: {mass_scale: {a: ^{uniform: [0, 1]}}, damping: {all: ^{latin: [-1, 1]}}}}"),
     {"sample.parameters.mass_scale.a: expected a positive number, found 0 as the least",
      "sample.parameters.damping.all: expected a number >= 0, found -1 as the least"}},
    {TOP("sample: {parameters: {stiffness: {a: ^{normal: [-1, 3]}}, limit_upper: {^a: {uniform: [0, 1]}}, rest: {^b: {}}}}"),
     {"sample.parameters.stiffness.a: expected a number >= 0, found -1 as the mean",
      "sample.parameters.limit_upper.a: the joint of this link has no limits; give it `limits` in the scene",
      "sample.parameters.rest.b: no link is called 'b'"}},
    {LINKS
     "  - {name: a, joint: free, " MASS "}\n  - {name: b, parent: a, joint: fixed}\n"
     "sample: {parameters: {armature: {^a: {uniform: [0, 1]}}, damping: {^b: {uniform: [0, 1]}}, limit_damping: {^a: {}}}}\n",
     {"armature.a: the joint of this link is free: of a joint's parameters it has damping alone",
      "damping.b: the joint of this link is fixed: it has no parameters", "limit_damping.a: the joint of this link is free"}},
    {LINKS "  - {name: a, joint: {type: ball, limits: 1}, " MASS "}\n"
           "sample: {parameters: {rest: {^a: {}}, limit_lower: {^a: {}}, limit_upper: {a: ^{grid: [1, 4, 3]}}}}\n",
     {"rest.a: the joint of this link is a ball: its rest is no number",
      "limit_lower.a: the joint of this link is a ball: it has no lower limit",
      "limit_upper.a: expected an angle in (0, pi] for a ball joint, found 4 as the largest"}},
    {LINKS "  - {name: a, joint: {type: ball, limits: 1}, " MASS "}\n"
           "sample: {parameters: {limit_upper: {a: ^{uniform: [0, 1]}}, limit_stiffness: {a: ^{latin: [0, 1]}}}}\n",
     {"limit_upper.a: expected an angle in (0, pi] for a ball joint, found 0 as the least",
      "limit_stiffness.a: expected a positive number, found 0 as the least"}},
    {LINKS "  - {name: a, joint: fixed, " MASS "}\nsample: {force: {^a: {uniform: [0, 1]}}}\n",
     {"force.a: the joint of this link is fixed: there is nothing to draw"}},
    {TOP("controller: ^{}"), {"controller.type: missing; controllers are sinusoids, spline, gait, linear, tanh or plan"}},
    {TOP("controller: {type: ^tan}"), {"controller.type: unknown 'tan'; did you mean 'tanh'?"}},
    {TOP("controller: ^{type: linear, range: [0, 1]}"), {"controller.sensors: missing; a list of names, or all"}},
    {TOP("controller: {type: linear, range: [0, 1], sensors: all, ^knots: 4}"),
     {"controller.knots: a controller of the type linear has none"}},
    {TOP("controller: ^{type: linear, range: [0, 1], sensors: all}"),
     {"controller: there is nothing to tell: the scene has no `motors`"}},
    {TOP("controller: ^^{type: gait, range: [0, 1]}"),
     {"controller.frequency: missing; from where to where it may be", "controller.legs: missing; the joints of each leg"}},
    {TOP("controller: {type: gait, range: [0, 1], frequency: [1, 2], legs: [[a]], ^motors: [a], ^knots: 3}"),
     {"controller.motors: a controller of the type gait has none", "controller.knots: a controller of the type gait has none"}},
    {TOP("controller: {type: spline, range: [0, 1], knots: 3, period: 1, ^phases: [0], ^mirror: [a], ^duty: [0.1, 0.2]}"),
     {"controller.phases: a controller of the type spline has none",
      "controller.mirror: a controller of the type spline has none",
      "controller.duty: a controller of the type spline has none"}},
    {TOP("controller: ^{type: spline, range: [0, 1], knots: 3}"),
     {"controller.period: missing; s after which the spline begins again, or `duration` in its place, after which it is held"}},
    {TOP("controller: {type: spline, range: [0, 1], knots: 3, period: 1, ^duration: 2}"),
     {"controller.duration: a spline that has a `period` begins again, and has none"}},
    {TOP("controller: {type: spline, range: [0, 1], knots: 3, duration: ^soon}"),
     {"controller.duration: expected a positive number, found 'soon'"}},
    {TOP("controller: {type: spline, range: [0, 1], knots: 3, duration: ^0}"),
     {"controller.duration: expected a positive number"}},
    {TOP("controller: {type: sinusoids, range: [0, 1], frequency: [1, 2], ^duration: 1}"),
     {"controller.duration: a controller of the type sinusoids has none"}},
    {GAIT("^a", "range: [0, 1]"), {"controller.legs: expected a list of legs, each a list of joints, found 'a'"}},
    {GAIT("[[b, c], ^d]", "range: [0, 1]"),
     {"controller.legs[1]: expected a leg as a list of joints that have a motor, found 'd'"}},
    {GAIT("[[b, c], [d, ^b]]", "range: [0, 1]"), {"controller.legs[1][1]: 'b' is in the list already"}},
    {GAIT("[[b, c], [d, ^a]]", "range: [0, 1]"),
     {"controller.legs[1][1]: the joint of 'a' has no motor; give it one in `motors`"}},
    {GAIT("[[b, c], [d, ^f]]", "range: [0, 1]"), {"controller.legs[1][1]: unknown link 'f'"}},
    {GAIT("[[b, c], ^[d]]", "range: [0, 1]"),
     {"controller.legs[1]: expected 2 motors, as the first leg has, found 1; legs have joints alike"}},
    {GAIT("[[b, c], ^[d, e]]", "range: [0, 1]"),
     {"controller.legs[1]: the motor of 'e' is of another type than that of 'c' in the first leg"}},
    {GAIT("[[b], [c], [d]]", "range: [0, 1], phases: ^[0, 0.5]"),
     {"controller.phases: expected 3 numbers, one a leg, in cycles; without the key they are looked for"}},
    {GAIT("[[b], [c], [d]]", "range: [0, 1], mirror: [c, ^e]"), {"controller.mirror[1]: 'e' is in none of `legs`"}},
    {GAIT("[[b], [c], [d]]", "range: [0, 1], mirror: ^c"), {"controller.mirror: expected a list of joints of legs, found 'c'"}},
    {GAIT("[[b], [c], [d]]", "range: [0, 1], duty: ^[0.5, 1]"),
     {"controller.duty: expected shares of the cycle, above 0 and below 1, found [0.5, 1]"}},
    {GAIT("[[b, c]]", "range: ^[[0, 1], [0, 1], [0, 1]]"),
     {"controller.range: expected [lo, hi], or one of these for each of the 2 motors of a leg, found 3"}},
    {GAIT("[[b], [c]]", "range: [0, 1], parameters: ^[1, 2]"),
     {"controller.parameters: expected 6 numbers, as such a controller has, found 2"}},
    {TOP("search: {population: ^1, sigma: ^0, restarts: ^all}"),
     {"search.population: expected a whole number from 2", "search.sigma: expected a positive number",
      "search.restarts: expected none, ipop or bipop"}},

    {TOP("search: {method: ^newton}"), {"search.method: expected cma, likelihood, ppo or shac"}},
    {TOP("search: {method: shac, ^population: 5, ^restarts: ipop}"),
     {"search.population: a search of the method shac has none", "search.restarts: a search of the method shac has none"}},
    {TOP("search: {method: likelihood, ^critic: [8]}"), {"search.critic: a search of the method likelihood has none"}},
    {TOP("search: {^rate: 1}"), {"search.rate: a search of the method cma has none"}},
    {TOP("search: {method: ppo, discount: ^1.5, horizon: ^0, critic: ^[4, 4, 4]}"),
     {"search.discount: expected a number of at most 1", "search.horizon: expected a positive number",
      "search.critic: expected the widths of one or two layers"}},
    {TOP("search: {method: shac, noise: ^3}"), {"search.noise: expected a number from 0.01 to 2, found '3'"}},

    // the ground and contact with it
    {TOP("ground: {^file: a.urdf}"), {"ground.file: unknown key; a ground has: height, normal"}},
    {TOP("ground: ^3"), {"ground: expected true or false, found '3'"}},
    {TOP("ground: {normal: ^[0, 0, 0]}"), {"ground.normal: "}},
    {TOP("obstacles: ^{}"), {"obstacles: expected a list of obstacles, found a mapping"}},
    {TOP("obstacles: [^{radius: 1}]"),
     {"obstacles[0].type: missing; obstacles are sphere, box, capsule, cylinder, ellipsoid, mesh"}},
    {TOP("obstacles: [^{type: ellipsoid}]"), {"obstacles[0].radii: missing; an obstacle of type ellipsoid needs it"}},
    {TOP("obstacles: [^{type: mesh}]"), {"obstacles[0].file: missing; an obstacle of type mesh needs it"}},
    {TOP("obstacles: [{type: sphere, radius: ^0, friction: ^-1}]"),
     {"obstacles[0].radius: expected a positive number", "obstacles[0].friction: expected a number >= 0"}},
    {TOP("obstacles: [{type: sphere, radius: 1, ^contact: true}]"), {"obstacles[0].contact: unknown key; an obstacle has: type"}},
    {TOP("obstacles: [{name: b, type: sphere, radius: 1}, {name: ^b, type: sphere, radius: 1}]"),
     {"obstacles[1].name: obstacle 0 is already called 'b'"}},
    {TOP("terrain: ^{size: [1, 1]}"), {"terrain.file: missing; a terrain has a table or an image of its heights"}},
    {TOP("terrain: ^{size: [^0, 1], friction: ^-1}"),
     {"terrain.file: missing", "terrain.size[0]: expected a positive number", "terrain.friction: expected a number >= 0"}},
    {SHAPE("{type: sphere, radius: 1, contact: {^points: 3}}"), {"shapes[0].contact.points: only capsules have points"}},
    {SHAPE("{type: box, size: [1, 1, 1], contact: {points: ^1}}"), {"shapes[0].contact.points: expected a whole number from 2"}},
    {TOP("ground: true\ncontact: {^capacity: 30}"), {"contact.capacity: is of links that touch each other"}},
    {TOP("contact: {between: links, capacity: ^0}"), {"contact.capacity: expected a whole number from 1 to 65536"}},
    {TOP("ground: true\ncontact: {mesh_points: ^3}"), {"contact.mesh_points: expected a whole number from 4 to 128"}},
    {TOP("ground: true\ncontact: {friction: ^-1, depth: ^0, relaxation: ^-2}"),
     {"contact.friction: expected a number >= 0", "contact.depth: expected a positive number",
      "contact.relaxation: expected a number >= 0"}},
    {SHAPE("{type: sphere, radius: 1, contact: {^depth: 1}}"), {"shapes[0].contact.depth: unknown key"}},

    // what touches what, and what is between links
    {TOP("contact: {between: ^link}"), {"contact.between: expected world, links or all, found 'link'"}},
    {TOP("ground: true\ncontact: {law: as-published, D1: 1, between: ^all}"), {"contact.between: `law: as-published` knows a `ground`"}},
    {SHAPE("{type: sphere, radius: 1, contact: {^rounding: 0.1}}"), {"shapes[0].contact.rounding: belongs to boxes"}},
    {SHAPE("{type: box, size: [1, 1, 0.2], contact: {rounding: ^0.1, touches: ^3}}"),
     {"shapes[0].contact.rounding: expected less than half the smallest side, 0.1", "shapes[0].contact.touches: expected a list of whole numbers"}},
    {TOP("pairs: ^1"), {"pairs: expected a list of pairs"}},
    {TOP("pairs: [^{a: a}, {a: ^world, b: ^c}]"),
     {"pairs[0].b: missing; a pair is of two links", "pairs[1].a: the world is no link", "pairs[1].b: unknown link 'c'"}},
    {TOP("pairs: [{a: a, b: ^a}]"), {"pairs[0].b: 'a' is `a` already"}},
    {LINKS A "  - {name: b, joint: revolute, " MASS "}\npairs: [{a: a, b: b, depth: 1, ^stiffness: 2}, {a: a, b: b}, ^{a: b, b: a}]\n",
     {"pairs[0].stiffness: stands beside `depth`", "pairs[2]: 'b' and 'a' are a pair already"}},
    {TOP("exclude: [^[a], [a, ^a], ^{}, {tree: ^b}]"),
     {"exclude[0]: expected two links, [a, b], or {tree: link}, found a list", "exclude[1][1]: a link does not touch itself; `{tree: a}`",
      "exclude[2].tree: missing", "exclude[3].tree: unknown link 'b'"}},
    {TOP("loops: ^{}"), {"loops: expected a list of loops, found a mapping"}},
    {TOP("loops: [^{a: a, b: world}, {type: ^ball, a: a, b: world}]"),
     {"loops[0].type: missing; loops are point, hinge, weld, slider or distance", "loops[1].type: unknown 'ball'"}},
    {TOP("loops: [^{type: point, a: a, b: world}, ^{type: hinge, a: a, b: world, at: [0, 0, 0]}]"),
     {"loops[0].at: missing; it is a point of `a`", "loops[1].axis: missing; it is the axis of the hinge"}},
    {TOP("loops: [{type: point, a: a, b: world, at: [0, 0, 0], ^axis: [1, 0, 0]}, {type: distance, a: a, b: world, ^at: [0, 0, 0]}]"),
     {"loops[0].axis: a loop of the type point has none", "loops[1].at: a loop of the type distance has none; it is between two points"}},
    {TOP("loops: [{type: weld, a: a, b: ^a}, ^{type: weld, a: a}, {name: x, type: weld, a: a, b: world}, {name: ^x, type: weld, a: a, b: world}]"),
     {"loops[0].b: 'a' is `a` already", "loops[1].b: missing", "loops[3].name: loops[0] is already called 'x'"}},
    {LINKS A "  - {name: b, mass: 0}\nloops: [{type: weld, a: ^b, b: world}]\n", {"loops[0].a: neither 'b' nor 'world' moves"}},
    {TOP("loops: [{type: weld, a: a, b: world, at: [0, 0, 0], ^at_a: [0, 0, 0], compliance: ^-1, length: ^0}]"),
     {"loops[0].at_a: `at` is the same point of `a`", "loops[0].compliance: expected a number >= 0",
      "loops[0].length: expected a positive number"}},
    {TOP("couplings: [{joint: ^b, follows: a}, ^{joint: a, ratio: 2}, {joint: a, follows: ^a}, ^{follows: a}]"),
     {"couplings[0].joint: unknown link 'b'", "couplings[1].follows: missing", "couplings[2].follows: 'a' is the `joint` already",
      "couplings[3].joint: missing"}},
    {LINKS A "  - {name: b, joint: ball, " MASS "}\ncouplings: [{joint: a, follows: ^b}]\n",
     {"couplings[0].follows: the joint of 'b' is ball; expected one of one degree of freedom"}},
    {LINKS A "  - {name: b, joint: revolute, " MASS "}\ncouplings: [{joint: b, follows: a, poly: ^[1, 2, 3, 4, 5, 6]}, {joint: b, follows: a, ratio: "
             "1, ^poly: [1]}]\n",
     {"couplings[0].poly: expected a list of 1 to 5 numbers", "couplings[1].poly: stands beside `ratio` or `offset`"}},
    {LINKS A "  - {name: b, joint: revolute, " MASS "}\ncouplings: [{joint: b, follows: a}, {joint: ^b, follows: a}]\n",
     {"couplings[1].joint: the joint of 'b' follows another one already, by couplings[0]"}},
    {TOP("tendons: [{path: [^a, ^b]}, {joints: ^[a], damping: 1}, {joints: {^b: 1}, damping: 1}]"),
     {"tendons[0].path[0]: expected a point of a path", "tendons[0].path[1]: expected a point of a path", "tendons[1].joints: expected joints",
      "tendons[2].joints.b: unknown link 'b'"}},
    {TOP("tendons: [^{damping: 1}]"), {"tendons[0].path: missing"}},
    {TOP("tendons: [^{joints: {a: 1}}]"), {"tendons[0].stiffness: missing; a tendon has a stiffness, a damping, a range, a motor or a sensor"}},
    {TOP("tendons: [{path: ^[{link: a}], damping: 1}, {path: ^[{link: world}, {link: world, at: [1, 0, 0]}], damping: 1}, "
         "{joints: {a: 1}, ^path: [], damping: 1}, {path: ^[{link: a}, {pulley: 2}, {link: a}, {link: world}], damping: 1}]"),
     {"tendons[0].path: expected a list of at least two points", "tendons[1].path: none of its points moves",
      "tendons[2].path: stands beside `joints`", "tendons[3].path: each branch goes through two points at least, and that of point 0"}},
    {TOP("tendons: [{path: [{link: a, ^pulley: 2}, ^{at: [1, 0, 0]}], damping: 1}, {path: [{link: a}, {link: world}], rest: ^[2, 1], damping: 1}]"),
     {"tendons[0].path[0].pulley: stands beside a point", "tendons[0].path[1].link: missing",
      "tendons[1].rest: expected a length, or [from, to] between which it is slack, found [2, 1]"}},
    {TOP("tendons: [{name: t, joints: {a: 1}, damping: 1}]\nmotors: [{tendon: ^u, type: torque}, {tendon: t, type: position, kp: 1, ^ki: 1}, "
         "{tendon: ^t, type: torque}]"),
     {"motors[0].tendon: no tendon is called 'u'", "motors[1].ki: a motor on a tendon has none", "motors[2].tendon: 't' has a motor already"}},
    {TOP("tendons: [{joints: {a: 1}, range: ^[2, 1]}]"), {"tendons[0].range: expected [shortest, longest], found [2, 1]"}},
    {TOP("springs: [{link: a, b: ^a, stiffness: 1, ^anchor: [0, 0, 0]}, {link: a, anchor: [0, 0, 0], stiffness: 1, ^rest: 2}]"),
     {"springs[0].b: 'a' is the spring's `link` already", "springs[0].anchor: stands beside `b`", "springs[1].rest: belongs to a spring between links"}},
    {TOP("^equality: 1"), {"equality: unknown key; catena has `loops` for what closes"}},
    {TOP("^tendon: 1"), {"tendon: unknown key; catena calls this `tendons`"}},

    // springs
    {TOP("springs: ^{}"), {"springs: expected a list of springs, found a mapping"}},
    {TOP("springs: [^{anchor: [0, 0, 0], stiffness: 1}, ^{link: a, damping: 1}]"),
     {"springs[0].link: missing", "springs[1].anchor: missing"}},
    {TOP("springs: [{link: ^b, anchor: [0, 0, 0], stiffness: ^-1}]"),
     {"springs[0].link: unknown link 'b'", "springs[0].stiffness: expected"}},
    {TOP("springs: [^{link: a, anchor: [0, 0, 0]}]"),
     {"springs[0].stiffness: missing; a spring has a stiffness, a damping or both"}},
    {TOP("springs: [{link: a, anchor: ^[0, 0], damping: 1, ^length: 2}]"),
     {"springs[0].anchor: expected", "springs[0].length: unknown key"}},
    {TOP("forces: ^1"), {"forces: expected a list of forces, found '1'"}},
    {TOP("forces: [^{link: a}, {link: a, force: ^[1, 2], ^anchor: [0, 0, 0]}]"),
     {"forces[0].force: missing; [x, y, z] in N", "forces[1].force: expected 3 numbers, found 2",
      "forces[1].anchor: unknown key"}},
    {TOP("forces: [{link: a, torque: ^[1, 2]}, {link: a, torque: [1, 2, 3], axes: ^body}]"),
     {"forces[0].torque: expected 3 numbers, found 2", "forces[1].axes: expected world or link, found 'body'"}},
    // finite numbers, and what is computed of them
    {LINKS "  - tree: ^{name: t, depth: 2, branching: 3, step: [1.7e308, 1.7e308, 0], joint: ball, " MASS "}\n",
     {"tree: numbers of 't.1' are too large to compute with"}},
    {LINKS "  - cable: ^{name: c, links: 2, length: 1e-100, radius: 1, density: 1, young: 1e300}\n",
     {"cable: numbers of 'c.0' are too large to compute with"}},
    {LINKS "  - {name: a, joint: free, " MASS ", shapes: [{type: capsule, from: [0, 0, 0], to: [1e100, 0, 0], radius: 1}]}\n"
           "fluid: {drag: ^{normal: 1e300, tangential: 1, over: axis}}\n",
     {"what the fluid does to a link is too large to compute with"}},
    // cameras
    {TOP("camera: ^[]"), {"camera: expected a camera as a mapping of keys to values, found a list"}},
    {TOP("cameras: ^{}"), {"cameras: expected a list of cameras, found a mapping"}},
    {TOP("camera: {}\n^cameras: []"), {"cameras: `camera` is given already; put it into this list, under a name"}},
    {TOP("cameras: [^{azimuth: 30}]"), {"cameras[0].name: missing; every camera of a list has a name"}},
    {TOP("cameras: [{name: x}, ^{name: x}]"), {"cameras[1]: 'x' is already the name of the camera in line 4"}},
    {TOP("camera: {type: ^orbital}"), {"camera.type: unknown 'orbital'; did you mean 'orbit'?"}},
    {TOP("camera: {type: ^free}"), {"camera.type: unknown 'free'; cameras are orbit, track, first-person"}},
    {TOP("camera: {^azimut: 3}"), {"camera.azimut: unknown key; did you mean 'azimuth'?"}},
    {TOP("camera: {azimuth: ^400, elevation: ^91}"),
     {"camera.azimuth: expected degrees from -360 to 360, found '400'",
      "camera.elevation: expected degrees from -90 to 90, found '91'"}},
    {TOP("camera: {distance: ^0, field_of_view: ^0.5}"),
     {"camera.distance: expected a positive number, found '0'",
      "camera.field_of_view: expected degrees from 1 to 120, found '0.5'"}},
    {TOP("camera: {type: track, link: a, offset: ^[1.7e308, 1.7e308, 0]}"), {"camera.offset: too large to compute with"}},
    {TOP("camera: {target: ^[0, 1]}"), {"camera.target: expected 3 numbers, found 2"}},
    {TOP("camera: {target: ^b}"), {"camera.target: unknown link 'b'; expected one of this scene"}},
    {TOP("camera: {^link: a}"), {"camera.link: a camera of type orbit has none; it is for track and first-person"}},
    {TOP("camera: ^{type: track}"), {"camera.link: missing; a camera of type track needs it"}},
    {LINKS "  - {name: hand, mass: 0}\n" A "camera: {type: track, link: ^hnad}",
     {"camera.link: unknown link 'hnad'; did you mean 'hand'?"}},
    {TOP("camera: {type: track, link: a, offset: ^[0, 0, 0]}"),
     {"camera.offset: the camera must be apart from what it looks at"}},
    {TOP("camera: {type: track, link: a, offset: [0, 0, 1], ^azimuth: 3}"),
     {"camera.azimuth: `offset` says where the camera is; only one of the two is allowed"}},
    {TOP("camera: {type: track, link: a, smooth: ^-1}"), {"camera.smooth: expected a number >= 0, found '-1'"}},
    {TOP("camera: {type: first-person, link: a, look: ^[0, 0, 2]}"),
     {"camera.look: `look` and `up` are parallel; give an `up` across (it is [0, 0, 1] without)"}},
    {TOP("camera: {type: first-person, link: a, look: [1, 1, 0], up: ^[-1, -1, 0]}"),
     {"camera.up: `look` and `up` are parallel; give an `up` across"}},
    {TOP("camera: {type: first-person, link: a, look: ^[0, 0, 0]}"),
     {"camera.look: expected a direction, found a vector of length 0"}},

    // view
    {TOP("view: ^3"), {"view: expected a view as a mapping of keys to values, found '3'"}},
    {TOP("view: {^flor: 3}"), {"view.flor: unknown key; did you mean 'floor'?"}},
    {TOP("view: {floor: ^low}"), {"view.floor: expected a height in metres or none, found 'low'"}},
    {TOP("view: {floor: ^.inf}"), {"view.floor: expected a height in metres or none, found '.inf'"}},
    {TOP("view: {floor: ^1e999}"), {"view.floor: expected a finite number, found '1e999'"}},
    {TOP("view: {floor: ^[1]}"), {"view.floor: expected a number, found a list"}},
    {BODY(MASS ", ^contact_points: [[0, 0, 0]]"), {"contact_points: not available in this version"}},
    {TOP("defaults: {^contact_points: [[0, 0, 0]]}"), {"defaults.contact_points: not available in this version"}},

    // integrator
    {TOP("integrator: ^rk4"), {"integrator: expected an integrator as a mapping of keys to values, found 'rk4'"}},
    {TOP("integrator: {method: ^rk5}"),
     {"integrator.method: unknown method 'rk5'; did you mean 'rk2'? allowed: semi-implicit, euler, rk2"}},
    {TOP("integrator: {method: ^[rk4]}"), {"integrator.method: expected text, found a list"}},
    {TOP("integrator: {method: ^radua, stages: ^0, dt: ^-1}"),
     {"integrator.method: unknown method 'radua'; did you mean 'radau'?", "integrator.stages: expected 1, 2, 3 or 4, found 0",
      "integrator.dt: expected a positive time (s), found -1"}},
    {TOP("integrator: {method: variational, solver: ^lm}"),
     {"integrator.solver: lm is for the methods collocation and radau; variational has newton alone"}},
    {TOP("integrator: {solver: ^newtn}"), {"integrator.solver: unknown solver 'newtn'; did you mean 'newton'?"}},
    {TOP("integrator: {method: rk4, ^order: 2}"),
     {"integrator.order: belongs to the methods collocation and variational, not to rk4"}},
    {TOP("integrator: {^order: 2}"), {"integrator.order: belongs to the methods collocation and variational, not to radau"}},
    {TOP("integrator: {method: collocation, ^stages: 2}"),
     {"integrator.stages: belongs to the method radau, not to collocation"}},
    {TOP("integrator: {method: radau, ^rho: 0.1}"), {"integrator.rho: belongs to the method alpha, not to radau"}},
    {TOP("integrator: {method: alpha, rho: ^0.5}"), {"integrator.rho: expected a number from 0 to 0.3, found 0.5"}},
    {TOP("integrator: {method: collocation, order: ^7}"), {"integrator.order: expected 2, 3, 4, 5 or 6, found 7"}},
    {TOP("integrator: {method: collocation, order: ^1}"), {"integrator.order: expected 2, 3, 4, 5 or 6, found 1"}},
    {TOP("integrator: {method: collocation, order: ^two}"), {"integrator.order: expected a number, found 'two'"}},
    {TOP("integrator: {dt: ^0}"), {"integrator.dt: expected a positive time (s), found 0"}},
    {TOP("integrator: {dt: ^fast}"), {"integrator.dt: expected a number or auto, found 'fast'"}},
    {TOP("integrator: {method: semi-implicit, dt: ^auto}"),
     {"integrator.dt: auto needs a method that estimates its error; semi-implicit does not; these do: dop853, radau, alpha"}},
    {TOP("integrator: {method: rk4, dt: ^auto}"), {"integrator.dt: auto needs a method that estimates its error; rk4 does not"}},
    {TOP("integrator: {method: dop853, dt: auto, interval: ^0, tolerance: ^-1}"),
     {"integrator.interval: expected a positive time (s), found 0",
      "integrator.tolerance: expected a number, 1e-15 or more, found -1"}},
    {TOP("integrator: {method: dop853, dt: 0.1, ^interval: 0.1}"), {"integrator.interval: belongs to `dt: auto`"}},
    {TOP("integrator: {method: ^rk5, dt: auto}"), {"integrator.method: unknown method 'rk5'"}},
    {TOP("integrator: {method: dop853, dt: ^'auto'}"),
     {"integrator.dt: expected a number or auto, found text 'auto'; write it without quotes"}},
    {TOP("integrator: {method: alpha, parallel: ^link}"),
     {"integrator.parallel: unknown parallel 'link'; did you mean 'links'? allowed: auto, worlds, links, both"}},
    {TOP("integrator: {parallel: ^both, method: collocation, order: 3}"),
     {"integrator.parallel: both takes collocation of order 2, not 3; take that, the method alpha, or worlds"}},
    {TOP("integrator: {method: collocation, parallel: ^links, solver: lm}"),
     {"integrator.parallel: links takes the solver newton alone, not lm; take that, or worlds"}},
    {TOP("integrator: {method: alpha, parallel: ^links, dt: auto}"),
     {"integrator.parallel: links takes no `dt: auto` in this version; give dt in seconds, or take worlds"}},
    {TOP("integrator: {lanes: ^12}"), {"integrator.lanes: expected a multiple of 8 from 0 to 8192, found 12"}},
    {TOP("integrator: {^lanes: 8, parallel: worlds}"),
     {"integrator.lanes: belongs to `parallel: links`, both or auto, not to worlds"}},
    {TOP("integrator: {tolerance: ^0}"), {"integrator.tolerance: expected a positive number, found 0"}},
    {TOP("integrator: {max_iterations: ^0}"), {"integrator.max_iterations: expected a whole number from 1 to 1000000, found 0"}},
    {TOP("integrator: {max_iterations: ^2.5}"),
     {"integrator.max_iterations: expected a whole number from 1 to 1000000, found 2.5"}},
    {TOP("integrator: {max_halvings: ^-1}"), {"integrator.max_halvings: expected a whole number from 0 to 30, found -1"}},
    {TOP("integrator: {^time_step: 0.1}"), {"integrator.time_step: unknown key; catena calls this `dt`"}},

    // links
    {LINKS A "  - {name: ^a, " MASS "}\n", {"name: 'a' is already the name of the link at t.yaml:3:5"}},
    {LINKS "  - {name: ^world, " MASS "}\n", {"name: 'world' is no link"}},
    {LINKS "  - ^{" MASS "}\n", {"name: missing; every link has a name"}},
    {LINKS "  - {name: ^[a], " MASS "}\n", {"name: expected text, found a list"}},
    {LINKS "  - {name: ^" LONG ", " MASS "}\n", {"name: expected a name of at most 255 bytes, found '00000000000000000000"}},
    {LINKS A "  - {name: b, parent: ^arm, " MASS "}\n", {"parent: unknown link 'arm'; a parent is a link defined above"}},
    {LINKS "  - {name: spine, " MASS "}\n  - {name: b, parent: ^spin, " MASS "}\n",
     {"parent: unknown link 'spin'; did you mean 'spine'?"}},
    {LINKS "  - {name: b, parent: ^r.1, " MASS "}\n  - chain: {name: r, count: 2, step: [1, 0, 0], " MASS "}\n",
     {"parent: link 'r.1' is defined below; parents come first"}},
    {LINKS "  - chain: {name: r, parent: ^r.1, count: 2, step: [1, 0, 0], " MASS "}\n",
     {"chain.parent: 'r.1' is this link itself"}},
    {LINKS A "  - {name: b, parent: ^[a], " MASS "}\n", {"parent: expected text, found a list"}},
    {LINKS A "  - {name: b, parent: a, ^parent: world, " MASS "}\n", {"parent: given twice; first in line 4"}},
    {LINKS A "  - {name: b, rotation: [1, 0, 0, 0], ^euler: [0, 0, 0], " MASS "}\n", {"euler: `rotation` is given already"}},
    {LINKS A "  - {name: b, rotation: ^[1e-7, 0, 0, 0], " MASS "}\n",
     {"rotation: expected a unit quaternion w x y z, found one of length 1e-07"}},
    {LINKS A "  - {name: b, euler: ^[0, 0], " MASS "}\n", {"euler: expected 3 numbers, found 2"}},
    {LINKS A "  - {name: b, ^axis: [0, 0, 1], " MASS "}\n",
     {"axis: unknown key; this is a key of `joint`: `joint: {type: revolute"}},
    {LINKS "  - ^chian: {name: c, count: 2, " MASS "}\n", {"chian: unknown key; did you mean 'chain'?"}},
    {LINKS "  - chain: {name: c, count: 1, " MASS "}\n    ^name: d\n", {"name: a chain stands alone in its entry"}},
    {LINKS "  - chain: {name: c, count: 1, " MASS "}\n    ^tree: {name: d}\n", {"tree: a chain stands alone in its entry"}},

    // joints
    {JOINT("^{axis: [0, 0, 1]}"), {"joint.type: missing"}},
    {JOINT("^{}"), {"joint.type: missing"}},
    {JOINT("^"), {"joint: expected text, found nothing"}},
    {JOINT("^[revolute]"), {"joint: expected a joint as a mapping of keys to values, found a list"}},
    {JOINT("^hinge"), {"joint: unknown 'hinge'; did you mean 'revolute'?"}},
    {JOINT("{type: ^Spherical}"), {"joint.type: unknown 'Spherical'; did you mean 'ball'?"}},
    {JOINT("^magnetic"),
     {"joint: unknown 'magnetic'; joints are fixed, revolute, prismatic, helical, universal, ball, planar, free"}},
    {JOINT("{type: revolute, axis: ^[0, 0, 1e-7]}"), {"joint.axis: expected a direction, found a vector of length 1e-07"}},
    {JOINT("{type: ball, ^axis: [0, 0, 1]}"), {"joint.axis: a ball joint has none"}},
    {JOINT("{type: fixed, ^damping: 1}"), {"joint.damping: a fixed joint has none"}},
    {JOINT("{type: revolute, ^axis2: [1, 0, 0]}"), {"joint.axis2: a revolute joint has none"}},
    {JOINT("{type: revolute, ^pitch: 0.1}"), {"joint.pitch: a revolute joint has none"}},
    {JOINT("^helical"), {"joint.pitch: missing; a helical joint has a pitch"}},
    {JOINT("^{type: helical, axis: [1, 0, 0]}"), {"joint.pitch: missing; a helical joint has a pitch"}},
    {JOINT("{type: helical, pitch: ^[1, 2]}"), {"joint.pitch: expected a number, found a list"}},
    {JOINT("{type: free, ^stiffness: 1, ^rest: 0, ^limits: [0, 1]}"),
     {"joint.stiffness: a free joint takes damping and armature only", "joint.rest: a free joint takes damping and armature only",
      "joint.limits: a free joint takes damping and armature only"}},
    {JOINT("{type: free, armature: ^[1, 1, 1, 2, 2, 3]}"),
     {"joint.armature: of a free joint the first three are alike (kg), and the last three (kg m^2)"}},
    {JOINT("{type: free, ^effort: 1, ^axis: [0, 0, 1]}"),
     {"joint.effort: a free joint takes damping and armature only", "joint.axis: a free joint has none"}},
    {JOINT("{type: revolute, damping: ^-1}"), {"joint.damping: expected a number >= 0, found '-1'"}},
    {JOINT("{type: revolute, damping: ^[1, 2]}"), {"joint.damping: expected one number, found 2"}},
    {JOINT("{type: planar, damping: ^[1, 2]}"), {"joint.damping: expected one number or 3, found 2"}},
    {JOINT("{type: ball, damping: ^[1, 2, 3]}"), {"joint.damping: expected one number, found 3"}},
    {JOINT("{type: ball, stiffness: ^[1, 2, 3]}"), {"joint.stiffness: expected one number, found 3"}},
    {JOINT("{type: ball, rest: ^0}"), {"joint.rest: expected 4 numbers, found '0'"}},
    {JOINT("{type: ball, rest: ^[0, 0, 0, 0]}"), {"joint.rest: expected a unit quaternion"}},
    {JOINT("{type: universal, rest: [0, ^x]}"), {"joint.rest[1]: expected a number, found 'x'"}},
    {JOINT("{type: universal, armature: [1, ^-1]}"), {"joint.armature[1]: expected a number >= 0, found '-1'"}},
    {JOINT("{type: universal, axis: ^[1, 0, 0]}"), {"joint.axis: the two axes of a universal joint must not be parallel"}},
    {JOINT("{type: universal, axis: [0, 1, 0], axis2: ^[0, -2, 0]}"),
     {"joint.axis2: the two axes of a universal joint must not be parallel"}},
    {JOINT("{type: universal, limits: ^[0, 1, 2]}"),
     {"joint.limits: expected 2 pairs [low, high], one for each degree of freedom, found 3"}},
    {JOINT("{type: universal, limits: [^0, ^1]}"),
     {"joint.limits[0]: expected 2 numbers, found '0'", "joint.limits[1]: expected 2 numbers"}},
    {JOINT("{type: planar, limits: ^1}"), {"joint.limits: expected 3 pairs [low, high], found '1'"}},
    {JOINT("{type: planar, limits: [none, [0, 1], ^[1, 1]]}"),
     {"joint.limits[2]: expected limits [low, high] with low < high, found [1, 1]"}},
    {JOINT("{type: revolute, limits: ^0.5}"), {"joint.limits: expected 2 numbers, found '0.5'"}},
    {JOINT("{type: ball, limits: ^[0, 1]}"), {"joint.limits: expected a positive number, found a list"}},
    {JOINT("{type: ball, limits: ^3.15}"),
     {"joint.limits: expected an angle of at most pi (rad), found '3.15'; degrees are written as in `90 deg`"}},
    {JOINT("{type: ball, limits: ^0}"), {"joint.limits: expected a positive number, found '0'"}},
    {JOINT("{type: revolute, limits: [0, 1], limit_stiffness: ^0}"),
     {"joint.limit_stiffness: expected a positive number, found '0'"}},
    {JOINT("{type: revolute, limits: [0, 1], limit_damping: ^-1}"), {"joint.limit_damping: expected a number >= 0"}},
    {JOINT("{type: revolute, effort: ^-1}"), {"joint.effort: expected a number >= 0, found '-1'"}},
    {JOINT("{type: ball, effort: ^[1, 2]}"), {"joint.effort: expected one number, found 2"}},
    {JOINT("{type: universal, q0: ^0.5}"), {"joint.q0: expected 2 numbers, found '0.5'"}},
    {JOINT("{type: ball, q0: ^[0, 0, 0]}"), {"joint.q0: expected 4 numbers, found 3"}},
    {JOINT("{type: ball, q0: ^[0, 0, 0, 0]}"), {"joint.q0: expected a unit quaternion"}},
    {JOINT("{type: free, q0: ^[0, 0, 0, 0, 0, 0, 0]}"), {"joint.q0: expected a unit quaternion"}},
    {JOINT("{type: free, v0: ^[0, 0, 0]}"), {"joint.v0: expected 6 numbers, found 3"}},
    {JOINT("{type: revolute, v0: ^.nan}"), {"joint.v0: expected a finite number, found '.nan'"}},
    {LINKS A "  - {name: b, parent: a, joint: ^free, " MASS "}\n",
     {"joint: a free joint hangs on the world only; the parent here is 'a'"}},

    // mass
    {BODY("mass: ^0"), {"mass: a moving link needs mass, of its own or below it"}},
    {LINKS "  - {name: a, joint: revolute, mass: ^0}\n  - {name: b, parent: a}\n", {"mass: a moving link needs mass"}},
    {LINKS "  - ^{name: a, joint: revolute, mass: 1}\n", {"inertia: missing; mass needs an inertia"}},
    {LINKS "  - ^{name: a, mass: 1}\n", {"inertia: missing; mass needs an inertia"}},
    {LINKS "  - ^{name: a, joint: revolute, inertia: [1, 1, 1, 0, 0, 0]}\n", {"mass: missing; `inertia` needs it"}},
    {LINKS "  - ^{name: a, joint: revolute, shapes: [{type: sphere, radius: 1}]}\n",
     {"mass: missing; give `mass`, or the shapes a `density`"}},
    {LINKS "  - ^{name: a, joint: revolute, density: 3}\n", {"mass: missing"}},
    {LINKS "  - ^{name: a, mass: 1, shapes: [{type: sphere, radius: 1, density: 2}, {type: sphere, radius: 1}]}\n",
     {"density: missing; some shapes"}},
    {BODY("mass: ^1, shapes: [{type: sphere, radius: 1, density: 0}]"), {"mass: the shapes of this link have no mass to scale"}},
    {BODY("density: ^0, shapes: [{type: sphere, radius: 1}]"), {"density: a moving link needs mass"}},
    {BODY("shapes: ^[{type: sphere, radius: 1, density: 0}]"), {"shapes: a moving link needs mass"}},
    {BODY("mass: 1, inertia: ^[1, 1, 2.01, 0, 0, 0]"), {"inertia: no body has principal moments 1, 1, 2.01"}},
    {BODY("mass: 1, inertia: ^[1, 1, 1, 0.9, 0, 0]"), {"inertia: no body has principal moments 0.1, 1.9, 1"}},
    {BODY("mass: 1, inertia: ^[1, 1, 1, 0, 0, 1.1]"), {"inertia: no body has principal moments"}},
    {BODY("mass: 1, inertia: ^[-1, -1, -1, 0, 0, 0]"), {"inertia: no body has principal moments -1, -1, -1"}},
    {BODY("mass: 1, inertia: ^[1e300, 1, 1, 0, 0, 0]"), {"inertia: no body"}},
    {LINKS "  - {name: a, joint: revolute, mass: 0, inertia: ^[1, 1, 1, 0, 0, 0]}\n  - {name: b, parent: a, " MASS "}\n",
     {"inertia: a link without mass has no inertia: give it a `mass` > 0; or zeros here, if it is fixed or links with mass hang "
      "on it"}},
    {BODY("mass: ^x, com: ^[1, 2], inertia: ^[1, 1, 9, 0, 0, 0]"),
     {"mass: expected a number >= 0", "com: expected 3 numbers, found 2", "inertia: no body"}},
    {BODY("density: 1, ^shapes: [{type: sphere, radius: 1e200}]"), {"shapes: too large to compute with"}},

    // shapes
    {SHAPE("^5"), {"shapes[0]: expected a shape as a mapping of keys to values, found '5'"}},
    {BODY("density: 1, shapes: ^{type: sphere}"), {"shapes: expected a list of shapes, found a mapping"}},
    {SHAPE("^{radius: 1}"), {"shapes[0].type: missing; shapes are sphere, box, capsule, cylinder, ellipsoid"}},
    {SHAPE("{type: ^cone}"), {"shapes[0].type: unknown 'cone'; shapes are sphere, box, capsule, cylinder, ellipsoid, mesh"}},
    {SHAPE("^{type: mesh, scale: 1}"), {"shapes[0].file: missing; a shape of type mesh needs it"}},
    {SHAPE("{type: mesh, file: ^[a.obj], scale: ^0, ^center: [0, 0, 0]}"),
     {"shapes[0].file: expected text, found a list", "shapes[0].scale: expected numbers other than 0, found '0'",
      "shapes[0].center: a shape of type mesh has none"}},
    {SHAPE("{type: box, size: [1, 1, 1], ^file: a.obj}"), {"shapes[0].file: a shape of type box has none"}},
    {SHAPE("{type: sphere, radius: 1}, ^{type: sphere}"), {"shapes[1].radius: missing; a shape of type sphere needs it"}},
    {SHAPE("{type: sphere, radius: 1, ^size: [1, 1, 1]}"), {"shapes[0].size: a shape of type sphere has none"}},
    {SHAPE("^{type: ellipsoid, ^radius: 1}"),
     {"shapes[0].radii: missing", "shapes[0].radius: a shape of type ellipsoid has none"}},
    {SHAPE("{type: box, size: [1, ^0, 1]}"), {"shapes[0].size[1]: expected a positive number, found '0'"}},
    {SHAPE("{type: ellipsoid, radii: ^[1, 1]}"), {"shapes[0].radii: expected 3 numbers, found 2"}},
    {SHAPE("{type: box, size: [1, 1, 1], rotation: [1, 0, 0, 0], ^euler: [0, 0, 0]}"),
     {"shapes[0].euler: `rotation` is given already"}},
    {SHAPE("^{type: capsule, radius: 1, from: [0, 0, 0]}"), {"shapes[0].to: missing; a shape of type capsule needs it"}},
    {SHAPE("{type: capsule, radius: 1, from: [0, 0, 1], to: ^[0, 0, 1]}"),
     {"shapes[0].to: the ends of a capsule must be apart; a ball is a sphere"}},
    {SHAPE("{type: cylinder, radius: 1, from: [0, 0, 1], to: ^[0, 0, 1]}"),
     {"shapes[0].to: the ends of a cylinder must be apart"}},
    {SHAPE("{type: sphere, radius: 1, color: ^[1, 2, 0]}"), {"shapes[0].color: expected red, green, blue from 0 to 1, found 2"}},
    {SHAPE("{type: sphere, radius: 1, density: ^-1}"), {"shapes[0].density: expected a number >= 0"}},
    {SHAPE("{type: sphere, radius: 1, ^colour: ^red}"),
     {"shapes[0].colour: unknown key; did you mean 'color'?", "shapes[0].colour: expected 3 numbers, found 'red'"}},

    {BODY("mass: ^-1, density: ^x, inertia: ^[0], shapes: [{type: sphere, radius: ^0}]"),
     {"mass: expected a number >= 0", "density: expected a number >= 0", "inertia: expected 6 numbers",
      "shapes[0].radius: expected a positive"}},

    // chain
    {LINKS "  - chain: ^5\n", {"chain: expected a chain as a mapping of keys to values, found '5'"}},
    {LINKS "  - chain: ^{count: 3, step: [1, 0, 0], " MASS "}\n", {"chain.name: missing"}},
    {LINKS "  - chain: ^{name: c, count: 2, " MASS "}\n", {"chain.step: missing"}},
    {LINKS "  - chain: {name: c, count: ^2.0, step: [1, 0, 0], " MASS "}\n",
     {"chain.count: expected a whole number from 1 to 1000000, found '2.0'"}},
    {LINKS "  - chain: {name: c, count: ^1000001, step: [1, 0, 0], " MASS "}\n",
     {"chain.count: expected a whole number from 1 to 1000000"}},
    {LINKS "  - chain: {name: c, count: ^99999999999999999999, step: [1, 0, 0], " MASS "}\n",
     {"chain.count: expected a whole number from 1 to 1000000"}},
    {LINKS A "  - chain: {name: c, count: ^1000000, step: [1, 0, 0], " MASS "}\n",
     {"chain.count: too many links; a scene has at most 1000000"}},
    {CHAIN("joint: ^free"), {"chain.joint: a free joint hangs on the world only"}},
    {CHAIN("joint: ball, ^axes: [[1, 0, 0]]"), {"chain.axes: a ball joint has no axis"}},
    {CHAIN("joint: revolute, axes: ^[]"), {"chain.axes: expected a list of axes"}},
    {CHAIN("joint: revolute, axes: ^5"), {"chain.axes: expected a list of axes"}},
    {CHAIN("joint: revolute, axes: [[1, 0, 0], ^[0, 0, 0], ^1]"),
     {"chain.axes[1]: expected a direction", "chain.axes[2]: expected 3 numbers"}},
    {CHAIN("joint: universal, axes: [[0, 1, 0], ^[1, 0, 0]]"),
     {"chain.axes[1]: the two axes of a universal joint must not be parallel"}},
    {CHAIN("joint: {type: revolute, axis: ^[0, 1]}"), {"chain.joint.axis: expected 3 numbers, found 2"}},
    {CHAIN("joint: ^revolut, axes: [[0, 1, 0]]"), {"chain.joint: unknown 'revolut'; did you mean 'revolute'?"}},
    {CHAIN("^depth: 3"), {"chain.depth: unknown key; a chain has: name,"}},
    {CHAIN("^contact_points: []"), {"chain.contact_points: not available in this version"}},
    {LINKS "  - chain: {name: c, count: 3, step: [1, 0, 0], joint: revolute, mass: ^0}\n",
     {"chain.mass: a moving link needs mass"}},
    {LINKS "  - {name: c.1, " MASS "}\n  - chain: {name: ^c, count: 3, step: [1, 0, 0], " MASS "}\n",
     {"chain.name: 'c.1' is already the name"}},

    // tree
    {TREE("depth: 2, branching: 2, step: [1, 0, 0], ^steps: [[0, 0, 1], [0, 1, 0]]"), {"tree.steps: `step` is given already"}},
    {TREE("depth: 2, branching: 2, steps: ^[[0, 0, 1]]"),
     {"tree.steps: expected a list of 2 steps [x, y, z], one for each branch"}},
    {TREE("depth: 2, branching: 2, steps: [[0, 0, 1], ^[0, 0]]"), {"tree.steps[1]: expected 3 numbers, found 2"}},
    {LINKS "  - tree: ^{name: t, " MASS ", depth: 2, branching: 2}\n", {"tree.step: missing"}},
    {LINKS "  - tree: ^{name: t, " MASS ", step: [1, 0, 0], branching: 2}\n", {"tree.depth: missing"}},
    {LINKS "  - tree: ^{name: t, " MASS ", step: [1, 0, 0], depth: 2}\n", {"tree.branching: missing"}},
    {TREE("depth: ^20, branching: 2, step: [1, 0, 0]"), {"tree.depth: too many links; a scene has at most 1000000"}},
    {TREE("depth: ^3, branching: 1000000, step: [1, 0, 0]"), {"tree.depth: too many links"}},
    {TREE("depth: ^100, branching: 1000000, step: [1, 0, 0]"), {"tree.depth: too many links"}},
    {TREE("depth: ^1000, branching: 1, step: [1, 0, 0]"), {"tree.depth: expected a whole number from 1 to 128, found '1000'"}},
    {TREE("depth: 2, branching: ^0, step: [1, 0, 0]"), {"tree.branching: expected a whole number from 1 to 1000000, found '0'"}},
    {TREE("depth: 2, branching: 2, step: [1, 0, 0], ^count: 3"), {"tree.count: unknown key; a tree has: name,"}},
    {LINKS "  - tree: {name: ^"
           "0123456789012345678901234567890123456789, depth: 110, branching: 1, step: [1, 0, 0], " MASS "}\n",
     {"tree.name: the name 0123456789012345678901234567890123456789.0.0.0.0.0.0.0.0.0.0... would have 256 bytes; at most 255"}},

    // defaults
    {TOP("defaults: ^5"), {"defaults: expected a set of defaults as a mapping of keys to values, found '5'"}},
    {TOP("defaults: {^name: b}"), {"defaults.name: every link has a name of its own"}},
    {TOP("defaults: {density: ^-5}"), {"defaults.density: expected a number >= 0, found '-5'"}},
    {TOP("defaults: {^densty: 5}"), {"defaults.densty: unknown key; did you mean 'density'?"}},
    {TOP("defaults: {joint: {damping: ^-1}}"), {"defaults.joint.damping: expected a number >= 0, found '-1'"}},
    {TOP("defaults: {joint: {damping: ^[1, 2, 3, 4]}}"), {"defaults.joint.damping: expected one number, found 4"}},
    {TOP("defaults: {joint: {type: universal, damping: ^[1, 2, 3, 4]}}"),
     {"defaults.joint.damping: expected one number or 2, found 4"}},
    {TOP("defaults: {joint: {^dampng: 1}}"), {"defaults.joint.dampng: unknown key; did you mean 'damping'?"}},
    {TOP("defaults: {joint: ^hinge}"), {"defaults.joint: unknown 'hinge'; did you mean 'revolute'?"}},
    {TOP("defaults: {joint: {axis2: ^[0, 0, 0]}}"), {"defaults.joint.axis2: expected a direction"}},
    {TOP("defaults: {rotation: [1, 0, 0, 0], ^euler: [0, 0, 0]}"), {"defaults.euler: `rotation` is given already"}},
    {TOP("defaults: {inertia: ^[1, 1, 3, 0, 0, 0]}"), {"defaults.inertia: no body"}},
    {TOP("defaults: {shapes: [{type: sphere, radius: ^0}]}"), {"defaults.shapes[0].radius: expected a positive number"}},
    {TOP("defaults: {parent: ^nobody}"), {"defaults.parent: unknown link 'nobody'"}},
    {TOP("defaults: {^count: 3}"), {"defaults.count: unknown key; a set of defaults has: "}},
    {"catena: 1\ndefaults: {inertia: ^[1, 1, 3, 0, 0, 0], mass: 1}\nlinks:\n  - {name: a, joint: ball}\n",
     {"defaults.inertia: no body"}},
    {"catena: 1\ndefaults: {joint: {axis2: ^[0, 0, 1]}}\nlinks:\n  - {name: a, joint: universal, " MASS "}\n"
     "  - {name: b, joint: universal, " MASS "}\n",
     {"defaults.joint.axis2: the two axes of a universal joint must not be parallel"}},

    {"catena: 1\ndefaults: {shapes: [{type: sphere, radius: 1, density: 0}]}\nlinks:\n  - ^{name: a, joint: ball}\n",
     {"mass: a moving link needs mass, of its own or below it; found none: give it a `mass` > 0 with an `inertia` or shapes, or "
      "make its joint fixed"}},

    // what is missing may have been meant to come from a default that is wrong
    {"catena: 1\ndefaults: {joint: {type: ^hing}}\nlinks:\n  - {name: a, joint: {damping: 1}, " MASS
     "}\n  - {name: b}\nstate: {q: [0, 0]}\n",
     {"defaults.joint.type: unknown 'hing'"}},
    {"catena: 1\ndefaults: {joint: {pitch: ^x}}\nlinks:\n  - {name: a, joint: helical, " MASS "}\n",
     {"defaults.joint.pitch: expected a number"}},
    {"catena: 1\ndefaults: {^rho: 5}\nlinks:\n  - {name: a, joint: ball, shapes: [{type: sphere, radius: 1}]}\n",
     {"defaults.rho: unknown key"}},
    {"catena: 1\ndefaults: {density: ^x}\nlinks:\n  - {name: a, joint: ball, mass: 1, shapes: [{type: sphere, radius: 1}, "
     "{type: sphere, radius: 1, density: 2}]}\n",
     {"defaults.density: expected a number"}},
    {"catena: 1\ndefaults: ^x\nlinks:\n  - {name: a, joint: ball}\n", {"defaults: expected a set of defaults"}},

    // state
    {TOP("state: ^[0]"), {"state: expected a state as a mapping of keys to values, found a list"}},
    {TOP("state: {q: ^0}"), {"state.q: expected a list of numbers, found '0'"}},
    {TOP("state: {q: ^[0, 0], v: ^[]}"),
     {"state.q: expected 1 number (q of all links in order), found 2", "state.v: expected 1 number (v"}},
    {TOP("state: {q: [^.nan], v: [^none]}"),
     {"state.q[0]: expected a finite number, found '.nan'", "state.v[0]: expected a number, found 'none'"}},
    {TOP("state: {q: ^[0, ^x]}"),
     {"state.q: expected 1 number (q of all links in order), found 2", "state.q[1]: expected a number, found 'x'"}},
    {LINKS A "  - {name: b, joint: ^bal, " MASS "}\nstate: {q: [0, ^x]}\n",
     {"joint: unknown 'bal'", "state.q[1]: expected a number, found 'x'"}},
    {TOP("state: {q: [0], ^qd: [0]}"), {"state.qd: unknown key"}},
    {LINKS A "  - {name: b, joint: ball, " MASS "}\nstate: {q: [0, ^0, 0, 0, 0]}\n", {"state.q[1]: expected a unit quaternion"}},
    {LINKS "  - {name: b, joint: free, " MASS "}\nstate: {q: [0, 0, 0, ^0, 0, 0, 0]}\n",
     {"state.q[3]: expected a unit quaternion"}},
    {LINKS A "  - {name: b, joint: ^bal, " MASS "}\nstate: {q: [0]}\n", {"joint: unknown 'bal'; did you mean 'ball'?"}},
    {JOINT("{type: ball, damping: ^x}") "state: {q: ^[1, 2, 3]}\n",
     {"joint.damping: expected a number >= 0", "state.q: expected 4 numbers"}},

    // includes
    {TOP("include: ^a.yaml"), {"include: expected a list of files, found 'a.yaml'"}},
    {TOP("include: [^nowhere.yaml]"), {"include[0]: 'nowhere.yaml' cannot be read: No such file or directory"}},
    {TOP("include: [{file: ^nowhere.yaml, as: n}]"),
     {"include[0].file: 'nowhere.yaml' cannot be read: No such file or directory"}},
    {TOP("include: [^{as: n}]"), {"include[0].file: missing"}},
    {TOP("include: [{file: ^[a]}]"), {"include[0].file: expected text, found a list"}},
    {TOP("include: [^[a]]"), {"include[0]: expected an included file as a mapping of keys to values, found a list"}},
    {TOP("include: [{file: a.yaml, parent: ^b}]"),
     {"include[0].parent: unknown link 'b'; a parent is a link of a file included before, or world"}},
    {TOP("include: [{file: a.yaml, parent: ^[b]}]"), {"include[0].parent: expected text, found a list"}},
    {TOP("include: [{file: ^a.yaml, ^prefix: b}]"),
     {"include[0].file: 'a.yaml' cannot be read",
      "include[0].prefix: unknown key; an included file has: file, as, parent, position"}},
    {TOP("include: [^.]"), {"include[0]: '.' cannot be read: it is a folder"}},
    {TOP("include: [^/dev/null]"), {"include[0]: '/dev/null' cannot be read: it is no file"}},
};

/// The text without its marks, and where they stood. Columns count characters.
static int take_marks(const char *marked, char *text, int lines[4], int columns[4])
{
    int marks = 0, line = 1, column = 1;
    if (!strncmp(marked, "\xef\xbb\xbf", 3)) {
        memcpy(text, marked, 3);
        text += 3, marked += 3;
    }
    for (; *marked; marked++) {
        if (*marked == '^') {
            lines[marks] = line, columns[marks++] = column;
            continue;
        }
        if (*marked == '\n') line++, column = 1;
        else if (((unsigned char)*marked & 0xc0) != 0x80) column++;
        *text++ = *marked;
    }
    *text = 0;
    return marks;
}

START_TEST(bad_texts)
{
    char text[4096];
    int lines[4], columns[4];
    const int marks = take_marks(cases[_i].text, text, lines, columns);
    ctn_error err = {0};
    ck_assert_int_ge(marks, 1);
    ck_assert_msg(!ctn_scene_parse(text, strlen(text), "t.yaml", &err), "accepted:\n%s", text);
    for (int k = 0; k < marks; k++)
        ck_assert_msg(has_error(err.message, "t.yaml", lines[k], columns[k], cases[_i].errors[k], false),
                      "expected %d:%d: %s\nin the messages\n%s\nof the text\n%s", lines[k], columns[k], cases[_i].errors[k],
                      err.message, text);
    ck_assert_msg(err.count == marks, "expected %d errors, got\n%s\nof the text\n%s", marks, err.message, text);
}
END_TEST

/// What cannot be written as a text above.
START_TEST(foreign_files)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *message;
    } files[] = {
        {"\x89HDF\r\n\x1a\n\0\0", 10, "is an HDF5 file, no scene; recordings are for `catena replay`, `plot` and `render`"},
        {"\x7f"
         "ELF\2\1\1\0\0",
         9, "is a binary file, no scene"},
        {"", 0, "an empty file; a scene starts with `catena: 1`"},
    };
    ctn_error err;
    ctn_finding f;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        ck_assert_ptr_null(ctn_scene_parse(files[i].bytes, files[i].length, "t.yaml", &err));
        ck_assert_int_eq(err.count, 1);
        ck_assert_int_eq(ctn_error_finding(&err, 0, &f), CTN_OK);
        ck_assert_str_eq(f.text, files[i].message);
    }
    // texts without a terminating zero, which sanitizers watch
    static const char *const cut[] = {"{", "{ ", "<", "  ", "solid", "solid ", "\xff", "{\"a\""};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        char *const text = malloc(strlen(cut[i]));
        ck_assert_ptr_nonnull(text);
        memcpy(text, cut[i], strlen(cut[i]));
        ck_assert_ptr_null(ctn_scene_parse(text, strlen(cut[i]), "t.yaml", &err));
        free(text);
    }
    ck_assert_ptr_null(ctn_scene_load("/", &err));
    ck_assert_str_eq(err.message, "/: cannot be read: it is a folder");
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("scene errors");
    TCase *const texts = tcase_create("texts");
    tcase_add_test(texts, bad_files);
    tcase_add_test(texts, foreign_files);
    tcase_add_loop_test(texts, bad_texts, 0, (int)(sizeof cases / sizeof *cases));
    suite_add_tcase(suite, texts);
    return run_suite(suite);
}
