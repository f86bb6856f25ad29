// Templates, rules and schedules of one's own in C++17, which whet/tuner.hpp tunes with (docs/embed.md#templates-of-your-own). Header
// only; throws nothing.
//
//   const whet::TaskTemplate blocked = [](const whet::TaskView& task) -> std::optional<whet::Template> {
//     const whet::TaskOp* product = task.op("matmul");
//     if (product == nullptr) return std::nullopt;                      // it is not for this task
//     whet::Template own("own-matmul");
//     const auto rows = own.split(*product, "i"), columns = own.split(*product, "j");
//     own.steps = [=](const whet::Choices& c) {
//       whet::Schedule s(task);
//       const auto [i, j, k] = s.loops<3>("matmul");
//       const auto [io, ii] = s.split(i, c[rows].back());
//       const auto [jo, ji] = s.split(j, c[columns].back());
//       return s.reorder({io, jo, k, ii, ji}).vectorize(ji).parallel(io).text();
//     };
//     return own;
//   };
//
// A template becomes a table of schedules before the search begins: nothing here is called while it goes on.
#ifndef WHET_TEMPLATES_HPP
#define WHET_TEMPLATES_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace whet {

/// An axis of an op of a task.
struct TaskAxis {
  std::string name, role;  ///< role: "row", "out_channel", "tap", ...; "": none is known
  std::int64_t extent = 1;
  bool reduced = false;
  int loop = 0;  ///< its number in the naive schedule
};
/// An op of a task: an input, or what is computed element by element.
struct TaskOp {
  int number = 0;
  std::string name, family;  ///< family: "conv", "elementwise", ...; "": none is known
  bool is_input = false;
  std::vector<std::string> reads, readers;
  std::vector<TaskAxis> axes;  ///< those of its result, then reduced ones

  /// By its name, else by its role; null where there is none.
  const TaskAxis* axis(const std::string& called) const {
    for (const TaskAxis& each : axes)
      if (each.name == called) return &each;
    for (const TaskAxis& each : axes)
      if (each.role == called) return &each;
    return nullptr;
  }
};
/// A task as templates see it.
struct TaskView {
  int id = 0;
  std::string name, key;
  std::vector<TaskOp> ops;

  /// Null where there is none of this name.
  const TaskOp* op(const std::string& called) const {
    for (const TaskOp& each : ops)
      if (each.name == called) return &each;
    return nullptr;
  }
};

/// A loop of a `Schedule`.
struct Loop {
  int number = -1;
};

/// A schedule of a task, step by step. It knows how loops are numbered; whether a step is legal, whet says when it gets the text. A
/// loop that is there no more, or an op that the task has not, makes a schedule that whet refuses with a sentence. Steps that change
/// the ops themselves are written as text (docs/formats/schedule.md).
class Schedule {
 public:
  explicit Schedule(const TaskView& task) {
    for (const TaskOp& op : task.ops) {
      ops_[op.name] = {op.number, {}};
      for (const TaskAxis& axis : op.axes) ops_[op.name].loops.push_back(axis.loop), ++next_;
    }
  }

  /// The loops that an op begins with, one an axis: those of its result, then reduced ones. Where it has fewer, the rest name none.
  template <std::size_t N>
  std::array<Loop, N> loops(const std::string& op) const {
    std::array<Loop, N> loops;
    const auto found = ops_.find(op);
    for (std::size_t i = 0; found != ops_.end() && i < N && i < found->second.loops.size(); ++i)
      loops[i].number = found->second.loops[i];
    return loops;
  }

  /// Two nested loops, the inner one of `factor` iterations.
  ///   tail  where the factor does not divide: "guard", or "overlap", which computes some elements twice
  std::array<Loop, 2> split(const Loop& loop, std::int64_t factor, const std::string& tail = "guard") {
    step("split " + word(loop) + " " + std::to_string(factor) + " " + tail);
    const Loop outer = fresh();
    return {outer, fresh()};
  }
  /// Loops that are directly nested become one.
  Loop fuse(const std::vector<Loop>& loops) {
    step("fuse" + words(loops));
    return fresh();
  }
  /// These loops of one op change places among themselves, outermost first.
  Schedule& reorder(const std::vector<Loop>& loops) { return step("reorder" + words(loops)); }
  /// All workers run it together.
  Schedule& parallel(const Loop& loop) { return step("parallel " + word(loop)); }
  Schedule& vectorize(const Loop& loop) { return step("vectorize " + word(loop)); }
  Schedule& unroll(const Loop& loop) { return step("unroll " + word(loop)); }
  Schedule& unroll_if(bool condition, const Loop& loop) { return condition ? unroll(loop) : *this; }
  /// The loop runs on a GPU's "block", "thread", "virtual" threads or "warp".
  Schedule& bind(const Loop& loop, const std::string& to) { return step("bind " + word(loop) + " " + to); }
  /// The op disappears into its readers.
  Schedule& inline_op(const std::string& op) { return step("inline " + op_word(op)); }
  /// The op is computed under a loop of its readers; its loops are new ones from now on.
  ///   stored_in  "registers", or "block" for memory that the threads of a GPU's block share
  Schedule& compute_at(const std::string& op, const Loop& loop, const std::string& stored_in = "") {
    return placed("compute_at " + op_word(op) + " " + word(loop) + (stored_in.empty() ? "" : " ") + stored_in, op);
  }
  /// The op is computed under a loop of what it reads; its loops are new ones from now on.
  Schedule& reverse_compute_at(const std::string& op, const Loop& loop, bool registers = false) {
    return placed("reverse_compute_at " + op_word(op) + " " + word(loop) + (registers ? " registers" : ""), op);
  }
  /// While the loop runs once, the elements of the op that it touches are kept in registers.
  Schedule& cache_write(const std::string& op, const Loop& loop) {
    return step("cache_write " + op_word(op) + " " + word(loop));
  }
  /// The iterations of a reduced loop have partial results of their own, so that vectors or threads can run them.
  Schedule& rfactor(const Loop& loop) { return step("rfactor " + word(loop)); }
  /// A constant is laid out in the order in which the loops of `reader` read it.
  Schedule& pack(const std::string& tensor, const std::string& reader) {
    return step("pack " + op_word(tensor) + " " + op_word(reader));
  }
  /// Any step, as text. Loops that it makes are not known here.
  Schedule& step(const std::string& text) {
    text_ += (text_.empty() ? "" : "; ") + text;
    return *this;
  }

  const std::string& text() const { return text_; }

 private:
  struct OpLoops {
    int number = -1;
    std::vector<int> loops;
  };
  static std::string word(const Loop& loop) { return "l" + std::to_string(loop.number); }
  static std::string words(const std::vector<Loop>& loops) {
    std::string text;
    for (const Loop& loop : loops) text += " " + word(loop);
    return text;
  }
  std::string op_word(const std::string& op) const {
    const auto found = ops_.find(op);
    return "o" + std::to_string(found == ops_.end() ? -1 : found->second.number);
  }
  Schedule& placed(const std::string& text, const std::string& op) {
    step(text);
    const auto found = ops_.find(op);
    if (found == ops_.end()) return *this;
    for (int& loop : found->second.loops) loop = fresh().number;
    return *this;
  }
  Loop fresh() { return {next_++}; }

  std::map<std::string, OpLoops> ops_;
  std::string text_;
  int next_ = 0;
};

/// What was chosen for each decision of a template.
class Choices {
 public:
  explicit Choices(std::vector<std::vector<std::int64_t>> chosen) : chosen_(std::move(chosen)) {}
  /// The sizes of tiles, outermost first; of a decision made by `choose` its one number.
  const std::vector<std::int64_t>& operator[](std::size_t decision) const { return chosen_[decision]; }
  std::int64_t number(std::size_t decision) const { return chosen_[decision].front(); }

 private:
  std::vector<std::vector<std::int64_t>> chosen_;
};

/// Decisions, and a function that writes the steps for what was chosen. Records and `whet explain` know its schedules by `name`.
class Template {
 public:
  using Options = std::vector<std::vector<std::int64_t>>;

  explicit Template(std::string name) : name_(std::move(name)) {}

  /// A decision: the sizes of tiles, outermost first, whose product is the extent of an axis; all that there are. An axis that the op
  /// has not makes a template without schedules, which is refused.
  std::size_t split(const TaskOp& op, const std::string& axis, int levels = 2) {
    const TaskAxis* found = op.axis(axis);
    return decide(axis, found == nullptr ? Options() : tilings(found->extent, levels), found ? found->extent : 0);
  }
  /// A decision: one of these integers.
  std::size_t choose(const std::string& name, const std::vector<std::int64_t>& options) {
    Options each;
    for (const std::int64_t option : options) each.push_back({option});
    return decide(name, std::move(each), 0);
  }

  /// The text of a schedule; "" leaves the choice out.
  std::function<std::string(const Choices&)> steps;

  const std::string& name() const { return name_; }

 private:
  friend struct TemplateTables;
  struct Decision {
    std::string name;
    Options options;
    std::int64_t extent;
  };
  std::size_t decide(const std::string& name, Options options, std::int64_t extent) {
    decisions_.push_back({name, std::move(options), extent});
    return decisions_.size() - 1;
  }
  static Options tilings(std::int64_t extent, int levels) {
    if (levels <= 1) return {{extent}};
    Options all;
    for (std::int64_t factor = 1; factor <= extent; ++factor) {
      if (extent % factor != 0) continue;
      for (std::vector<std::int64_t> outer : tilings(extent / factor, levels - 1)) {
        outer.push_back(factor);
        all.push_back(std::move(outer));
      }
    }
    return all;
  }

  std::string name_;
  std::vector<Decision> decisions_;
};

/// Called once a task; nothing where the template is not for it.
using TaskTemplate = std::function<std::optional<Template>(const TaskView&)>;

/// Which template an op asks for, for the whole task; an empty function: none.
struct Rule {
  std::function<TaskTemplate(const TaskOp&)> asks;
  bool alone = false;  ///< nothing but these templates is searched where there are any
};

/// Reads JSON that whet wrote, and writes requests for it.
struct TemplateTables {
  /// The tasks of what `problem_tasks` gives; none where it is no such text.
  static std::vector<TaskView> read_tasks(std::string_view json) {
    Reader reader{json};
    const Value all = reader.value(0);
    std::vector<TaskView> tasks;
    if (reader.failed) return tasks;
    for (const Value& each : all["tasks"].items) {
      TaskView task;
      task.id = static_cast<int>(each["id"].number);
      task.name = each["name"].text, task.key = each["key"].text;
      const std::vector<Value>& told = each["ops"].items;
      const auto names_of = [&](const Value& numbers) {
        std::vector<std::string> names;
        for (const Value& number : numbers.items)
          if (const auto at = static_cast<std::size_t>(number.number); at < told.size())
            names.push_back(told[at]["name"].text);
        return names;
      };
      for (const Value& op : told) {
        TaskOp made;
        made.number = static_cast<int>(op["op"].number), made.name = op["name"].text;
        made.family = op["family"].text, made.is_input = op["input"].number != 0;
        made.reads = names_of(op["reads"]), made.readers = names_of(op["readers"]);
        for (const Value& axis : op["axes"].items)
          made.axes.push_back({axis["name"].text, axis["role"].text, static_cast<std::int64_t>(axis["extent"].number),
                               axis["reduced"].number != 0, static_cast<int>(axis["loop"].number)});
        task.ops.push_back(std::move(made));
      }
      tasks.push_back(std::move(task));
    }
    return tasks;
  }

  /// The requests `template` for all tasks, a line each, and the tasks that have any; a sentence in `error` where there is something
  /// wrong. A task has 20,000 schedules at most: of more choices that many are taken, evenly spread.
  static std::string write(const std::vector<TaskView>& tasks, const std::vector<TaskTemplate>& templates,
                           const std::vector<Rule>& rules, bool only, std::vector<int>& ids, std::string& error) {
    std::string lines;
    for (const TaskView& task : tasks) {
      bool alone = only;
      std::vector<Template> own;
      const auto add = [&](const TaskTemplate& make) {
        if (std::optional<Template> made = make ? make(task) : std::nullopt) own.push_back(std::move(*made));
        return !own.empty();
      };
      for (const TaskTemplate& each : templates) add(each);
      for (const Rule& rule : rules) {
        const std::size_t before = own.size();
        for (const TaskOp& op : task.ops)
          if (!op.is_input) add(rule.asks(op));
        // Two ops that ask for one template ask once.
        for (std::size_t i = before; i < own.size(); ++i)
          for (std::size_t k = own.size(); k-- > i + 1;)
            if (own[k].name() == own[i].name()) own.erase(own.begin() + static_cast<std::ptrdiff_t>(k));
        alone = alone || (rule.alone && own.size() > before);
      }
      for (std::size_t i = 0; i < own.size(); ++i)
        for (std::size_t k = 0; k < i; ++k)
          if (own[k].name() == own[i].name())
            return error = "two templates of " + task.name + " are called " + own[i].name() +
                           "; records know schedules by these names",
                   "";
      for (const Template& each : own) {
        const std::string line = table(task, each, alone, kMostRows / own.size());
        if (line.empty())
          return error = "template " + each.name() + " has no schedule for " + task.name +
                         ": one of its decisions has no option, or its steps are empty for every choice",
                 "";
        lines += line + "\n";
      }
      if (!own.empty()) ids.push_back(task.id);
    }
    if (ids.empty()) error = "the templates and rules are for none of the tasks";
    return lines;
  }

  /// `text` as JSON has it.
  static std::string quoted(std::string_view text) {
    std::string json = "\"";
    for (const char c : text) {
      char escaped[8];
      if (c == '"' || c == '\\') {
        json += '\\', json += c;
      } else if (static_cast<unsigned char>(c) < ' ') {
        std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
        json += escaped;
      } else {
        json += c;
      }
    }
    return json + "\"";
  }

 private:
  static constexpr std::size_t kMostRows = 20000;

  /// A value of JSON: what it is not, it has none of.
  struct Value {
    double number = 0;  ///< 1 for true
    std::string text;
    std::vector<Value> items;
    std::vector<std::pair<std::string, Value>> members;

    const Value& operator[](std::string_view name) const {
      static const Value none{};
      for (const auto& [known, value] : members)
        if (known == name) return value;
      return none;
    }
  };

  struct Reader {
    std::string_view json;
    std::size_t at = 0;
    bool failed = false;

    void skip() {
      while (at < json.size() && (json[at] == ' ' || json[at] == '\n' || json[at] == '\t' || json[at] == '\r')) ++at;
    }
    bool take(char c) {
      skip();
      if (at >= json.size() || json[at] != c) return false;
      return ++at, true;
    }
    void expect(char c) { failed = failed || !take(c); }
    std::string text() {
      std::string result;
      expect('"');
      while (!failed && at < json.size() && json[at] != '"') {
        if (json[at] != '\\') {
          result += json[at++];
          continue;
        }
        const char c = ++at < json.size() ? json[at++] : '\0';
        if (c == 'u') {
          add_code(result, std::string(json.substr(at, 4)));
          at += 4;
        } else {
          result += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' ? '\b' : c == 'f' ? '\f' : c;
        }
      }
      expect('"');
      return result;
    }
    /// UTF-8 of a code below 0x800; names with others are not compared with anything.
    static void add_code(std::string& to, const std::string& digits) {
      const auto code = static_cast<unsigned>(std::strtoul(digits.c_str(), nullptr, 16));
      if (code < 0x80) {
        to += static_cast<char>(code);
      } else {
        to += static_cast<char>(0xc0 | (code >> 6 & 0x1f));
        to += static_cast<char>(0x80 | (code & 0x3f));
      }
    }
    Value value(int depth) {
      constexpr int kDeepest = 64;
      Value result;
      skip();
      if (failed || at >= json.size() || depth > kDeepest) return failed = true, result;
      const char c = json[at];
      if (c == '"') {
        result.text = text();
      } else if (take('[')) {
        if (take(']')) return result;
        do result.items.push_back(value(depth + 1));
        while (!failed && take(','));
        expect(']');
      } else if (take('{')) {
        if (take('}')) return result;
        do {
          skip();
          std::string name = text();
          expect(':');
          result.members.emplace_back(std::move(name), value(depth + 1));
        } while (!failed && take(','));
        expect('}');
      } else {
        const std::size_t end = std::min(json.find_first_of(",]} \n", at), json.size());
        const std::string word(json.substr(at, end - at));
        result.number = word == "true" ? 1 : std::strtod(word.c_str(), nullptr);
        at = end;
      }
      return result;
    }
  };

  static std::string list(const std::vector<std::int64_t>& numbers, bool is_list) {
    if (!is_list) return std::to_string(numbers.front());
    std::string json;
    for (const std::int64_t number : numbers) json += (json.empty() ? "" : ",") + std::to_string(number);
    return "[" + json + "]";
  }

  /// A request; "" where the template has no schedule.
  static std::string table(const TaskView& task, const Template& own, bool alone, std::size_t most) {
    double count = own.steps ? 1 : 0;
    std::string decisions, rows;
    for (const Template::Decision& decision : own.decisions_) {
      count *= static_cast<double>(decision.options.size());
      std::string options;
      for (const auto& option : decision.options)
        options += (options.empty() ? "" : ",") + list(option, decision.extent > 0);
      decisions += std::string(decisions.empty() ? "" : ",") + "{\"name\":" + quoted(decision.name) +
                   ",\"options\":[" + options + "],\"extent\":" + std::to_string(decision.extent) + "}";
    }
    const double stride = std::max(1.0, count / static_cast<double>(most));
    for (double at = 0; at < count; at += stride) {
      double number = std::floor(at);
      std::vector<std::vector<std::int64_t>> chosen(own.decisions_.size());
      for (std::size_t d = own.decisions_.size(); d-- > 0;) {
        const Template::Options& options = own.decisions_[d].options;
        const auto size = static_cast<double>(options.size());
        chosen[d] = options[static_cast<std::size_t>(std::fmod(number, size))];
        number = std::floor(number / size);
      }
      const std::string steps = own.steps(Choices(chosen));
      if (steps.empty()) continue;
      std::string row;
      for (std::size_t d = 0; d < chosen.size(); ++d) row += list(chosen[d], own.decisions_[d].extent > 0) + ",";
      rows += (rows.empty() ? "" : ",") + ("[" + row + quoted(steps) + "]");
    }
    if (rows.empty()) return "";
    return "{\"do\":\"template\",\"task\":" + std::to_string(task.id) + ",\"key\":" + quoted(task.key) +
           ",\"name\":" + quoted(own.name()) + ",\"alone\":" + (alone ? "true" : "false") + ",\"decisions\":[" +
           decisions + "],\"rows\":[" + rows + "]}";
  }
};

}  // namespace whet

#endif
