// A parser on all files of a folder, and on copies with some bytes changed, taken out or repeated:
// what a fuzzer does in the first second, without one. The same copies each time.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr int kCopies = 3000;        // of a file
constexpr size_t kMostBytes = 4096;  // of a copy: what a parser looks at comes first
constexpr std::string_view kTelling("\0\x01\x7f\x80\xff[]{}\"'\\,:.-+0919eE \n\r", 28);

class Damage {
 public:
  explicit Damage(unsigned seed) : random_(seed) {}

  std::string copy(std::string bytes) {
    bytes.resize(std::min(bytes.size(), kMostBytes));
    for (size_t changes = 1 + below(4); changes > 0; --changes) change(bytes);
    return bytes;
  }

 private:
  size_t below(size_t end) { return end == 0 ? 0 : random_() % end; }

  void change(std::string& bytes) {
    const size_t place = below(bytes.size());
    const size_t count = below(bytes.size() - place);
    switch (below(5)) {
      case 0:
        bytes.insert(place, 1, kTelling[below(kTelling.size())]);
        break;
      case 1:
        bytes.insert(place, bytes.substr(place, count));
        break;
      case 2:
        bytes.erase(place, below(16));
        break;
      case 3:
        bytes.resize(place);
        break;
      default:
        if (!bytes.empty()) bytes[place] = kTelling[below(kTelling.size())];
    }
  }

  std::mt19937 random_;
};

void parse(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    if (entry.is_regular_file()) files.insert(entry.path());
  }
  unsigned seed = 0;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    parse(bytes);
    Damage damage(++seed);
    for (int i = 0; i < kCopies; ++i) parse(damage.copy(bytes));
  }
  std::printf("%zu files and %zu damaged copies\n", files.size(), files.size() * kCopies);
  return files.empty() ? 1 : 0;
}
