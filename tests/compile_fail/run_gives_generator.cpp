// expect-first: planb: the callable returns a generator, which begins when it is read
#include <planb/run.hpp>

#include <coroutine>

struct Generator {
  struct promise_type {
    Generator get_return_object() { return {}; }
    static std::suspend_always initial_suspend() noexcept { return {}; }
    static std::suspend_always final_suspend() noexcept { return {}; }
    static std::suspend_always yield_value(int) { return {}; }
    static void return_void() {}
    static void unhandled_exception() {}
  };
  const int* begin() const { return nullptr; }
  const int* end() const { return nullptr; }
};

inline Generator numbers() { co_yield 1; }

#ifdef TWIN
inline int use(const planb::ExecutionPlan<int>& plan) {
  return planb::run_with_plan(plan, [](int&) { return *numbers().begin(); });
}
#else
inline void use(const planb::ExecutionPlan<int>& plan) {
  static_cast<void>(planb::run_with_plan(plan, [](int&) { return numbers(); }));
}
#endif
