/// fork, exec, wait; folders and files of tests.
#define _GNU_SOURCE  // nftw
#include "tests/command.h"

#include <check.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64 };

static char scratch[4096], home[4096];

void enter_scratch(void)
{
    const char *const tmp = getenv("TMPDIR");
    ck_assert_ptr_nonnull(getcwd(home, sizeof home));
    snprintf(scratch, sizeof scratch, "%s/catena-test-XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(scratch));
    ck_assert_int_eq(chdir(scratch), 0);
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info, (void)type, (void)at;
    return remove(path);
}

void leave_scratch(void)
{
    ck_assert_int_eq(chdir(home), 0);
    nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

char *slurp(const char *path, size_t *size)
{
    FILE *const in = fopen(path, "rb");
    ck_assert_msg(in != NULL, "%s cannot be read", path);
    char *text = NULL;
    size_t used = 0;
    for (size_t n = 1; n; used += n) {
        text = realloc(text, used + 65537);
        n = fread(text + used, 1, 65536, in);
    }
    fclose(in);
    text[used] = 0;
    if (size) *size = used;
    return text;
}

void spit(const char *path, const char *text)
{
    FILE *const out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    ck_assert_int_eq(fclose(out), 0);
}

const char *source(const char *path)
{
    static char names[8][4096];
    static int at;
    char *const name = names[at++ % 8];
    snprintf(name, sizeof names[0], "%s/%s", CATENA_SOURCE_DIR, path);
    return name;
}

static void redirect(const char *path, int flags, int to)
{
    const int fd = open(path, flags, 0666);
    if (fd < 0 || dup2(fd, to) < 0) _exit(126);
    close(fd);
}

pid_t catena_start(const char *const *args)
{
    const char *words[MOST] = {CATENA_BINARY};
    for (int n = 1; *args && n < MOST - 1;) words[n++] = *args++;
    return program_start(words);
}

pid_t program_start(const char *const *words)
{
    const pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid) return pid;
    redirect(access("in", R_OK) ? "/dev/null" : "in", O_RDONLY, 0);
    redirect("out", O_WRONLY | O_CREAT | O_TRUNC, 1);
    redirect("err", O_WRONLY | O_CREAT | O_TRUNC, 2);
    execv(words[0], (char **)words);
    _exit(127);
}

void wait_for_handler(pid_t pid, int signal)
{
    char path[64];
    unsigned long long caught = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    char *const own = slurp("/proc/self/status", NULL);
    while (!(caught >> (signal - 1) & 1)) {
        char *const status = slurp(path, NULL), *const mask = strstr(status, "SigCgt:");
        ck_assert_msg(mask && !strstr(status, "(zombie)"), "ended too soon");
        const bool started =
            strncmp(status, own, strcspn(own, "\n")) != 0;  // its name is not that of the test: it has none of its handlers
        if (started) sscanf(mask, "SigCgt: %llx", &caught);
        free(status);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    free(own);
}

outcome catena_wait(pid_t pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return (outcome){WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), slurp("out", NULL), slurp("err", NULL)};
}

static outcome run(const char *input, const char *first, va_list args)
{
    const char *words[MOST] = {first};
    for (int n = 1; n < MOST && words[n - 1]; n++) words[n] = va_arg(args, const char *);
    remove("in");
    if (input) spit("in", input);
    return catena_wait(catena_start(words));
}

outcome catena_with(const char *input, const char *first, ...)
{
    va_list args;
    va_start(args, first);
    const outcome o = run(input, first, args);
    va_end(args);
    return o;
}

void outcome_free(outcome *o)
{
    free(o->out), free(o->err);
    *o = (outcome){0};
}

cJSON *catena_json(int status, const char *first, ...)
{
    va_list args;
    va_start(args, first);
    outcome o = run(NULL, first, args);
    va_end(args);
    ck_assert_msg(o.status == status, "exit status %d, expected %d: %s", o.status, status, o.err);
    cJSON *const object = cJSON_ParseWithOpts(o.out, NULL, 1);
    ck_assert_msg(object != NULL, "not JSON: %s", o.out);
    outcome_free(&o);
    return object;
}

const cJSON *member(const cJSON *object, const char *path)
{
    char name[64];
    for (const char *at = path; *at;) {
        const size_t length = strcspn(at, ".");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        object = cJSON_GetObjectItemCaseSensitive(object, name);
        ck_assert_msg(object != NULL, "no member %s", path);
        at += length + (at[length] == '.');
    }
    return object;
}

double number(const cJSON *object, const char *path)
{
    const cJSON *const item = member(object, path);
    ck_assert_msg(cJSON_IsNumber(item), "%s is no number", path);
    return item->valuedouble;
}

char *between(const char *at, const char *begin, const char *end)
{
    const char *const from = strstr(at, begin), *const to = from ? strstr(from + strlen(begin), end) : NULL;
    ck_assert_msg(to != NULL, "no text between '%s' and '%s'", begin, end);
    return strndup(from + strlen(begin), (size_t)(to - from) - strlen(begin));
}
