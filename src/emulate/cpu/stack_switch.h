#pragma once

namespace whet {

/// A stack on which the first switch to it calls function(argument), which never returns. `top` is 16-byte aligned.
void* new_stack(char* top, void (*function)(void*), void* argument);

}  // namespace whet

extern "C" {
/// Goes on with the stack `to`, and returns when somebody switches to what is stored in `*from`.
void whet_switch_stack(void** from, void* to);
}
