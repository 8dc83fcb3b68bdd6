/// What helps to read a picture of a moving scene: axes of joints, frames of links, the centre of mass, trails of points, contact
/// points and their forces.
#ifndef CATENA_RENDER_MARKS_H
#define CATENA_RENDER_MARKS_H

#include "render/draw/lines.h"
#include "render/draw/text.h"

#include <catena/model.h>

/// What to show, a sum of these. SHOW_TEXT is for those who write texts: marks have none.
typedef enum marks_show {
    SHOW_AXES = 1,
    SHOW_FRAMES = 2,
    SHOW_COM = 4,  // and its trail
    SHOW_TRAILS = 8,
    SHOW_NAMES = 16,
    SHOW_TEXT = 32,
    SHOW_CONTACTS = 64,  // for those who know what contact points feel: marks_contacts
} marks_show;

/// A point of a link that leaves a trail: in the frame of the link, m.
typedef struct trail_point {
    int link;
    double at[3];
} trail_point;

typedef struct marks_config {
    int worlds;
    double radius;              // m, of the extent of one world (scene_extent)
    const trail_point *trails;  // [trail_count], copied; NULL: the centre of mass of each link without children
    int trail_count;
    double seconds;  // how long trails last, > 0
} marks_config;

typedef struct marks marks;

/// Of `scene`, which must be that of `model`; both may go. NULL: no memory.
marks *marks_create(const ctn_scene *scene, const ctn_model *model, const marks_config *cfg);
void marks_free(marks *m);  // NULL is allowed

/// Trails get a point when the last one is so old, s: times to call marks_note at, for the smoothest that there is room for.
double marks_trail_step(const marks *m);

/// The links of `world` are at R [links][9], p [links][3] at time t (s), and their centre of mass at com [3]: the next point of
/// trails, if it is time. What trails have of t and later is forgotten: time may go back.
void marks_note(marks *m, int world, double t, const double *R, const double *p, const double *com);

/// Puts what `show` says of a world at time t into lines and labels, after what is in them; trails end at what is passed here, in
/// the colour `trail` (sRGB, 0 to 1), or if it is NULL each in its own. False: no memory.
bool marks_place(const marks *m, int world, double t, const double *R, const double *p, const double *com, unsigned show,
                 const float *trail, line_list *lines, label_list *labels);

/// Puts the contact points of a world into lines, where links at R, p have them, and the force on each as an arrow, and what links do to
/// each other where they do it: contacts
/// [ncontact][CTN_CONTACT_NUMBERS] (catena/contact.h). The weight of its tree is as long as half the radius of the extent. What
/// sticks is green, what slides red; what feels nothing is a small grey point. False: no memory.
bool marks_contacts(const marks *m, const double *R, const double *p, const double *contacts, line_list *lines);

/// All trails begin anew.
void marks_clear_trails(marks *m);

#endif
