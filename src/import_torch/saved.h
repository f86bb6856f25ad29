#pragma once

#include <string>
#include <unordered_map>

#include "import_torch/members.h"
#include "import_torch/pickle.h"
#include "import_torch/program.h"
#include "import_torch/strided.h"

namespace whet::torch {

/// Where a pickled tensor lies.
struct SavedView {
  std::string storage;  ///< its key
  Strided strided;
};

/// The tensors of a pickle of torch.save or TorchScript, whose storages are members of an archive.
class SavedTensors {
 public:
  /// `pickle`: "data.pkl"; `storages`: the folder of its storages, "data/".
  static Result<SavedTensors> read(const Members&, const std::string& pickle, std::string storages);

  const Pickle& pickle() const { return pickle_; }
  /// Whether a value is a tensor.
  bool is_tensor(PickleId) const;
  /// Its type and place, without its storage being read. `name` is that of the tensor in messages.
  Result<SavedView> view(PickleId, const std::string& name) const;
  Result<Tensor> tensor(PickleId, const std::string& name);

 private:
  SavedTensors(const Members& members, Pickle pickle, std::string storages)
      : members_(&members), pickle_(std::move(pickle)), storages_(std::move(storages)) {}

  const Members* members_;
  Pickle pickle_;
  std::string storages_;
  std::string last_member_, last_bytes_;  ///< parameters of one layer often share a storage
};

}  // namespace whet::torch
