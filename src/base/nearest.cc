#include "base/nearest.h"

#include <algorithm>
#include <cctype>

namespace whet {
namespace {

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = above;
    above = row;
  }
  return above[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = ~std::size_t{0};
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance > (std::max(word.size(), candidate.size()) + 2) / 3 || distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string candidate = nearest(word, candidates);
  return candidate.empty() ? "" : "; did you mean \"" + candidate + "\"?";
}

Result<std::size_t> find_name(std::string_view word, const std::vector<std::string>& names, std::string_view none) {
  constexpr std::size_t kMost = 12;
  const auto whole = std::find(names.begin(), names.end(), word);
  if (whole != names.end()) return static_cast<std::size_t>(whole - names.begin());
  std::vector<std::size_t> having;
  for (std::size_t i = 0; i < names.size() && !word.empty(); ++i)
    if (std::search(names[i].begin(), names[i].end(), word.begin(), word.end(), same_letter) != names[i].end())
      having.push_back(i);
  if (having.size() == 1) return having.front();
  if (having.empty())
    return Error{in_quotes(word) + " " + std::string(none) + did_you_mean(word, names), ErrorKind::wrong_use};
  std::string list;
  for (std::size_t i = 0; i < std::min(kMost, having.size()); ++i) list += (i == 0 ? "" : ", ") + names[having[i]];
  if (having.size() > kMost) list += ", and " + std::to_string(having.size() - kMost) + " others";
  return Error{in_quotes(word) + " is a part of " + std::to_string(having.size()) + " names; expected one of " + list,
               ErrorKind::wrong_use};
}

}  // namespace whet
