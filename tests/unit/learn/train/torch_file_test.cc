#include "train/torch_file.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zip.h>

#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "temp_folder.h"
#include "train/python.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

using Names = std::vector<std::string>;

at::Tensor range(int64_t count, at::ScalarType type) { return at::arange(count).to(type); }

void expect_same(const at::Tensor& got, const at::Tensor& wanted) {
  EXPECT_EQ(got.scalar_type(), wanted.scalar_type());
  EXPECT_EQ(got.sizes(), wanted.sizes());
  EXPECT_TRUE(at::equal(got, wanted));
}

class TorchFile : public testing::Test {
 protected:
  PyDict round_trip(const PyDict& dict) {
    write_torch_file(path_, dict);
    return read_torch_file(path_, ledger_);
  }
  PyValue round_trip(PyValue value) {
    return round_trip(PyDict{{"value", std::move(value)}}).at("value");
  }

  void expect_python(const std::string& code) { train::expect_python(folder_.path(), code); }
  static bool has_python() { return !python_with_torch().empty(); }

  // The pickle alone, in an archive without tensors.
  void write_pickle_file(std::string_view pickle) {
    write_zip({{"archive/data.pkl", std::string(pickle)}});
  }
  void write_zip(const std::vector<std::pair<std::string, std::string>>& members,
                 zip_int32_t method = ZIP_CM_STORE) {
    zip_t* archive = ::zip_open(path_.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
    ASSERT_NE(archive, nullptr);
    for (const auto& [name, bytes] : members) {
      zip_source_t* source = ::zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
      const zip_int64_t index = ::zip_file_add(archive, name.c_str(), source, 0);
      ASSERT_GE(index, 0);
      ::zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), method, 0);
    }
    ASSERT_EQ(::zip_close(archive), 0);
  }
  void expect_refused(std::vector<std::string> parts) {
    parts.push_back(path_.string() + " cannot be read as a file of torch.save");
    expect_error(ErrorKind::input, parts, [&] { read_torch_file(path_, ledger_); });
  }

  memory::Ledger ledger_{uint64_t{1} << 30};
  TempFolder folder_;
  fs::path path_ = folder_ / "last.pth";
};

TEST_F(TorchFile, KeepsPlainValues) {
  const PyDict got = round_trip(PyDict{{"none", {}},
                                       {"true", true},
                                       {"false", false},
                                       {"text", "naïve 图"},
                                       {"empty", ""},
                                       {"zero byte", "a\0b"s}});
  EXPECT_EQ(got.size(), 6U);
  EXPECT_TRUE(got.at("none").is_none());
  EXPECT_EQ(got.get<bool>("true"), true);
  EXPECT_EQ(got.get<bool>("false"), false);
  EXPECT_EQ(got.get<std::string>("text"), "naïve 图");
  EXPECT_EQ(got.get<std::string>("empty"), "");
  EXPECT_EQ(got.get<std::string>("zero byte"), "a\0b"s);
}

TEST_F(TorchFile, KeepsEveryInteger) {
  PyList numbers;
  for (int bit = 0; bit < 63; ++bit) {
    for (const int64_t off : {-1, 0, 1}) {
      numbers.emplace_back((int64_t{1} << bit) + off);
      numbers.emplace_back(-(int64_t{1} << bit) + off);
    }
  }
  numbers.emplace_back(std::numeric_limits<int64_t>::min());
  numbers.emplace_back(std::numeric_limits<int64_t>::max());
  const PyValue got = round_trip(numbers);
  ASSERT_EQ(got.as<PyList>().size(), numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(got.as<PyList>()[i].as<int64_t>(), numbers[i].as<int64_t>());
  }
}

TEST_F(TorchFile, KeepsEveryBitOfADouble) {
  using Limits = std::numeric_limits<double>;
  for (const double number : {0.0, -0.0, 0.1, 1e-3, Limits::denorm_min(), Limits::max(),
                              Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
    const auto got = round_trip(number).as<double>();
    EXPECT_EQ(std::memcmp(&got, &number, sizeof(number)), 0) << number;
  }
}

TEST_F(TorchFile, KeepsTensorsOfEveryType) {
  for (const at::ScalarType type :
       {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kShort,
        at::kChar, at::kByte, at::kBool, at::kComplexFloat, at::kComplexDouble}) {
    const at::Tensor tensor = range(12, type).reshape({3, 4});
    expect_same(round_trip(tensor).as<at::Tensor>(), tensor);
  }
}

TEST_F(TorchFile, KeepsTheShapeOfTensors) {
  expect_same(round_trip(at::scalar_tensor(3.5)).as<at::Tensor>(), at::scalar_tensor(3.5));
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{0}, {0, 3}, {3, 0, 2}, {1, 1}, {2, 3, 4, 5}}) {
    const at::Tensor tensor = at::rand(sizes);
    expect_same(round_trip(tensor).as<at::Tensor>(), tensor);
  }
}

TEST_F(TorchFile, KeepsWhatATensorShowsAndNotHowItLies) {
  const at::Tensor base = range(24, at::kFloat).reshape({4, 6});
  for (const at::Tensor& tensor :
       {base.t(), base.slice(1, 1, 6, 2), base.select(0, 2), base.slice(0, 3),
        base.select(1, 0).unsqueeze(1).expand({4, 5}), base.to(at::kComplexFloat).conj()}) {
    const PyValue got = round_trip(tensor);
    expect_same(got.as<at::Tensor>(), tensor);
    EXPECT_TRUE(got.as<at::Tensor>().is_contiguous());
  }
}

TEST_F(TorchFile, DropsGradients) {
  const PyValue got = round_trip(at::ones({2}).requires_grad_(true));
  EXPECT_FALSE(got.as<at::Tensor>().requires_grad());
}

TEST_F(TorchFile, ReadsTensorsThatDoNotNeedTheFile) {
  write_torch_file(path_, PyDict{{"a", at::ones({1000})}, {"b", at::zeros({1000})}});
  const PyDict got = read_torch_file(path_, ledger_);
  write_file(path_, "overwritten");
  EXPECT_EQ(got.get<at::Tensor>("a").storage().nbytes(), 4000U);
  expect_same(got.get<at::Tensor>("a"), at::ones({1000}));
}

TEST_F(TorchFile, KeepsNestedDictsTheirOrderAndIntegerKeys) {
  PyDict state;
  state[1] = PyDict{{"step", 7}};
  state[0] = PyDict{{"step", 8}};
  state[-5] = PyDict();
  const PyDict got =
      round_trip(PyDict{{"state", state}, {"lists", PyList{PyList(), PyList{1, PyList{2}}}}});
  Names keys;
  for (const auto& [key, value] : got.get<PyDict>("state")) {
    keys.push_back(fmt::format("{}", std::get<int64_t>(key)));
  }
  EXPECT_EQ(keys, (Names{"1", "0", "-5"}));
  EXPECT_EQ(got.get<PyDict>("state").get<PyDict>(0).get<int64_t>("step"), 8);
  const PyList& lists = got.get<PyList>("lists");
  EXPECT_EQ(lists.at(0).as<PyList>().size(), 0U);
  EXPECT_EQ(lists.at(1).as<PyList>().at(1).as<PyList>().at(0).as<int64_t>(), 2);
}

TEST_F(TorchFile, HoldsMoreTensorsThanAnOldZipCanCount) {
  PyList tensors;
  for (int64_t i = 0; i < 70000; ++i) tensors.emplace_back(range(1, at::kByte).add(i % 200));
  const PyValue got = round_trip(tensors);
  ASSERT_EQ(got.as<PyList>().size(), tensors.size());
  expect_same(got.as<PyList>()[69999].as<at::Tensor>(), tensors[69999].as<at::Tensor>());
}

TEST_F(TorchFile, WritesTheSameBytesForTheSameValues) {
  const PyDict dict{{"weight", at::ones({3, 3})}, {"epoch", 4}};
  write_torch_file(path_, dict);
  const std::string first = read_file(path_);
  write_torch_file(path_, dict);
  EXPECT_EQ(read_file(path_), first);
}

TEST_F(TorchFile, PutsEveryTensorAtAMultipleOf64Bytes) {
  PyList tensors;
  for (int64_t size = 1; size < 200; size += 7) {
    tensors.emplace_back(at::full({size}, 0x5b, at::kByte));  // occurs nowhere else
  }
  write_torch_file(path_, PyDict{{"tensors", tensors}});
  const std::string bytes = read_file(path_);
  size_t found = 0;
  for (size_t at = bytes.find('\x5b'); at != std::string::npos; at = bytes.find('\x5b', at)) {
    EXPECT_EQ(at % 64, 0U);
    at = bytes.find_first_not_of('\x5b', at);
    ++found;
  }
  EXPECT_EQ(found, tensors.size());
}

TEST_F(TorchFile, SaysWhichKeyIsMissingOrOfAnotherType) {
  const PyDict dict{{"epoch", "three"}, {"rate", 1}, {7, 0.5}};
  expect_error(ErrorKind::input, {"'step'", "missing"}, [&] { dict.at("step"); });
  expect_error(ErrorKind::input, {"key 8", "missing"}, [&] { dict.get<int64_t>(8); });
  expect_error(ErrorKind::input, {"'epoch'", "str", "int was expected"},
               [&] { dict.get<int64_t>("epoch"); });
  expect_error(ErrorKind::input, {"7", "float", "Tensor was expected"},
               [&] { dict.get<at::Tensor>(7); });
  expect_error(ErrorKind::input, {"str", "dict was expected"},
               [&] { dict.at("epoch").as<PyDict>(); });
  EXPECT_EQ(dict.get<double>("rate"), 1.0);
  EXPECT_EQ(dict.find("step"), nullptr);
}

TEST_F(TorchFile, RefusesNumbersAndTextThatPythonCouldNotReadBack) {
  expect_error(ErrorKind::internal, {"18446744073709551615"},
               [] { const PyValue value(std::numeric_limits<uint64_t>::max()); });
  for (const std::string text : {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80"}) {
    expect_error(ErrorKind::input, {"is not UTF-8"}, [&] {
      write_torch_file(path_, PyDict{{"text", text}});
    });
  }
  EXPECT_EQ(names_in(folder_.path()), Names{});
}

TEST_F(TorchFile, RefusesATensorWithoutNumbers) {
  expect_error(ErrorKind::internal, {"tensor without plain numbers"}, [&] {
    write_torch_file(path_, PyDict{{"tensor", at::Tensor()}});
  });
}

TEST_F(TorchFile, ReplacesTheOldFileAndWhatAKilledRunLeft) {
  write_file(path_, "old");
  write_file(folder_ / "last.pth.partial", std::string(100000, 'x'));
  write_torch_file(path_, PyDict{{"epoch", 2}});
  EXPECT_EQ(read_torch_file(path_, ledger_).get<int64_t>("epoch"), 2);
  EXPECT_EQ(names_in(folder_.path()), Names{"last.pth"});
}

TEST_F(TorchFile, LeavesTheOldFileWhenAWriteFails) {
  write_file(path_, "old");
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small = {1024 * 1024, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  expect_error(ErrorKind::io, {"cannot write", "last.pth.partial", "File too large"}, [&] {
    write_torch_file(path_, PyDict{{"tensor", at::ones({1000, 1000})}});
  });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_file(path_), "old");
  EXPECT_EQ(names_in(folder_.path()), Names{"last.pth"});
}

TEST_F(TorchFile, LeavesNothingWhereAFolderHasItsName) {
  fs::create_directory(path_);
  expect_error(ErrorKind::io, {"cannot rename to " + path_.string()},
               [&] { write_torch_file(path_, PyDict()); });
  EXPECT_EQ(names_in(folder_.path()), Names{"last.pth"});
}

TEST_F(TorchFile, IsNotWrittenIntoAMissingFolder) {
  expect_error(ErrorKind::io, {"missing/last.pth.partial", "No such file"},
               [&] { write_torch_file(folder_ / "missing/last.pth", PyDict()); });
}

TEST_F(TorchFile, LeavesTheOldFileInAReadOnlyFolder) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  write_file(path_, "old");
  fs::permissions(folder_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  expect_error(ErrorKind::io, {"last.pth.partial", "check its owner and permissions"},
               [&] { write_torch_file(path_, PyDict()); });
  EXPECT_EQ(read_file(path_), "old");
  fs::permissions(folder_.path(), fs::perms::owner_all);
}

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

const std::string kAllowedGlobals = R"(
import pickletools, zipfile
def check_globals(path):
    archive = zipfile.ZipFile(path)
    assert archive.testzip() is None
    for op, argument, _ in pickletools.genops(archive.read('archive/data.pkl')):
        assert op.proto <= 2, op.name
        if op.name == 'GLOBAL':
            module, name = argument.split(' ')
            assert (module, name) in [('torch._utils', '_rebuild_tensor_v2'),
                                      ('collections', 'OrderedDict')] or (
                module == 'torch' and name.endswith('Storage')), argument
check_globals('last.pth')
)";

TEST_F(TorchFile, IsReadByPython) {
  if (!has_python()) GTEST_SKIP() << "no python3 that can import torch";
  write_torch_file(path_,
                   PyDict{{"float", range(6, at::kFloat).reshape({2, 3})},
                          {"double", range(3, at::kDouble)},
                          {"half", range(3, at::kHalf)},
                          {"long", range(3, at::kLong)},
                          {"byte", range(3, at::kByte)},
                          {"bool", range(2, at::kBool)},
                          {"scalar", at::scalar_tensor(2.5)},
                          {"empty", at::empty({0, 3})},
                          {"transposed", range(6, at::kInt).reshape({2, 3}).t()},
                          {"numbers", PyList{1, -1, 300, 70000, int64_t{1} << 40,
                                             std::numeric_limits<int64_t>::min()}},
                          {"plain", PyList{PyValue(), true, false, "naïve", PyList(), PyDict()}},
                          {5, PyDict{{0, "int key"}}}});
  write_torch_file(folder_ / "floats.pth", PyDict{{"rate", 0.1}, {"inf", INFINITY}});
  expect_python(kAllowedGlobals + R"(
import torch
def check(d):
    wanted = {
        'float': torch.arange(6.).reshape(2, 3), 'double': torch.arange(3, dtype=torch.double),
        'half': torch.arange(3).half(), 'long': torch.arange(3), 'byte': torch.arange(3).byte(),
        'bool': torch.tensor([False, True]), 'scalar': torch.tensor(2.5),
        'empty': torch.empty(0, 3), 'transposed': torch.arange(6).int().reshape(2, 3).t()}
    for key, tensor in wanted.items():
        assert type(d[key]) is torch.Tensor and not d[key].requires_grad, key
        assert d[key].dtype == tensor.dtype and d[key].shape == tensor.shape, key
        assert torch.equal(d[key], tensor) and d[key].is_contiguous(), key
    assert d['numbers'] == [1, -1, 300, 70000, 2**40, -2**63]
    assert d['plain'] == [None, True, False, 'na\u00efve', [], {}]
    assert [type(v) for v in d['plain'][:3]] == [type(None), bool, bool]
    assert d[5] == {0: 'int key'}
    assert list(d) == list(wanted) + ['numbers', 'plain', 5]
check(torch.load('last.pth'))
newer = int(torch.__version__.split('.')[0]) >= 2
if newer: check(torch.load('last.pth', mmap=True))
check(torch.load('last.pth', weights_only=True))
# Only torch 2 lets a float through its careful unpickler.
floats = torch.load('floats.pth', weights_only=True) if newer else torch.load('floats.pth')
assert floats == {'rate': 0.1, 'inf': float('inf')}
)");
}

TEST_F(TorchFile, IsTheStateOfAPythonOptimizer) {
  if (!has_python()) GTEST_SKIP() << "no python3 that can import torch";
  PyDict state;
  for (int64_t i = 0; i < 2; ++i) {
    const std::vector<int64_t> sizes =
        i == 0 ? std::vector<int64_t>{3, 2} : std::vector<int64_t>{3};
    state[i] = PyDict{{"step", at::scalar_tensor(12.0)},
                      {"exp_avg", at::full(sizes, 0.25)},
                      {"exp_avg_sq", at::full(sizes, 0.5)}};
  }
  const PyDict group{{"lr", 0.01},          {"betas", PyList{0.9, 0.99}}, {"eps", 1e-8},
                     {"weight_decay", 0.0}, {"amsgrad", false},           {"params", PyList{0, 1}}};
  write_torch_file(path_, PyDict{{"state", state}, {"param_groups", PyList{group}}});
  expect_python(kAllowedGlobals + R"(
import torch
model = torch.nn.Linear(2, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=1)
defaults = optimizer.state_dict()['param_groups'][0]
saved = torch.load('last.pth')
for group in saved['param_groups']:
    for key, value in defaults.items(): group.setdefault(key, value)
optimizer.load_state_dict(saved)
state = optimizer.state[model.weight]
assert state['step'] == 12 and torch.equal(state['exp_avg'], torch.full((3, 2), 0.25))
assert torch.equal(optimizer.state[model.bias]['exp_avg_sq'], torch.full((3,), 0.5))
assert optimizer.param_groups[0]['lr'] == 0.01
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
assert state['step'] == 13
)");
}

TEST_F(TorchFile, ReadsWhatPythonWrote) {
  if (!has_python()) GTEST_SKIP() << "no python3 that can import torch";
  expect_python(R"(
import torch
model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
with torch.no_grad():
    model[0].weight.copy_(torch.arange(6.).reshape(3, 2) / 7)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
model(torch.rand(4, 2)).sum().backward()
optimizer.step()
with torch.no_grad():
    model[0].weight.copy_(torch.arange(6.).reshape(3, 2) / 7)
shared = torch.arange(10)
torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict(), 'epoch': 3,
            'best': 0.1, 'large': 2**62, 'tuple': (1, 'two', (3,)), 'none': None, 'yes': True,
            'half': torch.arange(3).half(), 'rng': torch.get_rng_state(), 'view': shared[2:8:2],
            'shared': shared, 'wide': torch.ones(1).expand(1000), 'empty': torch.empty(0, 3),
            'parameter': model[0].weight, 'many': list(range(3000))}, 'last.pth')
torch.save(torch.ones(2), 'tensor.pth')
torch.save(model, 'model.pth')
torch.save({'large': 2**63}, 'large.pth')
torch.save({'a': 1}, 'legacy.pth', _use_new_zipfile_serialization=False)
torch.jit.script(torch.nn.Linear(2, 3)).save('script.pth')
)");
  const PyDict got = read_torch_file(path_, ledger_);
  const PyDict& model = got.get<PyDict>("model");
  Names keys;
  for (const auto& [key, value] : model) keys.push_back(std::get<std::string>(key));
  EXPECT_EQ(keys, (Names{"0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean",
                         "1.running_var", "1.num_batches_tracked"}));
  const at::Tensor weight = range(6, at::kFloat).reshape({3, 2}).div(7);
  expect_same(model.get<at::Tensor>("0.weight"), weight);
  expect_same(got.get<at::Tensor>("parameter"), weight);
  expect_same(model.get<at::Tensor>("1.num_batches_tracked"), at::ones({}, at::kLong));
  const PyDict& optimizer = got.get<PyDict>("optimizer");
  EXPECT_EQ(optimizer.get<PyDict>("state").size(), 4U);
  EXPECT_EQ(optimizer.get<PyDict>("state").get<PyDict>(0).get<at::Tensor>("exp_avg").sizes(),
            weight.sizes());
  EXPECT_EQ(optimizer.get<PyList>("param_groups").at(0).as<PyDict>().get<double>("lr"), 0.01);
  EXPECT_EQ(got.get<int64_t>("epoch"), 3);
  EXPECT_EQ(got.get<double>("best"), 0.1);
  EXPECT_EQ(got.get<int64_t>("large"), int64_t{1} << 62);
  EXPECT_EQ(got.get<PyList>("tuple").at(1).as<std::string>(), "two");
  EXPECT_TRUE(got.at("none").is_none());
  EXPECT_TRUE(got.get<bool>("yes"));
  expect_same(got.get<at::Tensor>("half"), range(3, at::kHalf));
  EXPECT_EQ(got.get<at::Tensor>("rng").scalar_type(), at::kByte);
  expect_same(got.get<at::Tensor>("view"), range(10, at::kLong).slice(0, 2, 8, 2));
  expect_same(got.get<at::Tensor>("wide"), at::ones({1000}));
  expect_same(got.get<at::Tensor>("empty"), at::empty({0, 3}));
  EXPECT_EQ(got.get<PyList>("many").size(), 3000U);

  const auto expect_refused_file = [&](const char* name, const std::string& why) {
    expect_error(ErrorKind::input, {name, why}, [&] { read_torch_file(folder_ / name, ledger_); });
  };
  expect_refused_file("tensor.pth", "of type Tensor, a dict was expected");
  expect_refused_file("model.pth", "refers to torch.nn.modules.container.Sequential");
  expect_refused_file("large.pth", "int of 9 bytes");
  expect_refused_file("legacy.pth", "torch before 1.6");
  expect_refused_file("script.pth", "refers to __torch__");
}

}  // namespace
}  // namespace plimsoll::train
