// The gateway under load for SECONDS, with providers that fail at random and clients that leave at random:
// GATEWAY=PROGRAM node soak.mjs SECONDS. In the end every request that arrived has its line in the log, no gate has a
// place taken, and memory and open files are as they were after the first part.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Gateway } from './gateway.mjs'
import { ROLE, text, Upstreams } from './upstreams.mjs'

const seconds = Number(process.argv[2] ?? 60)
const CLIENTS = 50
const PLACES = 30

// A linear congruence: the same faults in each run of as many requests.
let state = 1
const below = (limit) => ((state = (state * 48271) % 2147483647) % limit)

const faults = [
  (call) => call.fail(503, { message: 'busy' }),
  (call) => call.fail(429, { message: 'wait' }, { 'retry-after-ms': '20' }),
  (call) => call.fail(500, { message: 'oops' }),
  (call) => call.break(),
  (call) => (call.half(), call.break()),
  (call) => {
    call.head()
    call.send(ROLE, { error: { message: 'it broke', code: 'server_error' } })
  },
  (call) => {
    call.head()
    call.send(ROLE, text('Plan '), { error: { message: 'it broke', code: 'server_error' } })
  },
  () => {}, // no answer at all
]
const behave = (call) => (below(4) === 0 ? faults[below(faults.length)](call) : call.answer())

const upstreams = new Upstreams()
for (const name of ['a', 'b', 'c']) await upstreams.add(name, behave)
const settings = `
gate breaker circuit_breaker failure_threshold=3 open_for=100ms
gate ratio   circuit_breaker failure_ratio=0.5 window=2s minimum_calls=20 open_for=100ms
gate places  concurrency_limit limit=${PLACES} patience=50ms
gate retries retry_budget ratio=0.2 burst=20
${['a', 'b', 'c'].map((name) => `provider ${name} url=${upstreams.urls[name]}/v1 model=m`).join('\n')}
chain chat budget=2s content_refusal=next_step
  a attempts=2 schedule=jittered(exponential(5ms)) timeout=150ms gate=breaker,places,retries
  b timeout=150ms gate=ratio
  c timeout=150ms
`
const gateway = await Gateway.start(process.env.GATEWAY, settings)
const { pid } = gateway.process
const kilobytes = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1])
const files = () => readdirSync(`/proc/${pid}/fd`).length

// What was read of the log is counted and forgotten.
let logged = 0
const read_log = () => {
  logged += gateway.lines.filter((line) => line.event === 'request' && line.method === 'POST').length
  gateway.lines.length = 0
  gateway.output = ''
  upstreams.calls.length = 0
}

let sent = 0
const outcomes = { answered: 0, failed: 0, left: 0, broke_off: 0 }
const client = async (until) => {
  while (performance.now() < until) {
    sent += 1
    const leaves = below(20) === 0
    const signal = AbortSignal.timeout(leaves ? 1 + below(30) : 10_000)
    const body = JSON.stringify({ model: 'chat', stream: below(2) === 0, messages: [{ role: 'user', content: 'hi' }] })
    const headers = { 'content-type': 'application/json' }
    try {
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body, headers, signal })
      await answer.text()
      outcomes[answer.ok ? 'answered' : 'failed'] += 1
    } catch {
      if (signal.aborted) assert.ok(leaves, 'a request has had no end within ten seconds')
      outcomes[leaves ? 'left' : 'broke_off'] += 1
    }
    if (sent % 500 === 0) read_log()
  }
}

const parts = 6
const rows = []
for (let part = 0; part !== parts; ++part) {
  const until = performance.now() + (seconds * 1000) / parts
  await Promise.all(Array.from({ length: CLIENTS }, () => client(until)))
  await sleep(500) // what was left behind ends by its timeout
  rows.push({ sent, kilobytes: kilobytes(), files: files() })
  console.log(JSON.stringify(rows.at(-1)))
}
const gates = JSON.parse(await gateway.get('/admin/gates'))
const places = gates.find((gate) => gate.name === 'places')
for (let tries = 0; logged !== sent && tries !== 50; ++tries) {
  await sleep(100)
  read_log()
}
const code = await gateway.stop()
upstreams.close()
console.log(JSON.stringify({ sent, logged, ...outcomes }))

assert.equal(code, 0)
// Of those that left at once, some were gone before the gateway had read what they want.
assert.ok(logged <= sent && logged >= sent - outcomes.left, 'a request without its line')
assert.equal(places.available, PLACES, 'a place that nobody has')
assert.ok(outcomes.answered > 0 && outcomes.failed + outcomes.broke_off > 0 && outcomes.left > 0)
const [first] = rows
const last = rows.at(-1)
assert.ok(last.kilobytes < first.kilobytes * 1.25 + 4096, 'memory grows')
assert.ok(last.files <= first.files + 10, 'files stay open')
