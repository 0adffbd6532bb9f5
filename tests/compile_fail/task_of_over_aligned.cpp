// expect-first: planb: a Task's value that is aligned beyond what operator new gives
#include <planb/drive/task.hpp>

#ifdef TWIN
struct Lanes {
#else
struct alignas(64) Lanes {
#endif
  float values[16];
};

inline planb::Task<Lanes> lanes() { co_return Lanes{}; }
