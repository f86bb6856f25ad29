#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/mxnet/symbol.h"
#include "import/site.h"

namespace whet::mxnet {

/// The site of an operator of MXNet: attributes are texts, by their names.
class MxSite : public NodeSite {
 public:
  MxSite(GrowingGraph& graph, const MxNode& node, std::vector<std::string> inputs, std::vector<std::string> outputs)
      : NodeSite(graph, node.name + " (" + node.op + ")", std::move(outputs)),
        node_(node),
        inputs_(std::move(inputs)) {}

  Status import();

  const std::string& op() const { return node_.op; }
  std::size_t input_count() const { return inputs_.size(); }
  Status expect_inputs(std::size_t low, std::size_t high) const;
  Status expect_inputs(std::size_t count) const { return expect_inputs(count, count); }
  ValueId in(std::size_t i) const;
  std::vector<ValueId> ins() const;

  // ---- Attributes; those that are left out, or "None", have the value behind.
  bool has(const std::string& name) const;
  bool is_none(const std::string& name) const;  ///< "None" is written
  std::string text(const std::string& name, const std::string& otherwise) const;
  Result<std::int64_t> integer(const std::string& name, std::int64_t otherwise) const;
  Result<double> number(const std::string& name, double otherwise) const;
  Result<bool> flag(const std::string& name, bool otherwise) const;
  /// "(3, 3)", "[1,2]" or one number; an entry that is "None" is none.
  Result<std::vector<std::optional<std::int64_t>>> open_integers(const std::string& name) const;
  Result<std::vector<std::int64_t>> integers(const std::string& name) const;
  Result<std::vector<double>> numbers(const std::string& name, std::vector<double> otherwise) const;
  /// `count` entries, or all `otherwise`; each is `low` or more.
  Result<std::vector<std::int64_t>> entries(const std::string& name, std::size_t count, std::int64_t otherwise,
                                            std::int64_t low) const;
  /// float32 where it is left out.
  Result<DType> dtype_attribute(const std::string& name, const std::string& otherwise) const;
  /// The axis or the axes of x that an attribute names, counted from 0; left out: all.
  Result<std::vector<std::int64_t>> axes(const std::string& name, ValueId x) const;
  Result<std::int64_t> axis(const std::string& name, std::int64_t otherwise, std::size_t limit) const;

 private:
  Error wrong(const std::string& name, const char* expected) const;

  const MxNode& node_;
  std::vector<std::string> inputs_;
};

/// The type that MXNet calls so.
std::optional<DType> dtype_called(const std::string& name);
/// The integers of "(1, 3, 224, 224)"; none where it is something else. "None" is -1.
std::optional<std::vector<std::int64_t>> shape_in(const std::string& text);

}  // namespace whet::mxnet
