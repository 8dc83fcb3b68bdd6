/// The `catena` command: finds the subcommand and hands over.
#include "cli/commands/commands.h"
#include "cli/base/message.h"
#include "cli/commands/scenes.h"
#include "sim/record/hdf5_errors.h"
#include "sim/base/suggest.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COMMANDS = 20 };

static const command *find(const char *name)
{
    for (int i = 0; commands[i]; i++)
        if (!strcmp(commands[i]->name, name)) return commands[i];
    return NULL;
}

static int unknown(const char *name)
{
    const char *names[MOST_COMMANDS];
    int n = 0;
    for (; commands[n] && n < MOST_COMMANDS; n++) names[n] = commands[n]->name;
    const char *const meant = nearest_name(name, names, n);
    return meant ? usage_error("unknown command '%s'; did you mean 'catena %s'?", name, meant)
                 : usage_error("unknown command '%s'; see 'catena --help'", name);
}

static int print_overview(FILE *out)
{
    fprintf(out, "usage: catena COMMAND ...\n\n%s, version %s.\n\ncommands:\n", commands_purpose, ctn_version());
    for (int i = 0; commands[i]; i++) {
        char left[40];
        snprintf(left, sizeof left, "%s %s", commands[i]->name, commands[i]->files);
        fprintf(out, "  %-16s%s\n", left, commands[i]->does);
    }
    fprintf(out, "\n'catena COMMAND --help' explains one of them. Options have the same names everywhere.\n\nexit status:\n");
    for (const meaning *m = exit_statuses; m->word; m++) fprintf(out, "  %-16s%s\n", m->word, m->text);
    fprintf(out, "\nenvironment:\n");
    for (const meaning *m = environment; m->word; m++) fprintf(out, "  %-18s%s\n", m->word, m->text);
    fprintf(out, "\nexamples:\n  catena run double-pendulum\n  catena info humanoid\n");
    return out == stderr ? EXIT_USAGE : EXIT_OK;
}

/// A standard stream that was closed would be the next file that is opened, and get what is printed.
static void keep_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)  // writing to standard output stays an error
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd) exit(EXIT_RUN);
}

/// Puts the files of scenes in the place of their names, and runs the command.
static int run_on_files(const command *cmd, arguments *args)
{
    char **const files = cmd->scenes ? calloc((size_t)args->nfile + 1, sizeof *files) : NULL;
    int status = EXIT_OK;
    if (cmd->scenes && !files) return run_error("not enough memory for %d names", args->nfile);
    for (int k = 0; k < args->nfile && files && status == EXIT_OK; k++)
        if (!(files[k] = scene_file(args->files[k]))) status = EXIT_USAGE;
    if (files) args->files = files;
    if (status == EXIT_OK) status = cmd->main(args);
    for (int k = 0; k < args->nfile && files; k++) free(files[k]);
    free(files);
    return status;
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
    hdf5_end_quietly();
    const int status = read_arguments(cmd, argc - 1, argv + 1, &args);
    return status >= 0 ? status : run_on_files(cmd, &args);
}

int main(int argc, char **argv)
{
    keep_streams();
    signal(SIGXFSZ, SIG_IGN);  // a file at its size limit is then an error of writing like others
    return end_output(act(argc, argv));
}
