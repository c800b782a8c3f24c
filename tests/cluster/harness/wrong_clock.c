/* A wall clock that is wrong by SECKILL_CLOCK_AHEAD_MS, for a process that this is preloaded into. How time passes stays right.
 *
 * libfaketime would do the same, but not here: it allocates while it finds the real functions, which recurses in a Redis on
 * jemalloc and in a binary with sanitizers. This asks the kernel and allocates nothing. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead_ms(void) {
  static long known = -1;
  if (known == -1) {
    const char* text = getenv("SECKILL_CLOCK_AHEAD_MS");
    known = text ? atol(text) : 0;
  }
  return known;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  const long result = syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    long long ns = now->tv_sec * 1000000000LL + now->tv_nsec + ahead_ms() * 1000000LL;
    now->tv_sec = (time_t)(ns / 1000000000LL);
    now->tv_nsec = (long)(ns % 1000000000LL);
  }
  return (int)result;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  struct timespec exact;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* into) {
  struct timespec exact;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  if (into) *into = exact.tv_sec;
  return exact.tv_sec;
}
