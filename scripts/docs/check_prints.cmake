# Checks that PROGRAM succeeds and prints what is in the file EXPECTED.
execute_process(COMMAND "${PROGRAM}" OUTPUT_VARIABLE printed RESULT_VARIABLE result)
file(READ "${EXPECTED}" expected)
if(NOT result STREQUAL "0" OR NOT printed STREQUAL expected)
  message(FATAL_ERROR "ended with ${result} and printed instead:\n${printed}")
endif()
