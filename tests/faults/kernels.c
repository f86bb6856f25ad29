// Kernels that do wrong, in the place of generated ones. Which argument is the first output is in the name, because a
// kernel cannot ask: crash_2 is for kernels whose output is argument 2.
#include "artifact/kernel_args.h"

typedef const struct whet_kernel_args* args_t;

#define FOR_OUTPUT(n)                                                            \
  int32_t crash_##n(args_t a) {                                                  \
    (void)a;                                                                     \
    *(volatile int*)0 = 1;                                                       \
    return 0;                                                                    \
  }                                                                              \
  int32_t hang_##n(args_t a) {                                                   \
    (void)a;                                                                     \
    for (volatile int i = 1; i;) {                                               \
    }                                                                            \
    return 0;                                                                    \
  }                                                                              \
  int32_t write_beyond_##n(args_t a) {                                           \
    for (volatile float* out = (volatile float*)a->buffers[n];; ++out) *out = 1; \
  }                                                                              \
  int32_t write_before_##n(args_t a) {                                           \
    ((volatile float*)a->buffers[n])[-2] = 1;                                    \
    return 0;                                                                    \
  }                                                                              \
  int32_t write_input_##n(args_t a) {                                            \
    *(volatile float*)a->buffers[0] = 1;                                         \
    return 0;                                                                    \
  }                                                                              \
  int32_t do_nothing_##n(args_t a) {                                             \
    (void)a;                                                                     \
    return 0;                                                                    \
  }                                                                              \
  int32_t report_seven_##n(args_t a) {                                           \
    (void)a;                                                                     \
    return 7;                                                                    \
  }

FOR_OUTPUT(0)
FOR_OUTPUT(1)
FOR_OUTPUT(2)
FOR_OUTPUT(3)
FOR_OUTPUT(4)
FOR_OUTPUT(5)
FOR_OUTPUT(6)
FOR_OUTPUT(7)
