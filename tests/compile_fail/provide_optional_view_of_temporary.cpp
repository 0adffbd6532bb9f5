// expect-first: planb: a context that is a view (std::string_view, std::span) would refer to a temporary of its factory
#include <planb/plan/plan.hpp>

#include <optional>
#include <string>
#include <string_view>

using Maybe = std::optional<std::string_view>;
inline const std::string host = "mirror.example";

#ifdef TWIN
const planb::ExecutionPlan<Maybe> plan{{.provide = []() -> const std::string& { return host; }},
                                       {.provide = [] { return "a literal"; }},
                                       {.provide = [] { return std::nullopt; }},
                                       {.provide = [] { return Maybe(host); }}};
#else
const planb::ExecutionPlan<Maybe> plan{{.provide = [] { return host + "/v1"; }}};
#endif
