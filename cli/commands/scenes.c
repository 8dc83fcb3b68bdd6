/// Scenes by name, and `catena scenes`, which lists them. They are NAME.yaml, looked for in these folders, in this order: those
/// of the environment's CATENA_SCENES, one beside the program (where it was built) or where it was installed with it, and that of
/// the installation. Both of the program's are found from where it is: an installation can be moved.
#define _GNU_SOURCE  // strverscmp
#include "cli/commands/scenes.h"

#include "cli/commands/commands.h"
#include "cli/base/json.h"
#include "cli/base/message.h"
#include "sim/base/printable.h"
#include "sim/base/suggest.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENDING ".yaml"

typedef struct {
    char *name, *folder;
    char about[200];  // the first sentence of the comment that the file begins with
} named_scene;

typedef struct {
    named_scene *scene;
    int count, capacity;
    bool failed;  // no memory
} scene_list;

static void close_list(scene_list *s)
{
    for (int k = 0; k < s->count; k++) free(s->scene[k].name), free(s->scene[k].folder);
    free(s->scene);
}

static char *joined(const char *folder, const char *name, const char *ending)
{
    const size_t room = strlen(folder) + strlen(name) + strlen(ending) + 2;
    char *const path = malloc(room);
    if (path) snprintf(path, room, "%s/%s%s", folder, name, ending);
    return path;
}

/// A name can be typed, and printed.
static bool good_name(const char *name, size_t length)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
    return length && *name != '.' && *name != '-' && strspn(name, letters) >= length;
}

/// The comment's lines are joined up to the end of a sentence, or of the paragraph.
static void read_about(const char *path, char *about, size_t room)
{
    char line[512];
    size_t used = 0;
    FILE *const f = fopen(path, "r");
    *about = 0;
    while (f && fgets(line, sizeof line, f) && !strncmp(line, "# ", 2)) {
        line[strcspn(line, "\n")] = 0;
        used += (size_t)snprintf(about + used, room - used, "%s%s", used ? " " : "", line + 2);
        if (used >= room) used = room - 1;
    }
    if (f) fclose(f);
    make_printable(about);
    char *const end = strstr(about, ". ");
    if (end) end[1] = 0;
}

/// Adds NAME.yaml, unless a folder before has the name.
static void add_scene(scene_list *s, const char *folder, const char *file)
{
    const size_t length = strlen(file), ending = strlen(ENDING);
    if (length <= ending || strcmp(file + length - ending, ENDING) || !good_name(file, length - ending)) return;
    for (int k = 0; k < s->count; k++)
        if (strlen(s->scene[k].name) == length - ending && !strncmp(s->scene[k].name, file, length - ending)) return;
    if (s->count == s->capacity) {
        const int capacity = s->capacity ? 2 * s->capacity : 16;
        named_scene *const more = realloc(s->scene, (size_t)capacity * sizeof *more);
        if (!more) {
            s->failed = true;
            return;
        }
        s->scene = more, s->capacity = capacity;
    }
    named_scene *const scene = &s->scene[s->count];
    char *const path = joined(folder, file, "");
    *scene = (named_scene){.name = strndup(file, length - ending), .folder = strdup(folder)};
    s->failed = s->failed || !path || !scene->name || !scene->folder;
    if (path) read_about(path, scene->about, sizeof scene->about);
    free(path);
    s->count++;
}

/// chain40 before chain100.
static int by_name(const void *a, const void *b)
{
    return strverscmp(((const named_scene *)a)->name, ((const named_scene *)b)->name);
}

static void add_folder(scene_list *s, const char *folder)
{
    const int first = s->count;
    DIR *const open = *folder ? opendir(folder) : NULL;
    for (const struct dirent *entry; open && (entry = readdir(open));) add_scene(s, folder, entry->d_name);
    if (open) closedir(open);
    if (s->count > first && !s->failed) qsort(s->scene + first, (size_t)(s->count - first), sizeof *s->scene, by_name);
}

/// `tail` from the folder of the program on, without dots and links.
static void add_beside_program(scene_list *s, const char *tail)
{
    char program[PATH_MAX], folder[2 * PATH_MAX], real[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n <= 0) return;
    program[n] = 0;
    *strrchr(program, '/') = 0;
    snprintf(folder, sizeof folder, "%s/%s", program, tail);
    if (realpath(folder, real)) add_folder(s, real);
}

static scene_list find_scenes(void)
{
    scene_list s = {0};
    const char *const environment = getenv("CATENA_SCENES");
    char *const folders = strdup(environment ? environment : "");
    if (!folders) s.failed = true;
    for (char *rest = folders, *folder; folders && (folder = strsep(&rest, ":"));) add_folder(&s, folder);
    free(folders);
    add_beside_program(&s, "scenes");
    add_beside_program(&s, SCENES_FROM_PROGRAM);
    add_folder(&s, SCENES_INSTALLED);
    return s;
}

/// The scene that was meant by a word that names none; the folder of a path and the ending of a scene's file do not count.
static const char *meant(const scene_list *s, const char *word)
{
    const char *const slash = strrchr(word, '/'), *const name = slash ? slash + 1 : word;
    const char *const dot = strrchr(name, '.');
    if (dot && strcmp(dot, ENDING) && strcmp(dot, ".yml")) return NULL;
    char *const stem = strndup(name, dot ? (size_t)(dot - name) : strlen(name));
    const char **const names = calloc((size_t)s->count + 1, sizeof *names);
    for (int k = 0; k < s->count && names; k++) names[k] = s->scene[k].name;
    const char *const nearest = stem && names ? nearest_name(stem, names, s->count) : NULL;
    free(names), free(stem);
    return nearest;
}

/// The file of the scene called `word`; NULL with an error printed if there is none, and no file that the reader could say more
/// about.
static char *named_file(const scene_list *s, const char *word, bool there)
{
    for (int k = 0; k < s->count; k++)
        if (!strcmp(s->scene[k].name, word)) return joined(s->scene[k].folder, word, ENDING);
    const char *const nearest = there ? NULL : meant(s, word);
    if (nearest) usage_error("%s: no such file; did you mean the scene '%s'? 'catena scenes' lists all", word, nearest);
    else if (!there && !strpbrk(word, "./"))
        usage_error("%s: no such file, and no scene of this name; 'catena scenes' lists those that have one", word);
    else return strdup(word);
    return NULL;
}

char *scene_file(const char *word)
{
    struct stat info;
    const bool there = !stat(word, &info);
    if (there ? !S_ISDIR(info.st_mode) : errno != ENOENT) return strdup(word);
    scene_list s = find_scenes();
    if (s.failed) run_error("not enough memory for the names of scenes");
    char *const file = s.failed ? NULL : named_file(&s, word, there);
    close_list(&s);
    return file;
}

static int scenes_main(const arguments *args)
{
    scene_list s = find_scenes();
    cJSON *const list = args->value[OPT_JSON] ? cJSON_CreateArray() : NULL;
    int status = EXIT_OK;
    for (int k = 0; k < s.count; k++) {
        const named_scene *const scene = &s.scene[k];
        if (list) {
            char *const file = joined(scene->folder, scene->name, ENDING);
            cJSON *const one = json_object(list, NULL);
            json_text(one, "name", scene->name), json_text(one, "about", scene->about), json_text(one, "file", file ? file : "");
            free(file);
        } else {
            if (!k || strcmp(s.scene[k - 1].folder, scene->folder)) printf("%s%s\n", k ? "\n" : "", clean(scene->folder).text);
            printf("  %-19s %s\n", scene->name, scene->about);
        }
    }
    if (list) status = json_print(list);
    else if (!s.count && !s.failed) status = run_error("no scenes found; CATENA_SCENES names folders that have some");
    if (s.failed) status = run_error("not enough memory for the names of scenes");
    close_list(&s);
    return status;
}

const command command_scenes = {
    .name = "scenes",
    .files = "",
    .does = "Lists the scenes that can be run by name: what they are, and where.",
    .about = "The name of a scene is that of its file without .yaml. It does wherever a scene is asked for; a file of that\n"
             "name comes first. Scenes are looked for in the folders of CATENA_SCENES, separated by colons, then in those\n"
             "that came with the program.\n",
    .takes = TAKES(OPT_JSON),
    .examples = "  catena scenes\n"
                "  catena run chain10\n"
                "  CATENA_SCENES=$HOME/scenes catena scenes --json\n",
    .main = scenes_main,
};
