// expect-first: planb: this member function returns a pointer or a view into the plan's context
#include <planb/run.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

struct Llm {
  std::string vendor;
  std::vector<int> ids;
#ifdef TWIN
  std::optional<std::string> name() const { return vendor; }
  std::tuple<int, std::string> pair() const { return {1, vendor}; }
  std::vector<std::string> list() const { return {vendor}; }
#else
  std::optional<std::string_view> name() const { return vendor; }
  std::tuple<int, const std::string&> pair() const { return {1, vendor}; }
  std::vector<std::string_view> list() const { return {vendor}; }
#endif
};

inline void use(const planb::ExecutionPlan<Llm>& plan) {
  static_cast<void>(planb::run_with_plan(plan, &Llm::name));
  static_cast<void>(planb::run_with_plan(plan, &Llm::pair));
  static_cast<void>(planb::run_with_plan(plan, &Llm::list));
}
