/// The font of pictures, DejaVu Sans (assets/), as it is in its file.
#ifndef CATENA_RENDER_FONT_H
#define CATENA_RENDER_FONT_H

extern const unsigned char font_file[] __attribute__((visibility("hidden")));
extern const unsigned char font_end[] __attribute__((visibility("hidden")));  // behind its last byte

#endif
