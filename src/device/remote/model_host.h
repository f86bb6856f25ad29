#pragma once

#include <map>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/protocol/cpu/description.h"
#include "device/remote/model_orders.h"

namespace whet {

/// Where compiled models run that do not run on this machine: a device elsewhere, or the units of a fleet.
class ModelHost {
 public:
  virtual ~ModelHost() = default;

  /// Of the device; of a fleet, that of one of its units.
  virtual const DeviceDescription& description() const = 0;
  /// As the user wrote it, for messages.
  virtual const std::string& address() const = 0;
  /// Has work done by compiled models there. Brings there what is lacking of their files and of the inputs. `order` without the
  /// names of files. An error names the model or the device.
  virtual Result<std::vector<ModelAnswer>> run_models(const std::vector<ModelLibrary>&,
                                                      const std::vector<Tensor>& inputs, ModelOrder order) = 0;
};

/// The files of orders by their content. That of a model is read once.
class ModelFiles {
 public:
  /// Models, then inputs; the inputs have to live as long as the result. An error names a model that is none for this device.
  Result<std::vector<BlobSource>> name(const ModelHost&, const std::vector<ModelLibrary>&,
                                       const std::vector<Tensor>& inputs);

 private:
  std::map<std::string, BlobName> names_;  ///< by path
};
/// Each content once.
std::vector<BlobSource> each_once(const std::vector<BlobSource>&);

/// Puts the files' names into an order. `models`: how many of them are models.
void name_in(ModelOrder&, const std::vector<BlobSource>&, std::size_t models);
/// The answers; an error where the last of them says that a model failed.
Result<std::vector<ModelAnswer>> without_failure(const ModelHost&, const std::vector<ModelLibrary>&,
                                                 std::vector<ModelAnswer>);
/// `Device::time_models`, of at least one.
Result<std::vector<ModelTimes>> time_on(ModelHost&, const std::vector<ModelLibrary>&, const ModelRun&);

}  // namespace whet
