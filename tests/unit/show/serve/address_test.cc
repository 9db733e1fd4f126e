#include <gtest/gtest.h>

#include "serve/request.h"

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

}  // namespace
}  // namespace plimsoll::serve
