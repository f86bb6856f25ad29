// Bind: whatever is left gets a launch of its own, neighbouring elements on neighbouring threads; a sum runs in its thread.

#include <numeric>

#include "space/gpu/elements.h"
#include "space/gpu/levels.h"
#include "space/rules/gpu/own_decisions.h"
#include "space/rules/gpu/sums.h"

namespace whet {
namespace {

constexpr std::int64_t kMostUnrolledTerms = 32;

std::optional<std::string> why_not_bind(const Derivation& d, OpId op) {
  if (d.treatment(op) != OpTreatment::open) return "";
  return std::nullopt;
}

const Decision kThreadsOfBlock{"threads", "threads of a block", single({64, 128, 256, 512}), 0};

void bind_elements(Derivation& d, OpId op) {
  const OwnDecisions own{d.prefix_for(op)};
  own.decide(d,
             {{"vector", "elements that a thread reads and writes at once", single({1, 2, 4}), 0},
              {"each", "vectors of a thread", single({1, 2, 4, 8}), 0},
              kThreadsOfBlock},
             {"vector", "each", "threads"}, {{"vector", {4}}, {"each", {1}}, {"threads", {256}}}, {});
  std::vector<Choices> starts;
  for (const std::int64_t vector : {4, 2, 1}) starts.push_back({{"vector", {vector}}});
  own.consider(d, starts);
  d.act([op, own](ScheduleDraft& m) {
    const Choices c = own.of(m.choices);
    launch_elements(m.s, op, {c.at("vector")[0], c.at("each")[0], c.at("threads")[0]});
  });
  d.call("bound");
}

/// The sum in registers of each thread, `vector` neighbours of it, and the op that reads it.
void launch_sums(Scheduler& s, OpId sum, OpId reader, std::int64_t vector, std::int64_t threads) {
  const OpId host = reader.valid() ? reader : sum;
  std::vector<LoopId> outer = spatial_loops(s, host), inside = reduce_loops(s, host);
  if (outer.empty()) return;  // one element
  const auto columns = s.split(outer.back(), vector, Tail::guard);
  outer.back() = columns.outer;
  inside.push_back(columns.inner);
  std::vector<LoopId> terms = reduce_loops(s, sum);
  const LoopId thread = bind_levels(s, cut_levels(s, outer, threads), inside);
  s.annotate(columns.inner, LoopKind::vectorized);
  if (reader.valid()) {
    const std::vector<LoopId> loops = s.compute_at(sum, thread, StoredIn::registers);
    if (loops.empty()) return;  // refused
    const auto spatial = std::ssize(loops) - std::ssize(terms);
    terms.assign(loops.begin() + spatial, loops.end());
    std::vector<LoopId> order = terms;
    order.insert(order.end(), loops.begin(), loops.begin() + spatial);
    s.reorder(order);
    unroll_vectors(s, {loops.begin(), loops.begin() + spatial});
  } else {
    s.cache_write(sum, thread);
  }
  std::int64_t count = 1;
  for (LoopId term : terms) count *= extent_of(s.tree(), term);
  if (count > kMostUnrolledTerms) return;
  for (LoopId term : terms) s.annotate(term, LoopKind::unrolled);
}

void bind_sum(Derivation& d, OpId op) {
  const OpId reader = fused_reader(d, op);
  const std::vector<std::int64_t>& shape = d.dag().op(op).shape;
  std::vector<std::int64_t> vectors;
  for (const std::int64_t size : {1, 2, 4})
    if (!shape.empty() && shape.back() % size == 0) vectors.push_back(size);
  if (vectors.empty()) vectors = {1};
  const OwnDecisions own{d.prefix_for(op)};
  own.decide(d, {{"vector", "neighbouring sums of a thread", single(vectors), 0}, kThreadsOfBlock},
             {"vector", "threads"}, {{"vector", {1}}, {"threads", {128}}}, {});
  std::vector<Choices> starts;
  for (const std::int64_t vector : vectors) starts.push_back({{"vector", {vector}}});
  own.consider(d, starts);
  d.act([op, reader, own](ScheduleDraft& m) {
    const Choices c = own.of(m.choices);
    launch_sums(m.s, op, reader, c.at("vector")[0], c.at("threads")[0]);
  });
  d.call("sums");
}

std::vector<Derivation> apply_bind(const Derivation& from, OpId op) {
  Derivation d = from;
  d.dag().op(op).element().reducer ? bind_sum(d, op) : bind_elements(d, op);
  d.set_treatment(op, OpTreatment::nest);
  return {std::move(d)};
}

}  // namespace

const Rule kGpuBindRule{"bind", "shares its elements out among blocks and threads", why_not_bind, apply_bind};

}  // namespace whet
