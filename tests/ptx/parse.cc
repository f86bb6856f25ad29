#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "ptx/instructions.h"

namespace whet::ptx {
namespace {

constexpr int kMostSlots = 1 << 16;
constexpr std::int64_t kMostBytes = 4096;  ///< of parameters, and of a thread's memory that is not registers

struct Token {
  std::string_view text;
  int line = 0;
};

Error at_line(int line, const std::string& sentence) { return Error{"line " + std::to_string(line) + ": " + sentence}; }
std::string quoted(std::string_view text) { return "`" + std::string(text) + "`"; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%' ||
         c == '.';
}

/// Words, numbers with their sign, strings and single characters.
Result<std::vector<Token>> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  int line = 1;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const std::size_t begin = i;
    if (c == '\n' || c == ' ' || c == '\t' || c == '\r') {
      line += c == '\n';
      ++i;
    } else if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '"') {
      const std::size_t end = text.find('"', i + 1);
      if (end == text.npos) return at_line(line, "a string does not end");
      i = end + 1;
      tokens.push_back({text.substr(begin, i - begin), line});
    } else if (is_word(c) || (c == '-' && i + 1 < text.size() && is_digit(text[i + 1]))) {
      for (++i; i < text.size(); ++i) {
        if (is_word(text[i])) continue;
        if (text.substr(i, 2) != "::" || i + 2 == text.size() || !is_word(text[i + 2])) break;
        ++i;  // shared::cta
      }
      tokens.push_back({text.substr(begin, i - begin), line});
    } else if (std::string_view("{}[]()<>,;:+@!").find(c) != std::string_view::npos) {
      tokens.push_back({text.substr(i++, 1), line});
    } else {
      return at_line(line, "PTX has no " + quoted(text.substr(i, 1)) + " here");
    }
  }
  tokens.push_back({"", line});
  return tokens;
}

template <typename T>
std::optional<T> number_of(std::string_view text, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

/// -4, 7U, 0xff, 0f3F800000 or 0d3FF0000000000000 as bits.
std::optional<std::uint64_t> literal(std::string_view text) {
  if (text.starts_with("0f") && text.size() == 10) return number_of<std::uint64_t>(text.substr(2), 16);
  if (text.starts_with("0d") && text.size() == 18) return number_of<std::uint64_t>(text.substr(2), 16);
  if (text.ends_with("U")) text.remove_suffix(1);
  if (text.starts_with("0x")) return number_of<std::uint64_t>(text.substr(2), 16);
  if (!text.starts_with("-")) return number_of<std::uint64_t>(text);
  const auto value = number_of<std::int64_t>(text);
  return value ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
}

struct Register {
  int slot = kSink;
  int bits = 0;
};

/// Names between braces. Registers `%r<9>` are nine of a family.
struct Scope {
  struct Family {
    std::string prefix;
    int count = 0, first = 0, bits = 0;
  };
  struct Reference {
    std::size_t instruction = 0;
    Token label;
  };
  std::vector<Family> families;
  std::map<std::string, Register, std::less<>> registers;
  std::map<std::string, int, std::less<>> labels;
  std::vector<Reference> references;
};

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<Module> module() {
    Module module;
    while (!next().text.empty()) {
      const Token token = take();
      if (token.text == ".version" || token.text == ".target") {
        (token.text == ".version" ? module.version : module.target) = take().text;
      } else if (token.text == ".address_size") {
        const Token size = take();
        if (size.text != "64") return at_line(size.line, "addresses of " + quoted(size.text) + " bits; whet's have 64");
      } else if (token.text == ".extern") {
        WHET_RETURN_IF_ERROR(block_memory());
      } else if (token.text == ".visible") {
        WHET_TRY(Entry made, entry());
        if (module.find(made.name) != nullptr) return at_line(token.line, "a second entry " + quoted(made.name));
        module.entries.push_back(std::move(made));
      } else {
        return at_line(token.line, quoted(token.text) + " is nothing that whet emits outside of an entry");
      }
    }
    if (module.entries.empty()) return Error{"no entry in the PTX"};
    return module;
  }

 private:
  // ---- Tokens

  const Token& next() const { return tokens_[at_]; }
  Token take() {
    const Token token = tokens_[at_];
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool accept(std::string_view text) {
    if (next().text != text) return false;
    take();
    return true;
  }
  Status expect(std::string_view text) {
    if (accept(text)) return ok_status();
    const std::string found = next().text.empty() ? "the end" : quoted(next().text);
    return at_line(next().line, found + " where " + quoted(text) + " must be");
  }
  Result<Token> name() {
    const Token token = take();
    if (token.text.empty() || !is_word(token.text[0]) || is_digit(token.text[0]) || token.text[0] == '.')
      return at_line(token.line, quoted(token.text) + " is no name");
    return token;
  }
  Result<std::int64_t> number(std::int64_t most) {
    const Token token = take();
    const auto value = number_of<std::int64_t>(token.text);
    if (!value || *value < 0 || *value > most)
      return at_line(token.line, quoted(token.text) + " is no number from 0 to " + std::to_string(most));
    return *value;
  }

  // ---- What stands outside of bodies

  /// .extern .shared .align 128 .b8 block_memory[];
  Status block_memory() {
    WHET_RETURN_IF_ERROR(expect(".shared"));
    WHET_RETURN_IF_ERROR(expect(".align"));
    WHET_RETURN_IF_ERROR(number(kMostBytes));
    WHET_RETURN_IF_ERROR(expect(".b8"));
    WHET_TRY(const Token token, name());
    shared_symbol_ = token.text;
    for (const char* text : {"[", "]", ";"}) WHET_RETURN_IF_ERROR(expect(text));
    return ok_status();
  }

  Result<Entry> entry() {
    WHET_RETURN_IF_ERROR(expect(".entry"));
    WHET_TRY(const Token token, name());
    entry_ = Entry();
    entry_.name = token.text;
    literals_.clear(), kinds_.clear(), symbols_.clear(), scopes_.clear();
    if (!shared_symbol_.empty()) symbols_[shared_symbol_] = kSharedWindow;
    WHET_RETURN_IF_ERROR(parameters());
    while (next().text != "{") {
      const Token directive = take();
      std::int64_t threads = 1;
      if (directive.text != ".maxntid" && directive.text != ".minnctapersm")
        return at_line(directive.line, quoted(directive.text) + " is nothing that whet emits in front of a body");
      do {
        WHET_TRY(const std::int64_t value, number(1024));
        threads *= value;
      } while (accept(",") && threads <= 1024);
      if (directive.text == ".maxntid") entry_.most_threads = static_cast<int>(std::min<std::int64_t>(threads, 1024));
    }
    WHET_RETURN_IF_ERROR(body());
    return std::move(entry_);
  }

  Status parameters() {
    WHET_RETURN_IF_ERROR(expect("("));
    std::int64_t offset = 0;
    while (!accept(")")) {
      if (!entry_.parameters.empty()) WHET_RETURN_IF_ERROR(expect(","));
      WHET_RETURN_IF_ERROR(expect(".param"));
      const bool is_map = accept(".align");  // .align 64 .b8 NAME[128]
      if (is_map) {
        WHET_RETURN_IF_ERROR(expect("64"));
        WHET_RETURN_IF_ERROR(expect(".b8"));
      } else if (!accept(".b64") && !accept(".u64")) {
        return at_line(next().line, "a parameter " + quoted(next().text) + "; whet's are pointers, .u64");
      }
      WHET_TRY(const Token token, name());
      if (is_map)
        for (const char* text : {"[", "128", "]"}) WHET_RETURN_IF_ERROR(expect(text));
      if (is_map) offset = (offset + 63) / 64 * 64;
      if (offset >= kMostBytes)
        return at_line(token.line, "more than " + std::to_string(kMostBytes) + " bytes of parameters");
      if (!symbols_.try_emplace(std::string(token.text), kParamWindow + static_cast<std::uint64_t>(offset)).second)
        return at_line(token.line, "a second " + quoted(token.text));
      entry_.parameters.push_back({std::string(token.text), is_map ? kTensorMapBytes : 8, offset});
      offset += entry_.parameters.back().bytes;
    }
    return ok_status();
  }

  // ---- Bodies

  Status body() {
    WHET_RETURN_IF_ERROR(expect("{"));
    scopes_.emplace_back();
    while (!scopes_.empty()) {
      const Token token = take();
      if (token.text.empty()) return at_line(token.line, "the body of " + quoted(entry_.name) + " does not end");
      if (token.text == "{") {
        scopes_.emplace_back();
      } else if (token.text == "}") {
        WHET_RETURN_IF_ERROR(close_scope());
      } else if (token.text == ".reg") {
        WHET_RETURN_IF_ERROR(registers());
      } else if (token.text == ".local") {
        WHET_RETURN_IF_ERROR(local_memory());
      } else if (token.text == ".pragma") {
        take();
        WHET_RETURN_IF_ERROR(expect(";"));
      } else if (next().text == ":") {
        take();
        if (!scopes_.back().labels.try_emplace(std::string(token.text), static_cast<int>(entry_.code.size())).second)
          return at_line(token.line, "a second label " + quoted(token.text));
      } else {
        WHET_RETURN_IF_ERROR(instruction(token));
      }
    }
    return ok_status();
  }

  /// Branches to labels that these braces do not have go further out.
  Status close_scope() {
    const Scope closed = std::move(scopes_.back());
    scopes_.pop_back();
    for (const Scope::Reference& reference : closed.references) {
      const auto found = closed.labels.find(reference.label.text);
      if (found != closed.labels.end())
        entry_.code[reference.instruction].target = found->second;
      else if (scopes_.empty())
        return at_line(reference.label.line, "no label " + quoted(reference.label.text));
      else
        scopes_.back().references.push_back(reference);
    }
    return ok_status();
  }

  /// .reg .b32 %r<9>;  .reg .b16 tmp;
  Status registers() {
    const Token type_token = take();
    const std::optional<Type> type =
        parse_type(type_token.text.substr(std::min<std::size_t>(1, type_token.text.size())));
    if (!type_token.text.starts_with(".") || !type || bits_of(*type) == 8)
      return at_line(type_token.line, quoted(type_token.text) + " is no type of a register");
    do {
      WHET_TRY(const Token token, name());
      std::int64_t count = 1;
      const bool family = accept("<");
      if (family) {
        WHET_TRY(count, number(kMostSlots));
        WHET_RETURN_IF_ERROR(expect(">"));
      }
      if (entry_.slots + count > kMostSlots)
        return at_line(token.line, "more than " + std::to_string(kMostSlots) + " registers");
      Scope& scope = scopes_.back();
      if (family)
        scope.families.push_back({std::string(token.text), static_cast<int>(count), entry_.slots, bits_of(*type)});
      else if (!scope.registers.try_emplace(std::string(token.text), Register{entry_.slots, bits_of(*type)}).second)
        return at_line(token.line, "a second " + quoted(token.text));
      entry_.slots += static_cast<int>(count);
    } while (accept(","));
    return expect(";");
  }

  /// .local .align 4 .b8 __local_depot0[16];
  Status local_memory() {
    WHET_RETURN_IF_ERROR(expect(".align"));
    WHET_TRY(const std::int64_t align, number(128));
    WHET_RETURN_IF_ERROR(expect(".b8"));
    WHET_TRY(const Token token, name());
    WHET_RETURN_IF_ERROR(expect("["));
    WHET_TRY(const std::int64_t bytes, number(kMostBytes));
    WHET_RETURN_IF_ERROR(expect("]"));
    if (align < 1 || entry_.local_bytes + align + bytes > kMostBytes)
      return at_line(token.line, "more than " + std::to_string(kMostBytes) + " bytes of a thread's memory");
    const std::int64_t offset = (entry_.local_bytes + align - 1) / align * align;
    if (!symbols_.try_emplace(std::string(token.text), kLocalWindow + static_cast<std::uint64_t>(offset)).second)
      return at_line(token.line, "a second " + quoted(token.text));
    entry_.local_bytes = offset + bytes;
    return expect(";");
  }

  // ---- Instructions

  Status instruction(Token token) {
    int guard = -1;
    bool guard_is = true;
    if (token.text == "@") {
      guard_is = !accept("!");
      const Token predicate = take();
      const std::optional<Register> found = find(predicate.text);
      if (!found || found->bits != 1) return at_line(predicate.line, quoted(predicate.text) + " is no predicate");
      guard = found->slot;
      token = take();
    }
    const std::optional<Decoded> decoded = decode(token.text);
    if (!decoded) return at_line(token.line, quoted(token.text) + " is no instruction that whet emits");
    Instruction made = decoded->instruction;
    if (made.width * bits_of(made.type) > 128)
      return at_line(token.line, quoted(token.text) + " accesses more than 16 bytes");
    made.guard = guard, made.guard_is = guard_is, made.line = token.line;
    made.kind = kinds_.try_emplace(std::string(token.text), static_cast<int>(kinds_.size())).first->second;
    if (made.kind == static_cast<int>(entry_.kinds.size())) entry_.kinds.emplace_back(token.text);
    WHET_RETURN_IF_ERROR(token.text.starts_with("mov.") ? moved(made) : operands(made, decoded->operands));
    WHET_RETURN_IF_ERROR(expect(";"));
    if (made.op == Op::copy && made.number != 16 &&
        ((made.number != 4 && made.number != 8) || token.text.starts_with("cp.async.cg")))
      return at_line(token.line, quoted(token.text) + " does not copy " + std::to_string(made.number) + " bytes");
    entry_.code.push_back(std::move(made));
    return ok_status();
  }

  Status operands(Instruction& made, std::string_view words) {
    bool results = true, first = true;
    while (!words.empty()) {
      std::string_view word = words.substr(0, words.find(' '));
      words.remove_prefix(std::min(word.size() + 1, words.size()));
      if (word == "=") {
        results = false;
        continue;
      }
      if (word[0] == '?') {
        if (next().text == ";") break;
        word.remove_prefix(1);
      }
      if (!first) WHET_RETURN_IF_ERROR(expect(","));
      first = false;
      WHET_RETURN_IF_ERROR(operand(made, word, results));
    }
    return ok_status();
  }

  Status operand(Instruction& made, std::string_view word, bool result) {
    if (word == "m") return address(made);
    if (word == "n") {
      WHET_TRY(made.number, number(1 << 20));
      return ok_status();
    }
    if (word == "l") {
      WHET_TRY(const Token label, name());
      scopes_.back().references.push_back({entry_.code.size(), label});
      return ok_status();
    }
    if (word == "L") {
      made.number = next().text == "{";
      word = made.number != 0 ? "4w" : "d";
    }
    std::vector<int>& slots = result ? made.results : made.operands;
    int count = 0;
    for (; is_digit(word[0]); word.remove_prefix(1)) count = 10 * count + word[0] - '0';
    if (word == "c") return address(made, count);
    bool braces = count > 0;
    if (word[0] == 'v') {
      count = made.width, braces = count > 1;
      word.remove_prefix(1);
    }
    count = std::max(count, 1);
    if (braces) WHET_RETURN_IF_ERROR(expect("{"));
    for (int k = 0; k < count; ++k) {
      if (k > 0) WHET_RETURN_IF_ERROR(expect(","));
      WHET_TRY(const int slot, value(bits_for(word[0], made), word[0] == 'x' || word[0] == 'y', result));
      slots.push_back(slot);
    }
    return braces ? expect("}") : ok_status();
  }

  static int bits_for(char letter, const Instruction& made) {
    switch (letter) {
      case 'p':
        return 1;
      case 'h':
        return 16;
      case 'w':
        return 32;
      case 'd':
        return 64;
      case 'W':
        return 2 * bits_of(made.type);
      case 'u':
      case 'y':
        return bits_of(made.from);
      default:
        return bits_of(made.type);
    }
  }

  /// mov: of one register, or of the parts of one.
  Status moved(Instruction& made) {
    const int bits = bits_of(made.type);
    const auto side = [&](std::vector<int>& slots, bool result, int whole) -> Status {
      const bool parts = accept("{");
      const std::size_t count = !parts ? 1 : parts_ahead();
      if (count > 4 || whole % static_cast<int>(count) != 0)
        return at_line(made.line, "a mov of parts that are no whole bytes");
      for (std::size_t k = 0; k < count; ++k) {
        if (k > 0) WHET_RETURN_IF_ERROR(expect(","));
        WHET_TRY(const int slot, value(whole / static_cast<int>(count), false, result));
        slots.push_back(slot);
      }
      return parts ? expect("}") : ok_status();
    };
    WHET_RETURN_IF_ERROR(side(made.results, true, bits));
    WHET_RETURN_IF_ERROR(expect(","));
    WHET_RETURN_IF_ERROR(side(made.operands, false, bits));
    if (made.results.size() > 1 && made.operands.size() > 1) return at_line(made.line, "a mov of parts to parts");
    if (made.results.size() > 1) made.op = Op::unpack;
    if (made.operands.size() > 1) made.op = Op::pack;
    return ok_status();
  }
  std::size_t parts_ahead() const {
    std::size_t commas = 0;
    for (std::size_t i = at_; i < tokens_.size() && tokens_[i].text != "}" && commas < 8; ++i)
      commas += tokens_[i].text == ",";
    return commas + 1;
  }

  /// [%rd1+-4], [block_memory+16]
  Status address(Instruction& made, int coordinates = 0) {
    WHET_RETURN_IF_ERROR(expect("["));
    const Token base = next();
    const std::optional<Register> found = find(base.text);
    Address address;
    if (found) {
      take();
      if (found->bits != 64 && found->bits != 32)
        return at_line(base.line,
                       quoted(base.text) + " has " + std::to_string(found->bits) + " bits where an address must be");
      address.slot = found->slot, address.narrow = found->bits == 32;
    } else {
      WHET_TRY(address.slot, value(64, false, false));
    }
    if (accept("+")) {
      const Token offset = take();
      const auto number = number_of<std::int32_t>(offset.text);
      if (!number) return at_line(offset.line, quoted(offset.text) + " is no number of bytes");
      address.offset = *number;
    }
    made.addresses.push_back(address);
    for (int k = 0; k < coordinates; ++k) {
      WHET_RETURN_IF_ERROR(expect(","));
      if (k == 0) WHET_RETURN_IF_ERROR(expect("{"));
      WHET_TRY(const int slot, value(32, false, false));
      made.operands.push_back(slot);
    }
    if (coordinates > 0) WHET_RETURN_IF_ERROR(expect("}"));
    return expect("]");
  }

  /// The slot of a register, a number or an address.
  Result<int> value(int bits, bool or_wider, bool result) {
    const Token token = take();
    if (result && token.text == "_") return kSink;
    if (const std::optional<Register> found = find(token.text)) {
      const bool fits = or_wider && bits > 1 ? found->bits >= bits : found->bits == bits;
      if (!fits)
        return at_line(token.line, quoted(token.text) + " has " + std::to_string(found->bits) + " bits where " +
                                       std::to_string(bits) + " must be");
      return found->slot;
    }
    if (result) return at_line(token.line, quoted(token.text) + " is no register");
    constexpr std::pair<std::string_view, Fill::Kind> kSpecial[] = {{"%tid.x", Fill::Kind::thread},
                                                                    {"%ctaid.x", Fill::Kind::block},
                                                                    {"%ntid.x", Fill::Kind::threads},
                                                                    {"%nctaid.x", Fill::Kind::blocks}};
    for (const auto& [text, kind] : kSpecial)
      if (token.text == text) return filled(kind, 0, token);
    if (const auto found = symbols_.find(token.text); found != symbols_.end())
      return filled(Fill::Kind::literal, found->second, token);
    const std::optional<std::uint64_t> bits_of_number =
        !token.text.empty() && (is_digit(token.text[0]) || token.text[0] == '-') ? literal(token.text) : std::nullopt;
    if (!bits_of_number) return at_line(token.line, quoted(token.text) + " is no register, number or address");
    return filled(Fill::Kind::literal, bits == 1 ? *bits_of_number != 0 : *bits_of_number, token);
  }

  Result<int> filled(Fill::Kind kind, std::uint64_t value, const Token& token) {
    if (entry_.slots >= kMostSlots)
      return at_line(token.line, "more than " + std::to_string(kMostSlots) + " registers and numbers");
    const auto [place, added] = literals_.try_emplace({kind, value}, entry_.slots);
    if (added) entry_.fills.push_back({entry_.slots++, kind, value});
    return place->second;
  }

  std::optional<Register> find(std::string_view name) const {
    std::size_t digits = name.size();
    while (digits > 0 && is_digit(name[digits - 1])) --digits;
    const auto index = number_of<int>(name.substr(digits));
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto found = scope->registers.find(name); found != scope->registers.end()) return found->second;
      if (!index) continue;
      for (const Scope::Family& family : scope->families)
        if (family.prefix == name.substr(0, digits) && *index < family.count)
          return Register{family.first + *index, family.bits};
    }
    return {};
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::string shared_symbol_;
  Entry entry_;
  std::vector<Scope> scopes_;
  std::map<std::pair<Fill::Kind, std::uint64_t>, int> literals_;
  std::map<std::string, int, std::less<>> kinds_;
  std::map<std::string, std::uint64_t, std::less<>> symbols_;
};

}  // namespace

const Entry* Module::find(std::string_view name) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

Result<Module> parse(std::string_view text) {
  WHET_TRY(std::vector<Token> tokens, tokens_of(text));
  return Parser(std::move(tokens)).module();
}

}  // namespace whet::ptx
