#pragma once

#include "device/local/runner_client.h"
#include "device/local/zygote.h"
#include "device/protocol/link.h"
#include "device/protocol/messages.h"

namespace whet {

struct SupervisorClocks {
  double hello = 5;         ///< seconds in which the other end says hello
  double note = 1;          ///< between notes that a job waits for the slot [s]
  double slot_tick = 0.02;  ///< between two looks at the slot [s]
  double cool = 60;         ///< the most that a hot processor is waited for, a kernel [s]
  double cool_tick = 0.5;   ///< between two looks at it [s]
};

/// The board's end of a session: says hello, runs the jobs that come in runners, and answers. It runs no foreign code, and
/// takes the other end for hostile: what is no message of a session ends it with a sentence. Gives the exit status of
/// the program: 0 where the other end closed the session, 3 where it broke the rules.
///   runner   the life of its runners
///   models   the life of what runs compiled models; null: nothing does
int serve_session(SessionLink&, Zygote&, const DeviceDescription&, const SupervisorClocks& = {},
                  const Life& runner = kRunner, const Life* models = nullptr);

}  // namespace whet
