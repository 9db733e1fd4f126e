#include "formats/recognise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/open_graph.h"
#include "formats/test_files.h"

namespace plimsoll::formats {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Recognise : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  std::string words(const std::string& name) const { return recognise(folder_ / name); }

  TempFolder folder_;
};

TEST_F(Recognise, KnowsStoresAndFoldersOfStores) {
  write_file(folder_ / "stores/a.plim/meta.json", "{}");
  EXPECT_THAT(words("stores/a.plim"), AllOf(StartsWith("a store already"),
                                            HasSubstr("plimsoll train " + at("stores/a.plim"))));
  EXPECT_THAT(words("stores"), HasSubstr("holds the store a.plim; give " + at("stores/a.plim")));
  EXPECT_THAT(words("stores/a.plim/meta.json"),
              HasSubstr("give its folder, " + at("stores/a.plim")));
  fs::create_directory(folder_ / "b.plim.partial");
  EXPECT_THAT(words("b.plim.partial"), HasSubstr("import the graph again"));
}

TEST_F(Recognise, KnowsOgbDataSetsFromInsideAndOutside) {
  write_file(folder_ / "data/products/raw/edge.csv.gz", "");
  write_file(folder_ / "data/products/split/sales_ranking/train.csv.gz", "");
  const std::string command = "plimsoll import ogb " + at("data/products") + " --out products.plim";
  EXPECT_THAT(words("data/products"), AllOf(StartsWith("an OGB data set"), HasSubstr(command)));
  EXPECT_THAT(words("data/products/raw"),
              AllOf(StartsWith("the raw/ folder of an OGB data set"), HasSubstr(command)));
  EXPECT_THAT(words("data"),
              AllOf(HasSubstr("holds the OGB data set products"), HasSubstr(command)));
  write_file(folder_ / "data/arxiv/raw/data.npz", "");
  EXPECT_THAT(words("data"), HasSubstr("OGB data sets: arxiv, products"));
}

TEST_F(Recognise, KnowsArchivesArraysAndText) {
  write_file(folder_ / "d/my graph.npz", "");
  const std::string command =
      "plimsoll import npz '" + at("d/my graph.npz") + "' --out 'my graph.plim'";
  EXPECT_THAT(words("d/my graph.npz"), AllOf(StartsWith("a NumPy archive"), HasSubstr(command)));
  EXPECT_THAT(words("d"), AllOf(HasSubstr("NumPy archives: my graph.npz"), HasSubstr(command)));
  write_file(folder_ / "e/x.npy", "");
  EXPECT_THAT(words("e/x.npy"), HasSubstr("edge_index.npy and node_feat.npy"));
  write_file(folder_ / "f/edges.csv", "");
  EXPECT_THAT(words("f/edges.csv"), HasSubstr("plimsoll import csv --edges"));
  EXPECT_THAT(words("f"), HasSubstr("a folder of text files: edges.csv"));
}

TEST_F(Recognise, KnowsDataSetsOfPyg) {
  write_file(folder_ / "Cora/raw/ind.cora.x", "");
  write_file(folder_ / "Cora/processed/data.pt", "");
  write_file(folder_ / "Cora/processed/pre_filter.pt", "");
  for (const std::string name : {"Cora", "Cora/processed", "Cora/processed/"}) {
    EXPECT_THAT(words(name),
                AllOf(HasSubstr("of PyG"), HasSubstr(at("Cora/processed/data.pt") + " Cora.npz"),
                      HasSubstr("plimsoll import npz Cora.npz --out Cora.plim")))
        << name;
  }
  EXPECT_THAT(words("Cora/processed/data.pt"), HasSubstr("plimsoll import npz data.npz"));
}

TEST_F(Recognise, KnowsTrainingsAndNothing) {
  write_file(folder_ / "models/last.pth", "");
  EXPECT_THAT(words("models"), HasSubstr("the store it was trained on"));
  EXPECT_THAT(words("models/last.pth"), HasSubstr("the store it was trained on"));
  fs::create_directory(folder_ / "empty");
  EXPECT_THAT(words("empty"), StartsWith("an empty folder"));
  write_file(folder_ / "other/a.txt.bak", "");
  EXPECT_THAT(words("other"), HasSubstr("a folder that holds: a.txt.bak"));
}

TEST_F(Recognise, IsWhatImportsSayOfAWrongPath) {
  write_file(folder_ / "g.npz", "");
  write_file(folder_ / "a.plim/meta.json", "{}");
  expect_error(ErrorKind::input, {"is not the folder of an OGB data set", "plimsoll import npz"},
               [&] {
                 open_ogb({folder_ / "g.npz", ""});
               });
  expect_error(ErrorKind::input, {"is not an OGB data set", "a store already"}, [&] {
    open_ogb({folder_ / "a.plim", ""});
  });
  expect_error(ErrorKind::input, {"is not a NumPy archive, but a store already"},
               [&] { open_npz(folder_ / "a.plim"); });
  write_file(folder_ / "arxiv/raw/edge.csv", "");
  expect_error(ErrorKind::input, {"is not a NumPy archive", "plimsoll import ogb"},
               [&] { open_npz(folder_ / "arxiv"); });
  expect_error(ErrorKind::io, {"there is no file"}, [&] { open_npz(folder_ / "nowhere.npz"); });
  expect_error(ErrorKind::input, {"arxiv is not a text file", "plimsoll import ogb"}, [&] {
    open_csv({folder_ / "arxiv", folder_ / "arxiv", {}, {}});
  });
  expect_error(ErrorKind::input, {"g.npz is not a text file", "plimsoll import npz"}, [&] {
    open_csv({folder_ / "g.npz", folder_ / "g.npz", {}, {}});
  });
}

}  // namespace
}  // namespace plimsoll::formats
