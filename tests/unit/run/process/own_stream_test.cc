#include "process/own_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

namespace plimsoll::process {
namespace {

using std::chrono::milliseconds;

struct Ends {
  Fd read_end;
  Fd write_end;
};

Ends make_pipe() {
  std::array<int, 2> ends = {-1, -1};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

Ends make_sockets() {
  std::array<int, 2> ends = {-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

Ends make_terminal() {
  Fd ours(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  grantpt(ours.get());
  unlockpt(ours.get());
  std::array<char, 64> name = {};
  ptsname_r(ours.get(), name.data(), name.size());
  Fd theirs(open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  return {std::move(ours), std::move(theirs)};
}

const std::string kLong(size_t{8} << 20, 'x');

TEST(OwnStream, GivesUpAReaderThatDoesNotRead) {
  for (const auto make : {make_pipe, make_sockets, make_terminal}) {
    const Ends ends = make();
    EXPECT_FALSE(write_patiently(ends.write_end.get(), kLong, milliseconds(50)));
    EXPECT_EQ(fcntl(ends.write_end.get(), F_GETFL) & O_NONBLOCK, 0)
        << "the stream is as others left it";
  }
}

TEST(OwnStream, WritesAllToAReaderThatReads) {
  for (const auto make : {make_pipe, make_sockets}) {
    Ends ends = make();
    size_t seen = 0;
    std::thread reader([&] {
      std::string block(65536, '\0');
      for (ssize_t count = 0;
           (count = read(ends.read_end.get(), block.data(), block.size())) > 0;) {
        seen += static_cast<size_t>(count);
      }
    });
    EXPECT_TRUE(write_patiently(ends.write_end.get(), kLong, milliseconds(20000)));
    ends.write_end = Fd();
    reader.join();
    EXPECT_EQ(seen, kLong.size());
  }
}

TEST(OwnStream, SurvivesAReaderThatHasGone) {
  for (const auto make : {make_pipe, make_sockets}) {
    Ends ends = make();
    ends.read_end = Fd();
    EXPECT_FALSE(write_patiently(ends.write_end.get(), "a line\n", milliseconds(20000)));
  }
}

TEST(OwnStream, WritesToAStreamThatIsNotToBlock) {
  const Ends ends = make_pipe();
  fcntl(ends.write_end.get(), F_SETFL, O_NONBLOCK);
  EXPECT_TRUE(write_patiently(ends.write_end.get(), "a line\n", milliseconds(50)));
  EXPECT_FALSE(write_patiently(ends.write_end.get(), kLong, milliseconds(50)));
}

}  // namespace
}  // namespace plimsoll::process
