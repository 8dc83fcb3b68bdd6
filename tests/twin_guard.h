// While a kernel runs on a twin, the host's memory cannot be touched: a pointer into its heap, its stack or its static data faults
// here, as it would on a GPU. What a device allocates is mapped apart, with nothing behind it, and kernels have a stack of their own.
#ifndef CATENA_TESTS_TWIN_GUARD_H
#define CATENA_TESTS_TWIN_GUARD_H

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

// What sanitizers link into the program that opens the twin, whose own code is plain: they keep books in the memory that would be hidden.
extern "C" {
__attribute__((weak)) void __asan_init(void);
__attribute__((weak)) void __tsan_init(void);
__attribute__((weak)) void __msan_init(void);
}
static bool sanitized() { return __asan_init || __tsan_init || __msan_init; }

enum { PAGE = 4096 };
static uintptr_t pages_of(size_t size) { return (size + PAGE - 1) / PAGE * PAGE; }

/// Memory of the device, full of NaNs: shared mappings, which stay in sight. What comes after it cannot be touched; a page before it
/// tells its size.
static void *device_map(size_t size)
{
    const size_t whole = (size + 63) / 64 * 64, room = pages_of(whole);
    char *const front = (char *)mmap(NULL, PAGE + room + PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (front == MAP_FAILED) return NULL;
    *(size_t *)(void *)front = PAGE + room + PAGE;
    mprotect(front + PAGE + room, PAGE, PROT_NONE);
    memset(front + PAGE, 0xff, room);
    return front + PAGE + room - whole;
}

static void device_unmap(void *memory)
{
    if (!memory) return;
    void *const front = (void *)(((uintptr_t)memory & ~(uintptr_t)(PAGE - 1)) - PAGE);
    munmap(front, *(size_t *)front);
}

/// What a launch is given: constant, as a kernel's parameters are.
template <class What> class device_constant
{
    void *memory;

  public:
    explicit device_constant(const What &what) : memory(device_map(sizeof what))
    {
        if (!memory) abort();
        memcpy(memory, &what, sizeof what);
        mprotect((void *)((uintptr_t)memory & ~(uintptr_t)(PAGE - 1)), pages_of(sizeof what), PROT_READ);
    }
    ~device_constant() { device_unmap(memory); }
    device_constant(const device_constant &) = delete;
    What *there() const { return (What *)memory; }
};

struct hidden_region {
    char *from;
    size_t size;
    int access;
};
enum { MOST_HIDDEN = 4096, KERNEL_STACK = 16 << 20 };
static hidden_region hidden[MOST_HIDDEN];
static int hidden_count;
static pthread_mutex_t one_launch = PTHREAD_MUTEX_INITIALIZER;
static pthread_t launcher;
static volatile bool is_hidden;
static struct sigaction usual;
static ucontext_t host_side;
static void *launched;

/// Another thread of the host that looks at its memory waits; a kernel that does is the fault that is looked for.
static void host_touched(int signal, siginfo_t *info, void *)
{
    if (!pthread_equal(pthread_self(), launcher)) {
        while (is_hidden) sched_yield();
        return;
    }
    for (int k = 0; k < hidden_count && is_hidden; k++) {
        const char *const at = (const char *)info->si_addr;
        static const char text[] = "twin of the GPU: a kernel has touched the host's memory\n";
        if (at >= hidden[k].from && at < hidden[k].from + hidden[k].size && write(2, text, sizeof text - 1) < 0) _exit(3);
    }
    sigaction(signal, &usual, NULL);  // which ends the process as the access is made again
}

/// What belongs to the host: anonymous private memory, its main stack, and data of its programs and libraries but for this one and
/// the system's. Not memory of threads (behind a page that guards it), nor what follows the data of the libraries that stay.
static void find_host_memory()
{
    static char text[1 << 18];
    size_t length = 0;
    const int file = open("/proc/self/maps", O_RDONLY);
    for (ssize_t n = 1; file >= 0 && n > 0 && length + 1 < sizeof text; length += n > 0 ? (size_t)n : 0)
        n = read(file, text + length, sizeof text - 1 - length);
    if (file >= 0) close(file);
    text[length] = 0, hidden_count = 0;
    uintptr_t last_end = 0;
    bool stays = false;
    const uintptr_t self = (uintptr_t)pthread_self();
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        char *at = line;
        const uintptr_t from = strtoul(at, &at, 16), to = strtoul(at + 1, &at, 16);
        const char *const access = at + 1, *const slash = strchr(line, '/'), *const bracket = strchr(line, '[');
        const bool plain = !slash && (!bracket || !strcmp(bracket, "[heap]") || !strcmp(bracket, "[stack]"));
        const bool ours = slash && !strstr(slash, "_twin") && (strstr(slash, "/test_") || strstr(slash, "catena"));
        if (from != last_end || slash) stays = slash && !ours;
        if (!strncmp(access, "---", 3)) stays = true;
        const int rights =
            (access[0] == 'r' ? PROT_READ : 0) | (access[1] == 'w' ? PROT_WRITE : 0) | (access[2] == 'x' ? PROT_EXEC : 0);
        const bool hide = (plain ? !stays : ours) && access[3] == 'p' && rights && !(self >= from && self < to);
        if (hide && hidden_count < MOST_HIDDEN) hidden[hidden_count++] = {(char *)from, to - from, rights};
        last_end = to;
    }
}

template <class Kernel> static void run_hidden()
{
    const Kernel own = *(const Kernel *)launched;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = host_touched, action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &usual);
    is_hidden = true;
    for (int k = 0; k < hidden_count; k++) mprotect(hidden[k].from, hidden[k].size, PROT_NONE);
    own();
    for (int k = 0; k < hidden_count; k++) mprotect(hidden[k].from, hidden[k].size, hidden[k].access);
    is_hidden = false;
    sigaction(SIGSEGV, &usual, NULL);
}

/// Runs a kernel, whose captures are copies: out of sight of the host's memory the first hundred of a process and every hundredth, as
/// it costs a millisecond; never beneath sanitizers.
template <class Kernel> static void launch_kernel(const Kernel &kernel)
{
    static long launches;
    const long number = __atomic_fetch_add(&launches, 1, __ATOMIC_RELAXED);
    if (!sanitized() && (number < 100 || number % 100 == 0)) {
        pthread_mutex_lock(&one_launch);
        static char *const stack = (char *)device_map(KERNEL_STACK);
        static ucontext_t device_side;
        launcher = pthread_self(), launched = (void *)&kernel;
        find_host_memory();
        getcontext(&device_side);
        device_side.uc_stack.ss_sp = stack, device_side.uc_stack.ss_size = KERNEL_STACK, device_side.uc_link = &host_side;
        makecontext(&device_side, run_hidden<Kernel>, 0);
        swapcontext(&host_side, &device_side);
        pthread_mutex_unlock(&one_launch);
    } else kernel();
}

#endif
