// expect-first: planb: a Task of a reference would refer to a temporary or a local of its coroutine
#include <planb/drive/task.hpp>

#include <functional>
#include <string>

inline const std::string lasting = "text";

#ifdef TWIN
inline planb::Task<const std::string&> text() { co_return lasting; }
inline planb::Task<const std::string&> wrapped() { co_return std::cref(lasting); }
#else
inline planb::Task<const std::string&> text() { co_return std::string("text"); }
#endif
