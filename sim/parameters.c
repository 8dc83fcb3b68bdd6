/// Names of what can differ from world to world.
#include <catena/parameters.h>

const char *ctn_parameter_name(ctn_parameter_kind kind)
{
    static const char *const names[] = {"gravity", "mass_scale",  "armature",    "damping",         "stiffness",
                                        "rest",    "limit_lower", "limit_upper", "limit_stiffness", "limit_damping"};
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : 0;
}
