// The chat-interface trap: a model breaks off after half of its answer, and the next one answers from the start. What
// the person at the other end sees, with each of the options, pushed and pulled.
#include <planb/planb.hpp>

#include <cstddef>
#include <iostream>
#include <ranges>
#include <string>
#include <vector>

namespace {

// A client that streams, in the two forms that clients have.
struct Model {
  std::vector<std::string> words;
  bool breaks_off = false;  // after these words

  // Pulled: a range of the words. It refers to the model, which lives until the stream has ended.
  [[nodiscard]] auto answer() const {
    return std::views::iota(std::size_t{0}, words.size() + (breaks_off ? 1 : 0)) |
           std::views::transform([this](std::size_t i) {
             if (i == words.size()) throw planb::ProviderError(503, "connection lost");
             return words[i];
           });
  }

  // Pushed: calls emit(word) for each, as long as that says true.
  template <class Emit>
  void answer(const Emit& emit) const {
    for (const std::string& word : answer()) {
      if (!emit(word)) return;
    }
  }
};

// What is on the screen of a chat. It can only add to it, unless it is told that the answer begins again.
class Chat {
 public:
  void begin_again(const std::string& model) {
    if (!bubble_.empty()) bubble_ = '(' + model + " instead:) ";
  }
  void add(const std::string& word) { bubble_ += word + ' '; }
  void error(const std::string& what) { bubble_ += "-- " + what; }

  [[nodiscard]] const std::string& bubble() const { return bubble_; }

 private:
  std::string bubble_;
};

using Plan = planb::ExecutionPlan<Model>;

std::string pushed(const Plan& plan, planb::StreamOptions options, bool told) {
  Chat chat;
  if (told) options.on_event = [&](const planb::AttemptStart& start) { chat.begin_again(start.step_name); };
  try {
    planb::push_with_plan(
        plan, [](const Model& model, const auto& emit) { model.answer(emit); },
        [&](const std::string& word) { chat.add(word); }, options);
  } catch (const planb::PlanError& e) {
    chat.error(e.what());
  }
  return chat.bubble();
}

std::string pulled(const Plan& plan, planb::StreamOptions options, bool told) {
  Chat chat;
  if (told) options.on_event = [&](const planb::AttemptStart& start) { chat.begin_again(start.step_name); };
  try {
    for (const std::string& word : planb::stream_with_plan(
             plan, [](const Model& model) { return model.answer(); }, options)) {
      chat.add(word);
    }
  } catch (const planb::PlanError& e) {
    chat.error(e.what());
  }
  return chat.bubble();
}

}  // namespace

int main() {
  const Plan plan{
      {.name = "alpha", .provide = Model{{"Have", "a", "plan"}, true}, .attempts = 2},
      {.name = "beta", .provide = Model{{"When", "the", "first", "one", "fails."}}},
  };

  struct Case {
    const char* title;
    planb::PartialStream partial;
    bool told;
    std::string bubble;
  };
  const Case cases[] = {
      {"allow", planb::PartialStream::allow, false, "Have a plan Have a plan When the first one fails. "},
      {"allow, and the chat is told of each start", planb::PartialStream::allow, true,
       "(beta instead:) When the first one fails. "},
      {"prevent_fallback", planb::PartialStream::prevent_fallback, false,
       "Have a plan Have a plan -- plan exhausted after partial output (6 elements): "
       "alpha: 2 attempts, last 503 connection lost"},
      {"prevent_retry", planb::PartialStream::prevent_retry, false,
       "Have a plan -- plan exhausted after partial output (3 elements): "
       "alpha: 503 connection lost, after partial output"},
  };

  bool good = true;
  for (const auto& [title, partial, told, bubble] : cases) {
    const std::string push = pushed(plan, {.partial = partial}, told);
    const std::string pull = pulled(plan, {.partial = partial}, told);
    std::cout << title << "\n  pushed  " << push << "\n  pulled  " << pull << '\n';
    good = good && push == bubble && pull == bubble;
  }
  return good && std::cout.flush() ? 0 : 1;
}
