// expect-first: planb: a Task of a view or a pointer would refer to a temporary or a local of its coroutine
#include <planb/drive/task.hpp>

#include <string>
#include <string_view>

inline const std::string lasting = "text";

#ifdef TWIN
inline planb::Task<std::string_view> text() { co_return lasting; }
inline planb::Task<std::string_view> literal() { co_return "text"; }
#else
inline planb::Task<std::string_view> text() { co_return std::string("text"); }
#endif
