#include "runner/cpu/kernel_call.h"

#include "base/arithmetic.h"

namespace whet {
namespace {

constexpr std::size_t kWorkspaceLine = 64;

void no_barrier(void*, std::uint32_t) {}
constexpr whet_kernel_runtime kAlone = {no_barrier};

std::size_t common_bytes(const Kernel& kernel) { return round_up<std::size_t>(kernel.workspace, page_bytes()); }
/// A line apart from a whole number of pages, so that the workers' pieces do not share cache sets.
std::size_t own_bytes(const Kernel& kernel) {
  return round_up<std::size_t>(kernel.worker_workspace, page_bytes()) + kWorkspaceLine;
}

}  // namespace

Stretch line_up(const std::vector<std::size_t>& sizes) {
  Stretch stretch;
  for (const std::size_t size : sizes) {
    stretch.offsets.push_back(stretch.bytes);
    stretch.bytes += round_up(size, kWorkspaceLine) + 3 * kWorkspaceLine;
  }
  return stretch;
}

std::size_t Workspaces::need(const Kernel& kernel, std::uint32_t workers) {
  return common_bytes(kernel) + own_bytes(kernel) * workers;
}

bool Workspaces::reserve(const Kernel& kernel, std::uint32_t workers) {
  const std::size_t bytes = need(kernel, workers);
  if (bytes <= pages_.bytes) return true;
  free_pages(&pages_);
  pages_ = allocate_pages(bytes);
  return pages_.ok();
}

std::vector<void*> Workspaces::own(const Kernel& kernel, std::uint32_t workers) const {
  auto* first = static_cast<std::byte*>(pages_.data) + common_bytes(kernel);
  std::vector<void*> each;
  for (std::uint32_t w = 0; w < workers; ++w) each.push_back(first + w * own_bytes(kernel));
  return each;
}

KernelCall::KernelCall(const LoadedKernel& kernel, std::size_t arguments, const Team& team)
    : buffers(arguments),
      entry_(kernel.entry()),
      parallel_(kernel.parallel()),
      team_(team),
      args_(team.workers()),
      answers_(team.workers()) {
  for (std::uint32_t w = 0; w < team.workers(); ++w) {
    whet_kernel_args& a = args_[w];
    a = {};
    a.buffers = buffers.data();
    a.runtime = parallel_ ? &kPoolKernelRuntime : &kAlone;
    a.team = team.pool();
    a.worker = w;
    a.workers = parallel_ ? team.workers() : 1;
  }
}

void KernelCall::set_workspaces(void* common, const std::vector<void*>& own) {
  for (std::size_t w = 0; w < args_.size(); ++w) {
    args_[w].workspace = common;
    args_[w].worker_workspace = own[w];
  }
}

std::int32_t KernelCall::failure() const {
  for (const std::int32_t answer : answers_)
    if (answer != 0) return answer;
  return 0;
}

}  // namespace whet
