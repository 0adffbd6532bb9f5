// What the two files of this program share: types of planb, so both must have been compiled in the same way.
#pragma once

#include <planb/planb.hpp>

#include <string>

struct Llm {
  std::string name;

  [[nodiscard]] std::string complete() const;
};

[[nodiscard]] std::string ask(const planb::ExecutionPlan<Llm>& plan, const planb::RunOptions& options);
