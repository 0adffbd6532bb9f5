# `cpack` in a build folder makes a Debian package and an archive of the headers that `cmake --install` lays down. These
# are for all architectures, so planb::compiled is not in them: who wants it compiles planb/src.hpp.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};${PROJECT_NAME};headers;/")
set(CPACK_PACKAGE_NAME planb-dev)
set(CPACK_PACKAGE_VENDOR "the planb authors")
set(CPACK_PACKAGE_CONTACT "the planb authors <planb@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "fallback chains as values (C++20 headers)")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGE_FILE_NAME "planb-dev_${PROJECT_VERSION}_all")
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
include(CPack)
