// Kernels for tests. Arguments unless said otherwise: 0 = input f32[n], 1 = output f32[n], n = kCount.
#include "artifact/kernel_args.h"

enum { kCount = 4096 };

typedef const struct whet_kernel_args* args_t;

static const float* input(args_t a) { return (const float*)a->buffers[0]; }
static float* output(args_t a) { return (float*)a->buffers[1]; }
static void share(args_t a, int* first, int* last) {
  *first = (int)(kCount * a->worker / a->workers);
  *last = (int)(kCount * (a->worker + 1) / a->workers);
}

// output = input + 1
int32_t add_one(args_t a) {
  int first, last;
  share(a, &first, &last);
  for (int i = first; i < last; ++i) output(a)[i] = input(a)[i] + 1;
  return 0;
}
// The same, but 2 is added: fast and wrong.
int32_t add_two(args_t a) {
  int first, last;
  share(a, &first, &last);
  for (int i = first; i < last; ++i) output(a)[i] = input(a)[i] + 2;
  return 0;
}
// The same as add_one, fifty times over: right and slow.
int32_t add_one_slowly(args_t a) {
  int first, last;
  share(a, &first, &last);
  for (int again = 0; again < 50; ++again)
    for (int i = first; i < last; ++i) ((volatile float*)output(a))[i] = input(a)[i] + 1;
  return 0;
}
// Two phases: each worker reads in the second what the others wrote in the first. output = reversed input + 1.
int32_t two_phases(args_t a) {
  int first, last;
  share(a, &first, &last);
  float* shared = (float*)a->workspace;
  for (int i = first; i < last; ++i) shared[i] = input(a)[i] + 1;
  a->runtime->barrier(a->team, a->worker);
  for (int i = first; i < last; ++i) output(a)[i] = shared[kCount - 1 - i];
  return 0;
}
// output = input + weights (argument 2)
int32_t add_weights(args_t a) {
  int first, last;
  share(a, &first, &last);
  for (int i = first; i < last; ++i) output(a)[i] = input(a)[i] + ((const float*)a->buffers[2])[i];
  return 0;
}
// Leaves the last element as it found it.
int32_t forget_the_last(args_t a) {
  for (int i = 0; i + 1 < kCount; ++i) output(a)[i] = input(a)[i] + 1;
  return 0;
}
int32_t report_seven(args_t a) { return a->worker == 0 ? 7 : 0; }
int32_t write_null(args_t a) {
  if (a->worker + 1 == a->workers) *(volatile int*)0 = 1;
  return 0;
}
int32_t write_beyond(args_t a) {
  for (int i = 0; i < kCount + 16; ++i) ((volatile float*)output(a))[i] = 1;
  return 0;
}
int32_t write_before(args_t a) {
  ((volatile float*)output(a))[-2] = 1;
  return 0;
}
int32_t write_input(args_t a) {
  ((volatile float*)a->buffers[0])[3] = 1;
  return 0;
}
int32_t read_beyond_weights(args_t a) {
  output(a)[0] = ((const volatile float*)a->buffers[2])[kCount];
  return 0;
}
int32_t write_beyond_workspace(args_t a) {
  ((volatile char*)a->worker_workspace)[128] = 1;
  return 0;
}
int32_t write_before_workspace(args_t a) {
  ((volatile char*)a->worker_workspace)[-1] = 1;
  return 0;
}
int32_t illegal(args_t a) {
  (void)a;
  __builtin_trap();
}
int32_t divide_by_zero(args_t a) {
  volatile int zero = 0;
  return 100 / zero + (int)a->worker;
}
int32_t hang(args_t a) {
  (void)a;
  for (volatile int i = 1; i;) {
  }
  return 0;
}

// What foreign code might ask of the system: 0 where it is refused, 7 where it is granted.
static long ask(long number, long a, long b, long c) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
#else
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
#endif
}
#if defined(__x86_64__)
enum { kOpenAt = 257, kClone = 56, kSocket = 41, kKill = 62, kGetParent = 110, kBrk = 12 };
#else
enum { kOpenAt = 56, kClone = 220, kSocket = 198, kKill = 129, kGetParent = 173, kBrk = 214 };
#endif
int32_t open_a_file(args_t a) {
  (void)a;
  return ask(kOpenAt, -100, (long)"/etc/passwd", 0) >= 0 ? 7 : 0;
}
/* A terabyte, without touching it. */
int32_t take_much_memory(args_t a) {
  const long step = 1L << 30;
  long end = ask(kBrk, 0, 0, 0);
  (void)a;
  for (int i = 0; i < 1024; ++i, end += step)
    if (ask(kBrk, end + step, 0, 0) < end + step) return 0;
  return 7;
}
int32_t make_a_process(args_t a) {
  enum { kEndOfChild = 17 };
  (void)a;
  const long child = ask(kClone, kEndOfChild, 0, 0);
  for (volatile int i = 1; child == 0 && i;) {
  }
  return child >= 0 ? 7 : 0;
}
int32_t make_a_socket(args_t a) {
  (void)a;
  return ask(kSocket, 2, 1, 0) >= 0 ? 7 : 0;
}
int32_t signal_the_parent(args_t a) {
  (void)a;
  return ask(kKill, ask(kGetParent, 0, 0, 0), 0, 0) >= 0 ? 7 : 0;
}
