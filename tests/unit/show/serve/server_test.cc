// The server with its connections, its board and its end, as threads.
#include "serve/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <thread>

#include "serve/request.h"
#include "serve/simple_views.h"

namespace plimsoll::serve {
namespace {

using testing::HasSubstr;

class LiveServerTest : public testing::Test {
 protected:
  void SetUp() override {
    write_file(folder_ / "a/results.json", "one");
    server_.emplace(ServeOptions{.folder = folder_.path(), .most_connections = 8}, simple_views());
    running_ = std::thread([this] { server_->run([this] { return stop_.load(); }); });
  }
  void TearDown() override {
    stop_ = true;
    if (running_.joinable()) running_.join();
  }
  httplib::Client client() const { return httplib::Client("127.0.0.1", server_->port()); }

  TempFolder folder_;
  std::optional<LiveServer> server_;
  std::atomic<bool> stop_ = false;
  std::thread running_;
};

TEST_F(LiveServerTest, AnswersWithPages) {
  const auto list = client().Get("/");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->status, 200);
  EXPECT_THAT(list->body, HasSubstr("a: one"));
  const auto run = client().Get(page_of(id_of("a")) + "/body");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->body, "one");
  EXPECT_EQ(client().Get("/missing")->status, 404);
}

TEST_F(LiveServerTest, TellsOpenPagesOfChanges) {
  std::string text;
  httplib::Client page = client();
  page.set_read_timeout(60);
  (void)page.Get("/events", [&](const char* data, size_t length) {
    const bool first = text.empty();
    text.append(data, length);
    if (first) write_file(folder_ / "a/results.json", "changed");
    return text.find("event: version", text.find("event: version") + 1) == std::string::npos;
  });
  EXPECT_THAT(text, HasSubstr("retry: "));
  EXPECT_THAT(client().Get("/body")->body, HasSubstr("a: changed"));
}

TEST_F(LiveServerTest, EndsWithOpenPagesAndRefusesTooMany) {
  std::atomic<int> open = 0;
  std::atomic<int> refused = 0;
  std::vector<std::thread> pages;
  for (int i = 0; i < 10; ++i) {
    pages.emplace_back([&] {
      httplib::Client page = client();
      page.set_read_timeout(60);
      const auto answer = page.Get(
          "/events",
          [&](const httplib::Response& response) {
            ++(response.status == 200 ? open : refused);
            return true;
          },
          [](const char*, size_t) { return true; });
      (void)answer;
    });
  }
  while (open + refused < 10) std::this_thread::yield();
  EXPECT_EQ(open, 4);  // half of few connections is left for short requests
  EXPECT_EQ(refused, 6);
  EXPECT_EQ(client().Get("/")->status, 200);
  TearDown();
  for (std::thread& page : pages) page.join();
}

TEST_F(LiveServerTest, HasItsPortForItself) {
  expect_error(ErrorKind::io, {"cannot listen on 127.0.0.1", "choose another --port"}, [&] {
    const LiveServer second({.folder = folder_.path(), .port = server_->port()}, simple_views());
  });
}

}  // namespace
}  // namespace plimsoll::serve
