#include "board/layers.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace whet {
namespace {

constexpr unsigned kNobody = 65534;
/// Users of runners are this and their process's number: nobody gives such numbers to people or services.
constexpr unsigned kFirstOwnUser = 1900000000;
/// Threads beside one a processor.
constexpr rlim_t kMoreThreads = 8;
constexpr rlim_t kMostFiles = 16, kMostFilesOfModels = 128;

#if defined(__x86_64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_AARCH64;
#else
#error "whet-device is made for x86-64 and AArch64"
#endif

/// What a runner asks of the system once its program is in memory: memory, threads, its socket, clocks, its own signals.
constexpr int kAllowed[] = {
    SYS_read,
    SYS_pread64,
    SYS_write,
    SYS_close,
    SYS_sendto,
    SYS_recvfrom,
    SYS_sendmsg,
    SYS_recvmsg,
    SYS_ppoll,
    SYS_munmap,
    SYS_mprotect,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_sched_getaffinity,
    SYS_sched_yield,
    SYS_getcpu,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_restart_syscall,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_getpid,
    SYS_gettid,
    SYS_getppid,
    SYS_getrandom,
    SYS_exit,
    SYS_exit_group,
#if defined(__x86_64__)
    SYS_poll,
    SYS_arch_prctl,  // asks for tiles; what else it sets is this process's own
#endif
};
/// How files are looked at.
constexpr int kFiles[] = {
    SYS_newfstatat, SYS_fstat, SYS_faccessat, SYS_readlinkat, SYS_lseek, SYS_getdents64,
#if defined(__x86_64__)
    SYS_access,     SYS_stat,  SYS_readlink,
#endif
};
/// What the C library asks for and does without. (A stack that is moved and stretched counts as no data.)
constexpr int kRefused[] = {
    SYS_openat, SYS_ioctl, SYS_fcntl, SYS_sysinfo, SYS_mremap,
#if defined(__x86_64__)
    SYS_open,
#endif
};

/// Memory that the limit of data counts. What is shared, or grows as stacks do, is not counted.
constexpr std::uint32_t kMappings = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_NORESERVE |
                                    MAP_POPULATE | MAP_NONBLOCK | MAP_STACK | MAP_DENYWRITE | MAP_EXECUTABLE;

/// The filter, written from its end: each rule falls through to the next.
class Filter {
 public:
  explicit Filter(FileAccess files) {
    load(offsetof(seccomp_data, arch));
    unless_equal(kMachine, SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
    constexpr std::uint32_t kX32 = 0x40000000;
    add(BPF_JMP | BPF_JGE | BPF_K, kX32, 0, 1);
    give(SECCOMP_RET_KILL_PROCESS);
#endif
    for (const int call : kAllowed) if_equal(call, SECCOMP_RET_ALLOW);
    if (files == FileAccess::read) {
      may_open_to_read(SYS_openat, 2);
#if defined(__x86_64__)
      may_open_to_read(SYS_open, 1);
#endif
    }
    for (const int call : kFiles)
      if_equal(call, files == FileAccess::read ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EACCES);
    for (const int call : kRefused) if_equal(call, SECCOMP_RET_ERRNO | EACCES);
    // The C library then takes clone, whose flags can be seen.
    if_equal(SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
    with_argument(SYS_clone, 0, [&] {
      add(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1);
      give(SECCOMP_RET_ALLOW);
    });
    with_argument(
        SYS_mmap, 3,
        [&] {
          add(BPF_ALU | BPF_AND | BPF_K, ~kMappings);
          if_equal(0, SECCOMP_RET_ALLOW);
        },
        SECCOMP_RET_ERRNO | EACCES);
    // A thread places itself. (Pools of compiled models, of other versions too, place their workers by number.)
    if (files == FileAccess::none)
      with_argument(SYS_sched_setaffinity, 0, [&] { if_equal(0, SECCOMP_RET_ALLOW); }, SECCOMP_RET_ERRNO | EPERM);
    else
      if_equal(SYS_sched_setaffinity, SECCOMP_RET_ALLOW);
    with_argument(SYS_tgkill, 0, [&] { if_equal(getpid(), SECCOMP_RET_ALLOW); });
    with_argument(SYS_prctl, 0, [&] {
      constexpr int kNameOfMemory = 0x53564d41;  // PR_SET_VMA
      if_equal(PR_SET_NAME, SECCOMP_RET_ALLOW);
      if_equal(kNameOfMemory, SECCOMP_RET_ALLOW);
    });
    give(SECCOMP_RET_KILL_PROCESS);
  }

  bool install() {
    const sock_fprog program{static_cast<unsigned short>(size_), rules_.data()};
    // Without this flag older kernels switch speculation off, and every timing would be of a slower processor.
    const auto set = [&](unsigned flags) {
      return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0;
    };
    return set(SECCOMP_FILTER_FLAG_SPEC_ALLOW) || (errno == EINVAL && set(0));
  }

 private:
  void add(int code, std::uint32_t k, int if_true = 0, int if_false = 0) {
    rules_[size_++] = {static_cast<std::uint16_t>(code), static_cast<std::uint8_t>(if_true),
                       static_cast<std::uint8_t>(if_false), k};
  }
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)); }
  void give(std::uint32_t action) { add(BPF_RET | BPF_K, action); }
  void if_equal(int value, std::uint32_t action) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(value), 0, 1);
    give(action);
  }
  void unless_equal(std::uint32_t value, std::uint32_t action) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
    give(action);
  }
  void may_open_to_read(int call, int flags_argument) {
    constexpr std::uint32_t kChanges = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 4);
    load(offsetof(seccomp_data, args) + 8 * static_cast<std::size_t>(flags_argument));
    add(BPF_JMP | BPF_JSET | BPF_K, kChanges, 1, 0);
    give(SECCOMP_RET_ALLOW);
    give(SECCOMP_RET_ERRNO | EACCES);
  }
  /// Rules over the low half of a call's argument; where none of them decides, the call is `otherwise`: forbidden.
  template <typename Rules>
  void with_argument(int call, int argument, const Rules& rules, std::uint32_t otherwise = SECCOMP_RET_KILL_PROCESS) {
    const std::size_t start = size_;
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 0);
    load(offsetof(seccomp_data, args) + 8 * static_cast<std::size_t>(argument));
    rules();
    give(otherwise);
    rules_[start].jf = static_cast<std::uint8_t>(size_ - start - 1);
  }

  std::array<sock_filter, 192> rules_{};
  std::size_t size_ = 0;
};

/// The zygote's end still ends this process: the system forgets that when the user changes.
bool become(unsigned user) {
  const pid_t parent = getppid();
  if (setgroups(0, nullptr) != 0 || setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0) return false;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  return true;
}

/// To `most`, or what the limit is already where that is less.
bool limit(int resource, rlim_t most) {
  rlimit both{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &both) != 0) return false;
  both.rlim_cur = both.rlim_max = std::min(most, both.rlim_max);
  return setrlimit(static_cast<__rlimit_resource>(resource), &both) == 0;
}

rlim_t machine_memory() {
  return static_cast<rlim_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}
/// Bytes that foreign code may have of its own: three quarters of the machine's memory.
rlim_t most_data() { return machine_memory() / 4 * 3; }
/// Addresses that it may have: what is only reserved, or read without ever having been written, costs tables of pages. Honest
/// code reserves what it never uses: a heap and a stack a thread, and the pages around buffers.
rlim_t most_space() {
  constexpr rlim_t kOfThread = rlim_t{192} << 20, kAtLeast = rlim_t{2} << 30;
  return 4 * machine_memory() + kOfThread * static_cast<rlim_t>(sysconf(_SC_NPROCESSORS_CONF)) + kAtLeast;
}
/// Of the first thread. (Stacks of others are data.)
constexpr rlim_t kMostStack = rlim_t{64} << 20;

}  // namespace

int enter_layers(FileAccess files) {
  int layers = 0;
  const rlim_t open_files = files == FileAccess::read ? kMostFilesOfModels : kMostFiles;
  if (limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, 0) && limit(RLIMIT_NOFILE, open_files) &&
      limit(RLIMIT_DATA, most_data()) && limit(RLIMIT_AS, most_space()) && limit(RLIMIT_STACK, kMostStack))
    layers |= kRlimits;
  const bool is_root = geteuid() == 0;
  if (syscall(SYS_unshare, CLONE_NEWNET | CLONE_NEWIPC | (is_root ? 0 : CLONE_NEWUSER)) == 0) layers |= kNamespaces;
  if (is_root && become(kFirstOwnUser + static_cast<unsigned>(getpid()))) {
    layers |= kUid;
    if (limit(RLIMIT_NPROC, static_cast<rlim_t>(sysconf(_SC_NPROCESSORS_CONF)) + kMoreThreads)) layers |= kNproc;
  } else if (is_root && become(kNobody)) {  // a container may have few users
    layers |= kUid;
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) layers |= kNoNewPrivs;
  if (Filter(files).install()) layers |= kSeccomp;
  return layers;
}

int strict_layers() { return kNoNewPrivs | kRlimits | kSeccomp | (geteuid() == 0 ? kUid : 0); }

const char* layer_name(int layer) {
  switch (layer) {
    case kNoNewPrivs:
      return "no_new_privs";
    case kUid:
      return "uid";
    case kNproc:
      return "nproc";
    case kRlimits:
      return "rlimits";
    case kNamespaces:
      return "namespaces";
    default:
      return "seccomp";
  }
}

}  // namespace whet
