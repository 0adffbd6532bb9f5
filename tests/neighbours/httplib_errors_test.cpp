// cpp-httplib's errors, by themselves and from real requests: which of them are worth another try.
#include "../../examples/error_codes/httplib.hpp"

#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::FailureClass;
using planb::testing::AttemptLog;
using planb::testing::VirtualClock;

const auto classifier = planb::http_classifier<httplib::Error>(planb::ContentRefusal::abort);

// Answers /busy with 503 and all else with 200.
class Server {
 public:
  Server() {
    server_.Get("/busy", [](const httplib::Request&, httplib::Response& response) { response.status = 503; });
    server_.Get("/", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("answer", "text/plain");
    });
    port = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    server_.stop();
    thread_.join();
  }

  int port = 0;

 private:
  httplib::Server server_;
  std::thread thread_;
};

struct Endpoint {
  int port;
  std::string path;
};

}  // namespace

TEST_CASE("cpp-httplib's errors are connection errors, timeouts, or neither") {
  const auto class_of = [](httplib::Error code) { return classifier(planb::Cause::of(code)).failure_class; };
  for (const auto code :
       {httplib::Error::Connection, httplib::Error::SSLConnection, httplib::Error::Read, httplib::Error::Write}) {
    CAPTURE(httplib::to_string(code));
    CHECK(class_of(code) == FailureClass::connection);
  }
  CHECK(class_of(httplib::Error::ConnectionTimeout) == FailureClass::timeout);
  for (const auto code : {httplib::Error::SSLServerVerification, httplib::Error::SSLLoadingCerts,
                          httplib::Error::ExceedRedirectCount, httplib::Error::Canceled, httplib::Error::Unknown}) {
    CAPTURE(httplib::to_string(code));
    CHECK(class_of(code) == FailureClass::unknown);
    CHECK(classifier(planb::Cause::of(code)).action == planb::Action::next_step);
  }
}

TEST_CASE("a request that comes to nobody, and one whose answer is no good, behind a plan") {
  const Server server;
  const auto plan =
      planb::ExecutionPlan<Endpoint>{
          {.name = "nobody", .provide = Endpoint{1, "/"}, .attempts = 2, .schedule = planb::spaced(1s)},
          {.name = "busy", .provide = Endpoint{server.port, "/busy"}, .attempts = 2, .schedule = planb::spaced(1s)},
          {.name = "works", .provide = Endpoint{server.port, "/"}},
      }
          .with_classifier(classifier);
  const AttemptLog log;
  VirtualClock clock;
  const std::string answer = planb::run_with_plan(plan,
                                                  [](const Endpoint& to) {
                                                    const httplib::Result result =
                                                        httplib::Client("127.0.0.1", to.port).Get(to.path);
                                                    if (!result) throw std::system_error(result.error());
                                                    if (result->status != 200)
                                                      throw planb::ProviderError(result->status, "no good");
                                                    return result->body;
                                                  },
                                                  {.on_event = log, .clock = &clock});
  CHECK(answer == "answer");
  CHECK(log.names() == std::vector<std::string>{"nobody", "nobody", "busy", "busy", "works"});
  const std::vector<planb::AttemptFailure> failures = log.of<planb::AttemptFailure>();
  CHECK(failures[0].verdict.value().failure_class == FailureClass::connection);
  CHECK(failures[2].verdict.value().failure_class == FailureClass::overloaded);
}
