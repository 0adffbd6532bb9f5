// SPDX-License-Identifier: MIT
// The definitions of fake_provider.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/testing/fake_provider.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::testing {

PLANB_DECL Behaviour Behaviour::status(int code, std::string message) {
  Behaviour b;
  b.status_ = code;
  b.text_ = message.empty() ? phrase(code) : std::move(message);
  return b;
}

PLANB_DECL Behaviour Behaviour::after(SaturatedDuration delay) const {
  Behaviour b = *this;
  b.delay_ = delay;
  return b;
}

PLANB_DECL Behaviour Behaviour::emits(std::vector<std::string> elements) const {
  Behaviour b = *this;
  b.elements_ = std::move(elements);
  return b;
}

PLANB_DECL Behaviour Behaviour::code(std::string text) const {
  Behaviour b = *this;
  b.code_ = std::move(text);
  return b;
}

PLANB_DECL Behaviour Behaviour::retry_after(SaturatedDuration hint) const {
  Behaviour b = *this;
  b.retry_after_ = hint;
  return b;
}

PLANB_DECL std::string Behaviour::phrase(int code) {
  switch (code) {
    case 400: return "bad request";
    case 401: return "unauthorized";
    case 403: return "forbidden";
    case 404: return "not found";
    case 408: return "request timeout";
    case 429: return "too many requests";
    case 500: return "internal server error";
    case 502: return "bad gateway";
    case 503: return "service unavailable";
    case 504: return "gateway timeout";
    case 529: return "overloaded";
    default: return {};
  }
}

PLANB_DECL FakeProvider::FakeProvider(std::string name, std::vector<Behaviour> behaviours, Clock* clock)
    : state_(std::make_shared<State>(std::move(name), std::move(behaviours), clock)) {}

PLANB_DECL std::size_t FakeProvider::calls() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->prompts.size();
}

PLANB_DECL std::vector<std::string> FakeProvider::prompts() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->prompts;
}

PLANB_DECL void FakeProvider::reset() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->prompts.clear();
}

#if PLANB_HAS_EXCEPTIONS
PLANB_DECL std::string FakeProvider::complete(const std::string& prompt, const StopToken& stop) const {
  return end(begin(prompt, stop), stop);
}

PLANB_DECL std::string FakeProvider::operator()(const std::string& prompt, const StopToken& stop) const {
  return complete(prompt, stop);
}

#endif

PLANB_DECL FakeProvider::Reply FakeProvider::reply(const std::string& prompt, const StopToken& stop) const {
  const Behaviour behaviour = begin(prompt, stop);
  if (stop.stop_requested()) return {std::nullopt, 0, "stopped"};
  if (behaviour.raise_) behaviour.raise_();
  if (behaviour.status_ == 0) return {behaviour.text_, 0, {}};
  return {std::nullopt, behaviour.status_, behaviour.text_};
}

PLANB_DECL FakeProvider::State::State(std::string n, std::vector<Behaviour> b, Clock* c)
    : name(std::move(n)), behaviours(std::move(b)), clock(c) {}

PLANB_DECL Behaviour FakeProvider::begin(const std::string& prompt, const StopToken& stop) const {
  const Behaviour behaviour = record(prompt);
  wait(behaviour, stop);
  return behaviour;
}

#if PLANB_HAS_EXCEPTIONS
PLANB_DECL std::string FakeProvider::end(const Behaviour& behaviour, const StopToken& stop) {
  if (stop.stop_requested()) throw ProviderError("stopped");
  if (behaviour.raise_) behaviour.raise_();
  if (behaviour.status_ == 0) return behaviour.text_;
  throw ProviderError(behaviour.status_, behaviour.text_, behaviour.code_, behaviour.retry_after_);
}

#endif

PLANB_DECL Behaviour FakeProvider::record(const std::string& prompt) const {
  std::size_t call = 0;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    call = state_->prompts.size();
    state_->prompts.push_back(prompt);
  }
  if (state_->behaviours.empty()) return Behaviour::value(state_->name);
  return state_->behaviours[call < state_->behaviours.size() ? call : state_->behaviours.size() - 1];
}

PLANB_DECL void FakeProvider::wait(const Behaviour& behaviour, const StopToken& stop) const {
  if (behaviour.delay_ <= Duration::zero()) return;
  Clock& clock = state_->clock != nullptr ? *state_->clock : SteadyClock::instance();
  clock.sleep_until(detail::add(clock.now(), behaviour.delay_), stop);
}

}  // namespace planb::inline PLANB_ABI::testing
