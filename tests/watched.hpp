// What a test's world, a struct that plays the caller's part in a run, keeps an eye on.
#pragma once

#include <planb/testing/virtual_clock.hpp>
#include <planb/time/clock.hpp>

#include <utility>

// A context whose world knows how many there are: World::live.
template <class World>
struct WatchedContext {
  explicit WatchedContext(World& w) noexcept : world(&w) { ++world->live; }
  WatchedContext(const WatchedContext& other) noexcept : world(other.world) { ++world->live; }
  WatchedContext& operator=(const WatchedContext&) = delete;
  ~WatchedContext() { --world->live; }

  World* world;
};

// A virtual clock that tells its world before it waits: World::about_to_wait(due, stop).
template <class World>
class WatchedClock final : public planb::Clock {
 public:
  explicit WatchedClock(World& world) : world_(world) {}
  [[nodiscard]] planb::TimePoint now() const override { return inner.now(); }
  void sleep_until(planb::TimePoint due, planb::StopToken stop) override {
    world_.about_to_wait(due, stop);
    inner.sleep_until(due, std::move(stop));
    inner.advance(oversleeps);
  }

  planb::testing::VirtualClock inner;
  planb::Duration oversleeps{};

 private:
  planb::Timer make_timer(planb::TimePoint due, planb::detail::Function<void()> fn) override {
    return inner.call_at(due, std::move(fn));
  }

  World& world_;
};
