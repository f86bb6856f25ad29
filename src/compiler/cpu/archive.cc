#include "compiler/cpu/archive.h"

#include <fcntl.h>
#include <llvm/ObjCopy/ConfigManager.h>
#include <llvm/ObjCopy/ObjCopy.h>
#include <llvm/Object/Binary.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "compiler/cpu/link.h"
#include "tensor/dtype.h"
#include "tensor_files/file.h"

namespace whet {
namespace {

/// The runtime's name of the table of functions.
constexpr const char* kTable = "whet_model_v1";
std::string table_of(const std::string& name) { return "whet_" + name + "_v1"; }

/// The object with `symbol` alone visible, under another name.
Result<std::string> with_one_symbol(std::string_view object, const std::string& symbol, const std::string& renamed) {
  const auto failed = [](llvm::Error error) {
    return Error{"the model's object cannot be read: " + llvm::toString(std::move(error)), ErrorKind::internal};
  };
  llvm::Expected<std::unique_ptr<llvm::object::Binary>> binary =
      llvm::object::createBinary(llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), "model.o"));
  if (!binary) return failed(binary.takeError());
  llvm::objcopy::ConfigManager config;
  llvm::cantFail(config.Common.SymbolsToKeepGlobal.addMatcher(llvm::objcopy::NameOrPattern::create(
      symbol, llvm::objcopy::MatchStyle::Literal, [](llvm::Error error) { return error; })));
  config.Common.SymbolsToRename[symbol] = renamed;
  std::string changed;
  llvm::raw_string_ostream out(changed);
  if (llvm::Error error = llvm::objcopy::executeObjcopyOnBinary(config, **binary, out)) return failed(std::move(error));
  out.flush();
  return changed;
}

/// A member of an archive behind its header.
std::string member(const std::string& name, std::string_view bytes) {
  const auto field = [](std::string text, std::size_t width) { return text.append(width - text.size(), ' '); };
  std::string all = field(name, 16) + field("0", 12) + field("0", 6) + field("0", 6) + field("644", 8) +
                    field(std::to_string(bytes.size()), 10) + "`\n";
  all += bytes;
  if (all.size() % 2 != 0) all += '\n';
  return all;
}

/// An archive of one object, with the list of symbols that linkers want.
std::string archive_of(std::string_view object, const std::string& symbol) {
  const std::string magic = "!<arch>\n";
  const auto index_of = [&](std::uint32_t offset) {
    std::string index("\0\0\0\1", 4);
    for (const int shift : {24, 16, 8, 0}) index += static_cast<char>(offset >> shift & 255);
    return member("/", index + symbol + '\0');
  };
  const auto offset = static_cast<std::uint32_t>(magic.size() + index_of(0).size());
  return magic + index_of(offset) + member("whet.o/", object);
}

/// In a comment of C.
std::string in_comment(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  for (std::size_t at = 0; (at = text.find("*/", at)) != std::string::npos;) text.replace(at, 2, "*.");
  return text;
}

const char* c_type(std::uint32_t dtype) {
  constexpr std::pair<DType, const char*> kTypes[] = {
      {DType::f32, "float"},     {DType::f64, "double"},  {DType::f16, "uint16_t"}, {DType::i8, "int8_t"},
      {DType::u8, "uint8_t"},    {DType::i32, "int32_t"}, {DType::i64, "int64_t"},  {DType::boolean, "uint8_t"},
      {DType::bf16, "uint16_t"}, {DType::i16, "int16_t"}};
  for (const auto& [known, type] : kTypes)
    if (static_cast<std::uint32_t>(known) == dtype) return type;
  return "void";
}

/// " *   in0  data  f32[1x3x224x224]"
std::string list_of(const std::string& what, const std::vector<ModelPlan::Tensor>& tensors) {
  std::string text;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::string extents;
    for (const std::int64_t extent : tensors[i].shape) extents += (extents.empty() ? "" : "x") + std::to_string(extent);
    text += " *   " + what + std::to_string(i) + "  " + in_comment(tensors[i].name) + "  " +
            std::string(name_of(static_cast<DType>(tensors[i].dtype))) + "[" + extents + "]\n";
  }
  return text;
}

}  // namespace

Status write_archive(std::string_view runtime, const std::vector<std::string>& objects, const std::string& name,
                     const std::string& output, const std::string& scratch, int threads) {
  const std::string first = scratch + "/runtime.o", joined = scratch + "/joined.o";
  WHET_RETURN_IF_ERROR(write_file(first, runtime));
  // Groups are merged by the names of their functions, which archives of other versions have too.
  std::vector<std::string> command = {
      "ld.lld", "-r", "--force-group-allocation", "--threads=" + std::to_string(threads), "-o", "-", first};
  command.insert(command.end(), objects.begin(), objects.end());
  const int file = open(joined.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return Error{"cannot write \"" + joined + "\": " + std::strerror(errno), ErrorKind::io};
  const Status linked = run_linker(command, file, joined);
  close(file);
  WHET_RETURN_IF_ERROR(Status(linked));
  WHET_TRY(std::string object, read_file(joined));
  WHET_TRY(object, with_one_symbol(object, kTable, table_of(name)));
  return write_file(output, archive_of(object, table_of(name)));
}

std::string c_header(const std::string& name, const ModelPlan& plan, bool several_sizes, bool own_weights) {
  const std::string guard = "WHET_HEADER_OF_" + name;
  std::string text = "/* " + in_comment(plan.name) + " for \"" + in_comment(plan.target) + "\", by " +
                     in_comment(plan.compiler) + ": link with its archive.\n" + list_of("in", plan.inputs) +
                     list_of("out", plan.outputs);
  if (several_sizes) text += " * These are the usual sizes: session_set_shapes sets others.\n";
  text += " */\n#ifndef " + guard + "\n#define " + guard +
          "\n\n#include \"whet/model.h\"\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" +
          "/** The model's table of functions. */\nconst whet_api* " + table_of(name) + "(void);\n\n" +
          (own_weights ? "/** Opens the model with its weights file, and a session of it: 0, or -1 and a sentence. */\n"
                       : "/** Opens the model, and a session of it: 0, or -1 and a sentence. */\n") +
          "static inline int " + name + "_open(" + (own_weights ? "const char* weights, " : "") +
          "whet_model** model, whet_session** session, whet_error* error) {\n"
          "  const whet_api* const whet = " +
          table_of(name) + "();\n" +
          (own_weights ? "  whet_open_source source;\n"
                         "  memset(&source, 0, sizeof source);\n"
                         "  source.struct_bytes = (uint32_t)sizeof source;\n"
                         "  source.weights_path = weights;\n"
                         "  if (whet->model_open_from(NULL, &source, model, error) != 0) return -1;\n"
                       : "  if (whet->model_open(NULL, model, error) != 0) return -1;\n") +
          "  if (whet->session_create(*model, NULL, session, error) == 0) return 0;\n"
          "  whet->model_close(*model);\n"
          "  return -1;\n}\n";
  if (!several_sizes) {
    std::string parameters, calls;
    for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
      const std::string number = std::to_string(i);
      parameters += "const " + std::string(c_type(plan.inputs[i].dtype)) + "* in" + number + ", ";
      calls +=
          "  if (whet->session_set_input(session, " + number + ", in" + number + ", NULL, error) != 0) return -1;\n";
    }
    for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
      const std::string number = std::to_string(i);
      parameters += std::string(c_type(plan.outputs[i].dtype)) + "* out" + number + ", ";
      calls += "  if (whet->session_bind_output(session, " + number + ", out" + number + ", error) != 0) return -1;\n";
    }
    text +=
        "\n/** One inference: 0, or -1 and a sentence. Tensors are contiguous and row-major; those that are 64-byte "
        "aligned are not copied. */\n"
        "static inline int " +
        name + "_run(whet_session* session, " + parameters +
        "whet_error* error) {\n"
        "  const whet_api* const whet = " +
        table_of(name) + "();\n" + calls + "  return whet->session_run(session, error);\n}\n";
  }
  return text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

}  // namespace whet
