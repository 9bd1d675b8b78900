// Ends the process, as kill -9 does, instead of its N-th operation that makes something durable (PARLEY_KILL_AT=N).
// Between two such operations a killed process leaves the same files behind wherever it is struck, so N = 1, 2, ...
// goes through all of them. With LD_PRELOAD; counts go to PARLEY_KILL_COUNT when the process ends by itself.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int operations;

static void strike(void) {
  const char* at = getenv("PARLEY_KILL_AT");
  if (atomic_fetch_add(&operations, 1) + 1 == (at != NULL ? atoi(at) : 0)) {
    kill(getpid(), SIGKILL);
    pause();
  }
}

__attribute__((destructor)) static void tell(void) {
  const char* path = getenv("PARLEY_KILL_COUNT");
  FILE* file = path != NULL ? fopen(path, "w") : NULL;
  if (file == NULL) return;
  fprintf(file, "%d\n", atomic_load(&operations));
  fclose(file);
}

int fsync(int file) {
  strike();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}

int fdatasync(int file) {
  strike();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
}

int rename(const char* from, const char* to) {
  strike();
  return ((int (*)(const char*, const char*))dlsym(RTLD_NEXT, "rename"))(from, to);
}
