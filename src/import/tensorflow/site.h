#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/site.h"
#include "import/tensorflow/graph.h"
#include "import/tensorflow/inline.h"

namespace whet::tensorflow {

/// The bodies of branches and loops, inlined when they are first asked for.
class Bodies {
 public:
  explicit Bodies(std::map<std::string, TfFunction> functions) { graph_.functions = std::move(functions); }
  Result<std::shared_ptr<const TfProgram>> body(const std::string& function);

 private:
  TfGraph graph_;
  std::map<std::string, std::shared_ptr<const TfProgram>> known_;
};

/// The site of a node of TensorFlow: attributes by their names.
class TfSite : public NodeSite {
 public:
  TfSite(GrowingGraph& graph, const TfNode& node, std::string label, std::vector<std::string> outputs, Bodies& bodies,
         bool is_inner = false)
      : NodeSite(graph, std::move(label), std::move(outputs), is_inner), node_(node), bodies_(bodies) {}

  Status import();

  const std::string& op() const { return node_.op; }

  // ---- Operands.
  std::size_t input_count() const { return node_.inputs.size(); }
  Status expect_inputs(std::size_t low, std::size_t high) const;
  Status expect_inputs(std::size_t count) const { return expect_inputs(count, count); }
  ValueId in(std::size_t i) const;
  std::vector<ValueId> ins() const;
  Result<std::vector<std::int64_t>> integers(std::size_t i, const std::string& what) {
    return known_integers(in(i), what);
  }
  Result<std::int64_t> integer(std::size_t i, const std::string& what);
  /// The operand as a list of axes of x, counted from 0 and sorted; or as one axis.
  Result<std::vector<std::int64_t>> axes(std::size_t i, ValueId x);
  Result<std::int64_t> axis(std::size_t i, std::size_t limit);

  // ---- Attributes; those that are left out have the value behind.
  bool has(const std::string& name) const;
  Result<std::string> text(const std::string& name, const std::string& otherwise) const;
  Result<std::int64_t> integer(const std::string& name, std::int64_t otherwise) const;
  Result<double> number(const std::string& name, double otherwise) const;
  Result<bool> flag(const std::string& name, bool otherwise) const;
  Result<TfType> type_attribute(const std::string& name, TfType otherwise) const;
  /// A type that whet has.
  Result<DType> dtype_attribute(const std::string& name, TfType otherwise) const;
  Result<TfList> list(const std::string& name) const;
  Result<std::string> function(const std::string& name) const;
  const TfNode& node() const { return node_; }
  const GrowingGraph& graph() const { return graph_; }
  /// Result `i` is of a branch that is not taken.
  void give_absent(std::size_t i) { graph_.define(outputs_[i], graph_.add_absent(outputs_[i])); }
  Bodies& bodies() const { return bodies_; }

  /// Imports a function where the node is, its arguments being `inputs`, and gives its results.
  Result<std::vector<ValueId>> inlined(const std::string& function, const std::vector<ValueId>& inputs);

 protected:
  std::vector<ValueId> operands_;  ///< what the node reads instead of its inputs; empty: those

 private:
  const TfAttribute* find(const std::string& name) const;
  Error wrong_kind(const std::string& name, const char* expected) const;
  Status check_shapes();
  /// Whether an operand, or what the node waits for, is of a branch of TensorFlow 1 that is not taken; so are then the results.
  bool reads_absent() const;
  Status give_all_absent();

  const TfNode& node_;
  Bodies& bodies_;
};

/// What a node is called in messages: "block/conv (Conv2D)".
std::string label_of(const TfNode&);

}  // namespace whet::tensorflow
