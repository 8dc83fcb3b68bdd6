/// What tests of recordings record: a batch of a scene with many kinds of joints, in a folder of the test's own.
#ifndef CATENA_TESTS_RECORDED_H
#define CATENA_TESTS_RECORDED_H

#include <catena/catena.h>

enum { WORLDS = 3, MEMBERS = 34 };

/// The scene, in scene.yaml, and the file that it includes, part.yaml.
extern const char scene_text[], part_text[];

extern ctn_scene *scene;
extern ctn_model *model;
extern ctn_batch *batch;
extern int nq, nv, nlink;

/// The datasets [record][world] of a recording: the energies first, then the statistics.
extern const char *const members[MEMBERS];

/// Makes the folder and all of the above, its worlds in different states; and removes it.
void open_recorded(void);
void close_recorded(void);

#endif
