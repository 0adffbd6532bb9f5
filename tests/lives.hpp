// Objects that tell of their lives.
#pragma once

#include <string>
#include <vector>

namespace lives {

// Counts how many there are.
struct Counted {
  explicit Counted(int& count) : alive(&count) { ++*alive; }
  Counted(const Counted& other) : alive(other.alive) { ++*alive; }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*alive; }

  int* alive;
};

// Writes down when its life begins and ends.
struct Connection {
  explicit Connection(std::vector<std::string>& journal) : seen(&journal) { seen->push_back("opened"); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { seen->push_back("closed"); }

  std::vector<std::string>* seen;
};

// Knows where it was made.
struct Immovable {
  explicit Immovable(int i) : id(i), self(this) {}
  Immovable(const Immovable&) = delete;
  Immovable& operator=(const Immovable&) = delete;

  int id;
  const Immovable* self;
};

}  // namespace lives
