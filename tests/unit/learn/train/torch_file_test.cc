#include "train/torch_file.h"

#include <ATen/ops/arange.h>
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

#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "train/torch_file_fixture.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

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

PyDict made_row(size_t i) {
  return PyDict{{"number", static_cast<int64_t>(i)}, {"text", "a row"}, {"nothing", PyValue()}};
}

// More rows than one piece of a pickle holds.
TEST_F(TorchFile, WritesRowsThatAreMadeOneByOneAsAList) {
  constexpr size_t kRows = 10'000;
  PyList list;
  for (size_t i = 0; i < kRows; ++i) list.emplace_back(made_row(i));
  write_torch_file(path_, PyDict{{"rows", list}, {"after", 1}});
  const std::string whole = read_file(path_);
  write_torch_file(path_, PyDict{{"rows", PyRows{kRows, made_row}}, {"after", 1}});
  EXPECT_EQ(read_file(path_), whole);
}

TEST_F(TorchFile, HandsAListOverRowByRow) {
  write_torch_file(path_, PyDict{{"in", PyDict{{"rows", PyRows{3, made_row}}, {"after", 1}}},
                                 {"rows", PyList{1, 2}}});
  std::vector<int64_t> numbers;
  const StreamedList streamed = {
      .keys = {"in", "rows"}, .row_bytes = 8, .take = [&](const PyDict& row, size_t rows) {
        EXPECT_EQ(rows, 3U);
        numbers.push_back(row.get<int64_t>("number"));
      }};
  const TorchFileReader file(path_, ledger_, &streamed);
  EXPECT_EQ(numbers, (std::vector<int64_t>{0, 1, 2}));
  const PyDict& in = file.values().get<PyDict>("in");
  EXPECT_TRUE(in.get<PyList>("rows").empty());
  EXPECT_EQ(in.get<int64_t>("after"), 1);
  EXPECT_EQ(file.values().get<PyList>("rows").size(), 2U);
}

TEST_F(TorchFile, RefusesToHandOverWhatIsNotADict) {
  write_torch_file(path_, PyDict{{"rows", PyList{1}}});
  const StreamedList streamed = {.keys = {"rows"}, .take = [](const PyDict&, size_t) { FAIL(); }};
  expect_error(ErrorKind::input, {path_.string(), "'rows'", "int"},
               [&] { TorchFileReader(path_, ledger_, &streamed); });
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

}  // namespace
}  // namespace plimsoll::train
