// What both uses have of their own.
#pragma once

#include <stdexcept>
#include <string>

struct LlmError : std::runtime_error {
  using std::runtime_error::runtime_error;
  int status = 0;
};

struct Llm {
  std::string name;
  std::string complete(const std::string& prompt);
};
