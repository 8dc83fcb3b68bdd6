/// NULL for every pointer of every public function that needs one: no crash, and what catena/status.h says about each kind of
/// call.
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char scene_text[] =
    "catena: 1\n"
    "sample: {q: {rod: {normal: [0, 0.1]}}}\n"
    "links:\n"
    "  - {name: rod, joint: {type: revolute}, shapes: [{type: sphere, radius: 0.1, density: 1000}]}\n"
    "sensors: [{name: tip, type: position, link: rod}]\n";

/// The functions that were called, so that none is forgotten.
static const char *called[300];
static int calls;

static void note(const char *name)
{
    for (int k = 0; k < calls; k++)
        if (!strcmp(called[k], name)) return;
    ck_assert_int_lt(calls, (int)(sizeof called / sizeof *called));
    called[calls++] = name;
}

static ctn_error error;
static ctn_error *err;  // &error, or NULL: everything once with each

static ctn_error *clean(void)
{
    error = (ctn_error){.status = CTN_OK};
    return err;
}

/// The error names the pointer.
static void check_error(const char *call, const char *pointer)
{
    if (!err) return;
    ck_assert_msg(error.status == CTN_BAD_ARGUMENT, "%s without %s: %s", call, pointer, ctn_status_name(error.status));
    ck_assert_msg(strstr(error.message, pointer) && strstr(error.message, "NULL"), "%s without %s: %s", call, pointer,
                  error.message);
}

#define STATUS(pointer, function, ...)                                                                                           \
    do {                                                                                                                         \
        note(#function), clean();                                                                                                \
        ck_assert_msg(function(__VA_ARGS__) == CTN_BAD_ARGUMENT, "%s without %s", #function, pointer);                           \
        check_error(#function, pointer);                                                                                         \
    } while (0)
#define POINTER(pointer, function, ...)                                                                                          \
    do {                                                                                                                         \
        note(#function), clean();                                                                                                \
        ck_assert_msg(function(__VA_ARGS__) == NULL, "%s without %s", #function, pointer);                                       \
        if (*(pointer)) check_error(#function, pointer);                                                                         \
    } while (0)
#define NUMBER(value, function, ...)                                                                                             \
    do {                                                                                                                         \
        note(#function);                                                                                                         \
        ck_assert_msg(function(__VA_ARGS__) == (value), "%s", #function);                                                        \
    } while (0)
#define UNDEFINED(function, ...)                                                                                                 \
    do {                                                                                                                         \
        note(#function);                                                                                                         \
        ck_assert_msg(isnan(function(__VA_ARGS__)), "%s", #function);                                                            \
    } while (0)
#define NOTHING(function, ...) note(#function), function(__VA_ARGS__)
#define WITHOUT_POINTERS(function) note(#function)

static ctn_scene *scene;
static ctn_model *model;
static ctn_batch *batch;
static ctn_batch_config cfg;
static double x[64];
static char block[4096];

static void scenes(void)
{
    ctn_finding finding;
    POINTER("path", ctn_scene_load, NULL, err);
    NOTHING(ctn_model_integrate, NULL, 1, x, x, 1, x);
    NOTHING(ctn_model_integrate, model, 1, NULL, x, 1, x);
    NOTHING(ctn_model_integrate, model, 1, x, NULL, 1, x);
    NOTHING(ctn_model_integrate, model, 1, x, x, 1, NULL);
    NOTHING(ctn_model_difference, NULL, 1, x, x, x);
    NOTHING(ctn_model_difference, model, 1, NULL, x, x);
    NOTHING(ctn_model_difference, model, 1, x, NULL, x);
    NOTHING(ctn_model_difference, model, 1, x, x, NULL);
    POINTER("path", ctn_scene_convert, NULL, NULL, err);
    POINTER("text", ctn_scene_parse, NULL, 0, "a.yaml", err);
    POINTER("name", ctn_scene_parse, scene_text, sizeof scene_text - 1, NULL, err);
    NOTHING(ctn_scene_free, NULL);
    POINTER("", ctn_scene_name, NULL);
    POINTER("", ctn_scene_text, NULL);
    POINTER("", ctn_scene_warnings, NULL);
    UNDEFINED(ctn_scene_duration, NULL);
    NUMBER(0, ctn_scene_warning_count, NULL);
    NUMBER(CTN_BAD_ARGUMENT, ctn_scene_warning, NULL, 0, &finding);
    NUMBER(CTN_BAD_ARGUMENT, ctn_scene_warning, scene, 0, NULL);
    NUMBER(CTN_BAD_ARGUMENT, ctn_error_finding, NULL, 0, &finding);
    NUMBER(CTN_BAD_ARGUMENT, ctn_error_finding, &error, 0, NULL);
    note("ctn_scene_config");
    const ctn_batch_config none = ctn_scene_config(NULL);
    ck_assert_ptr_null(ctn_batch_create(model, &none, err));
    WITHOUT_POINTERS(ctn_status_name);
    WITHOUT_POINTERS(ctn_version);
}

static void models(void)
{
    double value;
    POINTER("scene", ctn_model_create, NULL, err);
    WITHOUT_POINTERS(ctn_tree_spec_default);
    const ctn_tree_spec bare = ctn_tree_spec_default();
    POINTER("spec", ctn_model_from_parents, NULL, err);
    POINTER("parent", ctn_model_from_parents, &bare, err);
    NOTHING(ctn_model_free, NULL);
    POINTER("", ctn_model_name, NULL);
    NUMBER(0, ctn_model_nq, NULL);
    NUMBER(0, ctn_model_nv, NULL);
    NUMBER(0, ctn_model_nlink, NULL);
    ctn_pair pair;
    ctn_contact_point point;
    NUMBER(0, ctn_model_npair, NULL);
    NUMBER(0, ctn_model_pair, NULL, 0, &pair);
    NUMBER(0, ctn_model_pair, model, 0, NULL);
    NUMBER(0, ctn_model_nequation, NULL);
    NUMBER(0, ctn_model_ncontact, NULL);
    NUMBER(0, ctn_model_contact, NULL, 0, &point);
    POINTER("", ctn_model_surface, NULL, 0);
    NUMBER(0, ctn_model_contact, model, 0, NULL);
    POINTER("", ctn_model_link, NULL, 0);
    NUMBER(-1, ctn_model_find, NULL, "rod");
    NUMBER(-1, ctn_model_find, model, NULL);
    NUMBER(0, ctn_model_nsensor, NULL);
    NUMBER(0, ctn_model_sensor_numbers, NULL);
    NUMBER(NULL, ctn_model_sensor, NULL, 0);
    NUMBER(-1, ctn_model_find_sensor, NULL, "tip");
    NUMBER(-1, ctn_model_find_sensor, model, NULL);
    NUMBER(NULL, ctn_sensor_number, NULL, 0, block, sizeof block);
    NUMBER(NULL, ctn_sensor_number, model, 0, NULL, 0);
    NUMBER(NULL, ctn_sensor_type_name, (ctn_sensor_type)99);
    NOTHING(ctn_model_initial_state, NULL, x, x);
    NOTHING(ctn_model_initial_state, model, NULL, NULL);
    NOTHING(ctn_model_gravity, NULL, x);
    NOTHING(ctn_model_gravity, model, NULL);
    STATUS("model", ctn_model_parameter, NULL, (ctn_parameter){CTN_GRAVITY, 2}, &value, err);
    STATUS("value", ctn_model_parameter, model, (ctn_parameter){CTN_GRAVITY, 2}, NULL, err);
    WITHOUT_POINTERS(ctn_parameter_name);
}

static void configurations(void)
{
    ctn_method method;
    ctn_solver solver;
    ctn_schedule schedule;
    ctn_parallel parallel;
    STATUS("method", ctn_method_from_name, NULL, &method, err);
    STATUS("method", ctn_method_from_name, "rk4", NULL, err);
    STATUS("solver", ctn_solver_from_name, NULL, &solver, err);
    STATUS("solver", ctn_solver_from_name, "newton", NULL, err);
    STATUS("schedule", ctn_schedule_from_name, NULL, &schedule, err);
    STATUS("schedule", ctn_schedule_from_name, "auto", NULL, err);
    STATUS("parallel", ctn_parallel_from_name, NULL, &parallel, err);
    STATUS("parallel", ctn_parallel_from_name, "auto", NULL, err);
    WITHOUT_POINTERS(ctn_batch_config_default);
    WITHOUT_POINTERS(ctn_method_name);
    const ctn_step_stats fallen = {.frozen = CTN_FREEZE_ANGLE, .frozen_dof = 0};
    POINTER("", ctn_freeze_report, model, &cfg, &fallen, NULL, sizeof block);
    ck_assert_str_eq(ctn_freeze_report(model, &cfg, NULL, block, sizeof block), "");
    ck_assert_str_eq(ctn_freeze_report(NULL, NULL, &fallen, block, sizeof block), ctn_freeze_text(CTN_FREEZE_ANGLE));
    WITHOUT_POINTERS(ctn_solver_name);
    WITHOUT_POINTERS(ctn_schedule_name);
    WITHOUT_POINTERS(ctn_parallel_name);
    WITHOUT_POINTERS(ctn_method_is_implicit);
    WITHOUT_POINTERS(ctn_freeze_text);
}

static void batches(void)
{
    const ctn_run run = {.steps = 1};
    int touches;
    ctn_step_stats stats = {0};
    ctn_totals totals;
    uint64_t hash;
    POINTER("model", ctn_batch_create, NULL, &cfg, err);
    STATUS("model", ctn_batch_check, NULL, &cfg, err);
    POINTER("configuration", ctn_batch_create, model, NULL, err);
    STATUS("configuration", ctn_batch_check, model, NULL, err);
    NOTHING(ctn_batch_free, NULL);
    POINTER("", ctn_batch_configuration, NULL);
    POINTER("", ctn_batch_model, NULL);
    STATUS("batch", ctn_batch_set_parameters, NULL, x, err);
    STATUS("values", ctn_batch_set_parameters, batch, NULL, err);
    STATUS("model", ctn_sensors_have_gradients, NULL, NULL, 0, err);
    STATUS("batch", ctn_batch_sensors, NULL, x, err);
    STATUS("values", ctn_batch_sensors, batch, NULL, err);
    STATUS("batch", ctn_batch_contacts, NULL, x, err);
    STATUS("values", ctn_batch_contacts, batch, NULL, err);
    STATUS("batch", ctn_batch_touches, NULL, 0, NULL, 0, &touches, err);
    STATUS("count", ctn_batch_touches, batch, 0, NULL, 0, NULL, err);
    STATUS("list", ctn_batch_touches, batch, 0, NULL, 1, &touches, err);
    STATUS("batch", ctn_batch_equation_forces, NULL, x, err);
    STATUS("values", ctn_batch_equation_forces, batch, NULL, err);
    NOTHING(ctn_batch_number_worlds, NULL, 0, 0);
    NOTHING(ctn_batch_totals, NULL, &totals);
    NOTHING(ctn_batch_totals, batch, NULL);
    NUMBER(0, ctn_batch_bytes, NULL);
    STATUS("batch", ctn_batch_run, NULL, &run, NULL, err);
    STATUS("run", ctn_batch_run, batch, NULL, NULL, err);
    UNDEFINED(ctn_batch_occupancy, NULL);
    STATUS("batch", ctn_batch_step, NULL, 1, NULL, err);
    NUMBER(0, ctn_batch_fallbacks, NULL);
    NUMBER(0, ctn_batch_lanes, NULL);
    NUMBER(0, ctn_batch_serial_steps, NULL);
    NOTHING(ctn_batch_state, NULL, x, x);
    NOTHING(ctn_batch_state, batch, NULL, NULL);
    STATUS("batch", ctn_batch_set_wrench, NULL, 0, 0, NULL, err);
    ck_assert_int_eq(ctn_batch_set_wrench(batch, 0, 0, NULL, NULL), CTN_OK);
    STATUS("batch", ctn_batch_dense, NULL, 1, x, x, x, err);
    ck_assert_int_eq(ctn_batch_dense(batch, 1, NULL, NULL, NULL, err), CTN_OK);
    STATUS("batch", ctn_batch_set_state, NULL, x, x, 0, err);
    STATUS("q", ctn_batch_set_state, batch, NULL, x, 0, err);
    STATUS("v", ctn_batch_set_state, batch, x, NULL, 0, err);
    NOTHING(ctn_batch_set_force, NULL, x);
    NOTHING(ctn_batch_set_force, batch, NULL);
    UNDEFINED(ctn_batch_time, NULL, 0);
    NUMBER(0, ctn_batch_saved_size, NULL);
    NOTHING(ctn_batch_save, NULL, block);
    NOTHING(ctn_batch_save, batch, NULL);
    STATUS("batch", ctn_batch_restore, NULL, block, sizeof block, err);
    STATUS("block", ctn_batch_restore, batch, NULL, ctn_batch_saved_size(batch), err);
    NOTHING(ctn_batch_hashes, NULL, &hash);
    NOTHING(ctn_batch_hashes, batch, NULL);
    double number[1];
    NUMBER(0, ctn_model_controller_parameters, NULL);
    NOTHING(ctn_model_controller, NULL, number, number, NULL);
    NOTHING(ctn_model_controller, model, NULL, NULL, NULL);
    STATUS("batch", ctn_batch_set_controller, NULL, number, err);
    STATUS("parameters", ctn_batch_set_controller, batch, NULL, err);
    NOTHING(ctn_batch_targets, NULL, number);
    NOTHING(ctn_batch_targets, batch, NULL);
    NOTHING(ctn_step_stats_add, NULL, &stats);
    NOTHING(ctn_step_stats_add, &stats, NULL);
}

static void along(void)
{
    double y[64];
    ctn_along *const a = ctn_along_create(model, NULL, 1, 0, err);
    ck_assert_ptr_nonnull(a);
    POINTER("model", ctn_along_create, NULL, NULL, 1, 0, err);
    NOTHING(ctn_along_free, NULL);
    note("ctn_along_about");
    ck_assert_int_eq(ctn_along_about(NULL).lanes, 0);
    NOTHING(ctn_along_forward_kinematics, NULL, x, y, y);
    NOTHING(ctn_along_forward_kinematics, a, NULL, y, y);
    NOTHING(ctn_along_forward_kinematics, a, x, NULL, y);
    NOTHING(ctn_along_forward_kinematics, a, x, y, NULL);
    NOTHING(ctn_along_link_twists, NULL, x, x, y);
    NOTHING(ctn_along_link_twists, a, NULL, x, y);
    NOTHING(ctn_along_link_twists, a, x, NULL, y);
    NOTHING(ctn_along_link_twists, a, x, x, NULL);
    NOTHING(ctn_along_rnea, NULL, x, x, x, y);
    NOTHING(ctn_along_rnea, a, NULL, x, x, y);
    NOTHING(ctn_along_rnea, a, x, NULL, x, y);
    NOTHING(ctn_along_rnea, a, x, x, NULL, y);
    NOTHING(ctn_along_rnea, a, x, x, x, NULL);
    NOTHING(ctn_along_bias, NULL, x, x, y);
    NOTHING(ctn_along_bias, a, NULL, x, y);
    NOTHING(ctn_along_bias, a, x, NULL, y);
    NOTHING(ctn_along_bias, a, x, x, NULL);
    NOTHING(ctn_along_inertia, NULL, 1, x, x, y);
    NOTHING(ctn_along_inertia, a, 1, NULL, x, y);
    NOTHING(ctn_along_inertia, a, 1, x, NULL, y);
    NOTHING(ctn_along_inertia, a, 1, x, x, NULL);
    NOTHING(ctn_along_crba, NULL, 0, 1, x, y);
    NOTHING(ctn_along_crba, a, 0, 1, NULL, y);
    NOTHING(ctn_along_crba, a, 0, 1, x, NULL);
    NOTHING(ctn_along_aba, NULL, x, x, x, y);
    NOTHING(ctn_along_aba, a, NULL, x, x, y);
    NOTHING(ctn_along_aba, a, x, NULL, x, y);
    NOTHING(ctn_along_aba, a, x, x, NULL, y);
    NOTHING(ctn_along_aba, a, x, x, x, NULL);
    NOTHING(ctn_along_factor, NULL, x);
    NOTHING(ctn_along_factor, a, NULL);
    NOTHING(ctn_along_solve, NULL, 1, x, y);
    NOTHING(ctn_along_solve, a, 1, NULL, y);
    NOTHING(ctn_along_solve, a, 1, x, NULL);
    ctn_along_free(a);
}

static void devices(void)
{
    STATUS("batch", ctn_batch_device_stream, NULL, NULL, err);
    STATUS("batch", ctn_batch_device_state, NULL, x, x, err);
    STATUS("batch", ctn_batch_device_set_state, NULL, x, x, 0, err);
    STATUS("q", ctn_batch_device_set_state, batch, NULL, x, 0, err);
    STATUS("v", ctn_batch_device_set_state, batch, x, NULL, 0, err);
    STATUS("batch", ctn_batch_device_set_force, NULL, x, err);
    POINTER("batch", ctn_batch_device_allocate, NULL, 8, err);
    NOTHING(ctn_batch_device_free, NULL, x);
    NOTHING(ctn_batch_device_free, batch, NULL);
    STATUS("batch", ctn_batch_device_write, NULL, x, x, 8, err);
    STATUS("to", ctn_batch_device_write, batch, NULL, x, 8, err);
    STATUS("from", ctn_batch_device_write, batch, x, NULL, 8, err);
    STATUS("batch", ctn_batch_device_read, NULL, x, x, 8, err);
    STATUS("to", ctn_batch_device_read, batch, NULL, x, 8, err);
    STATUS("from", ctn_batch_device_read, batch, x, NULL, 8, err);
}

static void dynamics(void)
{
    double y[64];
    ctn_totals totals;
    ctn_dynamics *const dyn = ctn_dynamics_create(model, NULL, err);
    ck_assert_ptr_nonnull(dyn);
    POINTER("model", ctn_dynamics_create, NULL, NULL, err);
    NOTHING(ctn_dynamics_free, NULL);
    NOTHING(ctn_dynamics_set_time, NULL, 0);
    POINTER("", ctn_dynamics_engine, NULL);
    for (int count = 1; count <= 2; count++) {
        NOTHING(ctn_forward_kinematics, NULL, count, x, y, y);
        NOTHING(ctn_forward_kinematics, dyn, count, NULL, y, y);
        NOTHING(ctn_forward_kinematics, dyn, count, x, NULL, NULL);
        NOTHING(ctn_link_twists, NULL, count, x, x, y);
        NOTHING(ctn_link_twists, dyn, count, NULL, x, y);
        NOTHING(ctn_link_twists, dyn, count, x, NULL, y);
        NOTHING(ctn_link_twists, dyn, count, x, x, NULL);
        NOTHING(ctn_link_accelerations, NULL, count, x, x, x, y);
        NOTHING(ctn_link_accelerations, dyn, count, NULL, x, x, y);
        NOTHING(ctn_link_accelerations, dyn, count, x, NULL, x, y);
        NOTHING(ctn_link_accelerations, dyn, count, x, x, NULL, y);
        NOTHING(ctn_link_accelerations, dyn, count, x, x, x, NULL);
        NOTHING(ctn_jacobian_rate, NULL, count, x, x, 0, y);
        NOTHING(ctn_jacobian_rate, dyn, count, NULL, x, 0, y);
        NOTHING(ctn_jacobian_rate, dyn, count, x, NULL, 0, y);
        NOTHING(ctn_jacobian_rate, dyn, count, x, x, 0, NULL);
        NOTHING(ctn_point_jacobian_rate, NULL, count, x, x, 0, x, y);
        NOTHING(ctn_point_jacobian_rate, dyn, count, NULL, x, 0, x, y);
        NOTHING(ctn_point_jacobian_rate, dyn, count, x, NULL, 0, x, y);
        NOTHING(ctn_point_jacobian_rate, dyn, count, x, x, 0, NULL, y);
        NOTHING(ctn_point_jacobian_rate, dyn, count, x, x, 0, x, NULL);
        NOTHING(ctn_com_jacobian_rate, NULL, count, x, x, y);
        NOTHING(ctn_com_jacobian_rate, dyn, count, NULL, x, y);
        NOTHING(ctn_com_jacobian_rate, dyn, count, x, NULL, y);
        NOTHING(ctn_com_jacobian_rate, dyn, count, x, x, NULL);
        NOTHING(ctn_momentum_rate, NULL, count, x, x, x, y);
        NOTHING(ctn_momentum_rate, dyn, count, NULL, x, x, y);
        NOTHING(ctn_momentum_rate, dyn, count, x, NULL, x, y);
        NOTHING(ctn_momentum_rate, dyn, count, x, x, NULL, y);
        NOTHING(ctn_momentum_rate, dyn, count, x, x, x, NULL);
        NOTHING(ctn_sensors, NULL, count, x, x, x, y);
        NOTHING(ctn_sensors, dyn, count, NULL, x, x, y);
        NOTHING(ctn_sensors, dyn, count, x, NULL, x, y);
        NOTHING(ctn_sensors, dyn, count, x, x, x, NULL);
        NOTHING(ctn_sensors_gradient, NULL, count, x, x, x, y, y);
        NOTHING(ctn_sensors_gradient, dyn, count, NULL, x, x, y, y);
        NOTHING(ctn_sensors_gradient, dyn, count, x, NULL, x, y, y);
        NOTHING(ctn_sensors_gradient, dyn, count, x, x, NULL, y, y);
        NOTHING(ctn_sensors_gradient, dyn, count, x, x, x, NULL, NULL);
        NOTHING(ctn_rnea, NULL, count, x, x, x, y);
        NOTHING(ctn_rnea, dyn, count, NULL, x, x, y);
        NOTHING(ctn_rnea, dyn, count, x, NULL, x, y);
        NOTHING(ctn_rnea, dyn, count, x, x, NULL, y);
        NOTHING(ctn_rnea, dyn, count, x, x, x, NULL);
        NOTHING(ctn_bias, NULL, count, x, x, y);
        NOTHING(ctn_bias, dyn, count, NULL, x, y);
        NOTHING(ctn_bias, dyn, count, x, NULL, y);
        NOTHING(ctn_bias, dyn, count, x, x, NULL);
        NOTHING(ctn_passive, NULL, count, x, x, y);
        NOTHING(ctn_passive, dyn, count, NULL, x, y);
        NOTHING(ctn_passive, dyn, count, x, NULL, y);
        NOTHING(ctn_passive, dyn, count, x, x, NULL);
        NOTHING(ctn_crba, NULL, count, x, y);
        NOTHING(ctn_crba, dyn, count, NULL, y);
        NOTHING(ctn_crba, dyn, count, x, NULL);
        NOTHING(ctn_aba, NULL, count, x, x, x, y);
        NOTHING(ctn_aba, dyn, count, NULL, x, x, y);
        NOTHING(ctn_aba, dyn, count, x, NULL, x, y);
        NOTHING(ctn_aba, dyn, count, x, x, NULL, y);
        NOTHING(ctn_aba, dyn, count, x, x, x, NULL);
        NOTHING(ctn_rnea_derivatives, NULL, count, x, x, x, y, y, y);
        NOTHING(ctn_rnea_derivatives, dyn, count, NULL, x, x, y, y, y);
        NOTHING(ctn_rnea_derivatives, dyn, count, x, NULL, x, y, y, y);
        NOTHING(ctn_rnea_derivatives, dyn, count, x, x, NULL, y, y, y);
        NOTHING(ctn_rnea_derivatives, dyn, count, x, x, x, NULL, NULL, NULL);
        NOTHING(ctn_aba_derivatives, NULL, count, x, x, x, y, y, y);
        NOTHING(ctn_aba_derivatives, dyn, count, NULL, x, x, y, y, y);
        NOTHING(ctn_aba_derivatives, dyn, count, x, NULL, x, y, y, y);
        NOTHING(ctn_aba_derivatives, dyn, count, x, x, NULL, NULL, NULL, NULL);
        NOTHING(ctn_motor_map, NULL, count, x, x, x, y);
        NOTHING(ctn_motor_map, dyn, count, NULL, x, x, y);
        NOTHING(ctn_motor_map, dyn, count, x, NULL, x, y);
        NOTHING(ctn_motor_map, dyn, count, x, x, NULL, NULL);
        NOTHING(ctn_motor_map_derivatives, NULL, count, x, x, x, y, y, y);
        NOTHING(ctn_motor_map_derivatives, dyn, count, NULL, x, x, y, y, y);
        NOTHING(ctn_motor_map_derivatives, dyn, count, x, NULL, x, y, y, y);
        NOTHING(ctn_motor_map_derivatives, dyn, count, x, x, NULL, NULL, NULL, NULL);
        NOTHING(ctn_point_jacobian, NULL, count, x, 0, x, y);
        NOTHING(ctn_point_jacobian, dyn, count, NULL, 0, x, y);
        NOTHING(ctn_point_jacobian, dyn, count, x, 0, NULL, y);
        NOTHING(ctn_point_jacobian, dyn, count, x, 0, x, NULL);
        NOTHING(ctn_com_jacobian, NULL, count, x, y);
        NOTHING(ctn_com_jacobian, dyn, count, NULL, y);
        NOTHING(ctn_com_jacobian, dyn, count, x, NULL);
        NOTHING(ctn_centroidal_matrix, NULL, count, x, y);
        NOTHING(ctn_centroidal_matrix, dyn, count, NULL, y);
        NOTHING(ctn_centroidal_matrix, dyn, count, x, NULL);
        NOTHING(ctn_jacobian, NULL, count, x, 0, y);
        NOTHING(ctn_jacobian, dyn, count, NULL, 0, y);
        NOTHING(ctn_jacobian, dyn, count, x, 0, NULL);
        NOTHING(ctn_jacobian, dyn, count, x, 7, NULL);
        NOTHING(ctn_energy_momentum, NULL, count, x, x, &totals);
        NOTHING(ctn_energy_momentum, dyn, count, NULL, x, &totals);
        NOTHING(ctn_energy_momentum, dyn, count, x, NULL, &totals);
        NOTHING(ctn_energy_momentum, dyn, count, x, x, NULL);
    }
    ctn_dynamics_free(dyn);
}

static void tapes(void)
{
    POINTER("model", ctn_tape_create, NULL, &cfg, 2, err);
    POINTER("configuration", ctn_tape_create, model, NULL, 2, err);
    NOTHING(ctn_tape_free, NULL);
    NUMBER(0, ctn_model_ntarget, NULL);
    NOTHING(ctn_model_targets, NULL, x);
    NOTHING(ctn_model_targets, model, NULL);
    NOTHING(ctn_model_target_parameters, NULL, NULL);
    NOTHING(ctn_model_target_parameters, model, NULL);
    STATUS("tape", ctn_tape_set_targets, NULL, x, err);
    STATUS("tape", ctn_tape_target_gradient, NULL, NULL, NULL, NULL, NULL, NULL, NULL, err);
    STATUS("tape", ctn_step_target_jacobian, NULL, 0, x, x, x, err);
    STATUS("tape", ctn_tape_run, NULL, x, x, NULL, err);
    ctn_tape *const r = ctn_tape_create(model, &cfg, 2, err);
    ck_assert_ptr_nonnull(r);
    STATUS("q", ctn_tape_run, r, NULL, x, NULL, err);
    STATUS("v", ctn_tape_run, r, x, NULL, NULL, err);
    ck_assert_int_eq(ctn_tape_run(r, x, x, NULL, err), CTN_OK);
    NUMBER(0, ctn_tape_fallbacks, NULL);
    long changes = 1;
    STATUS("tape", ctn_tape_contact_changes, NULL, &changes, err);
    STATUS("changes", ctn_tape_contact_changes, r, NULL, err);
    ck_assert_int_eq(ctn_tape_contact_changes(r, &changes, err), CTN_OK);
    ck_assert_int_eq(changes, 0);
    const ctn_parameter ground = {CTN_GROUND_DEPTH, 0};
    STATUS("tape", ctn_tape_parameter_gradient, NULL, NULL, NULL, &ground, 1, x, err);
    STATUS("list", ctn_tape_parameter_gradient, r, NULL, NULL, NULL, 1, x, err);
    ck_assert_int_eq(ctn_tape_parameter_gradient(r, NULL, NULL, NULL, 0, NULL, err), CTN_OK);
    STATUS("tape", ctn_tape_state, NULL, 0, x, x, err);
    ck_assert_int_eq(ctn_tape_state(r, 0, NULL, NULL, err), CTN_OK);
    STATUS("tape", ctn_tape_gradient, NULL, NULL, NULL, NULL, NULL, NULL, err);
    ck_assert_int_eq(ctn_tape_gradient(r, NULL, NULL, NULL, NULL, NULL, err), CTN_OK);
    NUMBER(0, ctn_tape_state_size, NULL);
    STATUS("tape", ctn_step_jacobian, NULL, 0, x, x, err);
    ck_assert_int_eq(ctn_step_jacobian(r, 0, NULL, NULL, err), CTN_OK);
    STATUS("tape", ctn_start_jacobian, NULL, x, err);
    STATUS("S", ctn_start_jacobian, r, NULL, err);
    STATUS("tape", ctn_output_jacobian, NULL, 0, x, err);
    STATUS("C", ctn_output_jacobian, r, 0, NULL, err);
    ctn_tape_free(r);
}

static void tapes_of_worlds(void)
{
    POINTER("model", ctn_tapes_create, NULL, &cfg, 2, true, err);
    POINTER("configuration", ctn_tapes_create, model, NULL, 2, true, err);
    NOTHING(ctn_tapes_free, NULL);
    ctn_tapes *const r = ctn_tapes_create(model, &cfg, 2, true, err);
    ck_assert_ptr_nonnull(r);
    const ctn_tapes_hooks hooks = {0};
    STATUS("tapes", ctn_tapes_set_parameters, NULL, x, err);
    STATUS("values", ctn_tapes_set_parameters, r, NULL, err);
    STATUS("tapes", ctn_tapes_run, NULL, 2, x, x, NULL, NULL, err);
    STATUS("q", ctn_tapes_run, r, 2, NULL, x, NULL, NULL, err);
    STATUS("v", ctn_tapes_run, r, 2, x, NULL, NULL, NULL, err);
    ck_assert_int_eq(ctn_tapes_run(r, 2, x, x, NULL, NULL, err), CTN_OK);
    STATUS("tapes", ctn_tapes_gradient, NULL, &hooks, x, x, err);
    STATUS("hooks", ctn_tapes_gradient, r, NULL, x, x, err);
    ck_assert_int_eq(ctn_tapes_gradient(r, &hooks, NULL, NULL, err), CTN_OK);
    STATUS("tapes", ctn_step_inverse, NULL, x, x, NULL, x, x, x, err);
    STATUS("to", ctn_step_inverse, r, x, x, NULL, NULL, x, x, err);
    STATUS("tau", ctn_step_inverse, r, x, x, NULL, x, NULL, x, err);
    STATUS("tapes", ctn_tapes_jacobian, NULL, x, x, x, err);
    ck_assert_int_eq(ctn_tapes_jacobian(r, NULL, NULL, NULL, err), CTN_OK);
    STATUS("tapes", ctn_tapes_begin_at, NULL, x, err);
    STATUS("time", ctn_tapes_begin_at, r, NULL, err);
    NUMBER(-1, ctn_tapes_lost, NULL, 0);
    NUMBER(CTN_RUNNING, ctn_tapes_frozen, NULL, 0);
    NUMBER(NULL, ctn_tapes_q, NULL, 0);
    NUMBER(NULL, ctn_tapes_v, NULL, 0);
    UNDEFINED(ctn_tapes_time, NULL, 0, 0);
    NUMBER(0, ctn_tapes_saved_size, NULL);
    NOTHING(ctn_tapes_save, NULL, x);
    NOTHING(ctn_tapes_save, r, NULL);
    STATUS("tapes", ctn_tapes_restore, NULL, x, 1, err);
    STATUS("block", ctn_tapes_restore, r, NULL, 1, err);
    NUMBER(0, ctn_tapes_bytes, NULL);
    ctn_tapes_free(r);
}

static void environments(void)
{
    static const char acts[] = "catena: 1\nlinks: [{name: a, joint: revolute, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}]\n"
                               "motors: [{joint: a, type: torque}]\nreward: [{term: effort, weight: -1}]\n";
    ctn_scene *const s = ctn_scene_parse(acts, sizeof acts - 1, "acts.yaml", err);
    ctn_model *const m = ctn_model_create(s, err);
    POINTER("scene", ctn_environments_create, NULL, m, &cfg, 0, 0, err);
    POINTER("model", ctn_environments_create, s, NULL, &cfg, 0, 0, err);
    POINTER("configuration", ctn_environments_create, s, m, NULL, 0, 0, err);
    NOTHING(ctn_environments_free, NULL);
    ctn_environments *const e = ctn_environments_create(s, m, &cfg, 0, 0, err);
    ck_assert_ptr_nonnull(e);
    const ctn_environments_result nothing = {0};
    STATUS("environments", ctn_environments_reset, NULL, NULL, NULL, NULL, NULL, x, err);
    STATUS("v", ctn_environments_reset, e, NULL, NULL, x, NULL, x, err);
    STATUS("q", ctn_environments_reset, e, NULL, NULL, NULL, x, x, err);
    ck_assert_int_eq(ctn_environments_reset(e, NULL, NULL, NULL, NULL, NULL, err), CTN_OK);
    STATUS("environments", ctn_environments_step, NULL, x, &nothing, err);
    STATUS("action", ctn_environments_step, e, NULL, &nothing, err);
    STATUS("result", ctn_environments_step, e, x, NULL, err);
    ck_assert_int_eq(ctn_environments_step(e, x, &nothing, err), CTN_OK);
    NUMBER(0, ctn_environments_actions, NULL);
    NUMBER(0, ctn_environments_observations, NULL);
    NUMBER(0, ctn_environments_rewards, NULL);
    NUMBER(0, ctn_environments_limit, NULL);
    UNDEFINED(ctn_environments_every, NULL);
    NOTHING(ctn_environments_bounds, NULL, NULL, NULL);
    NOTHING(ctn_environments_bounds, e, NULL, NULL);
    POINTER("", ctn_environments_action_name, NULL, 0);
    POINTER("", ctn_environments_observation_name, NULL, 0);
    POINTER("", ctn_environments_reward_name, NULL, 0);
    NOTHING(ctn_environments_state, NULL, x, x, x);
    NOTHING(ctn_environments_state, e, NULL, NULL, NULL);
    POINTER("", ctn_environments_configuration, NULL);
    ctn_environments_free(e), ctn_model_free(m), ctn_scene_free(s);
}

static void recordings(void)
{
    char file[] = "/tmp/catena-nulls-XXXXXX.csv";
    const int made = mkstemps(file, 4);
    ck_assert_int_ge(made, 0);
    close(made);
    ctn_step_stats stats = {0};
    WITHOUT_POINTERS(ctn_record_config_default);
    POINTER("path", ctn_recorder_create, NULL, scene, model, batch, NULL, err);
    POINTER("scene", ctn_recorder_create, file, NULL, model, batch, NULL, err);
    POINTER("model", ctn_recorder_create, file, scene, NULL, batch, NULL, err);
    POINTER("batch", ctn_recorder_create, file, scene, model, NULL, NULL, err);
    ctn_recorder *const r = ctn_recorder_create(file, scene, model, batch, NULL, err);
    ck_assert_ptr_nonnull(r);
    STATUS("recorder", ctn_recorder_add, NULL, &stats, err);
    STATUS("stats", ctn_recorder_add, r, NULL, err);
    STATUS("recorder", ctn_recorder_hash, NULL, err);
    STATUS("recorder", ctn_recorder_flush, NULL, err);
    NUMBER(0, ctn_recorder_count, NULL);
    NUMBER(CTN_OK, ctn_recorder_close, NULL, err);
    ck_assert_int_eq(ctn_recorder_close(r, err), CTN_OK);
    ctn_rollout_config rollout = ctn_rollout_config_default(scene);
    STATUS("path", ctn_rollout, NULL, scene, model, &rollout, NULL, err);
    STATUS("scene", ctn_rollout, file, NULL, model, &rollout, NULL, err);
    STATUS("model", ctn_rollout, file, scene, NULL, &rollout, NULL, err);
    STATUS("cfg", ctn_rollout, file, scene, model, NULL, NULL, err);
    rollout = ctn_rollout_config_default(NULL);
    ck_assert_int_eq(ctn_rollout(file, scene, model, &rollout, NULL, err), CTN_BAD_CONFIG);
    note("ctn_rollout_config_default");
    unlink(file);
}

static void samples(void)
{
    NUMBER(false, ctn_scene_is_sampled, NULL);
    NUMBER(0, ctn_scene_seed, NULL);
    NUMBER(0, ctn_scene_grid, NULL);
    NOTHING(ctn_sample_state, NULL, model, 1, 0, 1, x, x);
    NOTHING(ctn_sample_state, scene, NULL, 1, 0, 1, x, x);
    NOTHING(ctn_sample_state, scene, model, 1, 0, 1, NULL, x);
    NOTHING(ctn_sample_state, scene, model, 1, 0, 1, x, NULL);
    NUMBER(false, ctn_scene_has_force, NULL);
    NUMBER(false, ctn_sample_force, NULL, model, 1, 0, 1, x);
    NUMBER(false, ctn_sample_force, scene, NULL, 1, 0, 1, x);
    NUMBER(false, ctn_sample_force, scene, model, 1, 0, 1, NULL);
    NUMBER(0, ctn_scene_parameters, NULL, model, NULL);
    NUMBER(0, ctn_scene_parameters, scene, NULL, NULL);
    NOTHING(ctn_sample_parameters, NULL, model, 1, 0, 1, x);
    NOTHING(ctn_sample_parameters, scene, NULL, 1, 0, 1, x);
    NOTHING(ctn_sample_parameters, scene, model, 1, 0, 1, NULL);
    NUMBER(false, ctn_sample_worlds, NULL, model, 1, 0, 1, 1, x, x, x, x);
    NUMBER(false, ctn_sample_worlds, scene, NULL, 1, 0, 1, 1, x, x, x, x);
    NUMBER(false, ctn_sample_worlds, scene, model, 1, 0, 1, 1, NULL, NULL, NULL, NULL);
}

static void forms(void)
{
    const double down[3] = {0, 0, -9.81};
    const int parent = -1;
    const ctn_tree_link link = {
        .joint = CTN_REVOLUTE, .R = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .axis = {0, 0, 1}, .mass = 1, .inertia = {1, 1, 1}};
    ctn_tree *const tree = ctn_tree_generate(2, 1, 1, 1, NULL);
    ctn_forms *const f = ctn_forms_create(tree, 1, NULL);
    int step[2];
    POINTER("parent", ctn_tree_create, 1, NULL, 1, &link, down, 1, err);
    POINTER("links", ctn_tree_create, 1, &parent, 1, NULL, down, 1, err);
    POINTER("gravity", ctn_tree_create, 1, &parent, 1, &link, NULL, 1, err);
    POINTER("model", ctn_tree_of_model, NULL, 1, err);
    WITHOUT_POINTERS(ctn_tree_generate);
    NOTHING(ctn_tree_free, NULL);
    NUMBER(0, ctn_tree_links, NULL);
    NUMBER(-1, ctn_tree_parent, NULL, 0);
    NUMBER(0, ctn_tree_depth, NULL, 0);
    NUMBER(0, ctn_tree_bytes, NULL);
    NUMBER(0, ctn_tree_dense_bytes, NULL);
    NUMBER(0, ctn_tree_pairs, NULL, NULL);
    NUMBER(CTN_BAD_ARGUMENT, ctn_tree_tour, NULL, step, step);
    NUMBER(CTN_BAD_ARGUMENT, ctn_tree_tour, tree, NULL, step);
    NUMBER(CTN_BAD_ARGUMENT, ctn_tree_tour, tree, step, NULL);
    POINTER("tree", ctn_forms_create, NULL, 1, err);
    POINTER("tree", ctn_forms_create_on, NULL, "cuda", err);
    POINTER("engine", ctn_forms_create_on, tree, NULL, err);
    NOTHING(ctn_forms_free, NULL);
    NUMBER(0, ctn_forms_threads, NULL);
    NUMBER(0, ctn_forms_bytes, NULL);
    NUMBER(CTN_BAD_ARGUMENT, ctn_forms_set_origin, NULL, CTN_ORIGIN_ROOT);
    NUMBER(CTN_BAD_ARGUMENT, ctn_forms_set_limit, NULL, 1);
    STATUS("forms", ctn_forms_rootfix, NULL, CTN_SCAN_BLOCKED, x, x, err);
    STATUS("x", ctn_forms_rootfix, f, CTN_SCAN_BLOCKED, NULL, x, err);
    STATUS("y", ctn_forms_rootfix, f, CTN_SCAN_BLOCKED, x, NULL, err);
    STATUS("forms", ctn_forms_leaffix, NULL, CTN_SCAN_BLOCKED, x, x, err);
    STATUS("x", ctn_forms_leaffix, f, CTN_SCAN_BLOCKED, NULL, x, err);
    STATUS("y", ctn_forms_leaffix, f, CTN_SCAN_BLOCKED, x, NULL, err);
    STATUS("forms", ctn_forms_twists, NULL, CTN_SCAN_BLOCKED, x, x, x, err);
    STATUS("q", ctn_forms_twists, f, CTN_SCAN_BLOCKED, NULL, x, x, err);
    STATUS("v", ctn_forms_twists, f, CTN_SCAN_BLOCKED, x, NULL, x, err);
    STATUS("twist", ctn_forms_twists, f, CTN_SCAN_BLOCKED, x, x, NULL, err);
    STATUS("forms", ctn_forms_rnea, NULL, CTN_SCAN_BLOCKED, 1, x, x, x, x, err);
    STATUS("q", ctn_forms_rnea, f, CTN_SCAN_BLOCKED, 1, NULL, x, x, x, err);
    STATUS("v", ctn_forms_rnea, f, CTN_SCAN_BLOCKED, 1, x, NULL, x, x, err);
    STATUS("a", ctn_forms_rnea, f, CTN_SCAN_BLOCKED, 1, x, x, NULL, x, err);
    STATUS("tau", ctn_forms_rnea, f, CTN_SCAN_BLOCKED, 1, x, x, x, NULL, err);
    STATUS("forms", ctn_forms_crba, NULL, CTN_SCAN_BLOCKED, x, x, err);
    STATUS("q", ctn_forms_crba, f, CTN_SCAN_BLOCKED, NULL, x, err);
    STATUS("H", ctn_forms_crba, f, CTN_SCAN_BLOCKED, x, NULL, err);
    STATUS("forms", ctn_forms_crba_begin, NULL, CTN_SCAN_BLOCKED, x, err);
    STATUS("q", ctn_forms_crba_begin, f, CTN_SCAN_BLOCKED, NULL, err);
    STATUS("forms", ctn_forms_crba_rows, NULL, 0, 1, x, err);
    STATUS("H", ctn_forms_crba_rows, f, 0, 1, NULL, err);
    STATUS("forms", ctn_forms_crba_packed, NULL, CTN_SCAN_BLOCKED, x, x, err);
    STATUS("q", ctn_forms_crba_packed, f, CTN_SCAN_BLOCKED, NULL, x, err);
    STATUS("H", ctn_forms_crba_packed, f, CTN_SCAN_BLOCKED, x, NULL, err);
    STATUS("forms", ctn_forms_forward, NULL, CTN_FORWARD_STAR, 1, x, x, x, x, err);
    STATUS("q", ctn_forms_forward, f, CTN_FORWARD_STAR, 1, NULL, x, x, x, err);
    STATUS("v", ctn_forms_forward, f, CTN_FORWARD_STAR, 1, x, NULL, x, x, err);
    STATUS("tau", ctn_forms_forward, f, CTN_FORWARD_STAR, 1, x, x, NULL, x, err);
    STATUS("qdd", ctn_forms_forward, f, CTN_FORWARD_STAR, 1, x, x, x, NULL, err);
    ctn_forms_free(f), ctn_tree_free(tree);
}

static void searches(void)
{
    ctn_cma_config of = ctn_cma_default_config(2);
    of.mean = x, of.sigma = 1, of.covariance = CTN_CMA_SEPARABLE;
    ctn_cma *const cma = ctn_cma_create(&of, NULL);
    WITHOUT_POINTERS(ctn_cma_default_config);
    WITHOUT_POINTERS(ctn_cma_stop_name);
    POINTER("cfg", ctn_cma_create, NULL, err);
    NOTHING(ctn_cma_free, NULL);
    NUMBER(0, ctn_cma_bytes, NULL, 0);
    NUMBER(0, ctn_cma_parameters, NULL);
    NUMBER(0, ctn_cma_population, NULL);
    STATUS("cma", ctn_cma_ask, NULL, x, err);
    STATUS("x", ctn_cma_ask, cma, NULL, err);
    STATUS("cma", ctn_cma_ask_one, NULL, 0, x, err);
    STATUS("x", ctn_cma_ask_one, cma, 0, NULL, err);
    STATUS("cma", ctn_cma_tell, NULL, x, NULL, err);
    STATUS("f", ctn_cma_tell, cma, NULL, NULL, err);
    NUMBER(CTN_CMA_STOPS, ctn_cma_stopped, NULL);
    note("ctn_cma_get_state");
    ck_assert_int_eq(ctn_cma_get_state(NULL).population, 0);
    STATUS("cma", ctn_cma_best, NULL, x, err);
    STATUS("x", ctn_cma_best, cma, NULL, err);
    NOTHING(ctn_cma_mean, NULL, x);
    NOTHING(ctn_cma_mean, cma, NULL);
    NOTHING(ctn_cma_deviations, NULL, x);
    NOTHING(ctn_cma_deviations, cma, NULL);
    NOTHING(ctn_cma_multipliers, NULL, x);
    NOTHING(ctn_cma_multipliers, cma, NULL);
    NUMBER(0, ctn_cma_saved_bytes, NULL);
    STATUS("cma", ctn_cma_save, NULL, block, sizeof block, err);
    STATUS("bytes", ctn_cma_save, cma, NULL, sizeof block, err);
    STATUS("cma", ctn_cma_restore, NULL, block, sizeof block, err);
    STATUS("bytes", ctn_cma_restore, cma, NULL, sizeof block, err);
    ctn_cma_free(cma);
}

/// The next function that `text` declares, into `name`; NULL: no more.
static const char *next_function(const char *text, char name[80])
{
    const char *const declared = strstr(text, "\nCTN_API ");
    const char *const open = declared ? strchr(declared, '(') : NULL;
    if (!open) return NULL;
    const char *first = open;
    while (first[-1] == '_' || (first[-1] >= 'a' && first[-1] <= 'z') || (first[-1] >= '0' && first[-1] <= '9')) first--;
    snprintf(name, 80, "%.*s", (int)(open - first), first);
    return open;
}

/// Every function of the headers was called, and every one that was called is there.
static void optimizations(void)
{
    POINTER("scene", ctn_optimize_create, NULL, model, &cfg, 1, NULL, err);
    POINTER("model", ctn_optimize_create, scene, NULL, &cfg, 1, NULL, err);
    POINTER("cfg", ctn_optimize_create, scene, model, NULL, 1, NULL, err);
    const ctn_optimize_cost half = {0};
    POINTER("cost", ctn_optimize_create, scene, model, &cfg, 1, &half, err);
    const double value = 1;
    STATUS("optimize", ctn_optimize_set_parameters, NULL, &value, err);
    STATUS("optimize", ctn_optimize_step, NULL, err);
    note("ctn_optimize_get_state");
    ck_assert_int_eq(ctn_optimize_get_state(NULL).iteration, 0);
    NUMBER(0, ctn_optimize_knots, NULL);
    UNDEFINED(ctn_optimize_knot_length, NULL);
    POINTER("", ctn_optimize_states, NULL);
    POINTER("", ctn_optimize_controls, NULL);
    POINTER("", ctn_optimize_gains, NULL);
    POINTER("", ctn_optimize_told_gains, NULL);
    NOTHING(ctn_optimize_free, NULL);
    POINTER("scene", ctn_trajectories_create, NULL, model, &cfg, 1, x, err);
    POINTER("model", ctn_trajectories_create, scene, NULL, &cfg, 1, x, err);
    POINTER("cfg", ctn_trajectories_create, scene, model, NULL, 1, x, err);
    POINTER("x0", ctn_trajectories_create, scene, model, &cfg, 1, NULL, err);
    STATUS("trajectories", ctn_trajectories_step, NULL, 1, err);
    STATUS("trajectories", ctn_trajectories_set_parameters, NULL, &value, err);
    NUMBER(false, ctn_trajectories_run, NULL);
    note("ctn_trajectories_get_state");
    ck_assert_int_eq(ctn_trajectories_get_state(NULL, 0).iteration, 0);
    NUMBER(CTN_OK, ctn_trajectories_lost, NULL, 0, NULL);
    NUMBER(0, ctn_trajectories_knots, NULL);
    POINTER("", ctn_trajectories_states, NULL, 0);
    POINTER("", ctn_trajectories_controls, NULL, 0);
    POINTER("", ctn_trajectories_gains, NULL, 0);
    POINTER("", ctn_trajectories_told_gains, NULL, 0);
    NOTHING(ctn_trajectories_free, NULL);
    POINTER("scene", ctn_mpc_create, NULL, model, &cfg, 0, x, err);
    POINTER("model", ctn_mpc_create, scene, NULL, &cfg, 0, x, err);
    POINTER("cfg", ctn_mpc_create, scene, model, NULL, 0, x, err);
    STATUS("mpc", ctn_mpc_begin, NULL, NULL, x, 0, err);
    STATUS("mpc", ctn_mpc_step, NULL, x, x, err);
    STATUS("mpc", ctn_mpc_set_parameters, NULL, &value, err);
    note("ctn_mpc_get_state");
    ck_assert_int_eq(ctn_mpc_get_state(NULL, 0).knot, 0);
    NUMBER(0, ctn_mpc_worlds, NULL);
    UNDEFINED(ctn_mpc_knot_length, NULL);
    NOTHING(ctn_mpc_free, NULL);
}

static void searches_of_controllers(void)
{
    note("ctn_search_config_default");
    ctn_search_config asked = ctn_search_config_default(NULL);
    ck_assert_ptr_null(ctn_search_create(scene, &asked, NULL));
    asked = ctn_search_config_default(scene);
    POINTER("scene", ctn_search_create, NULL, &asked, err);
    POINTER("cfg", ctn_search_create, scene, NULL, err);
    NUMBER(0, ctn_search_parameters, NULL);
    NUMBER(0, ctn_search_worlds, NULL);
    note("ctn_search_get_state");
    ck_assert_int_eq(ctn_search_get_state(NULL).generation, 0);
    STATUS("search", ctn_search_step, NULL, err);
    STATUS("search", ctn_search_finish, NULL, err);
    STATUS("search", ctn_search_run, NULL, 1, NULL, err);
    STATUS("search", ctn_search_best, NULL, x, err);
    STATUS("search", ctn_search_value, NULL, x, 1, x, err);
    STATUS("search", ctn_search_save, NULL, "x", err);
    STATUS("search", ctn_search_restore, NULL, "x", err);
    POINTER("search", ctn_search_scene, NULL, NULL, "x", err);
    NOTHING(ctn_search_free, NULL);
}

static void check_all_were_called(void)
{
    char folder[] = CATENA_SOURCE_DIR "/include/catena", name[80];
    int declared = 0;
    DIR *const headers = opendir(folder);
    ck_assert_ptr_nonnull(headers);
    for (const struct dirent *entry; (entry = readdir(headers));) {
        if (!strstr(entry->d_name, ".h")) continue;
        char path[sizeof folder + sizeof entry->d_name];
        static char text[1 << 20];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *const file = fopen(path, "r");
        ck_assert_ptr_nonnull(file);
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
        for (const char *at = text; (at = next_function(at, name)); declared++) {
            bool found = false;
            for (int k = 0; k < calls; k++) found = found || !strcmp(called[k], name);
            ck_assert_msg(found, "%s of %s is not tested here", name, entry->d_name);
        }
    }
    closedir(headers);
    ck_assert_int_eq(declared, calls);
}

START_TEST(every_pointer_of_every_function)
{
    scene = ctn_scene_parse(scene_text, sizeof scene_text - 1, "nulls.yaml", &error);
    ck_assert_msg(scene != NULL, "%s", error.message);
    model = ctn_model_create(scene, &error);
    cfg = ctn_batch_config_default();
    cfg.dense = true, cfg.engine = "scalar";
    cfg.parameters = &(ctn_parameter){CTN_GRAVITY, 2}, cfg.parameter_count = 1;
    batch = ctn_batch_create(model, &cfg, &error);
    ck_assert_msg(batch != NULL, "%s", error.message);
    ctn_batch_config plain = cfg;
    plain.dense = false, plain.parameter_count = 0;
    for (int k = 0; k < 2; k++) {
        err = k ? NULL : &error;
        scenes(), models(), configurations(), batches(), along(), devices(), dynamics();
        const ctn_batch_config before = cfg;
        cfg = plain;
        tapes(), tapes_of_worlds(), environments();
        cfg = before;
        recordings(), samples(), forms(), searches(), optimizations();
        searches_of_controllers();
    }
    check_all_were_called();
    ctn_batch_free(batch), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("nulls");
    TCase *c = tcase_create("nulls");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, every_pointer_of_every_function);
    suite_add_tcase(s, c);
    return run_suite(s);
}
