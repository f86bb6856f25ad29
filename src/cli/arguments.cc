#include "cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/nearest.h"

namespace whet {
namespace {

/// The name of a validator of words; the words follow it.
const std::string kWordsName = "words:";

CLI::Validator one_of(const std::vector<std::string>& words) {
  const auto check = [words](const std::string& given) -> std::string {
    std::string listed;
    for (const std::string& word : words) {
      if (word == given) return "";
      listed += (listed.empty() ? "" : ", ") + word;
    }
    return "\"" + given + "\" is none of " + listed + did_you_mean(given, words);
  };
  return CLI::Validator(check, "", kWordsName + fmt::format("{}", fmt::join(words, ",")));
}

/// `help` and the words, unless it tells them all itself.
std::string with_words(const std::string& help, const std::vector<std::string>& words) {
  const auto told = [&](const std::string& word) { return help.find(word) != std::string::npos; };
  if (std::all_of(words.begin(), words.end(), told)) return help;
  std::string text = help + ": ";
  for (std::size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : ", ") + words[i];
  return text;
}

/// A number of type T in low .. high. The sentence is ours: the library's gives neither what was found nor why.
template <typename T>
CLI::Validator number_in(T low, T high) {
  const auto check = [low, high](const std::string& given) -> std::string {
    T number{};
    const bool wraps = std::is_unsigned_v<T> && given.starts_with('-');  // in the library
    if (!wraps && CLI::detail::lexical_cast(given, number) && number >= low && number <= high) return "";
    return "\"" + given + "\" is no number from " + CLI::detail::to_string(low) + " to " + CLI::detail::to_string(high);
  };
  return CLI::Validator(check, "", "");
}
template <typename T>
CLI::Option* add_number(CLI::App& app, const std::string& names, T& value, T low, T high, const std::string& help) {
  return app.add_option(names, value, help)->check(number_in(low, high));
}

}  // namespace

struct Arguments::Files {
  struct Written {
    std::string option;
    std::string* value;
    std::function<FileKind()> kind;
    std::function<std::string()> usual;
  };
  std::vector<const std::string*> read;
  std::vector<const std::vector<std::string>*> read_lists;
  std::vector<Written> written;
};

Arguments::Arguments(CLI::App& app) : app_(app), files_(std::make_shared<Files>()) {}

std::shared_ptr<void> Arguments::group(const std::string& title) {
  auto before = app_.option_defaults()->get_group();
  app_.option_defaults()->group(title);
  return {nullptr, [defaults = app_.option_defaults(), before = std::move(before)](void*) { defaults->group(before); }};
}

void Arguments::reads(const std::string& value) { files_->read.push_back(&value); }
void Arguments::reads(const std::vector<std::string>& values) { files_->read_lists.push_back(&values); }
void Arguments::writes(const std::string& option, std::string& value, FileKind kind,
                       std::function<std::string()> usual) {
  writes(option, value, [kind] { return kind; }, std::move(usual));
}
void Arguments::writes(const std::string& option, std::string& value, std::function<FileKind()> kind,
                       std::function<std::string()> usual) {
  files_->written.push_back({option, &value, std::move(kind), std::move(usual)});
}

std::function<Status()> Arguments::check() const {
  return [files = files_] {
    std::vector<OutputFile> outputs;
    for (const Files::Written& written : files->written) {
      if (written.value->empty() && written.usual) *written.value = written.usual();
      outputs.push_back({written.option, *written.value, written.kind()});
    }
    std::vector<std::string> inputs;
    for (const std::string* value : files->read) inputs.push_back(*value);
    for (const auto* values : files->read_lists) inputs.insert(inputs.end(), values->begin(), values->end());
    return check_outputs(outputs, inputs);
  };
}

void Arguments::add(const std::string& names, std::string& value, const std::string& help) {
  app_.add_option(names, value, help)->type_name("TEXT");
}
void Arguments::add(const std::string& names, std::vector<std::string>& values, const std::string& help) {
  // One value an occurrence: `--input a.npy MODEL` does not take the model too.
  app_.add_option(names, values, help)->type_name("TEXT")->expected(1)->take_all()->default_str("");
}
void Arguments::add(const std::string& names, int& value, int low, int high, const std::string& help, int unset) {
  CLI::Option* option = add_number(app_, names, value, low, high, help)->type_name("N");
  if (value == unset) option->default_str("");
}
void Arguments::add(const std::string& names, double& value, double low, double high, const std::string& help,
                    double unset) {
  CLI::Option* option = add_number(app_, names, value, low, high, help)->type_name("NUMBER");
  if (value == unset) option->default_str("");
}
void Arguments::add(const std::string& names, std::uint64_t& value, const std::string& help) {
  add_number(app_, names, value, std::uint64_t{0}, ~std::uint64_t{0}, help)->type_name("N");
}
void Arguments::flag(const std::string& name, double& value, double usual, double low, double high,
                     const std::string& what, const std::string& help) {
  app_.add_flag(fmt::format("{}{{{}}}", name, usual), value, help)
      ->check(number_in(low, high))
      ->type_name("[=" + what + "]")
      ->default_str("");
}
void Arguments::flag(const std::string& names, bool& value, const std::string& help) {
  app_.add_flag(names, value, help)->default_str("");
}
void Arguments::choice(const std::string& names, std::string& value, std::vector<std::string> words,
                       const std::string& help) {
  app_.add_option(names, value, with_words(help, words))->type_name("WORD")->check(one_of(words));
}

void Arguments::offers(const std::string& name, const std::vector<std::string>& words) {
  const auto any = [](const std::string&) { return std::string(); };
  app_.get_option(name)->check(CLI::Validator(any, "", kWordsName + fmt::format("{}", fmt::join(words, ","))));
}

void Arguments::require(const std::string& name, std::string& value, const std::string& help) {
  app_.add_option(name, value, help)->required()->type_name("");
}
void Arguments::require(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  app_.add_option(name, values, help)->required()->type_name("");
}
void Arguments::require_choice(const std::string& name, std::string& value, std::vector<std::string> words,
                               const std::string& help) {
  app_.add_option(name, value, with_words(help, words))->required()->type_name("")->check(one_of(words));
}

std::function<bool(const std::string&)> Arguments::given() const {
  return [app = &app_](const std::string& name) { return app->get_option(name)->count() > 0; };
}

std::vector<std::string> words_of(const CLI::Option& option) {
  const int first = 0;
  try {
    const std::string& name = const_cast<CLI::Option&>(option).get_validator(first)->get_name();
    if (name.starts_with(kWordsName)) return CLI::detail::split(name.substr(kWordsName.size()), ',');
  } catch (const CLI::OptionNotFound&) {  // it has no validator
  }
  return {};
}

}  // namespace whet
