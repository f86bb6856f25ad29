#include <algorithm>
#include <array>
#include <cstring>

#include "ptx/block.h"

namespace whet::ptx {
namespace {

constexpr std::uint64_t kBanks = 32, kBankBytes = 4;

bool holds(std::uint64_t window, std::uint64_t bytes, std::uint64_t address) {
  return address >= window && address - window < bytes;
}

/// Wavefronts of a group of lanes: the most words of one bank.
std::int64_t wavefronts(std::span<const std::uint64_t> addresses, std::int64_t bytes) {
  std::vector<std::uint64_t> words;
  for (const std::uint64_t address : addresses)
    for (std::uint64_t word = address / kBankBytes; word * kBankBytes < address + static_cast<std::uint64_t>(bytes);
         ++word)
      words.push_back(word);
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::array<std::int64_t, kBanks> of_bank{};
  for (const std::uint64_t word : words) ++of_bank[word % kBanks];
  return *std::max_element(of_bank.begin(), of_bank.end());
}

}  // namespace

// ---- Global memory

std::byte* GlobalMemory::at(std::uint64_t address, std::int64_t bytes, std::string& why) const {
  const auto count = [bytes] { return std::to_string(bytes) + " bytes "; };
  if (!holds(address) || index_of(address) >= buffers_.size()) {
    why = count() + "outside of every buffer";
    return nullptr;
  }
  const GlobalBuffer& buffer = buffers_[index_of(address)];
  const std::int64_t offset = static_cast<std::int64_t>(address - address_of(index_of(address)));
  if (offset >= 0 && offset <= buffer.bytes - bytes) return buffer.data + offset;
  const std::string size = " of `" + buffer.name + "`, which has " + std::to_string(buffer.bytes) + " bytes";
  why = count() + (offset < 0 ? std::to_string(-offset) + " in front" : "from byte " + std::to_string(offset)) + size;
  return nullptr;
}

bool GlobalMemory::note(std::uint64_t address, bool stores, bool read_only) {
  const std::size_t buffer = index_of(address);
  Used& used = used_[buffer][(address - address_of(buffer)) / kLineBytes];
  used.stored |= stores, used.read_only |= read_only;
  return !(used.stored && used.read_only);
}

// ---- Loads and stores

std::byte* Block::place(Warp& warp, const Instruction& in, int lane, std::uint64_t address, std::int64_t bytes,
                        Access access) {
  const bool writes = access == Access::write;
  const auto refuse = [&](const std::string& what) -> std::byte* {
    fail(warp, in, "lane " + std::to_string(lane) + " " + what);
    return nullptr;
  };
  const char* const verb = writes ? "writes " : "reads ";
  const auto some = [&] { return verb + std::to_string(bytes) + " bytes "; };
  if (address % static_cast<std::uint64_t>(bytes) != 0)
    return refuse(some() + "at an address that is no multiple of them");
  const auto misses = [&](Space space) { return in.space != Space::generic && in.space != space; };
  if (GlobalMemory::holds(address)) {
    if (misses(Space::global)) return refuse(std::string(verb) + "global memory");
    std::string why;
    std::byte* const found = global_.at(address, bytes, why);
    if (found == nullptr) return refuse(verb + why);
    if (!global_.note(address, writes, in.read_only))
      return refuse(std::string(verb) + "`" + global_.name_at(address) +
                    "`, which the launch stores to and reads past the coherent caches");
    return found;
  }
  if (ptx::holds(kSharedWindow, kSharedBytes, address)) {
    if (misses(Space::shared)) return refuse(std::string(verb) + "block memory");
    const auto offset = static_cast<std::int64_t>(address - kSharedWindow);
    if (offset + bytes > std::ssize(memory_))
      return refuse(some() + "from byte " + std::to_string(offset) + " of block memory, which has " +
                    std::to_string(memory_.size()));
    if (shadow_) {
      const std::string met = writes ? shadow_->write(warp.number, warp.clock, offset, bytes)
                                     : shadow_->read(warp.number, warp.clock, offset, bytes);
      if (!met.empty()) return refuse(met);
    }
    return memory_.data() + offset;
  }
  const auto local_bytes = static_cast<std::uint64_t>(entry_.local_bytes);
  if (ptx::holds(kLocalWindow, local_bytes, address) && !misses(Space::local)) {
    const std::uint64_t offset = address - kLocalWindow;
    if (offset + static_cast<std::uint64_t>(bytes) <= local_bytes)
      return warp.local.data() + static_cast<std::uint64_t>(lane) * local_bytes + offset;
  }
  return refuse(some() + "outside of every buffer");
}

bool Block::load(Warp& warp, const Instruction& in, std::uint32_t lanes) {
  const std::size_t each = static_cast<std::size_t>(bits_of(in.type)) / 8;
  const std::int64_t bytes = static_cast<std::int64_t>(each) * in.width;
  std::vector<std::uint64_t> addresses;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const std::uint64_t where = address(warp, in.addresses[0], lane);
    std::uint64_t parameter = 0;
    const std::byte* from = nullptr;
    if (in.space == Space::param) {
      const auto is_here = [&](const Parameter& p) {
        return p.bytes == bytes && kParamWindow + static_cast<std::uint64_t>(p.offset) == where;
      };
      const auto found = std::find_if(entry_.parameters.begin(), entry_.parameters.end(), is_here);
      if (found == entry_.parameters.end() || bytes != std::int64_t{sizeof parameter})
        return fail(warp, in, "this is no pointer");
      parameter = GlobalMemory::address_of(static_cast<std::size_t>(found - entry_.parameters.begin()));
      from = reinterpret_cast<const std::byte*>(&parameter);
    } else {
      from = place(warp, in, lane, where, bytes, Access::read);
      if (from == nullptr) return false;
      if (ptx::holds(kSharedWindow, kSharedBytes, where)) addresses.push_back(where);
    }
    for (std::size_t k = 0; k < in.results.size(); ++k) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, from + k * each, each);
      const int above = 64 - bits_of(in.type);
      if (is_signed(in.type)) bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << above) >> above);
      warp.slot(in.results[k])[lane] = bits;
    }
  }
  count_wavefronts(in, addresses, bytes);
  return true;
}

bool Block::store(Warp& warp, const Instruction& in, std::uint32_t lanes) {
  const std::size_t each = static_cast<std::size_t>(bits_of(in.type)) / 8;
  const std::int64_t bytes = static_cast<std::int64_t>(each) * in.width;
  std::vector<std::uint64_t> addresses;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const std::uint64_t where = address(warp, in.addresses[0], lane);
    std::byte* const to = place(warp, in, lane, where, bytes, Access::write);
    if (to == nullptr) return false;
    if (ptx::holds(kSharedWindow, kSharedBytes, where)) addresses.push_back(where);
    for (std::size_t k = 0; k < in.operands.size(); ++k)
      std::memcpy(to + k * each, &warp.slot(in.operands[k])[lane], each);
  }
  count_wavefronts(in, addresses, bytes);
  return true;
}

/// Lanes of 8 bytes go by halves of a warp, those of 16 by quarters.
void Block::count_wavefronts(const Instruction& in, std::span<const std::uint64_t> addresses, std::int64_t bytes) {
  const std::size_t group =
      static_cast<std::size_t>(kLanes * std::min<std::int64_t>(4, 4 * 4 / std::max<std::int64_t>(bytes, 4))) / 4;
  Wavefronts& sum = wavefronts_[static_cast<std::size_t>(in.kind)];
  for (std::size_t first = 0; first < addresses.size(); first += group) {
    sum.taken += wavefronts(addresses.subspan(first, std::min(group, addresses.size() - first)), bytes);
    ++sum.least;
  }
}

// ---- Asynchronous copies

bool Block::begin_copies(Warp& warp, const Instruction& in, std::uint32_t lanes) {
  std::vector<std::uint64_t> addresses;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const auto at = static_cast<std::size_t>(lane);
    const std::uint64_t to = address(warp, in.addresses[0], lane), from = address(warp, in.addresses[1], lane);
    const auto bytes = static_cast<std::uint64_t>(in.number);
    AsyncCopy copy{lane,    warp.committed[at], static_cast<std::int64_t>(to - kSharedWindow),
                   nullptr, in.number,          in.number};
    if (!in.operands.empty()) copy.valid = static_cast<std::uint32_t>(warp.slot(in.operands[0])[lane]);
    if (copy.valid > copy.bytes)
      return fail(warp, in, "copies " + std::to_string(copy.valid) + " bytes to " + std::to_string(copy.bytes));
    if (to % bytes != 0 || (copy.valid > 0 && from % bytes != 0))
      return fail(warp, in,
                  "lane " + std::to_string(lane) + " copies " + std::to_string(bytes) +
                      " bytes from or to no multiple of them");
    std::string why;
    if (copy.valid > 0 && (copy.from = global_.at(from, copy.valid, why)) == nullptr)
      return fail(warp, in, "lane " + std::to_string(lane) + " copies " + why);
    if (!ptx::holds(kSharedWindow, kSharedBytes, to) || copy.to + copy.bytes > std::ssize(memory_))
      return fail(warp, in, "lane " + std::to_string(lane) + " copies to bytes outside of block memory");
    const std::string met = shadow_ ? shadow_->begin_copy(warp.number, warp.clock, copy.to, copy.bytes) : "";
    if (!met.empty()) return fail(warp, in, "lane " + std::to_string(lane) + " " + met);
    addresses.push_back(to);
    std::memset(memory_.data() + copy.to, 0xff, static_cast<std::size_t>(copy.bytes));
    if (!rng_.chance(options_.late)) land(copy);
    warp.copies.push_back(copy);
  }
  count_wavefronts(in, addresses, in.number);
  return true;
}

void Block::land(AsyncCopy& copy) {
  std::byte* const to = memory_.data() + copy.to;
  if (copy.valid > 0) std::memcpy(to, copy.from, static_cast<std::size_t>(copy.valid));
  std::memset(to + copy.valid, 0, static_cast<std::size_t>(copy.bytes - copy.valid));
  copy.landed = true;
}

void Block::commit_copies(Warp& warp, std::uint32_t lanes) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) warp.committed[lane] += static_cast<int>(lanes >> lane & 1);
}

/// All groups of a thread but the last `number` of them.
void Block::wait_for_copies(Warp& warp, const Instruction& in, std::uint32_t lanes) {
  const auto is_waited_for = [&](AsyncCopy& copy) {
    const std::int64_t committed = warp.committed[static_cast<std::size_t>(copy.lane)];
    if ((lanes >> copy.lane & 1) == 0 || copy.group >= committed - in.number) return false;
    if (!copy.landed) land(copy);
    if (shadow_) shadow_->land(warp.number, warp.clock, copy.to, copy.bytes);
    return true;
  };
  warp.copies.erase(std::remove_if(warp.copies.begin(), warp.copies.end(), is_waited_for), warp.copies.end());
}

}  // namespace whet::ptx
