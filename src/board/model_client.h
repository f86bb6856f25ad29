#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "board/blob_store.h"
#include "device/local/zygote.h"
#include "device/protocol/cpu/description.h"
#include "runner/wire.h"

namespace whet {

/// Of a board's memory, what an answer may have: outside of the sandbox there are a few copies of it for a moment.
constexpr std::uint64_t kShareOfMemory = 8;

/// Words of a command that runs whet-model, which whet-device carries: of an emulator of programs, where one runs whet-device. Set it
/// before the zygote starts, whose children read it.
void set_model_runner(std::string command);
/// Processes that become whet-model, inside of the sandbox or not.
extern const Life kStrictModels, kBestModels, kModels;

/// The board's end of a session's messages about compiled models. It keeps files, and has one process that opens and runs models; a
/// crash of a model ends that process alone. It takes the other end, and the process, for hostile.
class ModelClient {
 public:
  ModelClient(Zygote& zygote, const DeviceDescription& board, const Life& life)
      : zygote_(zygote), board_(board), life_(life), store_(own_folder("blobs")) {}
  ~ModelClient() { zygote_.end(process_, true); }
  ModelClient(const ModelClient&) = delete;

  /// The next order gets a fresh process: what models of one user have left in this one is no other's.
  void renew() { zygote_.end(process_, true); }
  /// Payloads of `need` and `blob`; gives that of the `have` that answers them. An error: the other end broke the rules.
  Result<std::string> need(std::string_view payload);
  Result<std::string> add_blob(std::string_view payload);
  /// The payload of an `order`: hands the payload of each answer to `answer`, until one is the last, or `unwanted` turns true, which
  /// is asked all the time. An error: the other end broke the rules.
  Status carry_out(std::string_view payload, const std::function<void(std::string)>& answer,
                   const std::function<bool()>& unwanted);

 private:
  std::string why_refused(const ModelOrder&) const;
  std::string start();
  bool send_files(const ModelOrder&, std::string& why);
  std::string ended();
  std::uint64_t most_answer_bytes(ModelWork) const;
  std::string hand_over(const ModelOrder&, const std::function<void(std::string)>& answer,
                        const std::function<bool()>& unwanted);

  Zygote& zygote_;
  const DeviceDescription& board_;
  const Life& life_;
  BlobStore store_;
  WorkerProcess process_;
};

}  // namespace whet
