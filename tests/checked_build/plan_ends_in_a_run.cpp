// A checked build says so where a plan is assigned or destroyed while a driver borrows it, and ends the program. Each
// case runs in a process of its own.
#define PLANB_CHECKED 1
#include <planb/coro.hpp>
#include <planb/planb.hpp>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "../no_exceptions/check.hpp"
#include "../no_exceptions/last_words.hpp"

namespace {

using Plan = planb::ExecutionPlan<int>;

Plan make() { return Plan{{.name = "only", .provide = 1}}; }

// What the process of `fn` said on its standard error, and whether it ended itself.
template <class Fn>
std::string said_by(Fn fn) {
  const check::LastWords words = check::last_words(fn);
  return (words.aborted ? "aborted: " : "ended: ") + words.text;
}

const std::string complaint =
    "aborted: planb: a plan was assigned or destroyed while it was being run; keep a copy of it until the run is "
    "over\n";

}  // namespace

int main() {
  EXPECT(said_by([] {
           Plan plan = make();
           planb::run_with_plan(plan, [&](int&) { plan = make(); });
         }) == complaint);
  EXPECT(said_by([] {
           Plan plan = make();
           planb::run_with_plan(plan, [&](int&) { plan = make(); }, {.seed = 1});
         }) == complaint);
  EXPECT(said_by([] {
           std::optional<Plan> plan = make();
           static_cast<void>(planb::try_run_with_plan(*plan, [&](int&) { plan.reset(); }));
         }) == complaint);
  EXPECT(said_by([] {
           Plan plan = make();
           planb::push_with_plan(
               plan, [&](int&, auto& emit) { emit(1); }, [&](int) { plan = make(); });
         }) == complaint);

  // A copy keeps the steps; and these drivers keep their own.
  EXPECT(said_by([] {
           Plan plan = make();
           const Plan copy = plan;
           planb::run_with_plan(plan, [&](int&) { plan = make(); });
         }) == "ended: ");
  EXPECT(said_by([] {
           Plan plan = make();
           auto stream = planb::stream_with_plan(plan, [](int&) { return std::vector<int>{1, 2}; });
           for (const int element : stream) {
             plan = make();
             static_cast<void>(element);
           }
         }) == "ended: ");
  EXPECT(said_by([] {
           Plan plan = make();
           planb::PlanRun<int> run(plan);
           static_cast<void>(run.next());
           plan = make();
           run.succeed();
         }) == "ended: ");
  EXPECT(said_by([] {
           Plan plan = make();
           const auto sleep = [](planb::Duration) -> planb::Task<> { co_return; };
           planb::sync_wait(planb::co_run_with_plan<planb::Task<>>(
               plan, [&](int&) -> planb::Task<> { co_return static_cast<void>(plan = make()); }, sleep));
         }) == "ended: ");
  EXPECT(said_by([] {
           Plan plan = make();
           planb::run_with_plan(plan, [](int&) {});
           plan = make();
         }) == "ended: ");

  // A program that ends within a run ends its static plans with it, whichever came first.
  EXPECT(said_by([] {
           static const Plan plan = make();
           planb::run_with_plan(plan, [](int&) { std::exit(0); });
         }) == "ended: ");
  EXPECT(said_by([] {
           static const Plan first = make();
           planb::run_with_plan(first, [](int&) {});
           static const Plan second = make();
           planb::run_with_plan(first, [](int&) { planb::run_with_plan(second, [](int&) { std::exit(0); }); });
         }) == "ended: ");
  EXPECT(said_by([] {
           static const Plan plan = make();
           planb::push_with_plan(
               plan, [](int&, auto& emit) { emit(1); }, [](int) { std::exit(0); });
         }) == "ended: ");
  EXPECT(said_by([] {
           std::thread([] {
             static const Plan plan = make();
             planb::run_with_plan(plan, [](int&) { std::exit(0); });
           }).join();
         }) == "ended: ");
  // A thread that ended says nothing of the others.
  EXPECT(said_by([] {
           Plan plan = make();
           std::thread([&] { planb::run_with_plan(plan, [](int&) {}); }).join();
           planb::run_with_plan(plan, [&](int&) { plan = make(); });
         }) == complaint);
  return check::result();
}
