/// Surfaces of triangles out of .obj, .stl, .msh and .dae files, and what they enclose.
#ifndef CATENA_SIM_MESH_H
#define CATENA_SIM_MESH_H

#include <catena/status.h>
#include <stdbool.h>

enum {
    MESH_MAX_TRIANGLES = 2000000,
    MSH_HEAD = 16,  // bytes of the counts that an .msh file begins with
};

typedef struct mesh_surface {
    int nvertex, ntriangle;
    double (*vertices)[3];                // in the file's unit, every place once
    int (*triangles)[3];                  // counter-clockwise seen from outside
    double volume, center[3], second[6];  // of what it encloses: its centroid; integrals of x_i x_j about that, xx yy zz xy xz yz
    char flaw[128];                       // why it encloses nothing that could have a mass, after "the surface "; "": it does
} mesh_surface;

/// What is wrong with a file, and where: line and column from 1 on.
typedef struct mesh_problem {
    int line, column;
    char text[200];
} mesh_problem;

typedef enum mesh_format { MESH_OBJ, MESH_STL, MESH_MSH, MESH_DAE, MESH_FORMATS } mesh_format;

/// Whether the name of a file ends in .obj, .stl, .msh or .dae, in any case.
bool mesh_format_of(const char *path, mesh_format *format);

/// Reads the bytes of a file, which a zero follows. Numbers have a decimal point only in the C locale. The arrays are to be freed
/// by mesh_clear, also on error: CTN_BAD_SCENE with `problem`, CTN_NO_MEMORY. Of MESH_DAE the bytes are those of mesh_from_collada.
ctn_status mesh_read(mesh_surface *m, mesh_format format, const char *bytes, size_t length, mesh_problem *problem);
void mesh_clear(mesh_surface *m);

/// Whether catena was built with what reads COLLADA.
bool mesh_reads_collada(void);

/// The surface of a COLLADA (.dae) file as the bytes of an .msh file, at most `most`, with a zero behind them: all its meshes where
/// its nodes place them, in metres, in single precision. Its axes are those of what names it, whatever <up_axis> says, as in ROS.
/// *msh is to be freed. CTN_BAD_SCENE with `problem`, CTN_NO_MEMORY.
ctn_status mesh_from_collada(const char *bytes, size_t length, long most, char **msh, size_t *size, mesh_problem *problem);

/// Cuts a polygon of n corners, given by places of `vertices`, into n - 2 triangles of the same turn, also where it is not
/// convex; crossing sides give triangles that overlap. `corners` is used up. n >= 3.
void mesh_cut_polygon(const double (*vertices)[3], int *corners, int n, int (*triangles)[3]);

/// Welds vertices of the same place, drops triangles that have lost a side by it, and finds out what the surface encloses.
/// CTN_NO_MEMORY.
ctn_status mesh_close(mesh_surface *m);

#endif
