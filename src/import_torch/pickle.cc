#include "import_torch/pickle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>

#include "base/nearest.h"

namespace whet::torch {
namespace {

using Kind = PickleValue::Kind;

constexpr std::size_t kMostOpcodes = std::size_t{1} << 21;
constexpr std::size_t kMostKept = std::size_t{1} << 28;
constexpr std::size_t kMark = static_cast<std::size_t>(-1);

/// Functions whose calls are kept: they make tensors, or tell a type.
constexpr std::array<std::string_view, 6> kKept = {
    "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor",
    "torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state",
    "torch._utils._rebuild_qtensor",   "torch.device"};
/// Functions that give their first argument.
constexpr std::array<std::string_view, 5> kTransparent = {
    "torch.jit._pickle.restore_type_tag", "torch.jit._pickle.build_intlist", "torch.jit._pickle.build_tensorlist",
    "torch.jit._pickle.build_doublelist", "torch.jit._pickle.build_boollist"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// The bytes of a pickle, read from the front. Errors name the place.
class PickleReader {
 protected:
  PickleReader(std::string_view bytes, const std::string& what) : rest_(bytes), size_(bytes.size()), what_(what) {}

  Error fault(const std::string& sentence) const {
    return Error{what_ + ": " + sentence + ", at byte " + std::to_string(size_ - rest_.size())};
  }
  Result<std::string_view> take(std::uint64_t count) {
    if (count > rest_.size()) return fault("ends within its pickle");
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(count));
    rest_.remove_prefix(static_cast<std::size_t>(count));
    return taken;
  }
  Result<std::uint64_t> number(std::size_t bytes) {
    WHET_TRY(const std::string_view taken, take(bytes));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(taken[i])) << (8 * i);
    return value;
  }
  Result<std::string> line() {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) return fault("ends within a name of its pickle");
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }

 private:
  std::string_view rest_;
  std::size_t size_;
  const std::string& what_;
};

/// The values of a pickle, and the stack and the memory of those that its opcodes work with.
class PickleStack : protected PickleReader {
 protected:
  using PickleReader::PickleReader;

  void count(const PickleValue& value) {
    kept_ += value.text.size() + value.items.size() * sizeof(PickleId) +
             value.members.size() * sizeof(std::pair<PickleId, PickleId>);
  }
  std::size_t made(PickleValue value) {
    count(value);
    pickle_.values.push_back(std::move(value));
    return pickle_.values.size() - 1;
  }
  Status push(PickleValue value) {
    stack_.push_back(made(std::move(value)));
    return ok_status();
  }
  Result<std::size_t> pop() {
    if (stack_.empty() || stack_.back() == kMark) return fault("takes a value that is not there");
    const std::size_t top = stack_.back();
    stack_.pop_back();
    return top;
  }
  Result<std::vector<PickleId>> pop_to_mark() {
    const auto mark = std::find(stack_.rbegin(), stack_.rend(), kMark);
    if (mark == stack_.rend()) return fault("has no mark where one is needed");
    const auto first = mark.base();
    std::vector<PickleId> values;
    for (auto each = first; each != stack_.end(); ++each) values.push_back(static_cast<PickleId>(*each));
    stack_.erase(first - 1, stack_.end());
    return values;
  }
  Result<std::vector<PickleId>> pop_count(std::size_t count) {
    std::vector<PickleId> values(count);
    for (std::size_t i = count; i-- > 0;) {
      WHET_TRY(const std::size_t value, pop());
      values[i] = static_cast<PickleId>(value);
    }
    return values;
  }
  Result<PickleValue*> top(Kind kind, const char* expected) {
    if (stack_.empty() || stack_.back() == kMark) return fault("takes a value that is not there");
    PickleValue& value = pickle_.values[stack_.back()];
    if (value.kind != kind) return fault(std::string("adds to what is no ") + expected);
    return &value;
  }
  Status push_integer(std::int64_t value, Kind kind = Kind::integer) {
    PickleValue made;
    made.kind = kind;
    made.integer = value;
    return push(std::move(made));
  }
  Status push_items(Kind kind, Result<std::vector<PickleId>> items) {
    if (!items.ok()) return items.error();
    PickleValue value;
    value.kind = kind;
    value.items = std::move(*items);
    return push(std::move(value));
  }
  Status push_global(const std::string& module, const std::string& name) {
    PickleValue value;
    value.kind = Kind::global;
    value.text = module + "." + name;
    return push(std::move(value));
  }
  Status add_items(Result<std::vector<PickleId>> items) {
    if (!items.ok()) return items.error();
    WHET_TRY(PickleValue * list, top(Kind::list, "list"));
    list->items.insert(list->items.end(), items->begin(), items->end());
    return ok_status();
  }
  Status add_members(Result<std::vector<PickleId>> pairs) {
    if (!pairs.ok()) return pairs.error();
    if (pairs->size() % 2 != 0) return fault("has a key without a value");
    WHET_TRY(PickleValue * dictionary, top(Kind::dictionary, "dictionary"));
    for (std::size_t i = 0; i < pairs->size(); i += 2) dictionary->members.emplace_back((*pairs)[i], (*pairs)[i + 1]);
    return ok_status();
  }
  Status remember(std::uint64_t place) {
    if (stack_.empty() || stack_.back() == kMark) return fault("keeps a value that is not there");
    memo_[place] = stack_.back();
    return ok_status();
  }
  Status recall(std::uint64_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) return fault("reads a value that it did not keep");
    stack_.push_back(found->second);
    return ok_status();
  }

  Pickle pickle_;
  std::size_t kept_ = 0;  ///< bytes
  std::vector<std::size_t> stack_;
  std::unordered_map<std::uint64_t, std::size_t> memo_;
};

/// Follows the opcodes that torch writes. No function is run: calls become values, or their argument.
class Unpickler : PickleStack {
 public:
  Unpickler(std::string_view bytes, const std::string& what) : PickleStack(bytes, what) {}

  Result<Pickle> run() {
    for (std::size_t count = 0;; ++count) {
      if (count > kMostOpcodes) return fault("has more than " + std::to_string(kMostOpcodes) + " steps");
      WHET_TRY(const std::string_view opcode, take(1));
      if (opcode[0] == '.') break;
      WHET_RETURN_IF_ERROR(step(opcode[0]));
      // Calls and objects repeat what is written once.
      if (kept_ > kMostKept) return fault("holds more than 256 MiB beside its tensors");
    }
    WHET_TRY(const std::size_t root, pop());
    pickle_.root = static_cast<PickleId>(root);
    return std::move(pickle_);
  }

 private:
  Status step(char opcode);
  Status push_text(std::size_t length_bytes);
  Status push_long();
  Status call();
  Status instance();
  Status build();
};

Status Unpickler::push_text(std::size_t length_bytes) {
  WHET_TRY(const std::uint64_t length, number(length_bytes));
  WHET_TRY(const std::string_view text, take(length));
  PickleValue value;
  value.kind = Kind::text;
  value.text = std::string(text);
  return push(std::move(value));
}

/// An integer of up to eight bytes, in two's complement.
Status Unpickler::push_long() {
  WHET_TRY(const std::uint64_t length, number(1));
  if (length > 8) return fault("holds an integer of " + std::to_string(length) + " bytes; up to 8 are read");
  WHET_TRY(std::uint64_t bits, number(static_cast<std::size_t>(length)));
  if (length > 0 && length < 8 && (bits >> (8 * length - 1)) != 0) bits |= ~std::uint64_t{0} << (8 * length);
  return push_integer(static_cast<std::int64_t>(bits));
}

Status Unpickler::call() {
  WHET_TRY(const std::size_t arguments, pop());
  WHET_TRY(const std::size_t function, pop());
  const std::string& name = pickle_.values[function].text;
  const std::vector<PickleId>& items = pickle_.values[arguments].items;
  if (pickle_.values[function].kind != Kind::global || pickle_.values[arguments].kind != Kind::tuple)
    return fault("calls what is no function");
  if (is_one_of(kTransparent, name)) {
    if (items.empty()) return fault("calls " + in_quotes(name) + " without a value");
    stack_.push_back(items[0]);
    return ok_status();
  }
  PickleValue made;
  if (name == "collections.OrderedDict") {
    if (!items.empty()) return fault("makes an OrderedDict of values, which is not read");
    made.kind = Kind::dictionary;
    return push(std::move(made));
  }
  if (!is_one_of(kKept, name))
    return fault("calls " + in_quotes(name) + ", which no model needs; whet runs nothing that a pickle calls");
  made.kind = Kind::call;
  made.text = name;
  made.items = items;
  return push(std::move(made));
}

Status Unpickler::instance() {
  WHET_TRY(const std::size_t arguments, pop());
  WHET_TRY(const std::size_t type, pop());
  const PickleValue& global = pickle_.values[type];
  if (global.kind != Kind::global || pickle_.values[arguments].kind != Kind::tuple)
    return fault("makes an instance of what is no class");
  if (!global.text.starts_with("__torch__"))
    return fault("holds an object of the class " + in_quotes(global.text) +
                 ", which is none of TorchScript's; whet runs nothing of Python");
  PickleValue object;
  object.kind = Kind::object;
  object.text = global.text;
  return push(std::move(object));
}

/// The attributes of an object. Those of a dictionary (the versions of a state_dict) mean nothing.
Status Unpickler::build() {
  WHET_TRY(const std::size_t state, pop());
  if (stack_.empty() || stack_.back() == kMark) return fault("takes a value that is not there");
  PickleValue& object = pickle_.values[stack_.back()];
  if (object.kind == Kind::dictionary) return ok_status();
  if (object.kind != Kind::object) return fault("gives attributes to what is no object");
  if (pickle_.values[state].kind == Kind::dictionary) {
    object.members = pickle_.values[state].members;
    count(object);
  } else {
    object.items = {static_cast<PickleId>(state)};
  }
  return ok_status();
}

Status Unpickler::step(char opcode) {
  switch (opcode) {
    case '\x80': {  // the protocol
      WHET_TRY(const std::uint64_t protocol, number(1));
      if (protocol < 2 || protocol > 5)
        return fault("is a pickle of protocol " + std::to_string(protocol) + "; 2 to 5 are read");
      return ok_status();
    }
    case '\x95':  // a frame: its length means nothing
      return number(8).ok() ? ok_status() : Status(fault("ends within its pickle"));
    case '(':
      stack_.push_back(kMark);
      return ok_status();
    case '0':
      return pop().ok() ? ok_status() : Status(fault("takes a value that is not there"));
    case '1':
      return pop_to_mark().ok() ? ok_status() : Status(fault("has no mark where one is needed"));
    case 'N':
      return push({});
    case '\x88':
      return push_integer(1, Kind::boolean);
    case '\x89':
      return push_integer(0, Kind::boolean);
    case 'J': {
      WHET_TRY(const std::uint64_t bits, number(4));
      return push_integer(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
    }
    case 'K': {
      WHET_TRY(const std::uint64_t value, number(1));
      return push_integer(static_cast<std::int64_t>(value));
    }
    case 'M': {
      WHET_TRY(const std::uint64_t value, number(2));
      return push_integer(static_cast<std::int64_t>(value));
    }
    case '\x8a':
      return push_long();
    case 'G': {  // the most significant byte first
      WHET_TRY(const std::string_view bytes, take(8));
      std::uint64_t bits = 0;
      for (const char byte : bytes) bits = bits << 8 | static_cast<unsigned char>(byte);
      PickleValue value;
      value.kind = Kind::number;
      value.number = std::bit_cast<double>(bits);
      return push(std::move(value));
    }
    case 'X':
    case 'T':
    case 'B':
      return push_text(4);
    case '\x8c':
    case 'U':
    case 'C':
      return push_text(1);
    case '\x8d':
    case '\x8e':
      return push_text(8);
    case ']':
      return push_items(Kind::list, std::vector<PickleId>());
    case ')':
      return push_items(Kind::tuple, std::vector<PickleId>());
    case '}':
      return push_items(Kind::dictionary, std::vector<PickleId>());
    case 't':
      return push_items(Kind::tuple, pop_to_mark());
    case 'l':
      return push_items(Kind::list, pop_to_mark());
    case '\205':  // one, two or three items
    case '\206':
    case '\207':
      return push_items(Kind::tuple, pop_count(static_cast<std::size_t>(static_cast<unsigned char>(opcode) - 0x84)));
    case 'a':
      return add_items(pop_count(1));
    case 'e':
      return add_items(pop_to_mark());
    case 's':
      return add_members(pop_count(2));
    case 'u':
      return add_members(pop_to_mark());
    case 'c': {
      WHET_TRY(const std::string module, line());
      WHET_TRY(const std::string name, line());
      return push_global(module, name);
    }
    case '\x93': {
      WHET_TRY(const std::vector<PickleId> names, pop_count(2));
      return push_global(pickle_.at(names[0]).text, pickle_.at(names[1]).text);
    }
    case 'q': {
      WHET_TRY(const std::uint64_t place, number(1));
      return remember(place);
    }
    case 'r': {
      WHET_TRY(const std::uint64_t place, number(4));
      return remember(place);
    }
    case '\x94':
      return remember(memo_.size());
    case 'h': {
      WHET_TRY(const std::uint64_t place, number(1));
      return recall(place);
    }
    case 'j': {
      WHET_TRY(const std::uint64_t place, number(4));
      return recall(place);
    }
    case 'Q': {
      WHET_TRY(const std::size_t id, pop());
      if (pickle_.values[id].kind != Kind::tuple) return fault("names a storage by what is no tuple");
      return push_items(Kind::storage, std::vector<PickleId>(pickle_.values[id].items));
    }
    case 'R':
      return call();
    case '\x81':
      return instance();
    case 'b':
      return build();
    default:
      return fault("has the pickle opcode " + std::to_string(static_cast<unsigned char>(opcode)) +
                   ", which torch does not write");
  }
}

}  // namespace

Result<Pickle> parse_pickle(std::string_view bytes, const std::string& what) { return Unpickler(bytes, what).run(); }

}  // namespace whet::torch
