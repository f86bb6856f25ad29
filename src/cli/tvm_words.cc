#include "cli/tvm_words.h"

#include <algorithm>

namespace whet {
namespace {

/// A command, an option or a switch of a target that whet does not have, and what it has. docs/from_tvm.md has more.
struct TvmWord {
  std::string_view word;  ///< in small letters, and with "-" for "_"
  std::string_view answer;
};

constexpr std::string_view kSearch = "`whet tune MODEL` searches by templates and by rules at once (docs/from_tvm.md)";
constexpr std::string_view kTrials = "TVM's number of trials is `whet tune --trials N`, of all tasks together";
constexpr std::string_view kElsewhere =
    "another machine is `--device ssh://user@host`, those that several people share are `--device fleet:KEY`";
constexpr std::string_view kTarget = "a target is one text in quotes, as in --target \"cpu -mcpu=znver4 -threads=4\"";

constexpr TvmWord kTvmWords[] = {
    {"tvmc", "its tune, compile and run are commands of whet, as in `whet tune MODEL` (docs/from_tvm.md)"},
    {"autotvm", kSearch},
    {"auto-scheduler", kSearch},
    {"ansor", kSearch},
    {"rpc-tracker", kElsewhere},
    {"rpc-server", kElsewhere},
    {"--tuner", "TVM's tuner is `whet tune --strategy evolutionary`, xgb, ga, random, grid or descent"},
    {"--n-trial", kTrials},
    {"--num-measure-trials", kTrials},
    {"--tuning-records",
     "`whet tune -o FILE` goes on with the records of FILE, `whet compile --records FILE` uses them"},
    {"--enable-autoscheduler", kSearch},
    {"--rpc-tracker", kElsewhere},
    {"--rpc-key", kElsewhere},
    {"--parallel", "`whet tune --builders N` is the number of processes that compile candidates"},
    {"--early-stopping",
     "TVM's early stopping is `whet tune --early-stop N`, and `--least-gain` ends a task that promises little"},
    {"--target-host", "code for the host is part of a library; what runs kernels is `--target`"},
    {"--num-cores", "the number of threads is `--threads N`, of any command"},
    {"--include-simple-tasks", "every kernel is a task, and `whet tune --tasks` chooses some"},
    {"--log-estimated-latency", "`whet tune --events FILE` has the estimated latency after each round"},
    {"--mixed-precision", "products round their operands with `--precision f16`, tf32 or bf16"},
    {"--pass-config", "no pass over the graph is switched; `whet explain passes --model MODEL` lists what each did"},
    {"--disabled-pass", "no pass over the graph is switched; `whet explain passes --model MODEL` lists what each did"},
    {"--print-pass-times", "`whet explain passes --model MODEL` has the time of each pass"},
    {"--print-ir-before", "`whet explain candidate ID --pass NAME` prints the program behind a pass"},
    {"--print-ir-after", "`whet explain candidate ID --pass NAME` prints the program behind a pass"},
    {"--output-format", "`whet compile -o model.so` makes a library, `-o libNAME.a` a static archive"},
    {"--module-name", "`whet compile -o libNAME.a --name NAME` names an archive in C"},
    {"--end-to-end", "`whet bench` times whole inferences; `--on-device` leaves a GPU's copies out"},
    {"--number-of-trials", kTrials},
    {"register-workload", "an operator of your own is a file: `whet tune matmul.dag` (docs/operators/own.md)"},
    {"-libs", "libraries are no candidates: whet searches kernels of its own"},
    {"-link-params",
     "weights are in the library; `whet compile --weights-file FILE` puts them into a file of their own"},
    {"--timeout", "`whet tune --build-timeout S --run-timeout S` limits a candidate's time"},
    {"--input-shapes", "the sizes of an input are `--shape data=1x3x224x224`"},
    {"--model-format", "whet tells the format of a file by its content"},
    {"--desired-layout", "layouts are chosen by measured time, from those of `whet tune --layouts`"},
    {"--cross-compiler", "whet links libraries without a compiler"},
    {"--dump-code",
     "`whet compile --dump-code FILE` writes the code of all kernels, `whet explain candidate ID --code` prints one's"},
    {"--print-time", "`whet bench` measures the latency"},
    {"--profile", "`whet profile` measures the time of each operation"},
    {"--fill-mode", "`--fill random`, ones or zeros makes up inputs"},
    {"-mcpu", kTarget},
    {"-mattr", kTarget},
    {"-mtriple", kTarget},
    {"-device", kTarget},
    {"-threads", kTarget},
    {"-cores", kTarget},
    {"-arch", kTarget},
    {"-model", kTarget},
};

}  // namespace

std::string instead_of_tvms(std::string_view word) {
  std::string spelled(word);
  std::ranges::replace(spelled, '_', '-');
  const auto found = std::ranges::find(kTvmWords, std::string_view(spelled), &TvmWord::word);
  return found == std::ranges::end(kTvmWords) ? "" : "; " + std::string(found->answer);
}

}  // namespace whet
