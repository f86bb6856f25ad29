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
static long ask6(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#else
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#endif
}
static long ask(long number, long a, long b, long c) { return ask6(number, a, b, c, 0, 0, 0); }
#if defined(__x86_64__)
enum { kWrite = 1, kMmap = 9, kMremap = 25, kSendTo = 44, kSetAffinity = 203, kSleep = 35, kGetOwn = 39 };
enum { kOpenAt = 257, kClone = 56, kSocket = 41, kKill = 62, kGetParent = 110, kBrk = 12 };
#else
enum { kWrite = 64, kMmap = 222, kMremap = 216, kSendTo = 206, kSetAffinity = 122, kSleep = 101, kGetOwn = 172 };
enum { kOpenAt = 56, kClone = 220, kSocket = 198, kKill = 129, kGetParent = 173, kBrk = 214 };
#endif
static int is_granted(long answer) { return answer < -4095 || answer >= 0; }
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
// A terabyte, of the kinds of memory that no limit of data counts.
static int32_t map_a_terabyte(long flags) {
  enum { kReadWrite = 3, kAnonymous = 0x20, kNoReserve = 0x4000 };
  return is_granted(ask6(kMmap, 0, 1L << 40, kReadWrite, flags | kAnonymous | kNoReserve, -1, 0)) ? 7 : 0;
}
int32_t map_shared_memory(args_t a) {
  (void)a;
  return map_a_terabyte(1);
}
int32_t map_a_stack(args_t a) {
  enum { kPrivate = 2, kGrowsDown = 0x100 };
  (void)a;
  return map_a_terabyte(kPrivate | kGrowsDown);
}
int32_t stretch_the_stack(args_t a) {
  enum { kPage = 65536, kMayMove = 1 };
  const long here = (long)__builtin_frame_address(0) & -(long)kPage;
  (void)a;
  return is_granted(ask6(kMremap, here - kPage, kPage, 1L << 40, kMayMove, 0, 0)) ? 7 : 0;
}
int32_t move_the_parent(args_t a) {
  const unsigned long first_core[16] = {1};
  (void)a;
  return is_granted(ask(kSetAffinity, ask(kGetParent, 0, 0, 0), sizeof first_core, (long)first_core)) ? 7 : 0;
}
// output[0] = the bits of the number of its process.
int32_t name_its_process(args_t a) {
  *(int32_t*)a->buffers[1] = (int32_t)ask(kGetOwn, 0, 0, 0);
  return 0;
}
int32_t print_escapes(args_t a) {
  static const char text[] = "\033]0;a title\007\033[31mtext of a kernel\n";
  for (int stream = 0; stream < 3; ++stream) ask(kWrite, stream, (long)text, sizeof text - 1);
  return add_one(a);
}
// A thread that sleeps for an hour: its kernel is long gone then.
int32_t leave_a_thread(args_t a) {
  enum { kThread = 0x50f00, kStackBytes = 65536, kAside = 256 };  // VM, FS, FILES, SIGHAND, THREAD, SYSVSEM
  const long stack = ask6(kMmap, 0, kStackBytes, 3, 0x22, -1, 0) + kStackBytes - kAside;
  ((long*)stack)[0] = 3600;
  ((long*)stack)[1] = 0;
#if defined(__x86_64__)
  long thread;
  __asm__ volatile(
      "syscall\n test %%rax, %%rax\n jnz 1f\n"
      "0: mov $35, %%rax\n mov %%rsp, %%rdi\n xor %%rsi, %%rsi\n syscall\n jmp 0b\n 1:"
      : "=a"(thread)
      : "a"((long)kClone), "D"((long)kThread), "S"(stack), "d"(0L)
      : "rcx", "r11", "memory");
#else
  register long x8 __asm__("x8") = kClone;
  register long x0 __asm__("x0") = kThread;
  register long x1 __asm__("x1") = stack;
  __asm__ volatile(
      "mov x2, xzr\n mov x3, xzr\n mov x4, xzr\n svc 0\n cbnz x0, 1f\n"
      "0: mov x8, #101\n mov x0, sp\n mov x1, xzr\n svc 0\n b 0b\n 1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1)
      : "x2", "x3", "x4", "memory");
#endif
  const long moment[2] = {0, 5000000};
  ask(kSleep, (long)moment, 0, 0);  // until it sleeps: the kernel's code goes when the kernel ends
  return add_one(a);
}
static void send_to_all(const unsigned char* bytes, long count) {
  enum { kDoNotWait = 0x4040 };  // and no signal
  for (long file = 3; file < 16; ++file) ask6(kSendTo, file, (long)bytes, count, kDoNotWait, 0, 0);
}
// A frame of the wire's version, with a length.
static void send_head(int type, unsigned long length) {
  unsigned char head[16] = {'W', 'H', 'E', 'T', 5, 0, (unsigned char)type, 0};
  for (int i = 0; i < 8; ++i) head[8 + i] = (unsigned char)(length >> (8 * i));
  send_to_all(head, sizeof head);
}
// Sends an answer of its own on the runner's socket: ok, three times of 310 ns.
int32_t answer_itself(args_t a) {
  enum { kMeasured = 2, kTicket = 8, kBytes = kTicket + 1 + 8 + 8 + 3 * 8 + 1 + 8 };
  unsigned char answer[kBytes] = {0};
  const double seconds = 3.1e-7;
  answer[kTicket + 9] = 3;
  for (int i = 0; i < 3; ++i) __builtin_memcpy(answer + kTicket + 17 + 8 * i, &seconds, 8);
  send_head(kMeasured, kBytes);
  send_to_all(answer, kBytes);
  return add_one(a);
}
// Sends a frame as long as frames may be, and never ends.
int32_t answer_without_end(args_t a) {
  enum { kChecked = 4 };
  static const unsigned char zeros[16384];
  (void)a;
  send_head(kChecked, 0xffffffff);
  for (volatile int i = 1; i;) send_to_all(zeros, sizeof zeros);
  return 0;
}
