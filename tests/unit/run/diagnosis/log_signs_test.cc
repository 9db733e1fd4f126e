#include "diagnosis/log_signs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/units.h"

namespace plimsoll::diagnosis {
namespace {

struct Known {
  std::string line;
  Sign sign;
  std::string subject = {};
};

TEST(LogSigns, KnowsTheLinesOfFrameworksShellsAndBatchSystems) {
  const std::vector<Known> lines = {
      {"RuntimeError: CUDA error: out of memory", Sign::gpu_memory},
      {"RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB", Sign::gpu_memory},
      {"W tensorflow/core/common_runtime/bfc_allocator.cc:497] Allocator (GPU_0_bfc) ran out of "
       "memory trying to allocate 3.81GiB",
       Sign::gpu_memory},
      {"ResourceExhaustedError: OOM when allocating tensor with shape[1,2] and type float on "
       "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
       Sign::gpu_memory},
      {"ResourceExhaustedError: OOM when allocating tensor with shape[1,2] and type float on "
       "/job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu",
       Sign::host_memory},
      {"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
       "allocate 17179869184 bytes.",
       Sign::gpu_memory},
      {"numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array",
       Sign::host_memory},
      {"MemoryError", Sign::host_memory},
      {"OSError: [Errno 28] No space left on device: '/dev/shm/x'", Sign::shared_memory},
      {"OSError: [Errno 122] Disk quota exceeded", Sign::disk_full},
      {"ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory",
       Sign::missing_library, "libcudart.so.11.0"},
      {"./a: error while loading shared libraries: libfoo.so.1: cannot open shared object file: No "
       "such file or directory",
       Sign::missing_library, "libfoo.so.1"},
      {"bash: line 1: pythn: command not found", Sign::missing_command, "pythn"},
      {"./train.sh: 3: pythn: not found", Sign::missing_command, "pythn"},
      {"/usr/bin/env: 'python': No such file or directory", Sign::missing_command, "python"},
      {"bash: ./train.sh: Permission denied", Sign::not_executable, "./train.sh"},
      {"Killed", Sign::process_killed},
      {"./train.sh: line 3:  4711 Killed                  python train.py", Sign::process_killed},
      {"RuntimeError: CUDA error: device-side assert triggered", Sign::gpu_error},
      {"Segmentation fault (core dumped)", Sign::crash},
      {"srun: error: node1: task 0: Out Of Memory", Sign::batch_system_memory},
  };
  for (const Known& known : lines) {
    const auto sign = decisive_sign(known.line + "\n");
    ASSERT_TRUE(sign) << known.line;
    EXPECT_EQ(sign->sign, known.sign) << known.line;
    EXPECT_EQ(sign->subject, known.subject) << known.line;
  }
}

TEST(LogSigns, FindsNothingInAnOrdinaryLog) {
  EXPECT_TRUE(find_signs("epoch 1 loss 0.3\rroadmap: mAP: 0.5\nKilled 3 idle workers\n"
                         "no errors\nTo avoid running out of memory, lower the batch size\n\n")
                  .empty());
}

TEST(LogSigns, IgnoresTheSourceTextThatATracebackShows) {
  const auto sign = decisive_sign(
      "Traceback (most recent call last):\n"
      "  File \"a.py\", line 3, in f\n"
      "    raise Oops('CUDA out of memory')  # MemoryError: no\n"
      "  File \"b.py\", line 4, in g\n"
      "ValueError: bad shape\n");
  ASSERT_TRUE(sign);
  EXPECT_EQ(sign->sign, Sign::python_exception);
  EXPECT_EQ(sign->line, "ValueError: bad shape");
  EXPECT_EQ(sign->place, "b.py, line 4");
}

TEST(LogSigns, TakesALaterExceptionOverOneThatWasSurvived) {
  const std::string survived = "CUDA out of memory. Tried to allocate 1 GiB: retrying with half\n";
  const std::string later =
      "Traceback (most recent call last):\n  File \"a.py\", line 3\nKeyError: 'x'\n";
  EXPECT_EQ(decisive_sign(survived + later)->sign, Sign::python_exception);
}

TEST(LogSigns, TakesTheCauseOverWhatWasRaisedBecauseOfIt) {
  const std::string chain =
      "Traceback (most recent call last):\n  File \"a.py\", line 3\n"
      "torch.OutOfMemoryError: CUDA out of memory.\n\n"
      "During handling of the above exception, another exception occurred:\n\n"
      "Traceback (most recent call last):\n  File \"b.py\", line 9\n"
      "RuntimeError: training failed\n";
  EXPECT_EQ(decisive_sign(chain)->sign, Sign::gpu_memory);
}

TEST(LogSigns, TakesTheFirstRanksErrorOverTheFalloutOfTheOthers) {
  const std::string ranks =
      "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"a.py\", line 3\n"
      "[rank0]: torch.OutOfMemoryError: CUDA out of memory.\n"
      "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"a.py\", line 3\n"
      "[rank1]: torch.distributed.DistBackendError: NCCL error: ncclRemoteError\n"
      "Traceback (most recent call last):\n  File \"run.py\", line 3\n"
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n";
  EXPECT_EQ(decisive_sign(ranks)->sign, Sign::gpu_memory);
}

TEST(LogSigns, SurvivesAnyBytes) {
  std::string bytes;
  for (int i = 0; i < 4096; ++i) bytes += static_cast<char>(i * 37);
  find_signs(bytes);
  EXPECT_TRUE(find_signs("").empty());
  EXPECT_TRUE(find_signs("'").empty());
}

TEST(GpuMessage, ReadsTheFiguresOfOldTorch) {
  const GpuMessage message = parse_gpu_message(
      "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 10.76 GiB total "
      "capacity; 7.50 GiB already allocated; 1.25 GiB free; 8.50 GiB reserved in total by "
      "PyTorch)");
  EXPECT_EQ(message.wanted_bytes, 2 * kGiB);
  EXPECT_EQ(message.free_bytes, kGiB + kGiB / 4);
  EXPECT_EQ(message.own_bytes, 8 * kGiB + kGiB / 2);
  EXPECT_EQ(format_bytes(message.total_bytes.value_or(0)), "10.8 GiB");
}

TEST(GpuMessage, ReadsWhatJaxTensorFlowAndCupyWanted) {
  EXPECT_EQ(
      parse_gpu_message("Out of memory while trying to allocate 17179869184 bytes.").wanted_bytes,
      16 * kGiB);
  EXPECT_EQ(
      parse_gpu_message("ran out of memory trying to allocate 3.50GiB (rounded to 1)").wanted_bytes,
      3 * kGiB + kGiB / 2);
  EXPECT_EQ(
      parse_gpu_message("Out of memory allocating 8,589,934,592 bytes (allocated so far: 0 bytes)")
          .wanted_bytes,
      8 * kGiB);
  EXPECT_FALSE(parse_gpu_message("CUDA error: out of memory").wanted_bytes);
}

}  // namespace
}  // namespace plimsoll::diagnosis
