/// COLLADA (.dae) by assimp, where catena was built with it. The surface becomes the bytes of an .msh file: these are what a scene
/// keeps, so recordings mean the same on machines without assimp, and with another version of it.
#include "sim/scene/mesh.h"

#include <stdarg.h>
#include <stdio.h>

#ifndef CATENA_ASSIMP

bool mesh_reads_collada(void) { return false; }

ctn_status mesh_from_collada(const char *bytes, size_t length, long most, char **msh, size_t *size, mesh_problem *problem)
{
    (void)bytes, (void)length, (void)most, (void)msh, (void)size;
    *problem = (mesh_problem){.line = 1, .column = 1, .text = "COLLADA needs assimp, which this catena was built without"};
    return CTN_BAD_SCENE;
}

#else

#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool mesh_reads_collada(void) { return true; }

typedef struct placement {
    double m[3][4];  // x -> m x + its last column
} placement;

/// A surface that is counted first, then written.
typedef struct writing {
    const struct aiScene *scene;
    char *vertices, *triangles;  // where the next one goes, NULL: they are counted
    uint64_t nvertex, ntriangle;
    mesh_problem *problem;
} writing;

__attribute__((format(printf, 2, 3))) static bool bad(mesh_problem *problem, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    problem->line = problem->column = 1;
    vsnprintf(problem->text, sizeof problem->text, format, args);
    va_end(args);
    return false;
}

static placement within(const placement *outer, const struct aiMatrix4x4 *t)
{
    const double inner[3][4] = {{t->a1, t->a2, t->a3, t->a4}, {t->b1, t->b2, t->b3, t->b4}, {t->c1, t->c2, t->c3, t->c4}};
    placement p = *outer;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) {
            p.m[i][j] = j == 3 ? outer->m[i][3] : 0;
            for (int k = 0; k < 3; k++) p.m[i][j] += outer->m[i][k] * inner[k][j];
        }
    return p;
}

/// Whether it turns surfaces inside out.
static bool mirrors(const placement *p)
{
    double(*const m)[4] = (double(*)[4])p->m;
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
               m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]) <
           0;
}

static void put(char **at, uint32_t bits)
{
    for (int k = 0; k < 4; k++) *(*at)++ = (char)(bits >> 8 * k & 255);
}

static bool write_vertices(writing *w, const struct aiMesh *mesh, const placement *p)
{
    for (unsigned i = 0; i < mesh->mNumVertices; i++)
        for (int k = 0; k < 3; k++) {
            const struct aiVector3D *const x = &mesh->mVertices[i];
            const float number = (float)(p->m[k][0] * x->x + p->m[k][1] * x->y + p->m[k][2] * x->z + p->m[k][3]);
            uint32_t bits;
            if (!isfinite(number)) return bad(w->problem, "a vertex of the mesh '%.40s' is not finite", mesh->mName.data);
            memcpy(&bits, &number, sizeof bits);
            put(&w->vertices, bits);
        }
    return true;
}

/// A mesh of a node; of its faces those that are points or lines have no surface.
static bool write_mesh(writing *w, const struct aiMesh *mesh, const placement *p)
{
    const bool inside_out = mirrors(p);
    if (w->vertices && !write_vertices(w, mesh, p)) return false;
    for (unsigned f = 0; f < mesh->mNumFaces; f++) {
        const struct aiFace *const face = &mesh->mFaces[f];
        if (face->mNumIndices != 3) continue;
        w->ntriangle++;
        for (int k = 0; k < 3 && w->triangles; k++) {
            const unsigned corner = face->mIndices[inside_out ? 2 - k : k];
            if (corner >= mesh->mNumVertices) return bad(w->problem, "the mesh '%.40s' lacks vertices", mesh->mName.data);
            put(&w->triangles, (uint32_t)(w->nvertex + corner));
        }
    }
    w->nvertex += mesh->mNumVertices;
    return true;
}

/// A node with those below it. assimp made them by recursion, too.
static bool write_node(writing *w, const struct aiNode *node, const placement *outer)
{
    const placement p = within(outer, &node->mTransformation);
    for (unsigned i = 0; i < node->mNumMeshes; i++)
        if (!write_mesh(w, w->scene->mMeshes[node->mMeshes[i]], &p)) return false;
    for (unsigned i = 0; i < node->mNumChildren; i++)
        if (!write_node(w, node->mChildren[i], &p)) return false;
    return true;
}

/// assimp's scene of the file, in metres; NULL: `problem` says what assimp says.
static const struct aiScene *import(const char *bytes, size_t length, mesh_problem *problem)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;  // assimp keeps its last error for the whole process
    struct aiPropertyStore *const how = aiCreatePropertyStore();
    aiSetImportPropertyInteger(how, AI_CONFIG_IMPORT_COLLADA_IGNORE_UP_DIRECTION, 1);
    aiSetImportPropertyInteger(how, AI_CONFIG_PP_RVC_FLAGS,
                               aiComponent_NORMALS | aiComponent_TANGENTS_AND_BITANGENTS | aiComponent_COLORS |
                                   aiComponent_TEXCOORDS | aiComponent_BONEWEIGHTS | aiComponent_ANIMATIONS |
                                   aiComponent_TEXTURES | aiComponent_LIGHTS | aiComponent_CAMERAS);
    pthread_mutex_lock(&one);
    const struct aiScene *const scene = aiImportFileFromMemoryWithProperties(
        bytes, (unsigned)length, aiProcess_RemoveComponent | aiProcess_Triangulate | aiProcess_JoinIdenticalVertices, "dae", how);
    if (!scene) {
        const char *says = aiGetErrorString();
        const char *const name = strstr(says, "$$$ - ");  // it calls a text in memory by a name of its own
        if (name) says = name + strlen("$$$ - ");
        bad(problem, "assimp cannot read this as COLLADA: %.*s", (int)strcspn(says, "\n"), says);
    }
    pthread_mutex_unlock(&one);
    aiReleasePropertyStore(how);
    return scene;
}

/// The bytes of an .msh file out of what assimp has read.
static ctn_status write_msh(const struct aiScene *scene, long most, char **msh, size_t *size, mesh_problem *problem)
{
    const placement none = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
    writing w = {.scene = scene, .problem = problem};
    write_node(&w, scene->mRootNode, &none);
    const uint64_t whole = MSH_HEAD + 12 * w.nvertex + 12 * w.ntriangle;
    if (!w.ntriangle) return bad(problem, "it has no triangle of any size"), CTN_BAD_SCENE;
    if (w.ntriangle > MESH_MAX_TRIANGLES) return bad(problem, "more than %d triangles", MESH_MAX_TRIANGLES), CTN_BAD_SCENE;
    if (whole > (uint64_t)most)
        return bad(problem, "it is too large; the files of the scene may have %ld bytes more", most), CTN_BAD_SCENE;
    char *const bytes = malloc(whole + 1), *head = bytes;
    if (!bytes) return CTN_NO_MEMORY;
    bytes[whole] = 0;
    put(&head, (uint32_t)w.nvertex), put(&head, 0), put(&head, 0), put(&head, (uint32_t)w.ntriangle);
    w = (writing){.scene = scene, .problem = problem, .vertices = head, .triangles = head + 12 * w.nvertex};
    if (!write_node(&w, scene->mRootNode, &none)) {
        free(bytes);
        return CTN_BAD_SCENE;
    }
    *msh = bytes, *size = whole;
    return CTN_OK;
}

ctn_status mesh_from_collada(const char *bytes, size_t length, long most, char **msh, size_t *size, mesh_problem *problem)
{
    if (!length) return bad(problem, "it is empty"), CTN_BAD_SCENE;  // assimp would abort
    const struct aiScene *const scene = import(bytes, length, problem);
    if (!scene) return CTN_BAD_SCENE;
    const ctn_status status = write_msh(scene, most, msh, size, problem);
    aiReleaseImport(scene);
    return status;
}

#endif
