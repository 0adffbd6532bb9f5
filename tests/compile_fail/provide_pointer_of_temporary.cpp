// expect-first: planb: a context that is a view (std::string_view, std::span) would refer to a temporary of its factory
#include <planb/plan/plan.hpp>

#include <string>

struct Name {
  std::string text;
  operator const char*() const { return text.c_str(); }
};
inline const Name name{"a name"};

#ifdef TWIN
const planb::ExecutionPlan<const char*> plan{{.provide = []() -> const Name& { return name; }}};
#else
const planb::ExecutionPlan<const char*> plan{{.provide = [] { return Name{"a name"}; }}};
#endif
