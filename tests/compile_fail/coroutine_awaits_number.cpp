// expect: planb: a Task can await what has await_ready(), await_suspend() and await_resume(), or an operator co_await
#include <planb/drive/task.hpp>

planb::Task<int> task() {
#ifdef TWIN
  co_await std::suspend_never();
#else
  co_await 3;
#endif
  co_return 3;
}

int main() { return sync_wait(task()) - 3; }
