#include "board/slot_turn.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "board/blob_store.h"
#include "device/protocol/bounds.h"

namespace whet {
namespace {

constexpr std::size_t kMostHolder = 64;

/// Leaves in the file who has the turn: "1234 ann".
void sign(int file, std::string_view user) {
  const std::string text = std::to_string(getpid()) + " " + printable(user, kMostHolder);
  if (ftruncate(file, 0) == 0) (void)!pwrite(file, text.data(), text.size(), 0);
}

std::string read_holder(int file) {
  char bytes[2 * kMostHolder];
  const ssize_t n = pread(file, bytes, sizeof bytes, 0);
  const std::string text = printable({bytes, static_cast<std::size_t>(std::max<ssize_t>(n, 0))});
  const std::size_t space = std::min(text.find(' '), text.size());
  struct stat found{};
  const long seconds = fstat(file, &found) == 0 ? std::max<long>(0, time(nullptr) - found.st_mtime) : 0;
  const std::string user = text.substr(std::min(space + 1, text.size()));
  return "process " + text.substr(0, space) + " has had the device for " + std::to_string(seconds) + " s" +
         (user.empty() ? "" : ", for " + user);
}

}  // namespace

/// A system that keeps no such file, or locks none, has no turns: nobody would ever give one back.
bool SlotTurn::take(const std::string& slot, std::string_view user) {
  if (file_ >= 0) return true;
  const std::string folder = own_folder("slots");
  if (!make_own_folder(folder).ok()) return true;
  const int file = open((folder + "/" + slot).c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return true;
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    const bool taken = errno == EWOULDBLOCK;
    if (taken) holder_ = read_holder(file);
    close(file);
    return !taken;
  }
  sign(file, user);
  file_ = file;
  return true;
}

void SlotTurn::give_back() {
  if (file_ >= 0) close(file_);
  file_ = -1;
}

}  // namespace whet
