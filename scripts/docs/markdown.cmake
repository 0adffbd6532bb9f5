# What the scripts here share: reading Markdown line by line. Lists are of no use for that: code is full of semicolons
# and brackets.

# Takes the first line off `text`.
macro(take_line text line)
  string(FIND "${${text}}" "\n" end)
  if(end EQUAL -1)
    set(${line} "${${text}}")
    set(${text} "")
  else()
    string(SUBSTRING "${${text}}" 0 ${end} ${line})
    math(EXPR end "${end} + 1")
    string(SUBSTRING "${${text}}" ${end} -1 ${text})
  endif()
endmacro()
