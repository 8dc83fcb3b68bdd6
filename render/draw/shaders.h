/// GLSL of the passes of renderer.c.
#ifndef CATENA_RENDER_SHADERS_H
#define CATENA_RENDER_SHADERS_H

/// Unit bodies to where their instances are (instances.h), at least as thick as can be seen: `pixel` is the size of one at
/// distance 1.
#define GLSL_BODY                                                                                                                \
    "#version 330 core\n"                                                                                                        \
    "layout(location = 0) in vec3 vertex; layout(location = 1) in vec3 normal; layout(location = 2) in float side;\n"            \
    "layout(location = 3) in vec3 row0; layout(location = 4) in vec3 row1; layout(location = 5) in vec3 row2;\n"                 \
    "layout(location = 6) in vec3 position; layout(location = 7) in vec3 scale; layout(location = 8) in float half_length;\n"    \
    "layout(location = 9) in vec3 colour; layout(location = 10) in uint id; layout(location = 11) in float fade;\n"              \
    "layout(location = 12) in float lift; uniform float over; // what a lift of 1 is in clip coordinates\n"                      \
    "uniform mat4 to_clip, to_light; uniform float pixel;\n"                                                                     \
    "vec3 turn(vec3 x) { return vec3(dot(row0, x), dot(row1, x), dot(row2, x)); }\n"                                             \
    "vec3 thick() { return max(scale, vec3(0.8 * pixel * max((to_clip * vec4(position, 1)).w, 0))); }\n"                         \
    "vec4 only(bool seen, vec4 clip) { return seen ? clip : vec4(2, 2, 2, 1); } // else it is elsewhere\n"                       \
    "vec4 lifted(vec4 clip) { return clip - vec4(0, 0, lift * over, 0); }\n"                                                     \
    "vec3 place() { return turn(thick() * vertex + vec3(0, 0, side * half_length)) + position; }\n"

static const char shadow_vertex[] = GLSL_BODY "void main() { gl_Position = only(fade == 0, to_clip * vec4(place(), 1)); }\n";
static const char shadow_fragment[] = "#version 330 core\nvoid main() { }\n";

static const char id_vertex[] =
    GLSL_BODY "flat out uint which;\n"
              "void main() { gl_Position = only(id > 0u, lifted(to_clip * vec4(place(), 1))); which = id; }\n";
static const char id_fragment[] = "#version 330 core\nflat in uint which;\nout uint result;\nvoid main() { result = which; }\n";

#define GLSL_HORIZON 0.80f, 0.85f, 0.90f
#define GLSL_SHADOW_ROWS 64

#define GLSL_TEXT_OF(...) #__VA_ARGS__
#define GLSL_TEXT(...) GLSL_TEXT_OF(__VA_ARGS__)

/// What all that is lit has in common; colours are linear until `seen`.
#define GLSL_COLOURS                                                                                                             \
    "#version 330 core\n"                                                                                                        \
    "const vec3 horizon = vec3(" GLSL_TEXT(GLSL_HORIZON) ");\n"                                                                  \
                                                         "vec4 seen(vec3 linear) { return vec4(sqrt(linear), 1); }\n"

/// The floor: a grid of one and of ten cells, that fades into the horizon.
#define GLSL_FLOOR                                                                                                               \
    "uniform vec4 ground; uniform float cell;\n"                                                                                 \
    "float grid(vec2 at, float size, float width) {\n"                                                                           \
    "    vec2 x = at / size, w = fwidth(x), d = abs(fract(x - 0.5) - 0.5);\n"                                                    \
    "    vec2 line = 1 - smoothstep(vec2(width) * w, vec2(width + 1) * w, d);\n"                                                 \
    "    return max(line.x, line.y) * clamp(0.35 / max(w.x, w.y) - 0.4, 0, 1);\n"                                                \
    "}\n"                                                                                                                        \
    "vec3 floor_colour(vec2 at) {\n"                                                                                             \
    "    float lines = max(0.35 * grid(at, cell, 0.3), 0.6 * grid(at, 10 * cell, 0.6));\n"                                       \
    "    return mix(vec3(0.40, 0.43, 0.46), vec3(0.20, 0.23, 0.27), lines);\n"                                                   \
    "}\n"                                                                                                                        \
    "float far(vec2 at) { return smoothstep(0.25, 1.0, length(at - ground.xy) / ground.w); }\n"                                  \
    "vec4 from_below(vec3 eye, vec2 at) { // and how much it hides: the less, the flatter one looks\n"                           \
    "    vec3 way = vec3(at, ground.z) - eye;\n"                                                                                 \
    "    float steep = smoothstep(0.03, 0.35, abs(way.z) / length(way));\n"                                                      \
    "    return vec4(0.8 * floor_colour(at), 0.6 * steep * (1 - far(at)));\n"                                                    \
    "}\n"

/// Light from above and from a sun whose shadow is in `shadow`: the share of it that reaches a point.
#define GLSL_LIGHT                                                                                                               \
    GLSL_COLOURS                                                                                                                 \
    "in vec4 in_light; uniform sampler2DShadow shadow; uniform vec3 sun; uniform float texel;\n"                                 \
    "float lit(float slope) {\n"                                                                                                 \
    "    vec3 p = in_light.xyz * 0.5 + 0.5;\n"                                                                                   \
    "    p.z -= texel * (0.5 + 2 * min(sqrt(1 - slope * slope) / slope, 5)); // what the depth may differ by where it is "       \
    "looked at\n"                                                                                                                \
    "    bool shown = all(greaterThan(p.xy, vec2(0))) && all(lessThan(p, vec3(1)));\n"                                           \
    "    float sum = 0;\n"                                                                                                       \
    "    for (int i = 0; i < 4; i++) sum += textureLod(shadow, p + vec3((i & 1) - 0.5, (i >> 1) - 0.5, 0) * 1.6 * texel, 0);\n"  \
    "    return shown ? sum / 4 : 1.0;\n"                                                                                        \
    "}\n"

static const char body_vertex[] =
    GLSL_BODY "out vec3 at, up; out vec4 in_light; flat out vec4 paint;\n"
              "void main() {\n"
              "    at = place(); up = turn(normal / thick()); paint = vec4(colour * colour, 1 - fade);\n"
              "    in_light = to_light * vec4(at, 1); gl_Position = lifted(to_clip * vec4(at, 1));\n"
              "}\n";
static const char body_fragment[] =
    GLSL_LIGHT GLSL_FLOOR "in vec3 at, up; flat in vec4 paint; uniform vec3 eye;\nout vec4 result;\n"
                          "void main() {\n"
                          "    vec3 n = normalize(up), to_eye = normalize(eye - at);\n"
                          "    float face = dot(n, sun), share = face > 0 ? lit(face) : 0;\n"
                          "    vec3 ambient = mix(vec3(0.22, 0.20, 0.18), vec3(0.42, 0.45, 0.50), 0.5 + 0.5 * n.z);\n"
                          "    float shine = pow(max(dot(n, normalize(sun + to_eye)), 0), 40) * 0.25;\n"
                          "    vec3 shown = paint.rgb * (ambient + 0.85 * max(face, 0) * share) + shine * share;\n"
                          "    if (eye.z < ground.z) { // what is above is seen through the floor\n"
                          "        vec4 veil = from_below(eye, mix(eye.xy, at.xy, (ground.z - eye.z) / (at.z - eye.z)));\n"
                          "        shown = at.z > ground.z ? mix(shown, veil.rgb, veil.a) : shown;\n"
                          "    }\n"
                          "    result = vec4(seen(shown).rgb, paint.a);\n"
                          "}\n";

/// The ground: a square about the point below the target. The sun's light all over it first; then once more where there may be
/// shadows: an instance for each row of the map of shadows (shadows.h). From below it is a veil before what is above it, and has
/// no shadows.
#define GLSL_GROUND(share)                                                                                                       \
    GLSL_FLOOR "in vec3 at;\nout vec4 result;\n"                                                                                 \
               "void main() { result = seen(mix(floor_colour(at.xy) * (0.45 + 0.55 * " share "), horizon, far(at.xy))); }\n"

static const char ground_vertex[] = "#version 330 core\nuniform mat4 to_clip; uniform vec4 ground;\nout vec3 at;\n"
                                    "void main() {\n"
                                    "    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2 - 1;\n"
                                    "    at = vec3(ground.xy + corner * ground.w, ground.z);\n"
                                    "    gl_Position = to_clip * vec4(at, 1);\n"
                                    "}\n";
static const char ground_fragment[] = GLSL_COLOURS GLSL_GROUND("1.0");
static const char underside_fragment[] = GLSL_COLOURS GLSL_FLOOR
    "in vec3 at; uniform vec3 eye;\nout vec4 result;\n"
    "void main() { vec4 veil = from_below(eye, at.xy); result = seen(mix(horizon, veil.rgb, veil.a)); }\n";

static const char shaded_vertex[] =
    "#version 330 core\nuniform mat4 to_clip, to_light; uniform vec4 ground; uniform vec2 rows[" GLSL_TEXT(
        GLSL_SHADOW_ROWS) "], span;\n"
                          "out vec3 at; out vec4 in_light;\n"
                          "void main() {\n"
                          "    float end = gl_VertexID >> 1 == 0 ? -0.01 : 1.01; // rows lie over each other a little\n"
                          "    vec2 place = vec2(rows[gl_InstanceID][gl_VertexID & 1], span.x + (gl_InstanceID + end) * "
                          "span.y);\n"
                          "    mat2 across = mat2(to_light); // a way on the ground on the map\n"
                          "    at = vec3(inverse(across) * (place - to_light[3].xy - to_light[2].xy * ground.z), ground.z);\n"
                          "    in_light = to_light * vec4(at, 1); gl_Position = to_clip * vec4(at, 1);\n"
                          "}\n";
static const char shaded_fragment[] = GLSL_LIGHT GLSL_GROUND("lit(sun.z)");

/// The sky: what is above the horizon, whose colour is there before, and into which the ground fades.
static const char sky_vertex[] = "#version 330 core\nuniform float tilt; uniform vec2 rise;\nout float high;\n"
                                 "void main() {\n"
                                 "    vec2 corner = vec2(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1);\n"
                                 "    high = tilt + dot(rise, corner); // the way of looking, upwards\n"
                                 "    gl_ClipDistance[0] = high; gl_Position = vec4(corner, 1, 1);\n"
                                 "}\n";
static const char sky_fragment[] =
    GLSL_COLOURS "in float high;\nout vec4 result;\n"
                 "void main() { result = seen(mix(horizon, vec3(0.45, 0.60, 0.80), clamp(high, 0, 1))); }\n";

#endif
