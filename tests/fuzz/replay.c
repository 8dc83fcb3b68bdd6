/// Runs every file of the folders it is given through a fuzz target: the corpus as a test, without libFuzzer.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    struct stat info;
    if (stat(path, &info) || !S_ISREG(info.st_mode)) return 0;
    FILE *const file = fopen(path, "rb");
    uint8_t *const data = malloc((size_t)info.st_size);
    if (!file || (!data && info.st_size) || fread(data, 1, (size_t)info.st_size, file) != (size_t)info.st_size) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(1);
    }
    fclose(file);
    printf("%s\n", path);
    fflush(stdout);  // the last line is the file that aborts
    LLVMFuzzerTestOneInput(data, (size_t)info.st_size);
    free(data);
    return 1;
}

int main(int argc, char **argv)
{
    int files = 0;
    for (int i = 1; i < argc; i++) {
        DIR *const folder = opendir(argv[i]);
        if (!folder) {
            fprintf(stderr, "%s cannot be opened\n", argv[i]);
            return 1;
        }
        for (const struct dirent *entry; (entry = readdir(folder));) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            files += run_file(path);
        }
        closedir(folder);
    }
    printf("%d files\n", files);
    return files == 0;
}
