# Several test files in one compiler call: most of the time goes into templates that all of them use. Each file stands
# in a namespace of its own, so that names do not meet; what it includes comes before, and what it defines goes with it.
# A file that specialises a template of another namespace must stand outside: at the end, one in each unit. A file that
# defines something before its first include, for that header to see, is a unit by itself.
#
#   planb_plan_units(RESULT SIZE FILE...)      RESULT_COUNT units, with the files RESULT_1, RESULT_2, ...
#   cmake -DUNIT=unit.cpp "-DFILES=FILE;..." -P units.cmake        writes a unit
#
# SIZE is how many files share a unit, roughly.

# Whether a file has to stand outside a namespace.
function(planb_stands_outside result file)
  file(STRINGS "${file}" found LIMIT_COUNT 1
       REGEX "^(struct|class|(inline )?constexpr bool) (planb|std|tl|Catch)::|^namespace (planb|std|tl|Catch)")
  if(found STREQUAL "")
    set(${result} OFF PARENT_SCOPE)
  else()
    set(${result} ON PARENT_SCOPE)
  endif()
endfunction()

function(planb_plan_units result size)
  set(inside "")
  set(outside "")
  set(alone "")
  foreach(file IN LISTS ARGN)
    file(STRINGS "${file}" first LIMIT_COUNT 1 REGEX "^# *(define|include) ")
    planb_stands_outside(stands_outside "${file}")
    if(first MATCHES "define")
      list(APPEND alone "${file}")
    elseif(stands_outside)
      list(APPEND outside "${file}")
    else()
      list(APPEND inside "${file}")
    endif()
  endforeach()

  list(LENGTH inside files_inside)
  list(LENGTH outside files_outside)
  math(EXPR units "(${files_inside} + ${files_outside} + ${size} - 1) / ${size}")
  if(units LESS files_outside)
    set(units ${files_outside})
  endif()
  foreach(unit RANGE ${units})
    if(unit EQUAL 0)
      continue() # a range from 1 would count down where there is none
    endif()
    math(EXPR from "(${unit} - 1) * ${files_inside} / ${units}")
    math(EXPR count "${unit} * ${files_inside} / ${units} - ${from}")
    list(SUBLIST inside ${from} ${count} members)
    if(unit LESS_EQUAL files_outside)
      math(EXPR index "${unit} - 1")
      list(GET outside ${index} file)
      list(APPEND members "${file}")
    endif()
    set(${result}_${unit} "${members}" PARENT_SCOPE)
  endforeach()
  foreach(file IN LISTS alone)
    math(EXPR units "${units} + 1")
    set(${result}_${units} "${file}" PARENT_SCOPE)
  endforeach()
  set(${result}_COUNT ${units} PARENT_SCOPE)
endfunction()

if(NOT DEFINED UNIT)
  return()
endif()

list(LENGTH FILES count)
if(count EQUAL 1)
  file(WRITE "${UNIT}" "#include \"${FILES}\"\n")
  return()
endif()

set(includes "")
set(code "")
foreach(file IN LISTS FILES)
  file(STRINGS "${file}" lines REGEX "^#include ")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include ([<\"][^>\"]+[>\"]).*" "\\1" header "${line}")
    list(APPEND includes "#if __has_include(${header})\n#include ${header}\n#endif\n") # some ask first, too
  endforeach()

  cmake_path(GET file STEM name)
  planb_stands_outside(stands_outside "${file}")
  if(stands_outside)
    string(APPEND code "#include \"${file}\"\n")
  else()
    string(APPEND code "namespace ${name} {\n#include \"${file}\"\n}\n")
  endif()
  file(STRINGS "${file}" lines REGEX "^# *define ")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^# *define ([A-Za-z0-9_]+).*" "#undef \\1\n" line "${line}")
    string(APPEND code "${line}")
  endforeach()
endforeach()
list(REMOVE_DUPLICATES includes)
list(JOIN includes "" includes)
file(WRITE "${UNIT}" "${includes}${code}")
