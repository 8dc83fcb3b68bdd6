/// PNG files by stb_image_write, movies through a pipe to ffmpeg, arrays of numpy; written by a thread of its own while the next
/// picture is drawn.
#define _GNU_SOURCE  // pipe2, F_SETPIPE_SZ
#include "render/draw/pictures.h"

#include "sim/base/new_file.h"
#include "sim/base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

/// stb's own is slower and packs worse. Lines go unfiltered: zlib finds what is alike in drawn pictures, and the filters hide it.
static unsigned char *deflate_png(unsigned char *data, int size, int *packed, int level)
{
    uLongf n = compressBound((uLong)size);
    unsigned char *const to = malloc(n);
    if (!to || compress2(to, &n, data, (uLong)size, level) != Z_OK) return free(to), NULL;
    *packed = (int)n;
    return to;
}

#define STBIW_ZLIB_COMPRESS deflate_png
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <stb/stb_image_write.h>
#pragma GCC diagnostic pop

struct pictures {
    char *path;
    int width, height;
    long count;
    pid_t ffmpeg;  // 0: PNG files, or an array
    int pipe;
    bool array;
    new_file whole;  // the movie, the array
    pthread_t writer;
    pthread_mutex_t lock;
    pthread_cond_t change;
    uint8_t *rgb;  // the picture that is being written
    bool full, ending, told;
    ctn_status status;  // of the writer
    ctn_error error;    // what it says
};

static bool ends_in(const char *path, const char *end)
{
    const size_t n = strlen(path), m = strlen(end);
    return n >= m && !strcmp(path + n - m, end);
}

/// "%d", "%04d": where it begins, and how many digits it wants and characters it takes.
static const char *find_number(const char *path, int *digits, size_t *length)
{
    for (const char *p = path; (p = strchr(p, '%')); p++) {
        const char *const first = p + 1;
        const size_t n = strspn(first, "0123456789");
        if (first[n] != 'd' || n > 2 || (n && *first != '0')) continue;
        *digits = n ? atoi(first) : 1, *length = n + 2;
        return p;
    }
    return NULL;
}

static bool has_number(const char *path)
{
    int digits;
    size_t length;
    return find_number(path, &digits, &length) != NULL;
}

bool pictures_single(const char *path) { return ends_in(path, ".png") && !has_number(path); }

/// Numbered pictures may have a folder of their own; what is wrong with it is said when they are written.
static void make_folder(const char *path)
{
    const char *const slash = strrchr(path, '/');
    char *const folder = slash && slash > path ? strndup(path, (size_t)(slash - path)) : NULL;
    if (folder && !has_number(folder)) mkdir(folder, 0777);
    free(folder);
}

/// ffmpeg's arguments by the ending of the movie's name.
static const char *const *codec_of(const char *path)
{
    static const char *const mp4[] = {"-c:v",      "libx264",
                                      "-preset",   "veryfast",
                                      "-pix_fmt",  "yuv420p",
                                      "-crf",      "18",
                                      "-vf",       "pad=ceil(iw/2)*2:ceil(ih/2)*2",
                                      "-movflags", "+frag_keyframe+empty_moov",
                                      NULL};
    static const char *const webm[] = {"-c:v", "libvpx-vp9", "-crf", "30", "-b:v", "0", NULL};
    static const char *const webp[] = {"-c:v", "libwebp_anim", "-q:v", "80", "-loop", "0", NULL};
    static const char *const gif[] = {"-vf", "split[a][b];[a]palettegen[p];[b][p]paletteuse", NULL};
    return ends_in(path, ".mp4")    ? mp4
           : ends_in(path, ".webm") ? webm
           : ends_in(path, ".webp") ? webp
           : ends_in(path, ".gif")  ? gif
                                    : NULL;
}

static ctn_status open_movie(pictures *p, double fps, ctn_error *err)
{
    enum { MOST = 40 };
    char size[32], rate[32];
    const char *args[MOST] = {"ffmpeg", "-y", "-xerror", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt",
                              "rgb24",  "-s", size,      "-r",        rate,    "-i", "-"};
    static const char *const exact[] = {"-flags:v", "+bitexact", "-fflags", "+bitexact"};  // the same pictures, the same file
    int n = 15, ends[2];  // -xerror: a disk that is full at the end is an error, too
    snprintf(size, sizeof size, "%dx%d", p->width, p->height), snprintf(rate, sizeof rate, "%.9g", fps);
    for (const char *const *c = codec_of(p->path); *c; c++) args[n++] = *c;
    for (size_t k = 0; k < sizeof exact / sizeof *exact; k++) args[n++] = exact[k];
    const ctn_status opened = new_file_open(&p->whole, p->path, err);  // the system's words are for people, ffmpeg's are not
    if (opened != CTN_OK) return opened;
    char *out;
    if (asprintf(&out, "file:%s", p->whole.made ? p->whole.made : p->path) < 0)
        return fail(err, CTN_NO_MEMORY, "%s: not enough memory", p->path);
    args[n++] = "-f", args[n++] = strrchr(p->path, '.') + 1;
    args[n++] = out;  // else "a:b.mp4" is a protocol, "-b.mp4" an option
    if (pipe2(ends, O_CLOEXEC)) return free(out), fail(err, CTN_IO, "no pipe to ffmpeg: %s", strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions), posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // Ctrl-C is for us: the movie is finished then
    extern char **environ;
    const int failure = posix_spawnp(&p->ffmpeg, "ffmpeg", &actions, &attributes, (char *const *)(uintptr_t)args, environ);
    posix_spawn_file_actions_destroy(&actions), posix_spawnattr_destroy(&attributes);
    free(out);
    close(ends[0]);
    p->pipe = ends[1];
    fcntl(p->pipe, F_SETPIPE_SZ,
          1 << 20);  // room for a picture, or what the system allows: the next one is drawn while this is read
    if (!failure) return CTN_OK;
    p->ffmpeg = 0;
    close(p->pipe);
    return fail(err, CTN_UNAVAILABLE,
                "%s: movies are made by ffmpeg, which cannot be started (%s); install it, or write PNG files: frames/%%04d.png",
                p->path, strerror(failure));
}

// ---- arrays

enum { ARRAY_HEAD = 128 };  // bytes before the pixels, in which any number of pictures can be said

/// What numpy's format 1.0 begins with: uint8 [count][height][width][3].
static void write_array_head(const pictures *p)
{
    char head[ARRAY_HEAD + 1];
    const int used =
        snprintf(head, sizeof head, "\x93NUMPY%c%c%c%c{'descr': '|u1', 'fortran_order': False, 'shape': (%ld, %d, %d, 3)}", 1, 0,
                 ARRAY_HEAD - 10, 0, p->count, p->height, p->width);
    memset(head + used, ' ', (size_t)(ARRAY_HEAD - used));
    head[ARRAY_HEAD - 1] = '\n';
    fwrite(head, 1, ARRAY_HEAD, p->whole.stream);  // what fails is told when it is closed
}

static ctn_status open_array(pictures *p, ctn_error *err)
{
    const ctn_status status = new_file_open(&p->whole, p->path, err);
    if (status == CTN_OK) write_array_head(p);
    p->array = status == CTN_OK;
    return status;
}

static ctn_status add_to_array(pictures *p, const uint8_t *rgb, ctn_error *err)
{
    const size_t size = 3 * (size_t)p->width * (size_t)p->height;
    if (fwrite(rgb, 1, size, p->whole.stream) == size) return CTN_OK;
    return fail(err, CTN_IO, "%s: cannot be written: %s", p->path, strerror(errno));
}

static ctn_status close_array(pictures *p, ctn_error *err)
{
    if (fseek(p->whole.stream, 0, SEEK_SET))  // a pipe, say
        return new_file_close(&p->whole, false, NULL), fail(err, CTN_IO, "%s: an array takes a file", p->path);
    write_array_head(p);
    return new_file_close(&p->whole, true, err);
}

// ---- pictures

typedef struct {
    FILE *file;
    bool ok;
} png_file;

static void write_part(void *context, void *data, int size)
{
    png_file *const png = context;
    png->ok = png->ok && fwrite(data, 1, (size_t)size, png->file) == (size_t)size;
}

static ctn_status write_png(const pictures *p, const char *path, const uint8_t *rgb, ctn_error *err)
{
    new_file file;
    const ctn_status opened = new_file_open(&file, path, err);
    if (opened != CTN_OK) return opened;
    png_file png = {file.stream, true};
    stbi_write_png_compression_level = 2, stbi_write_force_png_filter = 0;
    const bool made = stbi_write_png_to_func(write_part, &png, p->width, p->height, 3, rgb, 3 * p->width);
    const ctn_status closed = new_file_close(&file, made || !png.ok, err);
    return made || closed != CTN_OK ? closed : fail(err, CTN_NO_MEMORY, "%s: not enough memory", path);
}

/// The name of picture number `count`.
static ctn_status write_numbered(pictures *p, const uint8_t *rgb, ctn_error *err)
{
    char path[4096];
    int digits = 0;
    size_t length = 0;
    const char *const number = find_number(p->path, &digits, &length);
    if (!number) return write_png(p, p->path, rgb, err);
    const int used =
        snprintf(path, sizeof path, "%.*s%0*ld%s", (int)(number - p->path), p->path, digits, p->count, number + length);
    if (used >= (int)sizeof path) return fail(err, CTN_IO, "%s: the name is too long", p->path);
    return write_png(p, path, rgb, err);
}

static ctn_status write_frame(pictures *p, const uint8_t *rgb, ctn_error *err)
{
    size_t left = 3 * (size_t)p->width * (size_t)p->height;
    while (left) {
        const ssize_t n = write(p->pipe, rgb, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return fail(err, CTN_IO, "%s: ffmpeg has ended after %ld pictures", p->path, p->count);
        rgb += n, left -= (size_t)n;
    }
    return CTN_OK;
}

static void *write_all(void *argument)
{
    pictures *const p = argument;
    ctn_error err;
    pthread_mutex_lock(&p->lock);
    while (p->status == CTN_OK && (p->full || !p->ending)) {
        if (!p->full) {
            pthread_cond_wait(&p->change, &p->lock);
            continue;
        }
        pthread_mutex_unlock(&p->lock);
        const ctn_status status = p->ffmpeg  ? write_frame(p, p->rgb, &err)
                                  : p->array ? add_to_array(p, p->rgb, &err)
                                             : write_numbered(p, p->rgb, &err);
        pthread_mutex_lock(&p->lock);
        if ((p->status = status) != CTN_OK) p->error = err;
        else p->count++;
        p->full = false;
        pthread_cond_signal(&p->change);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/// What the writer has met with, once.
static ctn_status tell(pictures *p, ctn_error *err)
{
    if (p->status != CTN_OK && !p->told && err) *err = p->error;
    const ctn_status status = p->told ? CTN_OK : p->status;
    p->told = p->status != CTN_OK;
    return status;
}

// ---- opening and closing

static void free_pictures(pictures *p)
{
    pthread_mutex_destroy(&p->lock), pthread_cond_destroy(&p->change);
    free(p->path), free(p->rgb);
    free(p);
}

ctn_status pictures_open(const char *path, int width, int height, double fps, pictures **out, ctn_error *err)
{
    *out = NULL;
    const bool array = ends_in(path, ".npy");
    if (!ends_in(path, ".png") && !array && !codec_of(path))
        return fail(err, CTN_BAD_ARGUMENT, "%s: unknown ending; allowed: .png, frames/%%04d.png, .mp4, .webm, .webp, .gif, .npy",
                    path);
    pictures *const p = calloc(1, sizeof *p);
    if (!p) return fail(err, CTN_NO_MEMORY, "%s: not enough memory", path);
    p->width = width, p->height = height;
    p->path = strdup(path), p->rgb = malloc(3 * (size_t)width * (size_t)height);
    pthread_mutex_init(&p->lock, NULL), pthread_cond_init(&p->change, NULL);
    signal(SIGPIPE, SIG_IGN);  // an ffmpeg that ends is an error of writing
    ctn_status status = p->path && p->rgb ? CTN_OK : fail(err, CTN_NO_MEMORY, "%s: not enough memory", path);
    if (status == CTN_OK && codec_of(path)) status = open_movie(p, fps, err);
    else if (status == CTN_OK && array) status = open_array(p, err);
    else if (status == CTN_OK && has_number(path)) make_folder(path);
    if (status == CTN_OK && pthread_create(&p->writer, NULL, write_all, p)) {
        if (p->ffmpeg) close(p->pipe), waitpid(p->ffmpeg, NULL, 0);
        status = fail(err, CTN_NO_MEMORY, "%s: no thread to write with", path);
    }
    if (status == CTN_OK) return *out = p, CTN_OK;
    new_file_close(&p->whole, false, NULL);
    free_pictures(p);
    return status;
}

ctn_status pictures_add(pictures *p, const uint8_t *rgb, ctn_error *err)
{
    pthread_mutex_lock(&p->lock);
    while (p->full) pthread_cond_wait(&p->change, &p->lock);
    const ctn_status status = tell(p, err);
    if (status == CTN_OK) {
        memcpy(p->rgb, rgb, 3 * (size_t)p->width * (size_t)p->height);
        p->full = true;
        pthread_cond_signal(&p->change);
    }
    pthread_mutex_unlock(&p->lock);
    return status;
}

ctn_status pictures_close(pictures *p, ctn_error *err)
{
    if (!p) return CTN_OK;
    pthread_mutex_lock(&p->lock);
    p->ending = true;
    pthread_cond_signal(&p->change);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->writer, NULL);
    ctn_status status = tell(p, err);
    if (p->ffmpeg) {
        int how = 0;
        close(p->pipe);
        while (waitpid(p->ffmpeg, &how, 0) < 0 && errno == EINTR) continue;
        const bool made = p->status == CTN_OK && WIFEXITED(how) && !WEXITSTATUS(how);
        if (p->status == CTN_OK && !made)
            status = fail(err, CTN_IO, "%s: ffmpeg failed after %ld pictures; what it made is in %s", p->path, p->count,
                          p->whole.made ? p->whole.made : p->path);
        if (made) status = new_file_close(&p->whole, true, err);
        else new_file_leave(&p->whole);
    }
    if (p->array && p->status == CTN_OK) status = close_array(p, err);
    else if (p->array) new_file_close(&p->whole, false, NULL);
    free_pictures(p);
    return status;
}
