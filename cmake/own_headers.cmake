# Our libraries' headers come before the copies that a torch brings. A pip-installed torch has other projects'
# headers beside its own (fmt, pybind11, …), in other versions than the libraries that we link; an undefined
# symbol would be the result. Compilers ignore a -isystem /usr/include, and -idirafter for torch's folder
# would prefer another torch in /usr/include: so a folder of links to our headers comes first.

# Each with the target that knows its folder; without a folder there, it lies where the compiler looks anyway.
set(plimsoll_own_headers
  fmt/format.h fmt::fmt
  CLI/CLI.hpp CLI11::CLI11
  nlohmann/json.hpp nlohmann_json::nlohmann_json
  zlib.h ZLIB::ZLIB
  zconf.h ZLIB::ZLIB
  zip.h PkgConfig::LIBZIP
  zipconf.h PkgConfig::LIBZIP
  xxhash.h PkgConfig::XXHASH
  re2/re2.h PkgConfig::RE2
  httplib.h PkgConfig::HTTPLIB
  liburing.h PkgConfig::LIBURING
  liburing/io_uring.h PkgConfig::LIBURING
  sqlite3.h SQLite::SQLite3
  gtest/gtest.h GTest::gtest
  gmock/gmock.h GTest::gmock)

# Sets `result` to the folder of a header, or to nothing.
function(plimsoll_find_header result header target)
  set(places "")
  if(TARGET ${target})
    get_target_property(places ${target} INTERFACE_INCLUDE_DIRECTORIES)
  endif()
  find_path(place ${header} NO_CACHE NO_DEFAULT_PATH PATHS ${places} ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
  if(place)
    set(${result} ${place} PARENT_SCOPE)
  else()
    set(${result} "" PARENT_SCOPE)
  endif()
endfunction()

# Makes the folder and sets `result` to its path.
function(plimsoll_link_own_headers result)
  set(folder ${CMAKE_BINARY_DIR}/own_headers)
  file(MAKE_DIRECTORY ${folder})
  set(pairs ${plimsoll_own_headers})
  while(pairs)
    list(POP_FRONT pairs header target)
    plimsoll_find_header(place ${header} ${target})
    if(place)
      string(REGEX REPLACE "/.*" "" name ${header})
      file(CREATE_LINK ${place}/${name} ${folder}/${name} SYMBOLIC)
    endif()
  endwhile()
  set(${result} ${folder} PARENT_SCOPE)
endfunction()

# Installs those that the training library includes.
function(plimsoll_install_headers destination)
  set(pairs ${plimsoll_own_headers})
  while(pairs)
    list(POP_FRONT pairs header target)
    plimsoll_find_header(place ${header} ${target})
    if(NOT place OR target MATCHES "GTest|CLI11|RE2|SQLite|HTTPLIB")
      continue()
    endif()
    string(REGEX REPLACE "/.*" "" name ${header})
    if(IS_DIRECTORY ${place}/${name})
      install(DIRECTORY ${place}/${name} DESTINATION ${destination})
    else()
      install(FILES ${place}/${name} DESTINATION ${destination})
    endif()
  endwhile()
endfunction()
