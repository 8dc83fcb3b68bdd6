/// Models of worlds in the lanes of an engine. Included by engine_kernels.h.
#ifndef CATENA_ENGINE_MODEL_H
#define CATENA_ENGINE_MODEL_H

/// Number k of every lane's world, at `number` in its model.
FN real numbers(const double *const *number, size_t k)
{
    double lane[LANES] __attribute__((aligned(64)));
    for (int l = 0; l < LANES; l++) lane[l] = number[l][k];
    return lane_load(lane);
}

KERNEL void model_step_size(lane_model *m, const double *dt)
{
    const double *of[LANES];
    for (int l = 0; l < LANES; l++) of[l] = dt + l;
    m->dt = numbers(of, 0);
}

KERNEL void model_time(lane_model *m, double time) { m->time = time; }

/// The motors of m are told u [LANES][ncontrol].
KERNEL void model_tell(lane_model *m, const double *const *u)
{
    for (int k = 0; k < m->nmotor; k++) {
        lane_motor *const a = &m->motors[k];
        for (int c = 0; c < told_numbers(m, a); c++) told_target(a)[c] = numbers(u, (size_t)(a->control + c));
    }
}

KERNEL void model_load(const ctn_model *const *m, const double *dt, lane_model *to)
{
    const ctn_model *const first = m[0];
    const double *of[LANES];
    arena a = {(char *)to, 0};
    layout_model(first->nbody, first->nload, first->nmotor, &a);
    lane_body *const bodies = to->bodies;
    to->nbody = first->nbody, to->nlink = first->nlink, to->nq = first->nq, to->nv = first->nv;
    to->nload = first->nload, to->nmotor = first->nmotor, to->ncontrol = first->ncontrol, to->nwound = first->nwound,
    to->ncontact = first->ncontact, to->nbent = first->nbent, to->nsurface = first->nsurface, to->surfaces = first->surfaces;
    to->nsignal = first->nsignal, to->signals = first->signals, to->clock = NULL,
    to->wound = to->by_target = to->by_wound = to->by_bent = to->by_contact = NULL, to->time = 0;
    to->touch_shapes = first->touch_shapes, to->touch_pairs = first->touch_pairs;
    to->bonds = first->bonds, to->bond_joints = first->bond_joints, to->bond_points = first->bond_points;
    to->touch_capacity = first->touch_capacity;
    to->ntouch_shape = first->ntouch_shape, to->npair = first->npair, to->nbond = first->nbond;
    to->nslot = first->nslot, to->nrow = first->nrow, to->nmatrix_node = first->nmatrix_node;
    to->matrix_nodes = first->matrix_nodes, to->body_nodes = first->body_nodes;
    to->body_columns = first->body_columns, to->bond_nodes = first->bond_nodes;
    to->matrix_groups = first->matrix_groups, to->body_groups = first->body_groups, to->nmatrix_group = first->nmatrix_group;
    to->frames = first->frames, to->dof_adr = first->dof_adr, to->in_order = first->in_order, to->passive = first->passive;
    to->slides = first->slides, to->rubs = first->rubs, to->turns = first->turns, to->spins = first->spins, to->skew = first->skew, to->adds = first->adds, to->fast = first->fast, to->published = first->published, to->stream = first->stream;
    model_step_size(to, dt);
    for (int l = 0; l < LANES; l++) of[l] = &m[l]->mass;
    for (size_t k = 0; k < WORLD_NUMBERS; k++) (&to->mass)[k] = numbers(of, k);
    for (int i = 0; i < first->nbody; i++) {
        memcpy(&bodies[i], &first->bodies[i], offsetof(ctn_body, ca));
        memcpy(&bodies[i].own, &first->bodies[i].ca, offsetof(ctn_body, mass) - offsetof(ctn_body, ca));
        for (int l = 0; l < LANES; l++) of[l] = &m[l]->bodies[i].mass;
        for (int k = 0; k < (int)BODY_NUMBERS; k++) *body_number(&bodies[i], k) = numbers(of, (size_t)k);
    }
    for (int i = 0; i < first->nload; i++) {
        memcpy(&to->loads[i], &first->loads[i], offsetof(point_load, stiffness));
        for (int l = 0; l < LANES; l++) of[l] = &m[l]->loads[i].stiffness;
        for (size_t k = 0; k < LOAD_NUMBERS; k++) (&to->loads[i].stiffness)[k] = numbers(of, k);
    }
    for (int i = 0; i < first->nmotor; i++) {
        memcpy(&to->motors[i], &first->motors[i], offsetof(joint_motor, kp));
        for (int l = 0; l < LANES; l++) of[l] = &m[l]->motors[i].kp;
        for (size_t k = 0; k < MOTOR_NUMBERS; k++) (&to->motors[i].kp)[k] = numbers(of, k);
    }
}

/// All but the constants, so that lanes of `to`, model_size bytes, can be filled one by one.
KERNEL void copy_structure(const lane_model *from, lane_model *to)
{
    arena a = {(char *)to, 0};
    layout_model(from->nbody, from->nload, from->nmotor, &a);
    lane_body *const bodies = to->bodies;
    lane_point_load *const loads = to->loads;
    lane_motor *const motors = to->motors;
    memcpy(bodies, from->bodies, (size_t)from->nbody * sizeof *bodies);
    memcpy(loads, from->loads, (size_t)from->nload * sizeof *loads);
    memcpy(motors, from->motors, (size_t)from->nmotor * sizeof *motors);
    *to = *from;
    to->bodies = bodies, to->loads = loads, to->motors = motors;
}

#endif
