// A stand-in for the part of opentelemetry-cpp's API that docs/opentelemetry.md uses, with its names and signatures
// (<opentelemetry/trace/tracer.h>, version 1.x), where Debian has no package of it. Spans go into a list.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace opentelemetry {

namespace nostd {
using std::shared_ptr;
using std::string_view;
}  // namespace nostd

namespace common {
// Theirs has lists, too.
using AttributeValue =
    std::variant<bool, std::int32_t, std::int64_t, std::uint32_t, double, const char*, std::string_view>;
}  // namespace common

namespace trace {

enum class StatusCode { kUnset, kOk, kError };

using Attributes = std::initializer_list<std::pair<nostd::string_view, common::AttributeValue>>;

struct SpanContext {
  int id = 0;  // theirs: of a trace and a span
};

struct StartSpanOptions {
  std::variant<SpanContext> parent = SpanContext();
};

// What a test looks at.
struct Recorded {
  std::string name;
  int id = 0;
  int parent = 0;
  std::map<std::string, std::string> attributes = {};
  std::vector<std::string> events = {};
  StatusCode status = StatusCode::kUnset;
  std::string description = {};
  int ends = 0;
};

[[nodiscard]] inline std::string text_of(const common::AttributeValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using V = std::remove_cvref_t<decltype(v)>;
        if constexpr (std::is_same_v<V, bool>)
          return v ? "true" : "false";
        else if constexpr (std::is_arithmetic_v<V>)
          return std::to_string(v);
        else
          return std::string(v);
      },
      value);
}

class Span {
 public:
  explicit Span(std::shared_ptr<Recorded> recorded) : recorded_(std::move(recorded)) {}
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  ~Span() { End(); }

  void SetAttribute(nostd::string_view key, const common::AttributeValue& value) noexcept {
    recorded_->attributes[std::string(key)] = text_of(value);
  }
  void AddEvent(nostd::string_view name, Attributes attributes = {}) noexcept {
    std::string text(name);
    for (const auto& [key, value] : attributes) text += " " + std::string(key) + "=" + text_of(value);
    recorded_->events.push_back(std::move(text));
  }
  void SetStatus(StatusCode code, nostd::string_view description = "") noexcept {
    recorded_->status = code;
    recorded_->description = description;
  }
  void End() noexcept {
    if (!std::exchange(ended_, true)) ++recorded_->ends;
  }
  [[nodiscard]] SpanContext GetContext() const noexcept { return {recorded_->id}; }

 private:
  std::shared_ptr<Recorded> recorded_;
  bool ended_ = false;
};

class Tracer {
 public:
  nostd::shared_ptr<Span> StartSpan(nostd::string_view name, Attributes attributes = {},
                                    const StartSpanOptions& options = {}) noexcept {
    spans.push_back(std::make_shared<Recorded>(Recorded{.name = std::string(name),
                                                        .id = static_cast<int>(spans.size()) + 1,
                                                        .parent = std::get<SpanContext>(options.parent).id}));
    for (const auto& [key, value] : attributes) spans.back()->attributes[std::string(key)] = text_of(value);
    return std::make_shared<Span>(spans.back());
  }

  std::vector<std::shared_ptr<Recorded>> spans;
};

}  // namespace trace
}  // namespace opentelemetry
