# A port for an overlay: vcpkg install planb --overlay-ports=packaging/vcpkg. It builds this checkout; a port in a
# registry downloads a release instead.
set(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../..")
set(VCPKG_BUILD_TYPE release) # headers only

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DPLANB_BUILD_TESTS=OFF -DPLANB_BUILD_EXAMPLES=OFF
                      -DPLANB_INSTALL=ON -DPLANB_COMPILED=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME planb CONFIG_PATH share/cmake/planb)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug" "${CURRENT_PACKAGES_DIR}/lib")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
