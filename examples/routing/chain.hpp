// The code under test of routing_test.cpp: a plan over whatever clients it is given.
#pragma once

#include <planb/planb.hpp>

#include <chrono>
#include <memory>
#include <utility>

// A program hands in its own clients, a test its fakes.
template <class Client>
planb::ExecutionPlan<Client> make_chain(Client alpha, Client beta, std::shared_ptr<planb::Gate> breaker = nullptr) {
  return planb::ExecutionPlan<Client>{
      {.name = "alpha",
       .provide = std::move(alpha),
       .attempts = 2,
       .schedule = planb::spaced(std::chrono::seconds(1)),
       .gate = std::move(breaker)},
      {.name = "beta", .provide = std::move(beta)},
  }
      .with_classifier(planb::http_classifier(planb::ContentRefusal::next_step));
}
