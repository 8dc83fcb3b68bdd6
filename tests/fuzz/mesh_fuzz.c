/// Fuzzing of the reader of meshes: any bytes give a surface whose numbers are sound or an error that says where, never a crash.
/// Built with libFuzzer (CATENA_FUZZ), or with tests/fuzz/replay.c, which runs tests/fuzz/meshes through it.
#include "sim/scene/mesh.h"
#include "tests/fuzz/claim.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_surface(const mesh_surface *m)
{
    claim(m->nvertex > 2 && m->ntriangle > 0 && m->ntriangle <= MESH_MAX_TRIANGLES);
    for (int i = 0; i < m->nvertex; i++)
        for (int k = 0; k < 3; k++) claim(isfinite(m->vertices[i][k]));
    for (int t = 0; t < m->ntriangle; t++) {
        const int *const c = m->triangles[t];
        for (int k = 0; k < 3; k++) claim(c[k] >= 0 && c[k] < m->nvertex && c[k] != c[(k + 1) % 3]);
    }
    claim(memchr(m->flaw, 0, sizeof m->flaw) != 0);
    claim(*m->flaw || m->volume > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *const bytes = malloc(size + 1);
    claim(bytes != NULL);
    memcpy(bytes, data, size), bytes[size] = 0;
    for (int format = 0; format < MESH_FORMATS; format++) {
        mesh_surface m;
        mesh_problem problem = {0};
        const ctn_status status = mesh_read(&m, (mesh_format)format, bytes, size, &problem);
        if (status == CTN_OK) check_surface(&m);
        else claim(status == CTN_BAD_SCENE && problem.line > 0 && problem.column > 0 && *problem.text);
        mesh_clear(&m);
    }
    free(bytes);
    return 0;
}
