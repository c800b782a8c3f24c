#!/bin/sh
# Installs Debian packages for the named groups (files of tools/packages), after saying what and how many megabytes.
# Usage: tools/setup.sh build [test] [bench] [bench-peers] [proof] [cluster] [web]
#   YES=1 skips the question; without a terminal there is no question either. Without root it prints the line to run.
#   QUIET=1 says nothing when all is installed. It installs by name only; services that come with a package are neither
#   enabled nor started.
# Exit: 0 all installed, 1 not (the last line says what to do).
# shellcheck disable=SC2086  # package names are split into words on purpose
set -eu
export LC_ALL=C
here=$(dirname "$0")
say() { printf '%s\n' "$*"; }
stop() { printf 'setup: %s\n' "$*" >&2; exit 1; }

for group in "$@"; do
  [ -r "$here/packages/$group" ] || stop "there is no package group '$group' (tools/packages: build, test, bench, bench-peers, proof, cluster, web)."
done
wanted=$(cd "$here/packages" && sed -e 's/#.*//' -e '/^ *$/d' "$@" | sort -u)

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
  say "setup: this is not Debian, so packages must come from your own system. These are the Debian 12 names of what is needed:"
  say "$wanted" | sed 's/^/  /'
  stop "install their equivalents (clang 19, Boost >= 1.81, OpenSSL 3 ...), then run make again with SETUP=skip."
fi

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p' | sort -u)
missing=$(printf '%s\n---\n%s\n' "$installed" "$wanted" | awk '/^---$/ {wanted = 1; next} !wanted {have[$0] = 1; next} !have[$0]')
if [ -z "$missing" ]; then
  [ "${QUIET:-}" = 1 ] || say "setup: all $(say "$wanted" | wc -l) packages for $* are installed."
  exit 0
fi
missing=$(say "$missing" | tr '\n' ' ')
missing=${missing% }
root=; [ "$(id -u)" = 0 ] && root=1

# The lists are missing on a fresh machine or container; only root can fetch them.
unknown() { for p in $missing; do apt-cache show --no-all-versions "$p" >/dev/null 2>&1 || printf '%s ' "$p"; done; }
no_candidate=$(unknown)
if [ -n "$no_candidate" ] && [ -n "$root" ]; then
  say "setup: package lists are missing or old; running apt-get update."
  apt-get update -qq -o Acquire::Retries=3 || stop "apt-get update failed. Check the network and /etc/apt/sources.list*, then run this again."
  no_candidate=$(unknown)
fi
if [ -n "$no_candidate" ]; then
  [ -n "$root" ] || { say "setup: needed: $missing"; stop "package lists are missing; run: sudo apt-get update && sudo apt-get install --no-install-recommends $missing"; }
  stop "this system's sources do not offer: ${no_candidate}(Debian 12 does, in 'main'; elsewhere install equivalents and use SETUP=skip)."
fi

plan=$(apt-get install -s --no-install-recommends $missing 2>&1) || { say "$plan" | tail -n 5; stop "apt-get cannot install: $missing"; }
new=$(say "$plan" | awk '$1 == "Inst" {print $2}')
removed=$(say "$plan" | awk '$1 == "Remv" {print $2}')
bytes=$(apt-get install --print-uris -qq -y --no-install-recommends $missing 2>/dev/null | awk '/^\x27/ {sum += $3} END {printf "%d", sum}')
kib=$(apt-cache show --no-all-versions $new 2>/dev/null | awk '/^Installed-Size:/ {sum += $2} END {printf "%d", sum}')
download_mb=$(( (bytes + 999999) / 1000000 ))
disk_mb=$(( (kib + 1023) / 1024 ))

say "setup: installing $(say "$new" | wc -l) packages (with what they depend on): $download_mb MB to download, $disk_mb MB on disk."
say "  asked for: $missing" | fold -s -w 110 | sed '2,$s/^/  /'
if [ -n "$removed" ]; then
  say ""
  say "  WARNING: apt will REMOVE $(say "$removed" | wc -l) installed package(s) that conflict with these:"
  say "$removed" | sed 's/^/    - /'
  say "  (the -dev packages of Boost 1.74 and 1.81 evict each other; to get yours back later, install it again)"
  say ""
fi
free_mb=$(df -Pm /usr | awk 'NR == 2 {print $4}')
[ "$free_mb" -gt $((download_mb + disk_mb)) ] || stop "/usr has only $free_mb MB free; $((download_mb + disk_mb)) MB are needed."

command="apt-get install --no-install-recommends $missing"
if [ -z "$root" ]; then
  stop "needs root; run this line, then the same make again:
  sudo $command"
fi
if [ "${YES:-}" != 1 ] && [ -t 0 ] && [ -t 1 ]; then
  printf 'Install them now? [Y/n] '
  read -r answer || answer=n
  case $answer in ''|y|Y|yes|Yes) ;; *) stop "nothing was installed. The command would have been: $command" ;; esac
else
  say "setup: going on without a question (YES=1 or no terminal)."
fi
# Packages start their services when they are installed, unless this file says no.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap 'rm -f $policy' EXIT
  trap 'exit 130' INT TERM
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod 755 $policy
fi
loud=-qq; [ -t 1 ] && loud=-q  # a person sees the download move, a log keeps one line a package
DEBIAN_FRONTEND=noninteractive apt-get install -y $loud --no-install-recommends \
  -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o APT::Cmd::Disable-Script-Warning=1 -o Dpkg::Use-Pty=0 $missing ||
  stop "apt-get failed (its own lines above say why). Run 'make setup' again when that is solved."
# ... and enable them for the next boot; only those that were not here before are turned off again.
turn_off() {
  say "$new" | grep -qx "$1" || return 0
  shift
  for unit in "$@"; do
    ! command -v systemctl >/dev/null 2>&1 || systemctl disable --quiet "$unit" 2>/dev/null || true
  done
}
turn_off redis-server redis-server.service
turn_off rabbitmq-server rabbitmq-server.service
turn_off erlang-base epmd.socket epmd.service
turn_off mariadb-server mariadb.service
turn_off nginx nginx.service
say "setup: done."
