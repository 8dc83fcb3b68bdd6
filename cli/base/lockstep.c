/// Programs in lockstep: pipes, lines, and how they end.
#include "cli/base/lockstep.h"

#include "cli/base/message.h"
#include "cli/base/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { LINE_LIMIT = 1 << 24, PATIENCE = 100 };  // bytes of an answer; ms after which signals are looked for again

static bool spawn(lockstep *p, const char *command)
{
    int in[2], out[2];
    if (pipe(in)) return false;
    if (pipe(out)) {
        close(in[0]), close(in[1]);
        return false;
    }
    const int ends[] = {in[0], in[1], out[0], out[1]};
    for (int k = 0; k < 4; k++) fcntl(ends[k], F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigemptyset(&defaults), sigaddset(&defaults, SIGPIPE);
    posix_spawn_file_actions_init(&actions), posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawnattr_setsigdefault(&attributes, &defaults), posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    char shell[] = "sh", option[] = "-c", *const words[] = {shell, option, (char *)(uintptr_t)command, NULL};
    const int failed = posix_spawn(&p->pid, "/bin/sh", &actions, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&actions), posix_spawnattr_destroy(&attributes);
    close(in[0]), close(out[1]);
    p->to = in[1], p->from = out[0];
    if (!failed) return true;
    p->pid = -1, errno = failed;
    return false;
}

/// Waits for the end of the process, which a signal to this one hastens.
static void reap(lockstep *p)
{
    bool hastened = false;
    pid_t ended = 0;
    if (p->status >= 0) return;
    while (!(ended = waitpid(p->pid, &p->status, WNOHANG)) || (ended < 0 && errno == EINTR)) {
        if (stop_asked() && !hastened) kill(p->pid, SIGTERM), hastened = true;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    if (ended < 0) p->status = 0;  // somebody else has waited for it
}

static int exit_status(const lockstep *p) { return WIFSIGNALED(p->status) ? 128 + WTERMSIG(p->status) : WEXITSTATUS(p->status); }

/// Waits until a pipe can be used. False: a signal has come.
static bool wait_for(int end, short event)
{
    struct pollfd one = {.fd = end, .events = event};
    while (!stop_asked())
        if (poll(&one, 1, PATIENCE) > 0) return true;
    return false;
}

/// False: it is gone, or (stop_asked()) a signal has come.
static bool send_text(lockstep *p, const char *text)
{
    for (size_t left = strlen(text); left;) {
        if (!wait_for(p->to, POLLOUT)) return false;
        const ssize_t n = write(p->to, text, left);
        if (n < 0 && errno != EINTR && errno != EAGAIN) return false;
        if (n > 0) text += n, left -= (size_t)n;
    }
    return true;
}

bool lockstep_open(lockstep *p, const char *command)
{
    *p = (lockstep){.pid = -1, .to = -1, .from = -1, .status = -1};
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &p->pipe_before);
    return spawn(p, command);
}

bool lockstep_send(lockstep *p, cJSON *object)
{
    char *const text = cJSON_PrintUnformatted(object);
    const bool sent = text && send_text(p, text) && send_text(p, "\n");
    cJSON_free(text), cJSON_Delete(object);
    return sent;
}

char *lockstep_receive(lockstep *p)
{
    if (p->taken) memmove(p->line, p->line + p->taken, p->used -= p->taken);
    p->taken = 0;
    for (;;) {
        char *const end = p->used ? memchr(p->line, '\n', p->used) : NULL;
        if (end) {
            *end = 0, p->taken = (size_t)(end - p->line) + 1;
            return p->line;
        }
        if (p->used == p->room) {
            const size_t room = p->room ? 2 * p->room : 4096;
            char *const line = room <= LINE_LIMIT ? realloc(p->line, room) : NULL;
            if (!line) return NULL;
            p->line = line, p->room = room;
        }
        if (!wait_for(p->from, POLLIN)) return NULL;
        const ssize_t n = read(p->from, p->line + p->used, p->room - p->used);
        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) return NULL;
        if (n > 0) p->used += (size_t)n;
    }
}

bool lockstep_is_too_long(const lockstep *p) { return p->room && p->used == p->room; }

int lockstep_gone(lockstep *p)
{
    if (p->to >= 0) close(p->to), p->to = -1;  // it may wait for the end of its input
    reap(p);
    return exit_status(p);
}

int lockstep_signal(const lockstep *p) { return p->status >= 0 && WIFSIGNALED(p->status) ? WTERMSIG(p->status) : 0; }

int lockstep_close(lockstep *p, int status)
{
    if (p->to >= 0) close(p->to);
    if (p->from >= 0) close(p->from);
    if (p->pid > 0) {
        if (p->status < 0 && (p->failed || stop_asked())) kill(p->pid, SIGTERM);
        reap(p);
    }
    sigaction(SIGPIPE, &p->pipe_before, NULL);
    if (p->failed && status == EXIT_OK) status = EXIT_RUN;
    if (p->failed && p->pid > 0 && p->status != SIGTERM && exit_status(p)) status = exit_status(p);  // it has not got ours
    free(p->line);
    return status;
}
