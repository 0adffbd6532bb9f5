# shellcheck shell=bash
# Sourced by the scripts that need Debian packages.

# missing_packages NAME...: those of the packages that are not installed.
missing_packages() {
  local package status
  for package in "$@"; do
    # dpkg-query also lists packages that were removed, and fails on those it never heard of.
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) || status=unknown
    [[ $status == installed ]] || printf '%s\n' "$package"
  done
}

# may_install: whether apt-get can be run as root. Without a terminal there is nobody to type sudo's password.
may_install() {
  [[ $(id -u) -eq 0 ]] || { command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; }
}

apt_get() {
  local as_root=()
  [[ $(id -u) -eq 0 ]] || as_root=(sudo)
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" >/dev/null
}

# need_packages NAME...: installs what is missing, or says exactly what to install and fails.
need_packages() {
  if ! command -v dpkg-query >/dev/null; then
    printf 'Not a Debian system: going on in the hope that it has what these packages hold:\n  %s\n' "$*" >&2
    return 0
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [[ ${#missing[@]} -gt 0 ]] || return 0
  if ! may_install; then
    printf 'Packages are missing, and this user cannot install them. As root:\n' >&2
    printf '  apt-get update && apt-get install %s\n' "${missing[*]}" >&2
    return 1
  fi
  printf 'Installing %s\n' "${missing[*]}" >&2
  apt_get update
  apt_get install -y --no-install-recommends "${missing[@]}"
}

# want_packages NAME...: installs those that the system offers and is allowed to; what needs the others is left out.
want_packages() {
  command -v dpkg-query >/dev/null && may_install || return 0
  local missing offered=() package
  mapfile -t missing < <(missing_packages "$@")
  [[ ${#missing[@]} -gt 0 ]] || return 0
  apt_get update
  for package in "${missing[@]}"; do
    if apt-cache show "$package" >/dev/null 2>&1; then offered+=("$package"); fi
  done
  [[ ${#offered[@]} -gt 0 ]] || return 0
  printf 'Installing %s\n' "${offered[*]}" >&2
  apt_get install -y --no-install-recommends "${offered[@]}" || true
}

# newest_clang: the version of Clang to use: 19, or where the system offers no 19, its newest.
newest_clang() {
  local offered
  if ! command -v clang++-19 >/dev/null && command -v apt-cache >/dev/null; then
    if may_install; then apt_get update; fi
    offered=$(apt-cache pkgnames clang- | sed -nE 's/^clang-([0-9]+)$/\1/p' | sort -n)
    if [[ -n $offered ]] && ! grep -qx 19 <<<"$offered"; then
      tail -n 1 <<<"$offered"
      return
    fi
  fi
  printf '19\n'
}
