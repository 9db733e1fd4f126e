#include "formats/data_root.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "temp_folder.h"

namespace plimsoll::formats {
namespace {

namespace fs = std::filesystem;

// A folder like the root that the ogb package downloads to.
class DataRootTest : public testing::Test {
 protected:
  void make_store(const fs::path& name) { write_file(root_ / name / "meta.json", "{}"); }
  void make_data_set(const fs::path& name) { write_file(root_ / name / "raw/edge.csv", ""); }

  void expect(const fs::path& store, const fs::path& import_from) {
    const DataRoot found = resolve_data_root(root_.path());
    EXPECT_EQ(found.store, store);
    EXPECT_EQ(found.import_from, import_from);
  }

  TempFolder root_;
};

TEST_F(DataRootTest, MayBeAStore) {
  make_store("");
  make_store("other.plim");
  expect(root_.path(), "");
}

TEST_F(DataRootTest, MayHoldAStore) {
  make_store("arxiv.plim");
  make_data_set("ogbn_arxiv");
  make_store("not_named_so");
  fs::create_directory(root_ / "unfinished.plim");
  expect(root_ / "arxiv.plim", "");
}

TEST_F(DataRootTest, MayHoldADataSet) {
  make_data_set("ogbn_papers100M");
  fs::create_directories(root_ / "something" / "else");
  expect(root_ / "ogbn_papers100M.plim", root_ / "ogbn_papers100M");
}

TEST_F(DataRootTest, MayBeADataSet) {
  make_data_set("");
  const std::string own_name = root_.path().filename().string();
  expect(root_ / (own_name + ".plim"), root_.path());
  const DataRoot with_slash = resolve_data_root(root_ / "");
  EXPECT_EQ(with_slash.store, root_ / (own_name + ".plim"));
}

TEST_F(DataRootTest, IsFoundAgainAfterTheImport) {
  make_data_set("ogbn_arxiv");
  const fs::path store = resolve_data_root(root_.path()).store;
  make_store(store.filename());
  expect(store, "");
}

TEST_F(DataRootTest, IsRefusedWithWhatItHolds) {
  const auto resolve = [&] { resolve_data_root(root_.path()); };
  expect_error(ErrorKind::input, {root_.path().string(), "no folders", "plimsoll import"}, resolve);
  fs::create_directory(root_ / "pictures");
  expect_error(ErrorKind::input, {"only pictures"}, resolve);
  make_data_set("b");
  make_data_set("a");
  expect_error(ErrorKind::usage, {"2 data sets: a, b", "--data_root " + (root_ / "a").string()},
               resolve);
  make_store("y.plim");
  make_store("x.plim");
  expect_error(ErrorKind::usage, {"2 stores: x.plim, y.plim", (root_ / "x.plim").string()},
               resolve);
}

TEST_F(DataRootTest, IsRefusedWhereItIsNoFolder) {
  write_file(root_ / "file", "");
  expect_error(ErrorKind::usage, {"is a file"}, [&] { resolve_data_root(root_ / "file"); });
  expect_error(ErrorKind::io, {"there is no such folder"},
               [&] { resolve_data_root(root_ / "nowhere"); });
}

TEST_F(DataRootTest, IsRefusedWhereTheStoreCannotBeWritten) {
  make_data_set("ogbn_arxiv");
  fs::permissions(root_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  if (::access(root_.path().c_str(), W_OK) == 0) GTEST_SKIP() << "permissions do not bind root";
  expect_error(ErrorKind::io, {"plimsoll import ogb", "--out"},
               [&] { resolve_data_root(root_.path()); });
  fs::permissions(root_.path(), fs::perms::owner_all);
}

}  // namespace
}  // namespace plimsoll::formats
