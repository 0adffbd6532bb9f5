// Task: the coroutine type for programs that have none.
#include <planb/drive/task.hpp>

#include <atomic>
#include <coroutine>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "lives.hpp"
#include "pool.hpp"

using lives::Counted;
using planb::CurrentMetadata;
using planb::Defect;
using planb::Metadata;
using planb::sync_wait;
using planb::Task;

namespace {

static_assert(std::is_nothrow_move_constructible_v<Task<int>>);
static_assert(!std::is_copy_constructible_v<Task<int>>);

// Suspends until somebody resumes it.
struct Door {
  std::coroutine_handle<> waiting = nullptr;

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> who) noexcept { waiting = who; }
  void await_resume() const noexcept {}

  void open() { std::exchange(waiting, nullptr).resume(); }
};

Task<int> number(int n) { co_return n; }

Task<int> sum(int a, int b) {
  const int first = co_await number(a);
  const int second = co_await number(b);
  co_return first + second;
}

Task<> pass(Door& door) { co_await door; }

Task<int> failing() {
  throw std::runtime_error("no");
  co_return 1;
}

}  // namespace

TEST_CASE("a task gives what it returns: values, references, nothing", "[task]") {
  CHECK(sync_wait(sum(1, 2)) == 3);

  int place = 7;
  const auto reference = [&]() -> Task<int&> { co_return place; };
  CHECK(&sync_wait(reference()) == &place);

  const auto move_only = []() -> Task<std::unique_ptr<int>> { co_return std::make_unique<int>(4); };
  CHECK(*sync_wait(move_only()) == 4);

  bool ran = false;
  const auto nothing = [&]() -> Task<> {
    ran = true;
    co_return;
  };
  sync_wait(nothing());
  CHECK(ran);

  const auto braces = []() -> Task<std::string> { co_return {"text"}; };
  CHECK(sync_wait(braces()) == "text");
}

TEST_CASE("a task is lazy, and runs once", "[task]") {
  int runs = 0;
  const auto count = [&]() -> Task<int> { co_return ++runs; };
  { const Task<int> never = count(); }
  CHECK(runs == 0);
  Task<int> task = count();
  CHECK_FALSE(task.done());
  task.start();
  CHECK(task.done());
  CHECK(runs == 1);
  CHECK(task.get() == 1);
  CHECK(runs == 1);
}

TEST_CASE("what a task throws comes out where it is awaited", "[task]") {
  CHECK_THROWS_AS(sync_wait(failing()), std::runtime_error);

  const auto catching = []() -> Task<std::string> {
    std::string text;
    try {
      static_cast<void>(co_await failing());
    } catch (const std::runtime_error& e) {
      text = e.what();
    }
    co_return text;
  };
  CHECK(sync_wait(catching()) == "no");

  Task<int> task = failing();
  task.start();  // not here
  REQUIRE(task.done());
  CHECK_THROWS_AS(task.get(), std::runtime_error);
}

TEST_CASE("an awaiter's own exceptions go through the task", "[task]") {
  struct Refusing {
    static bool await_ready() { return false; }
    static void await_suspend(std::coroutine_handle<>) { throw std::runtime_error("refused"); }
    static void await_resume() {}
  };
  const auto task = []() -> Task<Metadata> {
    const CurrentMetadata::Scope scope({5, 1});
    try {
      co_await Refusing();
    } catch (const std::runtime_error&) {
    }
    co_return CurrentMetadata::get();
  };
  CHECK(sync_wait(task()) == Metadata{5, 1});
  CHECK(CurrentMetadata::get() == Metadata{});
}

TEST_CASE("a callback is told once when the task has ended", "[task]") {
  SECTION("later") {
    Door door;
    int told = 0;
    Task<> task = pass(door);
    task.start([&] { ++told; });
    CHECK(told == 0);
    CHECK_FALSE(task.done());
    door.open();
    CHECK(told == 1);
    CHECK(task.done());
  }
  SECTION("at once") {
    int told = 0;
    Task<int> task = number(3);
    task.start([&] { ++told; });
    CHECK(told == 1);
    CHECK(task.get() == 3);
  }
  SECTION("and may destroy the task") {
    Door door;
    auto task = std::make_unique<Task<>>(pass(door));
    task->start([&task, own = std::make_unique<int>(1)] {
      task.reset();
      CHECK(*own == 1);
    });
    door.open();
    CHECK(task == nullptr);
  }
}

TEST_CASE("tasks that were started run side by side, and can be awaited later", "[task]") {
  Door left;
  Door right;
  std::vector<std::string> order;
  const auto through = [&](Door& door, std::string name) -> Task<std::string> {
    order.push_back(name + " starts");
    co_await door;
    order.push_back(name + " ends");
    co_return name;
  };
  const auto both = [&]() -> Task<std::string> {
    Task<std::string> first = through(left, "left");
    Task<std::string> second = through(right, "right");
    first.start();
    second.start();
    const std::string a = co_await std::move(first);
    const std::string b = co_await std::move(second);
    co_return a + b;
  };
  Task<std::string> task = both();
  task.start();
  right.open();
  CHECK_FALSE(task.done());
  left.open();
  REQUIRE(task.done());
  CHECK(task.get() == "leftright");
  CHECK(order == std::vector<std::string>{"left starts", "right starts", "right ends", "left ends"});
}

TEST_CASE("destroying a task that is half-way destroys all that it awaits", "[task]") {
  int alive = 0;
  Door door;
  const auto inner = [&](Counted) -> Task<> {
    const Counted local(alive);
    co_await door;
  };
  const auto outer = [&]() -> Task<> {
    const Counted local(alive);
    co_await inner(Counted(alive));
  };
  {
    Task<> task = outer();
    CHECK(alive == 0);
    task.start();
    CHECK(alive == 4);  // a local of each, the argument, and the copy of it in the frame
  }
  CHECK(alive == 0);
}

TEST_CASE("arguments and results are destroyed once each", "[task]") {
  int alive = 0;
  const auto giving = [](Counted by_value) -> Task<Counted> { co_return by_value; };
  const auto through = [&]() -> Task<Counted> {
    Counted kept = co_await giving(Counted(alive));
    co_return kept;
  };
  {
    const Counted result = sync_wait(through());
    CHECK(alive == 1);
  }
  CHECK(alive == 0);
}

TEST_CASE("misuse of a task is a Defect", "[task]") {
  CHECK_THROWS_AS(sync_wait(Task<int>()), Defect);
  Task<int> task = number(1);
  CHECK_THROWS_AS(task.get(), Defect);
  task.start();
  CHECK_THROWS_AS(task.start(), Defect);
  CHECK(task.get() == 1);
  CHECK_THROWS_AS(task.get(), Defect);
  const auto awaiting_nothing = []() -> Task<int> {
    Task<int> empty;
    co_return co_await std::move(empty);
  };
  CHECK_THROWS_AS(sync_wait(awaiting_nothing()), Defect);
}

TEST_CASE("a callback that is given too late is refused, and the first is still told", "[task]") {
  Door door;
  Task<> task = pass(door);
  std::vector<int> told;
  task.start([&] { told.push_back(1); });
  CHECK_THROWS_AS(task.start([&] { told.push_back(2); }), Defect);
  door.open();
  CHECK(told == std::vector<int>{1});
  CHECK(task.done());
}

TEST_CASE("awaiting a task that has a callback is refused, and leaves it alone", "[task]") {
  Door door;
  Task<> task = pass(door);
  bool told = false;
  task.start([&] { told = true; });
  const auto waits = [](Task<>& t) -> Task<> { co_await std::move(t); };
  Task<> waiter = waits(task);
  waiter.start();
  CHECK_THROWS_AS(waiter.get(), Defect);
  door.open();
  CHECK(told);
  CHECK(task.done());
}

TEST_CASE("a result can be asked for once, also where it was thrown", "[task]") {
  Task<int> task = failing();
  task.start();
  CHECK_THROWS_AS(task.get(), std::runtime_error);
  CHECK_THROWS_AS(task.get(), Defect);
}

TEST_CASE("awaiting takes a task over: dropped with who awaits it", "[task]") {
  Door door;
  int alive = 0;
  const auto work = [](Door& d, int& count) -> Task<int> {
    const Counted counted(count);
    co_await d;
    co_return 1;
  };
  Task<int> task = work(door, alive);
  task.start();
  CHECK(alive == 1);
  {
    const auto waits = [](Task<int>& t) -> Task<int> { co_return co_await std::move(t); };
    Task<int> waiter = waits(task);
    waiter.start();
    CHECK_FALSE(task.done());
  }
  CHECK(alive == 0);
  CHECK_THROWS_AS(task.get(), Defect);  // it is empty
}

TEST_CASE("a loop over tasks that complete at once does not grow the stack", "[task]") {
  const auto looping = []() -> Task<long> {
    long total = 0;
    for (int i = 0; i != 300'000; ++i) total += co_await number(1);
    co_return total;
  };
  CHECK(sync_wait(looping()) == 300'000);
}

TEST_CASE("a loop over tasks that are resumed later does not grow the stack", "[task]") {
  Door door;
  const auto looping = [](Door& d) -> Task<long> {
    long total = 0;
    for (int i = 0; i != 300'000; ++i) {
      co_await pass(d);
      ++total;
    }
    co_return total;
  };
  Task<long> task = looping(door);
  task.start();
  while (door.waiting) door.open();
  CHECK(task.get() == 300'000);
}

TEST_CASE("other coroutines can await a task, and a task awaits what they offer", "[task]") {
  struct Job {  // starts at once, and keeps nothing
    struct promise_type {
      Job get_return_object() { return {}; }
      std::suspend_never initial_suspend() noexcept { return {}; }
      std::suspend_never final_suspend() noexcept { return {}; }
      void return_void() {}
      void unhandled_exception() { std::terminate(); }
    };
  };
  struct Free {  // with an operator co_await
    int value;
    struct Awaiter {
      int value;
      explicit Awaiter(int v) : value(v) {}
      Awaiter(const Awaiter&) = delete;
      Awaiter& operator=(const Awaiter&) = delete;
      ~Awaiter() = default;
      static bool await_ready() { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> who) { return who; }
      [[nodiscard]] int await_resume() const { return value; }
    };
    Awaiter operator co_await() const { return Awaiter(value); }
  };
  Door door;
  int got = 0;
  const auto waiting = [&]() -> Task<int> {
    co_await door;
    co_return co_await Free{8};
  };
  const auto job = [&]() -> Job { got = co_await waiting(); };
  job();
  CHECK(got == 0);
  door.open();
  CHECK(got == 8);
}

TEST_CASE("metadata belongs to the task: it is kept over awaits, and the thread gets its own back", "[task]") {
  Door door;
  std::vector<Metadata> seen;
  const auto inner = [&]() -> Task<> {
    seen.push_back(CurrentMetadata::get());  // that of who awaits it
    const CurrentMetadata::Scope scope({3, 2});
    co_await door;
    seen.push_back(CurrentMetadata::get());
  };
  const auto outer = [&]() -> Task<> {
    const CurrentMetadata::Scope scope({2, 1});
    co_await inner();
    seen.push_back(CurrentMetadata::get());
    co_await door;
    seen.push_back(CurrentMetadata::get());
  };
  Task<> task = outer();
  {
    const CurrentMetadata::Scope thread({9, 9});
    task.start();
    CHECK(CurrentMetadata::get() == Metadata{9, 9});
  }
  {
    const CurrentMetadata::Scope thread({8, 8});
    door.open();
    CHECK(CurrentMetadata::get() == Metadata{8, 8});
  }
  door.open();
  CHECK(CurrentMetadata::get() == Metadata{});
  CHECK(task.done());
  CHECK(seen == std::vector<Metadata>{{2, 1}, {3, 2}, {2, 1}, {2, 1}});
}

TEST_CASE("destroying a task that holds a scope leaves the thread's metadata alone", "[task]") {
  Door door;
  const auto scoped = [&]() -> Task<> {
    const CurrentMetadata::Scope scope({3, 2});
    co_await door;
  };
  auto task = std::make_unique<Task<>>(scoped());
  task->start();
  const CurrentMetadata::Scope thread({9, 9});
  task.reset();
  CHECK(CurrentMetadata::get() == Metadata{9, 9});
}

TEST_CASE("tasks that move between threads keep their metadata", "[task][threads]") {
  Pool pool;
  std::atomic<int> wrong = 0;
  const auto child = [&](Metadata expected) -> Task<int> {
    co_await pool.hop();
    if (CurrentMetadata::get() != expected) ++wrong;
    co_return 1;
  };
  const auto parent = [&](int id) -> Task<int> {
    int total = 0;
    for (int i = 1; i <= 50; ++i) {
      const CurrentMetadata::Scope scope({id, i});
      total += co_await child({id, i});
      if (CurrentMetadata::get() != Metadata{id, i}) ++wrong;
    }
    co_return total;
  };
  std::vector<Task<int>> tasks;
  std::atomic<int> ended = 0;
  for (int id = 1; id <= 20; ++id) tasks.push_back(parent(id));
  for (Task<int>& task : tasks) task.start([&] { ++ended; });
  CHECK(sync_wait(parent(21)) == 50);
  CHECK(CurrentMetadata::get() == Metadata{});
  const int wrong_threads = pool.stop();
  CHECK(ended == 20);
  CHECK(wrong == 0);
  CHECK(wrong_threads == 0);
  for (Task<int>& task : tasks) CHECK(task.get() == 50);
}
