#include "graph/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "tiny_store.h"

namespace plimsoll::graph {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class StoreTest : public testing::Test {
 protected:
  StoreTest() { write_store(folder_, {}); }

  // The message of the Error that `work` must throw.
  static std::string refusal_of(const std::function<void()>& work,
                                ErrorKind kind = ErrorKind::store) {
    try {
      work();
    } catch (const Error& error) {
      EXPECT_EQ(name(error.kind()), name(kind));
      return error.what();
    }
    return "no refusal";
  }

  void replace_in_meta(const std::string& from, const std::string& to) {
    std::string text = read_text(folder_ / "meta.json");
    ASSERT_NE(text.find(from), std::string::npos);
    write_text(folder_ / "meta.json", text.replace(text.find(from), from.size(), to));
  }

  void flip_byte(const std::string& file, size_t index) {
    std::string text = read_text(folder_ / file);
    text.at(index) = static_cast<char>(text.at(index) ^ 1);
    write_text(folder_ / file, text);
  }

  TempFolder temp_;
  fs::path folder_ = temp_.path() / "store";
  memory::Ledger ledger_{8 * kMiB};
};

TEST_F(StoreTest, OpensWhatTheWriterWrote) {
  const Store store = open(folder_);
  EXPECT_EQ(store.meta().nodes, 4);
  EXPECT_EQ(store.meta().source["name"], "tiny");
  EXPECT_EQ(store.features_file(), folder_ / "features.f16");
  uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) bytes += entry.file_size();
  EXPECT_EQ(store.size_bytes(), bytes);
}

TEST_F(StoreTest, RefusesAFolderThatIsNotThere) {
  EXPECT_THAT(refusal_of([&] { open(temp_.path() / "nowhere"); }, ErrorKind::io),
              HasSubstr("nowhere"));
}

TEST_F(StoreTest, RefusesAFolderWithoutMeta) {
  fs::remove(folder_ / "meta.json");
  EXPECT_THAT(refusal_of([&] { open(folder_); }), HasSubstr("it has no meta.json"));
}

TEST_F(StoreTest, RefusesAnUnknownVersion) {
  replace_in_meta("\"version\": 1", "\"version\": 9");
  EXPECT_THAT(refusal_of([&] { open(folder_); }),
              AllOf(HasSubstr("meta.json"), HasSubstr("version 9, this program reads 1")));
}

TEST_F(StoreTest, RefusesMetaThatIsGarbage) {
  write_text(folder_ / "meta.json", std::string("\x7f"
                                                "ELF\0\1\2",
                                                7));
  EXPECT_THAT(refusal_of([&] { open(folder_); }), HasSubstr("does not describe a Plimsoll store"));
}

TEST_F(StoreTest, RefusesAMissingFileByName) {
  fs::remove(folder_ / "ids.u32");
  EXPECT_THAT(refusal_of([&] { open(folder_); }), HasSubstr((folder_ / "ids.u32").string()));
}

TEST_F(StoreTest, RefusesAFileOfTheWrongSizeWithBothSizes) {
  fs::resize_file(folder_ / "labels.i32", 12);
  EXPECT_THAT(refusal_of([&] { open(folder_); }),
              AllOf(HasSubstr("labels.i32 has 12 bytes"), HasSubstr("meta.json says 16")));
}

TEST_F(StoreTest, VerifiesAnIntactStoreAndReadsAllOfIt) {
  const Store store = open(folder_);
  uint64_t bytes = 0;
  verify(store, ledger_, [&](uint64_t count) { bytes += count; });
  EXPECT_EQ(bytes, store.size_bytes() - fs::file_size(folder_ / "meta.json"));
}

TEST_F(StoreTest, FindsOneFlippedBitInAnyFile) {
  const Store store = open(folder_);
  for (const auto& [file, about] : store.meta().files) {
    if (about.bytes == 0) continue;
    flip_byte(file, about.bytes - 1);
    EXPECT_THAT(refusal_of([&] { verify(store, ledger_, [](uint64_t) {}); }),
                AllOf(HasSubstr(file), HasSubstr(about.checksum), HasSubstr("damaged or changed")));
    flip_byte(file, about.bytes - 1);
  }
}

TEST_F(StoreTest, WriterGivesNoNameToWhatCannotBeOpened) {
  const TinyGraph graph;
  Meta meta = meta_of(graph);
  meta.classes = kMostClasses + 1;
  EXPECT_THAT(refusal_of([&] { write_store(temp_.path() / "other", graph, meta); }),
              HasSubstr("\"classes\" is 2147483648"));
  EXPECT_FALSE(fs::exists(temp_.path() / "other"));
}

TEST_F(StoreTest, WriterRefusesAFileThatContradictsTheShape) {
  const TinyGraph graph;
  Meta meta = meta_of(graph);
  meta.split_sizes[1] = 2;
  EXPECT_THAT(
      refusal_of([&] { write_store(temp_.path() / "other", graph, meta); }, ErrorKind::internal),
      AllOf(HasSubstr("split.valid.u32"), HasSubstr("0 bytes"), HasSubstr("must have 8")));
  EXPECT_FALSE(fs::exists(temp_.path() / "other"));
}

}  // namespace
}  // namespace plimsoll::graph
