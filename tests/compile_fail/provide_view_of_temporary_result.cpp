// expect-first: planb: a context that is a view (std::string_view, std::span) would refer to a temporary of its factory
#include <planb/plan/plan.hpp>

#include <span>
#include <vector>

struct Keys {  // an expected-like
  std::vector<int> keys;
  bool has_value() const { return true; }
  int error() const { return 0; }
  std::vector<int>& operator*() & { return keys; }
  std::vector<int>&& operator*() && { return static_cast<std::vector<int>&&>(keys); }
};
inline Keys keys;

#ifdef TWIN
const planb::ExecutionPlan<std::span<const int>> plan{{.provide = []() -> Keys& { return keys; }}};
#else
const planb::ExecutionPlan<std::span<const int>> plan{{.provide = [] { return Keys{{1, 2}}; }}};
#endif
