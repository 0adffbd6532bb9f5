// expect-first: planb: a context that is a view (std::string_view, std::span) would refer to a temporary of its factory
#include <planb/plan/plan.hpp>

#include <string>
#include <string_view>

inline const std::string host = "mirror.example";

#ifdef TWIN
const planb::ExecutionPlan<std::string_view> plan{{.provide = []() -> const std::string& { return host; }},
                                                  {.provide = [] { return "a literal"; }},
                                                  {.provide = std::string("a ready value, which the plan keeps")}};
#else
const planb::ExecutionPlan<std::string_view> plan{{.provide = [] { return host + "/v1"; }}};
#endif
