// What the server does for one decision, in one piece: nothing comes between its reading and its writing.
#pragma once

namespace redis_gate {

// The breaker's state is one hash. There is none while all is well, and one that nobody asks for expires.
//   generation   the time of the last change of state: what comes of a call from before it changes nothing
//   failures     in a row, of all machines
//   open_until   not there: closed
//   probe        of a half-open breaker: which call is out to find out, and
//   probe_until  when it is given up
// Times are the server's, in microseconds: the machines' clocks need not agree.
//
// Called with `what` (admit, succeeded, failed, dropped), the permit's kind and number, and the options. Returns
// {kind, number, wait}: see Answer::Kind.
inline constexpr const char* script = R"lua(
local key, what, kind, number = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local threshold, open_for = tonumber(ARGV[4]), tonumber(ARGV[5])
local probe_for, keep_for = tonumber(ARGV[6]), tonumber(ARGV[7])
local CLEAN, COUNTING, PROBE, OPEN, BUSY, OPENED, CLOSED = 1, 2, 3, 4, 5, 6, 7

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local f = redis.call('HMGET', key, 'generation', 'failures', 'open_until', 'probe', 'probe_until')
local generation, failures = tonumber(f[1] or 0), tonumber(f[2] or 0)
local open_until, probe, probe_until = tonumber(f[3] or 0), tonumber(f[4] or 0), tonumber(f[5] or 0)

local function keep(time) redis.call('PEXPIRE', key, math.ceil((time + keep_for) / 1000)) end

local function open()
  redis.call('HDEL', key, 'failures', 'probe', 'probe_until')
  redis.call('HSET', key, 'generation', now, 'open_until', now + open_for)
  keep(open_for)
  return {OPENED, now, open_for}
end

if what == 'admit' then
  if open_until == 0 then return {failures == 0 and CLEAN or COUNTING, generation, 0} end
  if now < open_until then return {OPEN, 0, open_until - now} end
  if now < probe_until then return {BUSY, 0, probe_until - now} end
  redis.call('HSET', key, 'probe', now, 'probe_until', now + probe_for)
  keep(probe_for)
  return {PROBE, now, 0}
end

if kind == PROBE then
  if probe == number and now < probe_until then  -- not given up meanwhile
    if what == 'failed' then return open() end
    redis.call('HDEL', key, 'probe', 'probe_until')
    if what == 'succeeded' then
      redis.call('HDEL', key, 'failures', 'open_until')
      redis.call('HSET', key, 'generation', now)
      keep(0)
      return {CLOSED, now, 0}
    end
  end
elseif open_until == 0 and generation == number then
  if what == 'failed' then
    if failures + 1 >= threshold then return open() end
    redis.call('HINCRBY', key, 'failures', 1)
    keep(0)
  elseif what == 'succeeded' and failures ~= 0 then
    redis.call('HDEL', key, 'failures')
  end
end
if open_until > now then return {OPEN, 0, open_until - now} end
return {CLEAN, 0, 0}
)lua";

}  // namespace redis_gate
