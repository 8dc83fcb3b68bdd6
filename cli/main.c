/// The `catena` command: finds the subcommand and hands over.
#include "cli/commands.h"
#include "cli/message.h"
#include "sim/suggest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const command *const commands[] = {
    &command_run,    &command_rollout, &command_replay,
#ifdef CATENA_RENDER
    &command_render,
#endif
#ifdef CATENA_VIEWER
    &command_view,
#endif
    &command_plot,   &command_info,    &command_eval,   &command_check,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const command *find(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (!strcmp(commands[i]->name, name)) return commands[i];
    return NULL;
}

static int unknown(const char *name)
{
    const char *names[COMMANDS];
    for (int i = 0; i < COMMANDS; i++) names[i] = commands[i]->name;
    const char *const meant = nearest_name(name, names, COMMANDS);
    return meant ? usage_error("unknown command '%s'; did you mean 'catena %s'?", name, meant)
                 : usage_error("unknown command '%s'; see 'catena --help'", name);
}

static int print_overview(FILE *out)
{
    fprintf(out, "usage: catena COMMAND ...\n\nArticulated rigid bodies at large time steps, version %s.\n\ncommands:\n",
            ctn_version());
    for (int i = 0; i < COMMANDS; i++) {
        char left[40];
        snprintf(left, sizeof left, "%s %s", commands[i]->name, commands[i]->files);
        fprintf(out, "  %-16s%s\n", left, commands[i]->does);
    }
    fprintf(out, "\n'catena COMMAND --help' explains one of them. Options have the same names everywhere.\n"
                 "Exit status: 0 success, 1 failed run, 2 bad usage or input. NO_COLOR=1 switches colours off,\n"
                 "CTN_ENGINE names the engine for --engine auto.\n\nexamples:\n"
                 "  catena run scenes/double-pendulum.yaml\n  catena info scenes/humanoid.yaml\n");
    return out == stderr ? EXIT_USAGE : EXIT_OK;
}

/// A standard stream that was closed would be the next file that is opened, and get what is printed.
static void keep_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)  // writing to standard output stays an error
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd) exit(EXIT_RUN);
}

static int act(int argc, char **argv)
{
    const char *const name = argc > 1 ? argv[1] : NULL;
    if (!name) return print_overview(stderr);
    if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
        printf("catena %s\n", ctn_version());
        return EXIT_OK;
    }
    const bool help = !strcmp(name, "help");
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || (help && argc == 2)) return print_overview(stdout);
    if (*name == '-') {
        static const char *const known[] = {"--help", "--version"};
        const char *const meant = nearest_name(name, known, 2);
        return meant ? usage_error("unknown option '%s'; did you mean '%s'?", name, meant)
                     : usage_error("unknown option '%s'; see 'catena --help'", name);
    }
    const command *const cmd = find(help ? argv[2] : name);
    if (!cmd) return unknown(help ? argv[2] : name);
    if (help) {
        print_help(cmd);
        return EXIT_OK;
    }
    arguments args;
    const int status = read_arguments(cmd, argc - 1, argv + 1, &args);
    return status >= 0 ? status : cmd->main(&args);
}

int main(int argc, char **argv)
{
    keep_streams();
    return end_output(act(argc, argv));
}
