#include "artifact/outcome_code.h"

namespace whet {
namespace {

struct Entry {
  std::string_view name, meaning;
};

constexpr Entry kTable[kOutcomeCodes] = {
    {"ok", "The candidate was built, ran, and was timed. Nothing to do."},
    {"instantiation",
     "The candidate's schedule could not be replayed or lowered to a program, so no code was made. A few are normal "
     "while a "
     "search explores; if every candidate of a task ends so, the message names the step that is refused: report it "
     "with the "
     "record's line, or leave the task to its default schedule."},
    {"compile_host",
     "The program was made but no machine code came of it: the code generator refused it or failed. The message is the "
     "generator's. Check that the target's -mcpu and -mattr name something that this build of LLVM knows (whet target "
     "--list); otherwise it is a fault of whet worth a report."},
    {"compile_device",
     "Code was generated but the device or its driver would not take it, because it needs too many registers, too much "
     "shared "
     "memory, or a newer driver. The message is the driver's."},
    {"runtime",
     "The kernel was loaded and called, and it, or the loader, reported an error instead of finishing. The message "
     "says "
     "which. One such candidate is skipped; many of them point to a fault of whet."},
    {"wrong_answer",
     "The kernel ran, but its results differ from the reference by more than the tolerance, or it wrote where it must "
     "not. "
     "Such a candidate never becomes the best, however fast. The message has the largest difference and its place; "
     "please report it, because a legal schedule must keep the answer."},
    {"build_timeout",
     "Lowering and compiling took longer than --build-timeout (default 15 s), and the builder was stopped. Very large "
     "unrolled "
     "bodies do this. If many candidates end so, the machine is overloaded or the limit is too low."},
    {"run_timeout",
     "The kernel did not finish within --run-timeout and its process was stopped. Usually the candidate is very slow "
     "or hangs; "
     "raise the limit for tasks that honestly take seconds a run."},
    {"unknown",
     "Something failed that fits no other number; the message holds all that is known. Report it together with the "
     "line of the record file."},
    {"crash",
     "The process that built or ran the candidate died; the message names the signal and, where known, the address. "
     "Only this "
     "candidate is lost, a fresh process was started. A crash while running means that the kernel touched memory that "
     "is not "
     "its own."},
    {"device_lost",
     "The connection to the device, or the lease on it, was lost during the trial. The trial was not at fault: it goes "
     "back "
     "to the queue. Check the device and the network between."},
    {"rejected",
     "A check refused the candidate before anything was built: too many instructions, too much memory, or registers "
     "that do "
     "not fit. This saves time and needs no action."},
    {"out_of_memory",
     "The builder or the runner needed more memory than its limit allows, or the machine had no more. Close other "
     "programs, "
     "raise the limit, or tune a smaller batch."},
};

}  // namespace

std::string_view name_of(OutcomeCode code) {
  const auto n = static_cast<std::size_t>(code);
  return n < kOutcomeCodes ? kTable[n].name : kTable[8].name;
}

std::string_view explain(OutcomeCode code) {
  const auto n = static_cast<std::size_t>(code);
  return n < kOutcomeCodes ? kTable[n].meaning : kTable[8].meaning;
}

std::optional<OutcomeCode> outcome_code(std::int64_t number) {
  if (number < 0 || number >= kOutcomeCodes) return std::nullopt;
  return static_cast<OutcomeCode>(number);
}

}  // namespace whet
