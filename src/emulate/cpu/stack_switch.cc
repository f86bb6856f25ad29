#include "emulate/cpu/stack_switch.h"

#include <cstring>

// A function keeps six registers besides the stack pointer for its caller; all others are lost in any call.
asm(R"(
.text
.globl whet_switch_stack
.type whet_switch_stack, @function
whet_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size whet_switch_stack, .-whet_switch_stack

.globl whet_begin_stack
.hidden whet_begin_stack
.type whet_begin_stack, @function
whet_begin_stack:
  movq %r12, %rdi
  callq *%r13
  ud2
.size whet_begin_stack, .-whet_begin_stack
)");

extern "C" void whet_begin_stack();

namespace whet {

void* new_stack(char* top, void (*function)(void*), void* argument) {
  // r15, r14, r13, r12, rbx, rbp, and where to return.
  void* const frame[] = {nullptr, nullptr, reinterpret_cast<void*>(function),        argument,
                         nullptr, nullptr, reinterpret_cast<void*>(whet_begin_stack)};
  return std::memcpy(top - sizeof frame, frame, sizeof frame);
}

}  // namespace whet
