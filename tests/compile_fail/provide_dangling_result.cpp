// expect-first: planb: a context that is a reference must refer to something that outlives the attempt
#include <planb/plan/plan.hpp>

#include <functional>
#include <string>

template <class T>
using Result = planb::Checked<T, planb::InvalidPlan>;
const std::string prompt = "prompt";

#ifdef TWIN
const planb::ExecutionPlan<const std::string&> plan{
    {.provide = [] { return Result<std::reference_wrapper<const std::string>>(std::cref(prompt)); }}};
#else
const planb::ExecutionPlan<const std::string&> plan{{.provide = [] { return Result<std::string>(prompt); }}};
#endif
