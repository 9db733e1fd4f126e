// The Source that every format here reads into or writes from, under the names this room uses.
#pragma once

#include "ingest/source.h"

namespace plimsoll::formats {

using ingest::kSplits;
using ingest::name;
using ingest::Part;
using ingest::part_of;
using ingest::Shape;
using ingest::Source;
using ingest::Split;

}  // namespace plimsoll::formats
