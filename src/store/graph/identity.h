// Which data a store holds, for records of trainings: two stores with the same checksum have the
// same content.
#pragma once

#include <string>

#include "graph/store.h"

namespace plimsoll::graph {

// One checksum for the whole store: XXH3-64 over its files' checksums, in the order of their names.
std::string store_checksum(const Store& store);

// The name of the store's source, or the folder's name without .plim.
std::string dataset_name(const Store& store);

}  // namespace plimsoll::graph
