// A real gRPC server on the loopback that fails in five ways, and a plan in front of it. Generic calls over bytes: no
// generated code.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::testing::AttemptLog;
using planb::testing::VirtualClock;

grpc::ByteBuffer bytes(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

std::string text(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return {};
  std::string all;
  for (const grpc::Slice& slice : slices) all.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return all;
}

// What the method's name asks for: /test/unavailable, /test/exhausted, ...
class Server : public grpc::CallbackGenericService {
 public:
  Server() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() override { server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1)); }

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  class Reactor : public grpc::ServerGenericBidiReactor {
   public:
    explicit Reactor(grpc::GenericCallbackServerContext& context) : method_(context.method()) {
      if (method_ == "/test/exhausted") context.AddTrailingMetadata("grpc-retry-pushback-ms", "1500");
      if (method_ == "/test/no_retry") context.AddTrailingMetadata("grpc-retry-pushback-ms", "-1");
      StartRead(&request_);
    }
    void OnReadDone(bool ok) override {
      if (!ok) return Finish(grpc::Status(grpc::StatusCode::INTERNAL, "no request"));
      if (method_ == "/test/silent") return;  // until the client's deadline
      if (method_ == "/test/unavailable") return Finish({grpc::StatusCode::UNAVAILABLE, "warming up"});
      if (method_ == "/test/exhausted" || method_ == "/test/no_retry") {
        return Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many"});
      }
      if (method_ == "/test/no_key") return Finish({grpc::StatusCode::UNAUTHENTICATED, "no key"});
      if (method_ == "/test/bad_request") return Finish({grpc::StatusCode::INVALID_ARGUMENT, "no such field"});
      response_ = bytes("answer to " + text(request_));
      StartWrite(&response_);
    }
    void OnWriteDone(bool ok) override { Finish(ok ? grpc::Status::OK : grpc::Status::CANCELLED); }
    void OnCancel() override {
      if (method_ == "/test/silent") Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

   private:
    const std::string method_;
    grpc::ByteBuffer request_;
    grpc::ByteBuffer response_;
  };

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return new Reactor(*context);  // which deletes itself when it is done
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// What a thin wrapper around a stub throws: the status, and the server's pushback out of the trailing metadata.
struct RpcError {
  int code = 0;
  std::string message = {};
  std::optional<planb::Duration> retry_after = {};
  bool stop = false;  // a pushback below zero
};

struct Client {
  std::string method;
  std::shared_ptr<grpc::Channel> channel;

  std::string ask(const std::string& prompt, std::chrono::milliseconds deadline) {
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + deadline);
    const grpc::ByteBuffer request = bytes(prompt);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context, method, {}, &request, &response,
                   [&](const grpc::Status& status) { done.set_value(status); });
    const grpc::Status status = done.get_future().get();
    if (status.ok()) return text(response);
    RpcError error{static_cast<int>(status.error_code()), status.error_message()};
    const auto& trailing = context.GetServerTrailingMetadata();
    if (const auto found = trailing.find("grpc-retry-pushback-ms"); found != trailing.end()) {
      const std::string value(found->second.data(), found->second.size());
      error.stop = value.starts_with('-');
      error.retry_after = planb::parse_retry_after("grpc-retry-pushback-ms", value, std::chrono::system_clock::now());
    }
    throw error;
  }
};

}  // namespace

template <>
struct planb::error_traits<RpcError> {
  static int code(const RpcError& e) { return e.code; }
  static const std::string& message(const RpcError& e) { return e.message; }
  static std::optional<planb::Duration> retry_after(const RpcError& e) { return e.retry_after; }
  static std::optional<bool> retryable(const RpcError& e) { return e.stop ? std::optional(false) : std::nullopt; }
};

TEST_CASE("a gRPC server that fails in its ways, behind a plan") {
  const Server server;
  const auto channel = grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials());
  const auto step = [&](const char* name, int attempts = 2) {
    return planb::Step<Client>{.name = name,
                               .provide = Client{std::string("/test/") + name, channel},
                               .attempts = attempts,
                               .schedule = planb::spaced(1s)};
  };
  const auto classifier = planb::grpc_classifier<RpcError>();
  const AttemptLog log;
  VirtualClock clock;
  const planb::RunOptions options{.on_event = log, .clock = &clock};
  const auto ask = [](Client& client) { return client.ask("question", 300ms); };

  SECTION("each failure leads where it should") {
    const auto plan = planb::ExecutionPlan<Client>{step("unavailable"), step("exhausted"), step("no_retry"),
                                                   step("no_key"),      step("silent", 1), step("works")}
                          .with_classifier(classifier);
    CHECK(planb::run_with_plan(plan, ask, options) == "answer to question");
    CHECK(log.names() == std::vector<std::string>{"unavailable", "unavailable", "exhausted", "exhausted", "no_retry",
                                                  "no_key", "silent", "works"});
    std::map<std::string, planb::FailureClass> classes;
    std::vector<planb::Duration> waits;
    for (const planb::AttemptFailure& failure : log.of<planb::AttemptFailure>()) {
      REQUIRE(failure.verdict.has_value());
      classes[failure.step_name] = failure.verdict->failure_class;
      if (failure.next.kind == planb::NextMove::retry) waits.push_back(failure.next.delay);
    }
    CHECK(classes["unavailable"] == planb::FailureClass::overloaded);
    CHECK(classes["exhausted"] == planb::FailureClass::rate_limited);
    CHECK(classes["no_key"] == planb::FailureClass::auth);
    CHECK(classes["silent"] == planb::FailureClass::timeout);
    CHECK(waits == std::vector<planb::Duration>{1s, 1500ms});  // the schedule's, and the server's pushback
  }
  SECTION("a request that is at fault is sent nowhere else") {
    const auto plan = planb::ExecutionPlan<Client>{step("bad_request"), step("works")}.with_classifier(classifier);
    CHECK_THROWS_AS(planb::run_with_plan(plan, ask, options), planb::PlanAborted);
    CHECK(log.names() == std::vector<std::string>{"bad_request"});
  }
  SECTION("a server that is not there") {
    planb::Step<Client> gone = step("gone", 1);
    gone.provide = Client{"/test/gone", grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials())};
    const auto plan = planb::ExecutionPlan<Client>{std::move(gone), step("works")}.with_classifier(classifier);
    CHECK(planb::run_with_plan(plan, ask, options) == "answer to question");
    CHECK(log.of<planb::AttemptFailure>().front().verdict->failure_class == planb::FailureClass::overloaded);
  }
}
