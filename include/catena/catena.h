/// catena: articulated rigid bodies at large time steps. This header includes all of the library's.
#ifndef CATENA_CATENA_H
#define CATENA_CATENA_H

#include <catena/along.h>
#include <catena/batch.h>
#include <catena/between.h>
#include <catena/cma.h>
#include <catena/contact.h>
#include <catena/controller.h>
#include <catena/derivatives.h>
#include <catena/device.h>
#include <catena/dynamics.h>
#include <catena/environments.h>
#include <catena/forms.h>
#include <catena/hash.h>
#include <catena/model.h>
#include <catena/motors.h>
#include <catena/mpc.h>
#include <catena/optimize.h>
#include <catena/parameters.h>
#include <catena/record.h>
#include <catena/rollout.h>
#include <catena/sample.h>
#include <catena/scene.h>
#include <catena/search.h>
#include <catena/sensors.h>
#include <catena/status.h>
#include <catena/tapes.h>
#include <catena/trajectories.h>
#include <catena/tree.h>

#endif
