# The Debian package (make deb): what `make install` copies, the Python package, and the dependencies that the
# libraries themselves name (dpkg-shlibdeps). Included last, when everything that is installed is known.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "Plimsoll")
set(CPACK_PACKAGE_CONTACT "Plimsoll developers <plimsoll@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "trains on graphs larger than memory, supervises trainings")
set(CPACK_PACKAGE_DESCRIPTION "Trains graph neural networks on graphs larger than memory, within a memory limit.
Also runs and supervises other training commands, and leaves none of their
processes behind. With a C interface and a Python package, whose loader takes the
place of PyTorch Geometric's.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Torch computes many times faster on OpenBLAS than on the plain BLAS; the Python package needs NumPy.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libopenblas0-pthread, python3-numpy")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "bash-completion, cmake, g++, python3-torch")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${PROJECT_SOURCE_DIR}/cmake/debian/postinst ${PROJECT_SOURCE_DIR}/cmake/debian/prerm ${PROJECT_SOURCE_DIR}/cmake/debian/triggers)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian/arrange.cmake)

# The component `debian` is in the package only: elsewhere Python does not look there.
install(DIRECTORY python/plimsoll DESTINATION lib/python3/dist-packages COMPONENT debian EXCLUDE_FROM_ALL PATTERN __pycache__ EXCLUDE)
install(FILES LICENSE DESTINATION share/doc/plimsoll RENAME copyright COMPONENT debian EXCLUDE_FROM_ALL)
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};plimsoll;ALL;/;${CMAKE_BINARY_DIR};plimsoll;debian;/")
include(CPack)
