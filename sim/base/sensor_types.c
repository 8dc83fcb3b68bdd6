/// The table of the types of sensors.
#include "sim/base/sensor_types.h"

#include <stddef.h>

#define XYZ "x y z"
#define QUATERNION "qw qx qy qz"
#define WRENCH "tx ty tz fx fy fz"
enum { ACCELERATIONS = SENSOR_ACCELERATIONS, REACTIONS = SENSOR_ACCELERATIONS | SENSOR_REACTIONS };

const sensor_type sensor_types[SENSOR_TYPES] = {
    [CTN_SENSE_JOINT_POSITION] = {"joint_position", SENSOR_OF_JOINT, .needs = 0},
    [CTN_SENSE_JOINT_VELOCITY] = {"joint_velocity", SENSOR_OF_JOINT, .needs = 0},
    [CTN_SENSE_JOINT_ACCELERATION] = {"joint_acceleration", SENSOR_OF_JOINT, .needs = ACCELERATIONS},
    [CTN_SENSE_JOINT_FORCE] = {"joint_force", SENSOR_OF_JOINT, .needs = SENSOR_FORCES},
    [CTN_SENSE_MOTOR_EFFORT] = {"motor_effort", SENSOR_OF_MOTOR, .needs = 0},
    [CTN_SENSE_POSITION] = {"position", SENSOR_OF_POINT, 3, XYZ, "m", .needs = 0},
    [CTN_SENSE_ORIENTATION] = {"orientation", SENSOR_OF_AXES, 4, QUATERNION, "1", .needs = 0},
    [CTN_SENSE_POSE] = {"pose", SENSOR_OF_FRAME, 7, XYZ " " QUATERNION, "m", "1", 3, .needs = 0},
    [CTN_SENSE_VELOCITY] = {"velocity", SENSOR_OF_POINT, 3, XYZ, "m/s", .needs = 0},
    [CTN_SENSE_ANGULAR_VELOCITY] = {"angular_velocity", SENSOR_OF_BODY, 3, XYZ, "rad/s", .needs = 0},
    [CTN_SENSE_TWIST] = {"twist", SENSOR_OF_POINT, 6, "wx wy wz vx vy vz", "rad/s", "m/s", 3, .needs = 0},
    [CTN_SENSE_ACCELERATION] = {"acceleration", SENSOR_OF_POINT, 3, XYZ, "m/s^2", .needs = ACCELERATIONS},
    [CTN_SENSE_ANGULAR_ACCELERATION] = {"angular_acceleration", SENSOR_OF_BODY, 3, XYZ, "rad/s^2", .needs = ACCELERATIONS},
    [CTN_SENSE_ACCELEROMETER] = {"accelerometer", SENSOR_OF_FRAME, 3, XYZ, "m/s^2", .needs = ACCELERATIONS},
    [CTN_SENSE_GYRO] = {"gyro", SENSOR_OF_AXES, 3, XYZ, "rad/s", .needs = 0},
    [CTN_SENSE_IMU] = {"imu", SENSOR_OF_FRAME, 6, "ax ay az wx wy wz", "m/s^2", "rad/s", 3, ACCELERATIONS},
    [CTN_SENSE_VELOCIMETER] = {"velocimeter", SENSOR_OF_FRAME, 3, XYZ, "m/s", .needs = 0},
    [CTN_SENSE_DISTANCE] = {"distance", SENSOR_OF_PAIR, 1, "", "m", .needs = 0},
    [CTN_SENSE_RELATIVE_POSITION] = {"relative_position", SENSOR_OF_PAIR_IN_AXES, 3, XYZ, "m", .needs = 0},
    [CTN_SENSE_COM] = {"com", SENSOR_OF_TREE, 3, XYZ, "m", .needs = 0},
    [CTN_SENSE_COM_VELOCITY] = {"com_velocity", SENSOR_OF_TREE, 3, XYZ, "m/s", .needs = 0},
    [CTN_SENSE_COM_ACCELERATION] = {"com_acceleration", SENSOR_OF_TREE, 3, XYZ, "m/s^2", .needs = ACCELERATIONS},
    [CTN_SENSE_LINEAR_MOMENTUM] = {"linear_momentum", SENSOR_OF_TREE, 3, XYZ, "kg m/s", .needs = 0},
    [CTN_SENSE_ANGULAR_MOMENTUM] = {"angular_momentum", SENSOR_OF_TREE, 3, XYZ, "kg m^2/s", .needs = 0},
    [CTN_SENSE_MOMENTUM] = {"momentum", SENSOR_OF_TREE, 6, "hx hy hz lx ly lz", "kg m^2/s", "kg m/s", 3, .needs = 0},
    [CTN_SENSE_KINETIC_ENERGY] = {"kinetic_energy", SENSOR_OF_TREE, 1, "", "J", .needs = 0},
    [CTN_SENSE_POTENTIAL_ENERGY] = {"potential_energy", SENSOR_OF_TREE, 1, "", "J", .needs = 0},
    [CTN_SENSE_ENERGY] = {"energy", SENSOR_OF_ALL, 1, "", "J", .needs = SENSOR_SPRINGS},
    [CTN_SENSE_TOUCH] = {"touch", SENSOR_OF_CONTACT, 1, "", "N", .needs = SENSOR_CONTACTS},
    [CTN_SENSE_CONTACT_FORCE] = {"contact_force", SENSOR_OF_CONTACT, 3, XYZ, "N", .needs = SENSOR_CONTACTS},
    [CTN_SENSE_REACTION_FORCE] = {"reaction_force", SENSOR_OF_AXES, 3, XYZ, "N", .needs = REACTIONS},
    [CTN_SENSE_REACTION_TORQUE] = {"reaction_torque", SENSOR_OF_FRAME, 3, XYZ, "N m", .needs = REACTIONS},
    [CTN_SENSE_REACTION] = {"reaction", SENSOR_OF_FRAME, 6, WRENCH, "N m", "N", 3, REACTIONS},
    [CTN_SENSE_LOOP_FORCE] = {"loop_force", SENSOR_OF_LOOP, 3, XYZ, "N", .needs = SENSOR_BONDS},
    [CTN_SENSE_LOOP_TORQUE] = {"loop_torque", SENSOR_OF_LOOP, 3, XYZ, "N m", .needs = SENSOR_BONDS},
    [CTN_SENSE_LOOP_WRENCH] = {"loop_wrench", SENSOR_OF_LOOP, 6, WRENCH, "N m", "N", 3, SENSOR_BONDS},
    [CTN_SENSE_COUPLING_FORCE] = {"coupling_force", SENSOR_OF_COUPLING, 1, "", .needs = SENSOR_BONDS},
    [CTN_SENSE_TENDON_LENGTH] = {"tendon_length", SENSOR_OF_TENDON, 1, "", "m", .needs = SENSOR_BONDS},
    [CTN_SENSE_TENDON_VELOCITY] = {"tendon_velocity", SENSOR_OF_TENDON, 1, "", "m/s", .needs = SENSOR_BONDS},
    [CTN_SENSE_TENDON_FORCE] = {"tendon_force", SENSOR_OF_TENDON, 1, "", "N", .needs = SENSOR_BONDS},
};

int sensor_type_quaternion(ctn_sensor_type type) { return type == CTN_SENSE_ORIENTATION ? 0 : type == CTN_SENSE_POSE ? 3 : -1; }

const char *ctn_sensor_type_name(ctn_sensor_type type)
{
    return (int)type >= 0 && (int)type < SENSOR_TYPES ? sensor_types[type].name : NULL;
}
