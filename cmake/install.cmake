# What `cmake --install` lays down: the headers, the package for find_package, and the one for pkg-config. These have no
# binary, so they are independent of the architecture and live under share/: the component `headers`. The library of
# planb::compiled, with packages of its own that the former find, is the component `compiled`, under lib/.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(planb_package_dir "${CMAKE_INSTALL_DATADIR}/cmake/planb")
set(planb_pkgconfig_dir "${CMAKE_INSTALL_DATADIR}/pkgconfig")

install(TARGETS planb EXPORT planb-targets FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
                                                            COMPONENT headers)
install(EXPORT planb-targets NAMESPACE planb:: DESTINATION "${planb_package_dir}" COMPONENT headers)

# Relative, so that an installed tree may be moved.
set(planb_compiled_dir "${CMAKE_INSTALL_LIBDIR}/cmake/planb")
file(RELATIVE_PATH planb_to_compiled "/prefix/${planb_package_dir}" "/prefix/${planb_compiled_dir}")
if(PLANB_COMPILED)
  install(TARGETS planb_compiled EXPORT planb-compiled-targets
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT compiled)
  install(EXPORT planb-compiled-targets NAMESPACE planb:: DESTINATION "${planb_compiled_dir}" COMPONENT compiled)
endif()

configure_package_config_file(cmake/planb-config.cmake.in planb-config.cmake
                              INSTALL_DESTINATION "${planb_package_dir}"
                              NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(planb-config-version.cmake COMPATIBILITY SameMajorVersion ARCH_INDEPENDENT)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/planb-config.cmake" "${CMAKE_CURRENT_BINARY_DIR}/planb-config-version.cmake"
        DESTINATION "${planb_package_dir}" COMPONENT headers)

# Relative to the .pc file, so that an installed tree may be moved.
file(RELATIVE_PATH planb_pkgconfig_to_prefix "/prefix/${planb_pkgconfig_dir}" "/prefix")
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_INCLUDEDIR planb_includedir_is_absolute)
if(planb_includedir_is_absolute)
  set(planb_pkgconfig_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
else()
  set(planb_pkgconfig_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(cmake/planb.pc.in planb.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/planb.pc" DESTINATION "${planb_pkgconfig_dir}" COMPONENT headers)

if(PLANB_COMPILED)
  set(planb_compiled_pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  file(RELATIVE_PATH planb_compiled_pkgconfig_to_prefix "/prefix/${planb_compiled_pkgconfig_dir}" "/prefix")
  cmake_path(IS_ABSOLUTE CMAKE_INSTALL_LIBDIR planb_libdir_is_absolute)
  if(planb_libdir_is_absolute)
    set(planb_pkgconfig_libdir "${CMAKE_INSTALL_LIBDIR}")
  else()
    set(planb_pkgconfig_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  endif()
  configure_file(cmake/planb-compiled.pc.in planb-compiled.pc @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/planb-compiled.pc" DESTINATION "${planb_compiled_pkgconfig_dir}"
          COMPONENT compiled)
endif()
