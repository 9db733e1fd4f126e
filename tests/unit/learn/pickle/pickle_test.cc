#include "pickle/pickle.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "temp_folder.h"

namespace plimsoll::pickle {
namespace {

using namespace std::string_literals;

const std::string kStart = "\x80\x02";

std::string tensor_pickle(const std::string& view) {
  return kStart +
         "}K\x01"
         "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storage"
         "ctorch\nFloatStorage\nX\x01\x00\x00\x00"
         "0X\x03\x00\x00\x00"
         "cpuK\x06tQ"s +
         view +
         "\x89"
         "ccollections\nOrderedDict\n)RtRs.";
}

TEST(Pickle, DescribesTensorsWithoutTheirNumbers) {
  memory::Ledger ledger(4 * kMiB);
  const std::string bytes = tensor_pickle("K\x01K\x02K\x02\x86K\x02K\x01\x86");
  const Pickle pickle(bytes, ledger);
  const auto& dict = std::get<Dict>(pickle.root().any);
  ASSERT_EQ(dict.items.size(), 2);
  const TensorObject& tensor = *std::get<const TensorObject*>(dict.items[1]->any);
  EXPECT_EQ(tensor.storage->type, "FloatStorage");
  EXPECT_EQ(tensor.storage->name, "0");
  EXPECT_EQ(tensor.storage->count, 6);
  EXPECT_EQ(tensor.offset, 1);
  EXPECT_EQ(tensor.sizes, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(tensor.strides, (std::vector<int64_t>{2, 1}));
  expect_error(ErrorKind::input, {"beyond its storage of 6"},
               [&] { Pickle(tensor_pickle("K\x05K\x02\x85K\x01\x85"), ledger); });
}

TEST(Pickle, LeasesItsObjectsAndGivesThemBack) {
  memory::Ledger ledger(64 * kMiB);
  const std::string many = kStart + "]" + std::string(100'000, 'N') + ".";
  {
    const Pickle pickle(many, ledger);
    EXPECT_GE(ledger.used_bytes(), 100'000 * sizeof(Object));
  }
  EXPECT_EQ(ledger.used_bytes(), 0);
}

TEST(Pickle, ThatMakesMoreThanTheLedgerLendsIsRefusedBeforeItIsMade) {
  memory::Ledger ledger(8 * kMiB);
  const std::string many = kStart + "]" + std::string(10'000'000, 'N') + ".";
  expect_error(ErrorKind::memory, {"checkpoint"}, [&] { Pickle(many, ledger); });
  EXPECT_LE(ledger.peak_bytes(), 8 * kMiB);
}

TEST(Pickle, ThatMakesMoreThanAnyCheckpointIsRefusedWhateverTheLedgerLends) {
  memory::Ledger ledger(100 * kGiB);
  for (const char instruction : {'N', ']', '}', ')', '('}) {
    const std::string many = kStart + std::string(6'000'000, instruction) + ".";
    expect_error(ErrorKind::input, {"256.0 MiB"}, [&] { Pickle(many, ledger); });
  }
  EXPECT_LE(ledger.peak_bytes(), kMostObjectBytes + 2 * kMiB);
}

// Shapes through the memo: three bytes for each tensor of 64 dimensions.
TEST(Pickle, LeasesTheShapesOfItsTensors) {
  std::string bytes = kStart + "ctorch._utils\n_rebuild_tensor_v2\nq\x01(";
  bytes +=
      "(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x00"
      "0X\x03\x00\x00\x00"
      "cpuK\x06tQK\x00("s;
  for (int i = 0; i < 64; ++i) bytes += "K\x01";
  bytes += "t(";
  for (int i = 0; i < 64; ++i) bytes += "K\x01";
  bytes += "ttq\x02R";
  for (int i = 0; i < 10'000; ++i) bytes += "h\x01h\x02R";
  memory::Ledger ledger(kGiB);
  const std::string whole = bytes + ".";
  const Pickle pickle(whole, ledger);
  EXPECT_GE(ledger.used_bytes(), 10'000 * 128 * sizeof(int64_t));
}

}  // namespace
}  // namespace plimsoll::pickle
