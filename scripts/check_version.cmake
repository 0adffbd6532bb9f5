# Checks that all who say a version of planb say the same:
#
#   cmake -DROOT=. -P scripts/check_version.cmake
#
# CMake's project, Meson's, the packages, the headers, and the newest entry of the changelog.
cmake_minimum_required(VERSION 3.25)
get_filename_component(ROOT "${ROOT}" ABSOLUTE)

file(READ "${ROOT}/CMakeLists.txt" text)
if(NOT text MATCHES "project\\(planb VERSION ([0-9]+)\\.([0-9]+)\\.([0-9]+) ")
  message(FATAL_ERROR "CMakeLists.txt: no version")
endif()
set(version "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}.${CMAKE_MATCH_3}")
math(EXPR number "10000 * ${CMAKE_MATCH_1} + 100 * ${CMAKE_MATCH_2} + ${CMAKE_MATCH_3}")
set(major "${CMAKE_MATCH_1}")

set(broken 0)
# The first match of `where` in the file has to be `expected`.
function(check file where expected)
  file(READ "${ROOT}/${file}" text)
  if(NOT text MATCHES "${where}" OR NOT CMAKE_MATCH_1 STREQUAL expected)
    message(NOTICE "${file}: ${CMAKE_MATCH_1} instead of ${expected}")
    set(broken 1 PARENT_SCOPE)
  endif()
endfunction()
check(include/planb/detail/version.hpp "#define PLANB_VERSION ([0-9]+)" "${number}")
check(include/planb/detail/version.hpp "#define PLANB_VERSION_TEXT \"([^\"]*)\"" "${version}")
check(include/planb/detail/config.hpp "#define PLANB_ABI_JOIN2\\([a-z, ]*\\) v([0-9]+)_" "${major}")
check(meson.build "version: '([^']*)'" "${version}")
check(packaging/vcpkg/vcpkg.json "\"version\": \"([^\"]*)\"" "${version}")
check(packaging/conan/conanfile.py "    version = \"([^\"]*)\"" "${version}")
check(CHANGELOG.md "\n## \\[([^]]*)\\]" "${version}")
if(broken)
  message(FATAL_ERROR "not everywhere version ${version}")
endif()
message(STATUS "version ${version}, everywhere")
