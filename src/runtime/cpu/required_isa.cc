#include "runtime/cpu/required_isa.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "artifact/cpu/isa.h"

namespace whet {

int check_required_isa(const ModelView& view, whet_error* error) {
  const IsaSet host = host_isa();
  char missing[256] = "";
  std::size_t length = 0;
  bool tiles = false;
  for (const char* name = view.text(view.header->required_isa); *name != '\0';) {
    const std::size_t size = strcspn(name, ",");
    const int bit = isa_bit(name, size);
    tiles = tiles || (bit >= 0 && kIsaTable[bit].state == SavedState::tiles);
    if ((bit < 0 || !((host >> bit) & 1)) && length + size + 3 < sizeof missing) {
      length += static_cast<std::size_t>(snprintf(missing + length, sizeof missing - length, "%s%.*s",
                                                  length ? ", " : "", static_cast<int>(size), name));
    }
    name += size + (name[size] == ',');
  }
  if (length == 0 && tiles && !permit_tiles())
    return whet_fail(error,
                     "model %s needs tiles (AMX), which this system refuses to this process%s; compile it with "
                     "-mattr=-amx-tile behind \"%s\"",
                     view.text(view.header->name),
                     errno == ENOSPC ? ": a thread's signal stack is smaller than sysconf(_SC_MINSIGSTKSZ)" : "",
                     view.text(view.header->target));
  if (length == 0) return 0;
  return whet_fail(error,
                   "model %s needs %s, which this processor does not offer: it is compiled for \"%s\"; compile it for "
                   "this machine",
                   view.text(view.header->name), missing, view.text(view.header->target));
}

}  // namespace whet
