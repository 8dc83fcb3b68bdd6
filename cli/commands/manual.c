/// Prints the manual page, or the completions of a shell, out of the tables that --help prints: they say what the command does.
/// Run when catena is built. usage: catena-manual man|bash|zsh|fish
#include "cli/commands/commands.h"

#include <catena/catena.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

// ---- the manual page: man(7)

/// Text within a line.
static void man_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '\\') fputs("\\e", stdout);
        else if (*text == '-') fputs("\\-", stdout);
        else putchar(*text);
    }
}

/// Lines of --help: those that are indented stay as they are, others are filled, and end where a sentence ends with its line.
static void man_lines(const char *text)
{
    bool as_is = false;
    while (*text) {
        char line[512];
        const size_t length = strcspn(text, "\n");
        const bool indented = *text == ' ';
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        text += length + (text[length] == '\n');
        if (indented != as_is) puts(indented ? ".RS 2\n.nf" : ".fi\n.RE");
        as_is = indented;
        fputs("\\&", stdout);
        man_text(line + strspn(line, " "));
        putchar('\n');
        if (!indented && *text && *text != ' ' && length && line[length - 1] == '.') puts(".br");
    }
    if (as_is) puts(".fi\n.RE");
}

static void man_option(const option_row *o, const char *help)
{
    printf(".TP\n");
    if (o->letter) printf("\\fB\\-%c\\fR, ", o->letter);
    printf("\\fB\\-\\-");
    man_text(o->name);
    printf("\\fR");
    if (o->arg) printf(" \\fI"), man_text(o->arg), printf("\\fR");
    printf("\n\\&");
    man_text(help);
    printf("\n");
}

/// Options whose meaning a command of its own has.
static bool is_own(int o) { return !options[o].help; }

static void man_command(const command *cmd)
{
    printf(".SS catena %s", cmd->name);
    if (*cmd->files) printf(" %s", cmd->files);
    printf("\n\\&");
    man_text(cmd->does);
    printf("\n.PP\n");
    man_lines(cmd->about);
    if (cmd->scenes) printf(".br\n"), man_lines(names_will_do);
    printf(".PP\nOptions:");
    for (int o = 0, n = 0; o < OPTIONS; o++) {
        if (!takes_option(cmd, (enum option_id)o)) continue;
        printf("%s\\fB\\-\\-", n++ ? ", " : " ");
        man_text(options[o].name);
        printf("\\fR");
    }
    printf("\n");
    for (int o = 0; o < OPTIONS; o++)
        if (takes_option(cmd, (enum option_id)o) && option_help(cmd, (enum option_id)o) != options[o].help)
            man_option(&options[o], option_help(cmd, (enum option_id)o));
    printf(".PP\n.nf\n");
    for (const char *at = cmd->examples; *at;) {
        char line[512];
        const size_t length = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, at);
        at += length + (at[length] == '\n');
        printf("\\&"), man_text(line + strspn(line, " ")), printf("\n");
    }
    printf(".fi\n");
}

static void man_meanings(const char *title, const meaning *list)
{
    printf(".SH %s\n", title);
    for (; list->word; list++) {
        printf(".TP\n\\fB"), man_text(list->word), printf("\\fR\n\\&");
        man_text(list->text), printf("\n");
    }
}

static void print_man(void)
{
    printf(".TH CATENA 1 \"\" \"catena %s\" \"catena\"\n", ctn_version());
    printf(".SH NAME\ncatena \\- %c%s\n.SH SYNOPSIS\n", tolower(*commands_purpose), commands_purpose + 1);
    printf("\\fBcatena\\fR \\fICOMMAND\\fR [\\fIFILE\\fR...] [\\fIOPTIONS\\fR]\n");
    printf(".br\n\\fBcatena\\fR \\fB\\-\\-version\\fR\n.br\n\\fBcatena\\fR [\\fICOMMAND\\fR] \\fB\\-\\-help\\fR\n");
    printf(".SH DESCRIPTION\nOptions have the same names in all commands. They may stand before or after files, and may be "
           "shortened as long\n"
           "as they are clear. If one is given twice, the last one counts.\n");
    printf(".SH COMMANDS\n");
    for (int i = 0; commands[i]; i++) man_command(commands[i]);
    printf(".SH OPTIONS\n");
    for (int o = 0; o < OPTIONS; o++)
        if (!is_own(o)) man_option(&options[o], options[o].help);
    man_meanings("EXIT STATUS", exit_statuses);
    man_meanings("ENVIRONMENT", environment);
}

// ---- completions

/// The words that an option's value is one of, separated by blanks, into `words`; false: it can be anything.
static bool option_choices(int option, char *words, size_t room)
{
    const char *name = NULL;
    *words = 0;
    for (int k = 0; k < 64; k++) {
        switch (option) {
        case OPT_METHOD: name = ctn_method_name((ctn_method)k); break;
        case OPT_SOLVER: name = ctn_solver_name((ctn_solver)k); break;
        case OPT_SCHEDULE: name = ctn_schedule_name((ctn_schedule)k); break;
        case OPT_PARALLEL: name = ctn_parallel_name((ctn_parallel)k); break;
        default: name = NULL;
        }
        if (!name) break;
        const size_t used = strlen(words);
        snprintf(words + used, room - used, "%s%s", used ? " " : "", name);
    }
    if (option == OPT_ENGINE) snprintf(words, room, "auto scalar avx2 avx512 cuda cuda-float");
    if (option == OPT_LAYOUT) snprintf(words, room, "grid overlay");
    if (option == OPT_COLORS) snprintf(words, room, "scene link energy world");
    return *words;
}

static bool takes_file(int option)
{
    const char *const arg = options[option].arg;
    return arg && (!strcmp(arg, "FILE") || !strcmp(arg, "DIR"));
}

/// "--steps|-n" and so on, of options for which `fits`.
static int bash_case(bool (*fits)(int option))
{
    int n = 0;
    for (int o = 0; o < OPTIONS; o++) {
        if (!fits(o)) continue;
        printf("%s--%s", n++ ? "|" : "    ", options[o].name);
        if (options[o].letter) printf("|-%c", options[o].letter);
    }
    return n;
}

static bool takes_anything(int option)
{
    char words[200];
    return options[option].arg && !takes_file(option) && !option_choices(option, words, sizeof words);
}

#define NAMES_OF_SCENES "catena scenes --json 2>/dev/null | sed -n 's/.*\"name\":[[:space:]]*\"\\([^\"]*\\)\".*/\\1/p'"

static void print_bash(void)
{
    char words[200];
    printf(
        "# bash completion for catena\n_catena() {\n    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} "
        "options='' scenes=''\n    COMPREPLY=()\n");
    printf("    if [[ $cur == = ]]; then cur=''\n    elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi\n");
    printf("    if ((COMP_CWORD == 1)); then\n        mapfile -t COMPREPLY < <(compgen -W '");
    for (int i = 0; commands[i]; i++) printf("%s ", commands[i]->name);
    printf("help --help --version' -- \"$cur\")\n        return\n    fi\n    case $prev in\n");
    for (int o = 0; o < OPTIONS; o++) {
        if (!option_choices(o, words, sizeof words)) continue;
        printf("    --%s", options[o].name);
        if (options[o].letter) printf("|-%c", options[o].letter);
        printf(") mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$cur\"); return ;;\n", words);
    }
    bash_case(takes_file);
    printf(") mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;;\n");
    bash_case(takes_anything);
    printf(") return ;;\n    esac\n    case ${COMP_WORDS[1]} in\n");
    for (int i = 0; commands[i]; i++) {
        printf("    %s) options='", commands[i]->name);
        for (int o = 0, n = 0; o < OPTIONS; o++)
            if (takes_option(commands[i], (enum option_id)o)) printf("%s--%s", n++ ? " " : "", options[o].name);
        printf("'%s ;;\n", commands[i]->scenes ? " scenes=yes" : "");
    }
    printf("    esac\n    if [[ $cur == -* ]]; then\n        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n");
    printf("    else\n        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n");
    printf("        [[ $scenes ]] && mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W \"$(%s)\" -- \"$cur\")\n",
           NAMES_OF_SCENES);
    printf("    fi\n    return 0\n}\ncomplete -o filenames -F _catena catena catena-mpi\n");
}

/// Text in single quotes, of zsh or fish; zsh's specifications end at a bracket or colon, too.
static void quoted(const char *text, bool zsh)
{
    for (; *text; text++) {
        if (*text == '\'') fputs(zsh ? "'\\''" : "\\'", stdout);
        else if (*text == '\\' || (zsh && strchr("[]:", *text))) printf("\\%c", *text);
        else putchar(*text);
    }
}

static void zsh_option(const command *cmd, int o)
{
    char words[200];
    const char *const help = option_help(cmd, (enum option_id)o), *const arg = options[o].arg;
    printf(" \\\n            '");
    if (options[o].letter)
        printf("(-%c --%s)'{-%c,--%s}'", options[o].letter, options[o].name, options[o].letter, options[o].name);
    else printf("--%s", options[o].name);
    printf("[");
    quoted(help, true);
    printf("]");
    if (arg) printf(":"), quoted(arg, true), printf(":");
    if (option_choices(o, words, sizeof words)) printf("(%s)", words);
    else if (takes_file(o)) printf("_files");
    printf("'");
}

static void print_zsh(void)
{
    printf("#compdef catena catena-mpi\n# zsh completion for catena\n_catena_scenes() {\n    local -a names=(${(f)\"$(%s)\"})\n"
           "    _files\n    compadd -a names\n}\n_catena() {\n    local -a commands=(\n",
           NAMES_OF_SCENES);
    for (int i = 0; commands[i]; i++) printf("        '%s:", commands[i]->name), quoted(commands[i]->does, true), printf("'\n");
    printf("    )\n    if ((CURRENT == 2)); then\n        _describe command commands\n        return\n    fi\n"
           "    local command=$words[2]\n    shift words\n    ((CURRENT--))\n    case $command in\n");
    for (int i = 0; commands[i]; i++) {
        printf("    %s)\n        _arguments", commands[i]->name);
        for (int o = 0; o < OPTIONS; o++)
            if (takes_option(commands[i], (enum option_id)o)) zsh_option(commands[i], o);
        if (commands[i]->most) printf(" \\\n            '*:file:%s'", commands[i]->scenes ? "_catena_scenes" : "_files");
        printf("\n        ;;\n");
    }
    printf("    esac\n}\n_catena \"$@\"\n");
}

static void print_fish(void)
{
    char words[200];
    printf("# fish completion for catena\n");
    for (int i = 0; commands[i]; i++) {
        const command *const cmd = commands[i];
        printf("complete -c catena -n __fish_use_subcommand -f -a %s -d '", cmd->name), quoted(cmd->does, false), printf("'\n");
        if (cmd->scenes)
            printf("complete -c catena -n '__fish_seen_subcommand_from %s' -a \"(%s)\"\n", cmd->name,
                   "catena scenes --json 2>/dev/null | string match -rg '\\\"name\\\":\\s*\\\"([^\\\"]*)'");
        for (int o = 0; o < OPTIONS; o++) {
            if (!takes_option(cmd, (enum option_id)o)) continue;
            printf("complete -c catena -n '__fish_seen_subcommand_from %s' -l %s", cmd->name, options[o].name);
            if (options[o].letter) printf(" -s %c", options[o].letter);
            if (option_choices(o, words, sizeof words)) printf(" -x -a '%s'", words);
            else if (takes_file(o)) printf(" -r -F");
            else if (options[o].arg) printf(" -x");
            printf(" -d '"), quoted(option_help(cmd, (enum option_id)o), false), printf("'\n");
        }
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *what;
        void (*print)(void);
    } all[] = {{"man", print_man}, {"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (argc == 2 && !strcmp(argv[1], all[k].what)) {
            all[k].print();
            return ferror(stdout) || fflush(stdout) ? 1 : 0;
        }
    fprintf(stderr, "usage: catena-manual man|bash|zsh|fish\n");
    return 2;
}
