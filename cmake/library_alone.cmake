# The training library without the program (`plimsoll torch build`), for the torch in PLIMSOLL_TORCH_FOLDER, a
# Python package. Torch's own TorchConfig.cmake would ask for a CUDA compiler, which nothing here needs. Other
# libraries are not linked: the program that opens this one has loaded them. Their headers are in
# PLIMSOLL_HEADERS, or where the compiler looks.
set(PLIMSOLL_TESTS OFF)
set(torch_headers ${PLIMSOLL_TORCH_FOLDER}/include)
foreach(target fmt::fmt nlohmann_json::nlohmann_json ZLIB::ZLIB PkgConfig::LIBZIP PkgConfig::XXHASH PkgConfig::LIBURING)
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} INTERFACE ${PLIMSOLL_HEADERS})
endforeach()
find_path(PLIMSOLL_LIBURING_HEADER liburing.h HINTS ${PLIMSOLL_HEADERS})
if(PLIMSOLL_LIBURING_HEADER)
  set(LIBURING_FOUND ON)
endif()

find_package(OpenMP REQUIRED)
add_library(plimsoll_torch INTERFACE)
target_include_directories(plimsoll_torch SYSTEM INTERFACE
  ${PLIMSOLL_HEADERS} ${torch_headers} ${torch_headers}/torch/csrc/api/include)
foreach(name torch torch_cpu c10 torch_cuda c10_cuda)
  set(file ${PLIMSOLL_TORCH_FOLDER}/lib/lib${name}.so)
  if(EXISTS ${file})
    # torch_cuda registers itself, so it is needed although no symbol of it is.
    target_link_libraries(plimsoll_torch INTERFACE -Wl,--push-state,--no-as-needed ${file} -Wl,--pop-state)
  endif()
endforeach()
target_link_libraries(plimsoll_torch INTERFACE OpenMP::OpenMP_CXX)
# Gloo's headers of this torch: Debian's are beside it, and those of another would not match.
file(REAL_PATH ${torch_headers}/torch real_headers)
get_filename_component(gloo_place ${real_headers} DIRECTORY)
find_path(PLIMSOLL_GLOO_HEADERS gloo/config.h PATHS ${gloo_place} NO_DEFAULT_PATH)
