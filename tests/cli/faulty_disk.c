// A disk that is full, cannot be synced, or holds a ledger that others use; with LD_PRELOAD.
//   PARLEY_FULL=PART       writes to files whose path has PART fail as on a full disk, while the file PARLEY_FULL_WHILE exists
//   PARLEY_NO_SYNC=PART    so do syncs, from the PARLEY_NO_SYNC_FROM-th on, as on a disk that breaks
//   PARLEY_BUSY_MS=N       how long SQLite waits for a lock
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_about(int file, const char* variable) {
  const char* part = getenv(variable);
  char link[64], path[4096];
  if (part == NULL) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = '\0';
  return strstr(path, part) != NULL;
}

ssize_t write(int file, const void* bytes, size_t size) {
  const char* while_there = getenv("PARLEY_FULL_WHILE");
  if (while_there != NULL && access(while_there, F_OK) == 0 && is_about(file, "PARLEY_FULL")) {
    errno = ENOSPC;
    return -1;
  }
  return ((ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write"))(file, bytes, size);
}

int fsync(int file) {
  static atomic_int syncs;
  const char* from = getenv("PARLEY_NO_SYNC_FROM");
  if (is_about(file, "PARLEY_NO_SYNC") && atomic_fetch_add(&syncs, 1) + 1 >= (from != NULL ? atoi(from) : 1)) {
    errno = EIO;
    return -1;
  }
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}

int sqlite3_busy_timeout(void* database, int milliseconds) {
  const char* busy = getenv("PARLEY_BUSY_MS");
  return ((int (*)(void*, int))dlsym(RTLD_NEXT, "sqlite3_busy_timeout"))(database, busy != NULL ? atoi(busy) : milliseconds);
}
