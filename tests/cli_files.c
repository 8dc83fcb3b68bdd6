/// What the command writes: files that fail leave what was there, inputs are not overwritten, and no lost output goes unsaid.
#include "tests/command.h"
#include "tests/datasets.h"
#include "tests/suite.h"

#include <check.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PENDULUM source("scenes/double-pendulum.yaml")

/// Runs a line of the shell, in which $C is catena and $S the scene; what it says goes to "err".
static int sh(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int sh(const char *format, ...)
{
    char line[2000];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    setenv("C", CATENA_BINARY, 1), setenv("S", PENDULUM, 1);
    const int status = system(line);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/// The same where files have so many blocks of 512 bytes at most, as on a disk that is full.
static int sh_full(int blocks, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int sh_full(int blocks, const char *format, ...)
{
    char line[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ck_assert_int_eq(sh("(ulimit -f %d; %s; echo \"\nstatus $?\") 2>&1 | cat >err", blocks, line), 0);
    char *const text = slurp("err", NULL), *const last = strstr(text, "\nstatus ");
    ck_assert_ptr_nonnull(last);
    const int status = atoi(last + strlen("\nstatus "));
    free(text);
    return status;
}

/// Fails the test unless "err" has these words.
static void said(const char *words)
{
    char *const err = slurp("err", NULL);
    ck_assert_msg(strstr(err, words), "expected: %s; found: %s", words, err);
    free(err);
}

static bool missing(const char *path) { return access(path, F_OK) != 0; }

// ---- failures

/// Whatever is wrong before the first record leaves the recording that is there.
START_TEST(failed_runs)
{
    static const char *const files[] = {"a.h5", "a.csv"};
    static const char *const options[] = {"--engine abacus", "--dt -1",   "--plot nowhere/e.png", "--every 0", "--method rk5",
                                          "--plot e.gif",    "--worlds 0"};
    const char *const file = files[_i];
    size_t size, again;
    ck_assert_int_eq(sh("$C run $S --steps 50 -q --out %s", file), 0);
    char *const before = slurp(file, &size);
    for (size_t k = 0; k <= sizeof options / sizeof *options; k++) {
        if (k) ck_assert_int_ne(sh("$C run $S --steps 5 -q --out %s %s 2>err", file, options[k - 1]), 0);
        else ck_assert_int_ne(sh("echo 'catena: 1' >bad.yaml; $C run bad.yaml -q --out %s 2>err", file), 0);
        char *const after = slurp(file, &again);
        ck_assert_msg(size == again && !memcmp(before, after, size), "%s is another one after %zu", file, k);
        free(after);
    }
    ck_assert(missing("a.h5.new") && missing("a.csv.new"));
    free(before);
}
END_TEST

/// On a disk that gets full at any moment there is the recording that was there, or one with whole records.
START_TEST(full_disk)
{
    static const char *const files[] = {"a.h5", "a.csv"};
    const char *const file = files[_i];
    int kept = 0, replaced = 0;
    size_t size, again;
    ck_assert_int_eq(sh("$C run $S --steps 50 -q --out %s", file), 0);
    char *const before = slurp(file, &size);
    for (int blocks = 0; blocks < 8192; blocks = blocks * 5 / 3 + 1) {  // of 512 bytes
        const int status = sh_full(blocks, "$C run $S --steps 20000 -q --out %s", file);
        char *const after = slurp(file, &again);
        ck_assert_int_eq(status, 1);
        said("cannot be written: File too large");
        if (size == again && !memcmp(before, after, size)) kept++;
        else {
            replaced++;
            if (!_i) {
                size_t records;
                double *const time = numbers(file, "time", &records);
                ck_assert(records > 0 && time[0] == 0);
                free(time);
            } else ck_assert(again > 0 && after[again - 1] == '\n');
            FILE *const back = fopen(file, "wb");
            ck_assert(fwrite(before, 1, size, back) == size && !fclose(back));
        }
        free(after);
        ck_assert(missing("a.h5.new") && missing("a.csv.new"));
    }
    ck_assert(kept > 0 && replaced > 0);
    free(before);
}
END_TEST

/// Pictures and tables of numbers of which only a part can be written are not there, and what was there stays.
START_TEST(no_half_files)
{
    static const char *const lines[] = {"$C run $S --steps 50 -q --plot x.png", "$C plot a.h5 -q --out x.png",
                                        "$C check $S -q --dt-sweep --duration 0.1 --error 0.1 --plot x.png",
                                        "$C eval $S --in q.json --out x.png"};
    const bool draws = !system("gnuplot --version >/dev/null 2>&1");
    if (!draws) printf("cli_files: pictures skipped: gnuplot is not installed\n");
    ck_assert_int_eq(sh("$C run $S --steps 50 -q --out a.h5"), 0);
    FILE *const in = fopen("q.json", "w");
    for (int k = 0; k < 100; k++) fprintf(in, k ? ",{\"q\": [1, %d]}" : "[{\"q\": [1, %d]}", k);
    fputs("]", in), fclose(in);
    for (int k = draws ? 0 : 3; k < 4; k++) {
        for (int there = 0; there < 2; there++) {
            if (there) spit("x.png", "before\n");
            else remove("x.png");
            ck_assert_int_eq(sh_full(2, "%s", lines[k]), 1);
            said("x.png: cannot be written: File too large");
            ck_assert(missing("x.png.new") && missing("x.png") == !there);
            char *const text = there ? slurp("x.png", NULL) : NULL;
            if (text) ck_assert_str_eq(text, "before\n");
            free(text);
        }
        remove("x.png"), remove("x.png.gnuplot");
        ck_assert_int_eq(symlink("/dev/full", "x.png"), 0);
        ck_assert_int_eq(sh("%s 2>err", lines[k]), 1);
        said("x.png: cannot be written: No space left on device");
        remove("x.png");
    }
}
END_TEST

#ifdef HAS_RENDER
/// Pictures and movies likewise; what ffmpeg made of a movie is said to be beside it.
START_TEST(no_half_movies)
{
    static const char *const files[] = {"x.png", "x.mp4", "x.gif"};
    const bool movies = !system("ffmpeg -version >/dev/null 2>&1");
    if (!movies) printf("cli_files: movies skipped: no ffmpeg\n");
    for (int k = 0; k < (movies ? 3 : 1); k++) {
        char beside[20];
        spit(files[k], "before\n");
        snprintf(beside, sizeof beside, "%s.new", files[k]);
        ck_assert_int_eq(sh_full(2, "$C render $S -q --size 320x240 --out %s %s", files[k], k ? "--to 1" : ""), 1);
        said(files[k]);
        char *const text = slurp(files[k], NULL);
        ck_assert_str_eq(text, "before\n");
        free(text);
        ck_assert(missing(beside) == !k);
        ck_assert_int_eq(sh("$C render $S -q --size 64x48 --out %s %s", files[k], k ? "--to 0.1" : ""), 0);
        ck_assert(missing(beside));
        size_t size;
        char *const made = slurp(files[k], &size);
        ck_assert(size > 100 && memcmp(made, "before", 6) != 0);
        free(made);
    }
}
END_TEST
#endif

/// Standard output that cannot be written.
START_TEST(lost_output)
{
    static const char *const lines[] = {"run $S --steps 5",
                                        "run $S --steps 5 --json",
                                        "check $S",
                                        "check $S --json",
                                        "info $S",
                                        "info $S --json",
                                        "rollout $S --worlds 2 --steps 5 --out r.h5",
                                        "replay a.h5",
                                        "check $S --dt-sweep --duration 0.1 --error 0.1",
                                        "eval $S --in q.json",
                                        "--help",
                                        "--version",
                                        "run --help",
                                        "help run",
                                        "rollout $S --worlds 2 --steps 5 --json --out r.h5"};
    ck_assert_int_eq(sh("$C run $S --steps 50 -q --out a.h5"), 0);
    spit("q.json", "[{\"q\": [1, 2]}]");
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        ck_assert_msg(sh("$C %s >/dev/full 2>err", lines[k]) == 1, "%s", lines[k]);
        said("error: standard output: cannot be written");
        ck_assert_msg(sh("$C %s >&- 2>err", lines[k]) == 1, "closed: %s", lines[k]);
    }
    ck_assert_int_eq(sh("$C run $S --steps 5 -q --out b.csv >&- 2>&-"), 0);  // says nothing, loses nothing
    char *const text = slurp("b.csv", NULL);
    ck_assert_int_eq(strncmp(text, "# format: ", 10), 0);
    free(text);
}
END_TEST

/// The summary of a rollout as JSON, against its file.
START_TEST(rollout_summary)
{
    cJSON *const j = catena_json(1, "rollout", source("scenes/chain10-sampled.yaml"), "--worlds", "40", "--method", "rk4",
                                 "--seed", "7", "--stride", "10", "--out", "w.h5", "--json", "-q", NULL);
    size_t worlds, times;
    double *const status = numbers("w.h5", "status", &worlds), *const fallbacks = numbers("w.h5", "fallbacks", NULL);
    int frozen = 0, fallen = 0;
    free(numbers("w.h5", "time", &times));
    for (size_t w = 0; w < worlds; w++) frozen += status[w] > 0, fallen += fallbacks[w] > 0;
    ck_assert(frozen > 0);
    ck_assert_double_eq(number(j, "frozen"), frozen);
    ck_assert_double_eq(number(j, "with_fallbacks"), fallen);
    ck_assert(number(j, "worlds") == 40 && number(j, "done") == 40 && number(j, "done_before") == 0);
    ck_assert(number(j, "seed") == 7 && number(j, "stride") == 10 && number(j, "processes") == 1);
    ck_assert_double_eq(number(j, "states"), (double)times);
    ck_assert_str_eq(member(j, "method")->valuestring, "rk4");
    ck_assert_str_eq(member(j, "recording.file")->valuestring, "w.h5");
    ck_assert(cJSON_IsTrue(member(j, "recording.complete")) && cJSON_IsFalse(member(j, "interrupted")));
    ck_assert_double_gt(number(j, "steps_per_second"), number(j, "worlds_per_second"));
    cJSON_Delete(j);
    free(status), free(fallbacks);
}
END_TEST

// ---- inputs

static void put_inputs(void)
{
    ck_assert_int_eq(sh("cp $S s.yaml; printf 'catena: 1\\ninclude:\\n  - {file: s.yaml, as: b.}\\n' > top.yaml"), 0);
    ck_assert_int_eq(sh("$C run s.yaml --steps 5 -q --out rec.h5; $C rollout s.yaml -q --worlds 2 --steps 5 --out st.h5 2>err"),
                     0);
    ck_assert_int_eq(sh("printf 'step,upper,lower\\n0,0,0\\n' > c.csv; echo '[{\"q\": [1, 2]}]' > q.json"), 0);
}

static const struct {
    const char *line, *input, *link, *says;
} lost[] = {
    {"run s.yaml --steps 5 --out x.csv", "s.yaml", "x.csv", "--out: x.csv is the scene, and would be lost"},
    {"run s.yaml --steps 5 --out x.h5", "s.yaml", "x.h5", "--out: x.h5 is the scene, and would be lost"},
    {"run top.yaml --steps 5 --out x.h5", "s.yaml", "x.h5", "--out: x.h5 is a file of the scene, and would be lost"},
    {"run s.yaml --steps 5 --out x.h5", "s.yaml", "x.h5.new", "--out: x.h5.new is the scene, and would be lost"},
    {"run s.yaml --steps 5 --plot x.png", "s.yaml", "x.png", "--plot: x.png is the scene, and would be lost"},
    {"check s.yaml --dt-sweep --plot x.png", "s.yaml", "x.png", "--plot: x.png is the scene, and would be lost"},
    {"eval s.yaml --in q.json --out x", "s.yaml", "x", "--out: x is the scene, and would be lost"},
    {"eval s.yaml --in q.json --out x", "q.json", "x", "--out: x is the file of --in, and would be lost"},
    {"rollout s.yaml --worlds 2 --steps 5 --out x.h5", "s.yaml", "x.h5", "--out: x.h5 is the scene, and would be lost"},
    {"rollout s.yaml --steps 5 --starts st.h5 --out x.h5", "st.h5", "x.h5", "--out: x.h5 is the file of --starts"},
    {"rollout s.yaml --steps 5 --worlds 1 --controls c.csv --out x.h5", "c.csv", "x.h5", "--out: x.h5 is the file of --controls"},
    {"plot rec.h5 --out x.png", "rec.h5", "x.png", "--out: x.png is the recording, and would be lost"},
#ifdef HAS_RENDER
    {"render s.yaml --out x.png", "s.yaml", "x.png", "--out: x.png is what is drawn, and would be lost"},
    {"render top.yaml --out x.mp4", "s.yaml", "x.mp4", "--out: x.mp4 is a file of the scene, and would be lost"},
    {"render rec.h5 --out x.png", "rec.h5", "x.png", "--out: x.png is what is drawn, and would be lost"},
#endif
};
enum { LOST = sizeof lost / sizeof *lost };

/// Through hard and symbolic links, too.
START_TEST(inputs_stay)
{
    put_inputs();
    for (int k = 0; k < LOST; k++) {
        size_t size, again;
        char *const before = slurp(lost[k].input, &size);
        for (int hard = 0; hard < 2; hard++) {
            ck_assert_int_eq(hard ? link(lost[k].input, lost[k].link) : symlink(lost[k].input, lost[k].link), 0);
            ck_assert_msg(sh("$C %s 2>err", lost[k].line) == 2, "%s", lost[k].line);
            said(lost[k].says);
            char *const after = slurp(lost[k].input, &again);
            ck_assert(size == again && !memcmp(before, after, size));
            free(after);
            ck_assert_int_eq(remove(lost[k].link), 0);
        }
        free(before);
    }
}
END_TEST

/// A link is replaced by the file: what it leads to stays. The file has the mode of the one before.
START_TEST(links_and_modes)
{
    static const char *const files[] = {"a.csv", "a.h5"};
    const char *const file = files[_i];
    struct stat now;
    spit("other", "precious\n");
    ck_assert_int_eq(symlink("other", file), 0);
    ck_assert_int_eq(sh("$C run $S --steps 5 -q --out %s", file), 0);
    char *const text = slurp("other", NULL);
    ck_assert_str_eq(text, "precious\n");
    free(text);
    ck_assert(!lstat(file, &now) && S_ISREG(now.st_mode));
    ck_assert_int_eq(chmod(file, 0600), 0);
    ck_assert_int_eq(sh("$C run $S --steps 6 -q --out %s", file), 0);
    ck_assert(!lstat(file, &now) && (now.st_mode & 0777) == 0600);
    ck_assert_int_eq(sh("mkfifo pipe.csv; cat pipe.csv > copy & $C run $S --steps 5 -q --out pipe.csv; wait"), 0);
    ck_assert(!lstat("pipe.csv", &now) && S_ISFIFO(now.st_mode));
    ck_assert_int_eq(
        sh("$C run $S --steps 5 -q --out b.csv; grep -v '^# started\\|^# command' copy > c; grep -v '^# started\\|^# "
           "command' b.csv | cmp - c"),
        0);
    ck_assert_int_eq(sh("ln -s /dev/null n.h5; $C run $S --steps 5 -q --out n.h5 2>err"), 1);
    said("n.h5: cannot be written: it is no regular file");
}
END_TEST

/// Two that make the same file do not get into each other's way: the second one is told.
START_TEST(two_writers)
{
    static const char *const files[] = {"a.h5", "a.csv"};
    const char *const file = files[_i], *const args[] = {"run",  PENDULUM, "--steps", "2000000000", "--every",
                                                         "1000", "--out",  file,      "-q",         NULL};
    const pid_t pid = catena_start(args);
    while (missing(file)) {
        ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
        usleep(10000);
    }
    ck_assert_int_eq(
        sh("$C run $S --steps 5 -q --out %s 2>err2; grep -q '%s: cannot be written: another program' err2", file, file), 0);
    ck_assert(missing("a.h5.new") && missing("a.csv.new"));
    kill(pid, SIGINT);
    outcome o = catena_wait(pid);
    ck_assert_int_eq(o.status, 1);
    outcome_free(&o);
    ck_assert_int_eq(_i ? sh("test $(grep -vc '^#' a.csv) -gt 2") : sh("$C replay a.h5 -q --verify"), 0);
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("cli files");
    TCase *const t = tcase_create("cli files");
    tcase_add_checked_fixture(t, enter_scratch, leave_scratch);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, failed_runs, 0, 2);
    tcase_add_loop_test(t, full_disk, 0, 2);
    tcase_add_test(t, no_half_files);
#ifdef HAS_RENDER
    tcase_add_test(t, no_half_movies);
#endif
    tcase_add_test(t, lost_output);
    tcase_add_test(t, rollout_summary);
    tcase_add_test(t, inputs_stay);
    tcase_add_loop_test(t, links_and_modes, 0, 2);
    tcase_add_loop_test(t, two_writers, 0, 2);
    suite_add_tcase(s, t);
    return run_suite(s);
}
