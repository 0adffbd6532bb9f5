// expect-first: planb: an answer, a callable or a `sleep` that is aligned beyond what operator new gives
#include <planb/coro.hpp>

struct alignas(64) Lanes {
  float values[16];
};
struct Ready {
  static bool await_ready() { return true; }
  static void await_suspend(std::coroutine_handle<>) {}
#ifdef TWIN
  static int await_resume() { return 1; }
};
using Answer = int;
#else
  static Lanes await_resume() { return {}; }
};
using Answer = Lanes;
#endif

// A task of the user's own, whose frames are aligned by its operator new or not: who knows.
struct Own {
  struct promise_type {
    Own get_return_object() { return {}; }
    static std::suspend_always initial_suspend() noexcept { return {}; }
    static std::suspend_always final_suspend() noexcept { return {}; }
    static void unhandled_exception() {}
    void return_value(const Answer&) {}
  };
};
struct Nap {
  static bool await_ready() { return true; }
  static void await_suspend(std::coroutine_handle<>) {}
  static void await_resume() {}
};

inline auto use(const planb::ExecutionPlan<int>& plan) {
  return planb::co_run_with_plan<Own>(plan, [](int&) { return Ready(); }, [](planb::Duration) { return Nap(); });
}
