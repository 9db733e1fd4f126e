#include "serve/request.h"

#include <gtest/gtest.h>

namespace plimsoll::serve {
namespace {

using Kind = PageAddress::Kind;

TEST(PageAddress, OfAListAndOfARun) {
  EXPECT_EQ(address_of("/").kind, Kind::list);
  EXPECT_EQ(address_of("/body").part, Part::body);
  EXPECT_EQ(address_of("/events").part, Part::events);
  const PageAddress run = address_of("/run/0123456789abcdef/events");
  EXPECT_EQ(run.kind, Kind::run);
  EXPECT_EQ(run.id, "0123456789abcdef");
  EXPECT_EQ(run.part, Part::events);
  EXPECT_EQ(address_of(page_of(id_of("models/a"))).id, id_of("models/a"));
}

TEST(PageAddress, IsNothingElse) {
  for (const char* path :
       {"", "//", "/run", "/run/", "/run/..", "/run/../../etc/passwd", "/run/0123456789abcde",
        "/run/0123456789ABCDEF", "/run/0123456789abcdef/", "/run/0123456789abcdef0",
        "/run/0123456789abcdef/../body", "/etc/passwd", "/page.js/", "\\", "http://localhost/",
        "*"}) {
    EXPECT_EQ(address_of(path).kind, Kind::nothing) << path;
  }
}

TEST(PageAddress, IdsDifferByPathAndStayTheSame) {
  EXPECT_EQ(id_of("models/a"), id_of("models/a"));
  EXPECT_NE(id_of("models/a"), id_of("models/b"));
  EXPECT_EQ(id_of(".").size(), 16U);
}

TEST(EventText, IsOneEvent) {
  EXPECT_EQ(event_text("version", "12"), "event: version\ndata: 12\n\n");
}

TEST(Access, TakesTheNameOutOfAHostHeader) {
  EXPECT_EQ(host_in("localhost"), "localhost");
  EXPECT_EQ(host_in("LocalHost:8080"), "localhost");
  EXPECT_EQ(host_in("[::1]:8080"), "::1");
  EXPECT_EQ(host_in("node17.example.org:1"), "node17.example.org");
}

TEST(Access, FindsNoNameInAMalformedHostHeader) {
  for (const char* header :
       {"", ":80", "localhost:", "localhost:8o", "localhost:123456", "[::1", "[::1]x",
        "[localhost]", "a b", "localhost/", "user@localhost", "localhost,evil.example", "::1"}) {
    EXPECT_EQ(host_in(header), "") << header;
  }
}

TEST(Access, OnLoopbackAnswersOnlyForNamesOfLoopback) {
  const AccessPolicy policy = policy_for("127.0.0.1", "node17", "");
  for (const char* header : {"localhost:9000", "127.0.0.1:9000", "127.3.4.5", "[::1]:9000"}) {
    EXPECT_TRUE(allows_host(policy, header)) << header;
  }
  for (const char* header : {"evil.example", "localhost.evil.example:9000", "node17:9000",
                             "10.0.0.1:9000", "127.0.0.1.evil.example", "1270.0.1", ""}) {
    EXPECT_FALSE(allows_host(policy, header)) << header;
  }
}

TEST(Access, ElsewhereAnswersForTheStatedHostToo) {
  const AccessPolicy policy = policy_for("Node17", "node17", "t");
  EXPECT_TRUE(allows_host(policy, "node17:9000"));
  EXPECT_TRUE(allows_host(policy, "localhost:9000"));
  EXPECT_FALSE(allows_host(policy, "node18:9000"));
  EXPECT_FALSE(allows_host(policy, "10.0.0.1:9000"));
}

TEST(Access, OnAllAddressesAnswersForAddressesAndTheMachine) {
  const AccessPolicy policy = policy_for("0.0.0.0", "node17", "t");
  EXPECT_TRUE(allows_host(policy, "10.0.0.1:9000"));
  EXPECT_TRUE(allows_host(policy, "[fe80::1]:9000"));
  EXPECT_TRUE(allows_host(policy, "NODE17:9000"));
  EXPECT_FALSE(allows_host(policy, "evil.example:9000"));
}

TEST(Access, ComparesTheWholeToken) {
  const AccessPolicy policy = policy_for("0.0.0.0", "node17", "secret");
  EXPECT_TRUE(allows_token(policy, "secret"));
  for (const char* given : {"", "s", "secre", "secretx", "secreT", "xecret"}) {
    EXPECT_FALSE(allows_token(policy, given)) << given;
  }
  EXPECT_TRUE(allows_token(policy_for("127.0.0.1", "node17", ""), "anything"));
}

TEST(Access, MakesAnotherTokenEachTime) {
  const std::string token = make_token();
  EXPECT_EQ(token.size(), 32U);
  EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(token, make_token());
}

TEST(Access, FindsACookieAmongOthers) {
  EXPECT_EQ(cookie_in("a=1; plimsoll_80=x; b=2", "plimsoll_80"), "x");
  EXPECT_EQ(cookie_in("plimsoll_80=", "plimsoll_80"), "");
  EXPECT_EQ(cookie_in("xplimsoll_80=x", "plimsoll_80"), "");
  EXPECT_EQ(cookie_in("plimsoll_80", "plimsoll_80"), "");
  EXPECT_EQ(cookie_in(";;; ;plimsoll_80=a=b", "plimsoll_80"), "a=b");
}

TEST(Access, KnowsLoopbackAndWildcards) {
  EXPECT_TRUE(is_loopback("LOCALHOST"));
  EXPECT_TRUE(is_loopback("127.9.9.9"));
  EXPECT_TRUE(is_loopback("::1"));
  EXPECT_FALSE(is_loopback("128.0.0.1"));
  EXPECT_FALSE(is_loopback("0.0.0.0"));
  EXPECT_TRUE(is_wildcard("::"));
  EXPECT_FALSE(is_wildcard("127.0.0.1"));
}

}  // namespace

}  // namespace plimsoll::serve
