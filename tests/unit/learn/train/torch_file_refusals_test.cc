#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <zip.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/torch_file.h"
#include "train/torch_file_fixture.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

TEST_F(TorchFile, SaysWhenItIsMissing) {
  expect_error(ErrorKind::io, {"cannot open " + path_.string(), "No such file"},
               [&] { read_torch_file(path_, ledger_); });
}

TEST_F(TorchFile, RefusesOtherFormats) {
  write_file(path_, "");
  expect_refused({"it is empty"});
  write_file(path_, "epoch,loss\n1,0.5\n");
  expect_refused({"it is not a zip archive"});
  write_file(path_, "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.");
  expect_refused({"torch before 1.6"});
  write_file(path_, std::string(257, '\0') + "ustar" + std::string(1000, '\0'));
  expect_refused({"torch before 1.6"});
  write_zip({{"archive/version", "3\n"}});
  expect_refused({"without data.pkl"});
  write_zip({{"archive/data.pkl", std::string(5000, 'x')}}, ZIP_CM_DEFLATE);
  expect_refused({"compressed"});
  write_zip({{"archive/data.pkl", "\x80\x02}."}, {"archive/byteorder", "big"}});
  expect_refused({"big-endian"});
}

TEST_F(TorchFile, RefusesAFolder) {
  fs::create_directory(path_);
  expect_refused({"not a regular file"});
}

TEST_F(TorchFile, IsRefusedWhenCutAnywhere) {
  write_torch_file(path_, PyDict{{"tensor", at::rand({10, 10})}, {"epoch", 3}});
  const std::string whole = read_file(path_);
  for (size_t size = 0; size < whole.size(); size += 5) {
    write_file(path_, std::string_view(whole).substr(0, size));
    expect_refused({});
  }
}

// A flipped bit is caught by a checksum, by the archive or by the pickle; in padding and dates it
// does no harm.
TEST_F(TorchFile, IsRefusedOrTheSameWithAnyByteChanged) {
  const at::Tensor tensor = at::rand({4, 4});
  write_torch_file(path_, PyDict{{"tensor", tensor}, {"epoch", 3}});
  const std::string whole = read_file(path_);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
    write_file(path_, changed);
    try {
      const PyDict got = read_torch_file(path_, ledger_);
      expect_same(got.get<at::Tensor>("tensor"), tensor);
      EXPECT_EQ(got.get<int64_t>("epoch"), 3);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
    }
  }
}

TEST_F(TorchFile, RefusesPicklesThatAreNoDictOfPlainValues) {
  const std::string start = "\x80\x02";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "ends too early"},
      {"hello", "is not a pickle"},
      {"\x80\x04}.", "protocol 4"},
      {start, "ends too early"},
      {start + ".", "empty stack"},
      {start + "].", "of type list, a dict was expected"},
      {start + "K\x05.", "of type int"},
      {start + "}X\xff\xff\xff\xff.", "ends too early"},
      {start + "}h\x07.", "missing memo entry"},
      {start + "}(K\x01u.", "key without a value"},
      {start + "}u.", "a mark is missing"},
      {start + "}(s.", "empty stack"},
      {start + "]K\x01K\x02s.", "a dict to fill"},
      {start + "}K\x01"
               "a.",
       "a list to append to"},
      {start + "}NK\x01s.", "key of type None"},
      {start + "}K\x01"
               "ctorch\nFloatStorage\ns.",
       "not a plain value"},
      {start + "cos\nsystem\n(X\x02\x00\x00\x00lstR."s, "refers to os.system"},
      {start + "c__torch__\nNet\n)\x81.", "refers to __torch__.Net"},
      {start + "ccollections\nOrderedDict\n(K\x01tR.", "calls collections.OrderedDict"},
      {start + "K\x01"
               "b.",
       "empty stack"},
      {start + "}\x8a\x09"
               "123456789s.",
       "int of 9 bytes"},
      {start + "}K\x01(K\x01tQs.", "not a storage"},
      {start + "}\x93.", "instruction 0x93"},
      {start + "ctorch._utils\n_rebuild_tensor_v2\n)R.", "description of a tensor is incomplete"},
  };
  for (const auto& [pickle, why] : cases) {
    write_pickle_file(pickle);
    expect_refused({why});
  }
}

TEST_F(TorchFile, RefusesAPickleThatHoldsItself) {
  write_pickle_file("\x80\x02}q\x01K\x01h\x01s.");
  expect_refused({"deep"});
}

// Sixty tuples, each twice in the next: 2^60 values from 500 bytes.
TEST_F(TorchFile, RefusesAPickleThatExplodes) {
  std::string pickle = "\x80\x02}q\xff)q"s + '\0';
  for (char i = 0; i < 60; ++i) {
    const std::string twice = "h"s + i + "h" + i;
    pickle += twice + "\x86q" + static_cast<char>(i + 1);
  }
  write_pickle_file(pickle + "h\xffK\x01h\x3cs.");
  expect_refused({"too often"});
}

// Sixty million instructions of one byte: 3 GiB, were they all carried out.
TEST_F(TorchFile, RefusesAPickleOfTooManyObjectsBeforeTheyTakeMemory) {
  write_pickle_file("\x80\x02" + std::string(60'000'000, ']') + ".");
  expect_refused({"256.0 MiB"});
  EXPECT_LE(ledger_.peak_bytes(), uint64_t{400} << 20);
  EXPECT_EQ(ledger_.used_bytes(), 0U);
  memory::Ledger little(uint64_t{1} << 20);
  expect_error(ErrorKind::memory, {"checkpoint values"}, [&] { read_torch_file(path_, little); });
}

TEST_F(TorchFile, RefusesAPickleThatIsTooLarge) {
  write_pickle_file("\x80\x02" + std::string(70'000'000, ']') + ".");
  expect_refused({"70000003 bytes", "67108864 is the most"});
}

TEST_F(TorchFile, RefusesAnArchiveOfTooManyMembers) {
  // The end of a large directory alone: what libzip would take memory for.
  std::string end = "PK\x06\x06"s + std::string(52, '\0');
  const uint64_t members = 1'000'000'000;
  std::memcpy(end.data() + 32, &members, sizeof(members));
  write_file(path_,
             "PK\x03\x04" + std::string(100, 'x') + end + "PK\x05\x06" + std::string(18, '\0'));
  expect_refused({"1000000000 members", "100000 is the most"});
}

TEST_F(TorchFile, LeasesItsValuesAsLongAsItIsOpen) {
  PyList numbers;
  for (int64_t i = 0; i < 100'000; ++i) numbers.emplace_back(i);
  write_torch_file(path_, PyDict{{"numbers", numbers}});
  {
    const TorchFileReader file(path_, ledger_);
    EXPECT_GE(ledger_.used_bytes(), 100'000 * sizeof(PyValue));
    EXPECT_EQ(file.values().get<PyList>("numbers").size(), 100'000U);
  }
  EXPECT_EQ(ledger_.used_bytes(), 0U);
}

TEST_F(TorchFile, ReadsATensorIntoItsPlace) {
  const at::Tensor tensor = at::rand({3, 4});
  write_torch_file(path_, PyDict{{"tensor", tensor}, {"whole", range(12, at::kLong)}});
  TorchFileReader file(path_, ledger_);
  const auto& stored = file.values().get<StoredTensor>("tensor");
  EXPECT_EQ(stored.sizes, tensor.sizes().vec());
  const at::Tensor flat = at::zeros({14});
  file.read_into(stored, flat.narrow(0, 1, 12).view({3, 4}));
  expect_same(flat.narrow(0, 1, 12).view({3, 4}), tensor);
  EXPECT_EQ(flat[0].item<float>(), 0);
  EXPECT_EQ(flat[13].item<float>(), 0);
  const at::Tensor turned = at::zeros({4, 3});
  file.read_into(stored, turned.t());
  expect_same(turned.t().contiguous(), tensor);
  const at::Tensor converted = at::zeros({12});
  file.read_into(file.values().get<StoredTensor>("whole"), converted);
  expect_same(converted, range(12, at::kFloat));
}

TEST_F(TorchFile, IsNotOpenedWhereATensorIsDamagedThatNobodyAsksFor) {
  write_torch_file(path_, PyDict{{"tensor", at::ones({1000})}, {"epoch", 3}});
  std::string bytes = read_file(path_);
  bytes[bytes.size() / 2] ^= 1;
  write_file(path_, bytes);
  expect_error(ErrorKind::input, {path_.string(), "archive/data/0"},
               [&] { TorchFileReader(path_, ledger_); });
}

// A dict with one tensor over the storage "0", described by the rest.
std::string tensor_pickle(std::string_view storage, std::string_view view) {
  return "\x80\x02}K\x01"
         "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storage"s +
         "ctorch\n" + std::string(storage) + "tQ" + std::string(view) +
         "\x89"
         "ccollections\nOrderedDict\n)RtRs.";
}

TEST_F(TorchFile, RefusesTensorsThatDoNotFitTheirStorage) {
  const std::string name =
      "X\x01\x00\x00\x00"
      "0X\x03\x00\x00\x00"
      "cpu"s;
  const auto expect_case = [&](std::string_view storage, std::string_view view,
                               const std::string& why) {
    write_zip({{"archive/data.pkl", tensor_pickle(storage, view)},
               {"archive/data/0", std::string(16, '\x02')}});
    why.empty() ? (void)read_torch_file(path_, ledger_) : expect_refused({why});
  };
  const std::string floats = "FloatStorage\n" + name + "K\x04";
  const std::string huge = "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f";
  expect_case(floats, "K\x00K\x04\x85K\x01\x85"s, "");
  expect_case(floats, "K\x01K\x04\x85K\x01\x85", "beyond its storage");
  expect_case(floats, "K\x00K\x04\x85K\x02\x85"s, "beyond its storage");
  expect_case(floats, "J\xff\xff\xff\xffK\x01\x85K\x01\x85", "beyond its storage");
  expect_case(floats, "K\x00J\xff\xff\xff\xff\x85K\x01\x85"s, "beyond its storage");
  expect_case(floats, "K\x00K\x04\x85)"s, "beyond its storage");
  expect_case(floats, "K\x00"s + huge + "\x85" + huge + "\x85", "beyond its storage");
  expect_case(floats, "K\x00"s + huge + huge + "\x86K\x00K\x00\x86"s, "beyond its storage");
  expect_case("FloatStorage\n" + name + "K\x05", "K\x00K\x04\x85K\x01\x85"s, "5 numbers");
  expect_case("LongStorage\n" + name + huge, "K\x00))"s, "numbers of type Long");
  expect_case("BoolStorage\n" + name + "K\x10", "K\x00))"s, "neither true nor false");
  expect_case(
      "FloatStorage\nX\x01\x00\x00\x00"
      "1X\x03\x00\x00\x00"
      "cpuK\x04"s,
      "K\x00))"s, "lacks the member archive/data/1");
}

}  // namespace
}  // namespace plimsoll::train
