// A main for the fuzz targets where there is no libFuzzer: runs every file, and every file of every folder, that it is
// given.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz.hpp"

namespace {

bool replay(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.string().c_str());
    return false;
  }
  // Named before it runs: what ends the program there is known by its last line.
  std::printf("%s\n", path.string().c_str());
  std::fflush(stdout);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return true;
}

int replay_all(int count, char** paths) {
  int files = 0;
  for (int i = 1; i < count; ++i) {
    const std::filesystem::path path(paths[i]);
    if (!std::filesystem::is_directory(path)) {
      if (!replay(path)) return 1;
      ++files;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (!entry.is_regular_file()) continue;
      if (!replay(entry.path())) return 1;
      ++files;
    }
  }
  std::printf("%d files replayed\n", files);
  return files == 0 ? 1 : 0;  // a corpus that has gone astray is no success
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return replay_all(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
