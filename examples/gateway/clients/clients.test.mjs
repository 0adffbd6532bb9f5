// The gateway and real clients: node --test clients.test.mjs, with GATEWAY naming the program. Its providers are here;
// what each was asked is compared with what the gateway's log says of the chain, for every request.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { APICallError, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { aiModel, ask, openai } from './clients.mjs'
import { Gateway } from './gateway.mjs'
import { completion, delta, DONE, event, finish, ROLE, text, Upstreams } from './upstreams.mjs'

const PROVIDER_KEY = 'sk-the-providers-0123456789'
const OPEN_FOR = 300 // ms
const AT_ONCE = 5000 // ms, on a busy machine; what is measured by it would else take the budget of 20 s
const STREAMS = ['openaiStream', 'aiStream']
const PLAIN = ['openaiPlain', 'aiPlain']
const ALL = [...PLAIN, ...STREAMS]

// Each provider's behaviour: of one request, the `number`th with this tag.
const providers = {
  ok: (call) => call.answer(),
  large: (call) => call.answer(),
  s503: (call) => call.fail(503, { message: 'busy' }),
  short: (call, number) =>
    number === 1 ? call.fail(429, { message: 'wait' }, { 'retry-after-ms': '200' }) : call.answer(),
  long: (call) => call.fail(429, { message: 'wait' }, { 'retry-after': '300' }),
  s400: (call) => call.fail(400, { message: 'no such role', type: 'invalid_request_error', code: 'bad_role' }),
  // As some do: with the key in it.
  s401: (call) => call.fail(401, { message: `wrong key: ${call.headers.authorization}` }),
  context: (call) => call.fail(400, { message: 'too many tokens', code: 'context_length_exceeded' }),
  s413: (call) => call.fail(413, { message: 'too large' }),
  slow: () => {},
  dies: (call) => call.break(),
  before: (call) => {
    call.head()
    if (call.streamed) call.send(ROLE)
    else call.response.write('{"id":')
    return call.break()
  },
  after: (call) => {
    call.half()
    return call.break()
  },
  error200: (call) => call.json({ error: { message: 'it broke', code: 'server_error' } }),
  nullError: (call) => {
    if (!call.streamed) return call.json({ ...completion({ content: 'Plan B' }), error: null })
    call.head()
    call.send({ ...text('Plan B'), error: null }, DONE)
    call.response.end()
  },
  errorFirst: (call) => {
    call.head()
    call.send(ROLE, { error: { message: 'it broke', code: 'server_error' } })
  },
  errorLater: (call) => {
    call.head()
    call.send(ROLE, text('Plan '), { error: { message: 'it broke', code: 'server_error' } })
  },
  stallFirst: (call) => {
    call.head()
    if (call.streamed) call.send(ROLE)
  },
  stall: (call) => call.half(),
  // What these do, their tests say.
  tools: (call) => call.answer(),
  held: (call) => call.answer(),
  broken: (call) => call.answer(),
  shaky: (call) => call.answer(),
}

// --- What is expected of each failure, in a chain that has somewhere to go and in one that has not

const SILENCE = 'timeout=250ms'
const LONG_SILENCE = 'timeout=1s' // for output that has to come within it, on a busy machine too
const modes = [
  // [provider, knobs, who is asked, other members of the row]
  ['ok', '', ['ok']],
  ['s503', 'attempts=2', ['s503', 's503', 'ok']],
  ['short', 'attempts=2', ['short', 'short'], { gap: 195 }],
  ['long', 'attempts=2', ['long', 'ok']],
  ['s401', 'attempts=2', ['s401', 'ok']],
  ['slow', SILENCE, ['slow', 'ok'], { left: true }],
  ['refused', '', ['refused', 'ok']],
  ['dies', '', ['dies', 'ok']],
  ['before', '', ['before', 'ok']],
  ['stallFirst', SILENCE, ['stallFirst', 'ok'], { left: true }],
  // About the request: the next provider is not asked, and the client is told what the first one said.
  ['s400', 'attempts=2', ['s400'],
    { status: 400, error: 'BadRequestError', message: /no such role/, code: 'bad_role' }],
  ['context', '', ['context'], { status: 400, error: 'BadRequestError', code: 'context_length_exceeded' }],
  ['s413', '', ['s413'], { status: 413, error: 'APIError' }],
  // The answer as a whole has no half. Half a stream has been read: nobody goes on with it.
  ['after', '', ['after', 'ok'], { only: PLAIN }],
  ['after', '', ['after'], { only: STREAMS, half: /end of stream|partial message/ }],
  ['stall', LONG_SILENCE, ['stall', 'ok'], { only: PLAIN, left: true }],
  ['stall', LONG_SILENCE, ['stall'], { only: STREAMS, half: /./, left: true }],
  ['error200', '', ['error200', 'ok']],
  ['nullError', '', ['nullError'], { only: PLAIN }],
  // The AI SDK takes it for an error itself.
  ['nullError', '', ['nullError'], { only: ['openaiStream'] }],
  ['errorFirst', '', ['errorFirst', 'ok'], { only: STREAMS }],
  ['errorLater', '', ['errorLater'], { only: STREAMS, half: /it broke/ }],
]

const dead_ends = [
  // [provider, knobs, who is asked, what the client gets]
  ['s503', 'attempts=2', ['s503', 's503'], { status: 503, error: 'InternalServerError' }],
  ['long', 'attempts=2', ['long'], { status: 429, error: 'RateLimitError', retryAfter: [299, 300] }],
  ['s400', 'attempts=2', ['s400'], { status: 400, error: 'BadRequestError' }],
  // It is the gateway's key that is wrong, and not the client's.
  ['s401', 'attempts=2', ['s401'], { status: 502, error: 'InternalServerError' }],
  ['context', '', ['context'], { status: 400, error: 'BadRequestError' }],
  ['slow', SILENCE, ['slow'], { status: 504, error: 'InternalServerError', left: true }],
  ['refused', 'attempts=2', ['refused', 'refused'], { status: 503, error: 'InternalServerError' }],
  ['dies', 'attempts=2', ['dies', 'dies'], { status: 503, error: 'InternalServerError' }],
  ['before', 'attempts=2', ['before', 'before'], { status: 503, error: 'InternalServerError' }],
]

function settings(urls) {
  let file = ''
  const provider = (name, url) => {
    file += `provider ${name} url=${url}/v1 model=model-of-${name} key_env=CLIENTS_KEY\n`
  }
  const gate = (name, knobs) => {
    file += `gate ${name} circuit_breaker failure_threshold=3 probe_timeout=1min ${knobs}\n`
  }
  const chain = (name, ...steps) => {
    file += `chain ${name} content_refusal=next_step budget=20s\n  ${steps.join('\n  ')}\n`
  }
  for (const [name, url] of Object.entries(urls)) provider(name, url)
  provider('refused', 'http://127.0.0.1:1')
  gate('long-breaker', 'open_for=1min')
  gate('short-breaker', `open_for=${OPEN_FOR}ms`)
  for (const [name, knobs] of new Map(modes)) chain(name, `${name} ${knobs}`, ...(name === 'ok' ? [] : ['ok']))
  for (const [name, knobs] of dead_ends) chain(`only-${name}`, `${name} ${knobs}`)
  chain('guarded-step', 'context attempts=2', 'ok', 'large enter=context_too_long')
  chain('tools', 's503', 'tools')
  chain('many', 's503', 'held')
  chain('patient', 'slow', 'ok')
  chain('mid-stream', 'stall', 'ok')
  for (const client of ALL) {
    chain(`leaves-silent-${client}`, `silent-${client} provider=slow`, 'ok')
    chain(`leaves-drip-${client}`, `drip-${client} provider=stall`, 'ok')
    chain(`leaves-wait-${client}`, `wait-${client} provider=s503 attempts=3 schedule=spaced(10s)`, 'ok')
  }
  chain('broken', 'broken gate=long-breaker', 'ok')
  chain('only-broken', 'broken gate=long-breaker')
  chain('shaky', 'shaky gate=short-breaker', 'ok')
  return file
}

// --- Around the tests

const upstreams = new Upstreams()
let gateway
const errors = [] // all that clients were told

before(async () => {
  assert.ok(process.env.GATEWAY, 'GATEWAY names the program')
  for (const [name, behave] of Object.entries(providers)) await upstreams.add(name, behave)
  gateway = await Gateway.start(process.env.GATEWAY, settings(upstreams.urls), { CLIENTS_KEY: PROVIDER_KEY })
})

after(async () => {
  const code = await gateway?.stop()
  upstreams.close()
  assert.equal(code, 0, gateway?.output.slice(-2000))
})

// The chain's own word against the providers': each attempt is one request, in that order, and nobody else was asked.
async function compare(asked, expected) {
  const { request, attempts, skipped } = await gateway.story(asked.label)
  const calls = upstreams.of(asked.tag).map((call) => call.upstream)
  assert.deepEqual(attempts, expected, `attempts, as the gateway tells them (of the providers: ${calls})`)
  const reached = expected.filter((name) => name !== 'refused') // nobody listens there
  assert.deepEqual(calls, reached, 'calls, as the providers tell them')
  assert.equal(request.status, asked.status)
  assert.equal(asked.requests, 1, 'what the client sent')
  return skipped
}

// The error as the client's program sees it: the class by which it is caught, and what it says.
function check_error(client, { status, error, message = /./, code, retryAfter }, asked) {
  errors.push(asked.error)
  assert.equal(asked.status, status)
  if (client.startsWith('openai')) {
    assert.equal(asked.error?.constructor, OpenAI[error], asked.error)
    assert.equal(asked.error.status, status)
    assert.equal(asked.error.requestID, asked.label)
    if (code) assert.equal(asked.error.code, code)
  } else {
    assert.ok(APICallError.isInstance(asked.error), asked.error)
    assert.equal(asked.error.statusCode, status)
    if (code) assert.equal(asked.error.data.error.code, code)
  }
  assert.match(asked.error.message, message)
  if (retryAfter) {
    const seconds = Number(asked.retryAfter)
    assert.ok(seconds >= retryAfter[0] && seconds <= retryAfter[1], asked.retryAfter)
  }
}

async function check(client, chain, expected, row = {}) {
  const asked = await ask(gateway, client, chain)
  if (row.error) {
    check_error(client, row, asked)
  } else {
    assert.equal(asked.status, 200, asked.error)
    assert.equal(asked.answeredBy, expected.at(-1))
    if (row.half) {
      assert.equal(asked.text, 'Plan ')
      assert.ok(asked.error, 'half an answer is an error')
      if (client === 'openaiStream') assert.equal(asked.error.constructor, OpenAI.APIError)
      assert.match(asked.error.message, row.half)
      errors.push(asked.error)
    } else {
      assert.ifError(asked.error)
      assert.equal(asked.text, 'Plan B')
    }
  }
  const skipped = await compare(asked, expected)
  const calls = upstreams.of(asked.tag)
  if (row.left) await calls[0].left // the attempt that took too long was ended
  if (row.gap) assert.ok(calls[1].at - calls[0].at >= row.gap, `${calls[1].at - calls[0].at} ms`)
  return skipped
}

const seconds = (number) => ({ timeout: number * 1000 })

// Of all clients at once; each by its name.
async function each(names, run) {
  const results = await Promise.allSettled(names.map(run))
  results.forEach(({ reason }, i) => {
    if (reason) reason.message = `${names[i]}: ${reason.message}`
    if (reason) throw reason
  })
}

// --- The tests

test('the lock file names no host', () => {
  const lock = readFileSync(new URL('package-lock.json', import.meta.url), 'utf8')
  assert.doesNotMatch(lock.replace(/"integrity": ".*"/g, ''), /\/\/|resolved/)
})

for (const [provider, , expected, row = {}] of modes) {
  const name = `${provider}: ${expected.join(', ')}${row.only ? `, ${row.only.join(', ')}` : ''}`
  test(name, seconds(10), () =>
    each(row.only ?? ALL, (client) => check(client, provider, expected, row)))
}

for (const [provider, , expected, row] of dead_ends) {
  test(`${provider} with nowhere to go: ${row.status}`, seconds(10), () =>
    each(ALL, (client) => check(client, `only-${provider}`, expected, row)))
}

test('a request that is too long goes to the step that is for it, and to no other', seconds(10), () =>
  each(ALL, async (client) => {
    const skipped = await check(client, 'guarded-step', ['context', 'large'])
    assert.deepEqual(skipped, ['ok'])
  }))

test('a chain that there is not', seconds(10), () =>
  each(ALL, async (client) => {
    const asked = await ask(gateway, client, 'nobody')
    check_error(client, { status: 404, error: 'NotFoundError', code: 'model_not_found' }, asked)
    assert.deepEqual(upstreams.of(asked.tag), [])
  }))

test('the chains are models', seconds(10), async () => {
  const names = []
  for await (const model of openai(gateway).models.list()) names.push(model.id)
  assert.ok(names.includes('guarded-step') && names.includes('ok'), names)
})

test("the provider's key and model are the gateway's, the rest is the client's", seconds(10), () =>
  each(ALL, async (client) => {
    const asked = await ask(gateway, client, 'ok')
    const [{ headers, body }] = upstreams.of(asked.tag)
    assert.equal(headers.authorization, `Bearer ${PROVIDER_KEY}`)
    assert.equal(body.model, 'model-of-ok')
    assert.deepEqual(body.messages, [{ role: 'user', content: 'Which plan?' }])
  }))

// --- Tools

const SCHEMA = {
  type: 'object',
  properties: { place: { type: 'string' }, days: { type: 'integer', minimum: 1, maximum: 9007199254740991 } },
  required: ['place'],
  additionalProperties: false,
}
const TOOLS = [{ type: 'function', function: { name: 'weather', description: 'of a place', parameters: SCHEMA } }]
const ARGUMENTS = '{"place": "Zürich \\u2603 ☃","days":3}' // a string to all but the client's program
const TOOL_CALLS = [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: ARGUMENTS } }]
const TOOL_EVENTS = [
  ROLE,
  delta({ tool_calls: [{ index: 0, ...TOOL_CALLS[0], function: { name: 'weather', arguments: '' } }] }),
  delta({ tool_calls: [{ index: 0, function: { arguments: ARGUMENTS.slice(0, 9) } }] }),
  delta({ tool_calls: [{ index: 0, function: { arguments: ARGUMENTS.slice(9) } }] }),
  finish('tool_calls'),
  { ...finish(null), choices: [], usage: { prompt_tokens: 7, completion_tokens: 8, total_tokens: 15 } },
]

// Calls the tool, and with what it said gives an answer.
function call_tools(call) {
  if (call.body.messages.some(({ role }) => role === 'tool')) return call.answer('Snow')
  if (!call.streamed) return call.json(completion({ content: null, tool_calls: TOOL_CALLS }, 'tool_calls'))
  call.head()
  call.send(...TOOL_EVENTS, DONE)
  call.response.end()
}

test('OpenAI: tools in a plain answer, to the byte', seconds(10), async () => {
  upstreams.behave('tools', call_tools)
  const request = { model: 'tools', messages: [{ role: 'user', content: 'Weather?' }], tools: TOOLS, user: 'tools-1' }
  const raw = await openai(gateway).chat.completions.create(request).asResponse()
  assert.equal(await raw.text(), JSON.stringify(completion({ content: null, tool_calls: TOOL_CALLS }, 'tool_calls')))
  const answer = await openai(gateway).chat.completions.create({ ...request, user: 'tools-2' })
  assert.deepEqual(answer.choices[0].message.tool_calls, TOOL_CALLS)
  assert.deepEqual(upstreams.of('tools-2', 'tools')[0].body, { ...request, model: 'model-of-tools', user: 'tools-2' })
})

test('OpenAI: tools in a stream, to the byte', seconds(10), async () => {
  upstreams.behave('tools', call_tools)
  const request = { model: 'tools', messages: [{ role: 'user', content: 'Weather?' }], tools: TOOLS, stream: true }
  const raw = await openai(gateway).chat.completions.create(request).asResponse()
  assert.equal(await raw.text(), [...TOOL_EVENTS.map(event), DONE].join(''))
  const runner = openai(gateway).chat.completions.stream({ ...request, stream_options: { include_usage: true } })
  const { choices, usage } = await runner.finalChatCompletion()
  const [{ id, function: called }] = choices[0].message.tool_calls
  assert.deepEqual([id, called.name, called.arguments], ['call_1', 'weather', ARGUMENTS])
  assert.equal(usage.total_tokens, 15)
})

test('OpenAI: what is sent keeps the order of its keys, which a schema is read by', seconds(10), async () => {
  upstreams.behave('tools', call_tools)
  const request = { model: 'tools', messages: [{ role: 'user', content: 'Weather?' }], tools: TOOLS, user: 'tools-3' }
  await openai(gateway).chat.completions.create(request)
  const [{ body }] = upstreams.of('tools-3', 'tools')
  assert.equal(JSON.stringify(body.tools), JSON.stringify(TOOLS))
})

for (const streamed of [false, true]) {
  test(`AI SDK: a tool is called, and its result sent${streamed ? ', in streams' : ''}`, seconds(10), async () => {
    upstreams.behave('tools', call_tools)
    const tag = `ai-tools-${streamed}`
    const input = []
    const result = await (streamed ? streamText : generateText)({
      model: aiModel(gateway, 'tools'),
      prompt: 'Weather?',
      maxRetries: 0,
      providerOptions: { gateway: { user: tag } },
      stopWhen: stepCountIs(2),
      tools: {
        weather: tool({
          description: 'of a place',
          inputSchema: jsonSchema(SCHEMA),
          execute: (given) => (input.push(given), { snow: true }),
        }),
      },
    })
    assert.equal(await result.text, 'Snow')
    assert.deepEqual(input, [JSON.parse(ARGUMENTS)])
    const [first, second, ...more] = upstreams.of(tag, 'tools')
    assert.equal(more.length, 0)
    assert.deepEqual(first.body.tools[0].function.parameters, SCHEMA)
    const [called, answered] = second.body.messages.slice(-2)
    assert.deepEqual(JSON.parse(called.tool_calls[0].function.arguments), JSON.parse(ARGUMENTS))
    assert.equal(called.tool_calls[0].id, 'call_1')
    assert.deepEqual([answered.role, answered.tool_call_id, answered.content], ['tool', 'call_1', '{"snow":true}'])
  })
}

// --- Many at once

test('50 at once, which wait for each other', seconds(20), async () => {
  // Nobody is answered before all are there: a gateway with fewer at a time would not end.
  const arrived = []
  upstreams.behave('held', async (call) => {
    arrived.push(call)
    if (arrived.length === 50) for (const one of arrived) one.answer(`Plan ${one.tag}`)
  })
  const all = await Promise.all(Array.from({ length: 50 }, (_, i) => ask(gateway, ALL[i % 4], 'many')))
  for (const asked of all) {
    assert.ifError(asked.error)
    assert.equal(asked.text, `Plan ${asked.tag}`) // and not somebody else's
    await compare(asked, ['s503', 'held'])
  }
})

// --- Clients that leave

// The client hangs up when `ready` is over. What the provider was doing for it ends at once, and nothing follows.
async function leaves(client, kind, ready) {
  const controller = new AbortController()
  const tag = `${kind}-${client}`
  let on_text
  const text_came = new Promise((resolve) => (on_text = resolve))
  const asking = ask(gateway, client, `leaves-${tag}`, { tag, signal: controller.signal, on_text })
  const call = await upstreams.until(() => upstreams.of(tag)[0], tag)
  await ready({ text_came, step: tag })
  const hung_up = performance.now()
  controller.abort()
  await asking
  if (kind !== 'wait') {
    const took = (await call.left) - hung_up
    assert.ok(took < AT_ONCE, `the provider's connection ended after ${took} ms`)
  }
  const { label, status } = await gateway.line({ event: 'request', chain: `leaves-${tag}` })
  assert.equal(status, 499)
  assert.ok(performance.now() - hung_up < AT_ONCE)
  assert.deepEqual((await gateway.story(label)).attempts, [tag])
  assert.equal(upstreams.of(tag).length, 1)
}

test('clients leave before the first output', seconds(10), () =>
  each(ALL, (client) => leaves(client, 'silent', () => {})))

test('clients leave after the first output', seconds(10), () =>
  each(STREAMS, (client) => leaves(client, 'drip', ({ text_came }) => text_came)))

test('clients leave while the chain waits', seconds(10), () =>
  each(ALL, (client) =>
    leaves(client, 'wait', ({ step }) => gateway.line({ event: 'attempt_failure', step_name: step }))))

// --- A breaker under load

// 50 requests at once, of all clients; each is answered.
async function load(chain) {
  const all = await Promise.all(Array.from({ length: 50 }, (_, i) => ask(gateway, ALL[i % 4], chain)))
  for (const asked of all) assert.ifError(asked.error)
  return all
}

const calls_of = (name) => upstreams.calls.filter((call) => call.upstream === name).length

test('a breaker opens under load', seconds(20), async () => {
  // All 50 are under way when the first fails: none is taken back, and none comes after.
  const arrived = []
  upstreams.behave('broken', (call) => {
    arrived.push(call)
    if (arrived.length === 50) for (const one of arrived) one.fail(503, { message: 'busy' })
  })
  for (const asked of await load('broken')) await compare(asked, ['broken', 'ok'])
  assert.equal((await gateway.gate('long-breaker')).state, 'open')
  for (const asked of await load('broken')) assert.deepEqual(await compare(asked, ['ok']), ['broken'])
  assert.equal(calls_of('broken'), 50)
  await each(ALL, async (client) => {
    const asked = await ask(gateway, client, 'only-broken')
    const expected = { status: 503, error: 'InternalServerError', code: 'no_provider_ready', retryAfter: [30, 60] }
    check_error(client, expected, asked)
    assert.deepEqual(await compare(asked, []), ['broken'])
  })
})

test('a breaker is half-open under load', seconds(20), async () => {
  upstreams.behave('shaky', (call) => call.fail(503, { message: 'busy' }))
  for (const client of ALL.slice(0, 3)) await compare(await ask(gateway, client, 'shaky'), ['shaky', 'ok'])

  for (const good of [false, true]) {
    assert.equal((await gateway.gate('short-breaker')).state, 'open')
    await sleep(OPEN_FOR) // it does not say when that is over: the next request finds out
    // One probe goes through. The other 49 are answered while it is out.
    let probe
    upstreams.behave('shaky', (call) => (probe = call))
    const before = { shaky: calls_of('shaky'), ok: calls_of('ok') }
    const loading = load('shaky')
    loading.catch(() => {}) // where something else fails first
    await upstreams.until(() => probe && calls_of('ok') === before.ok + 49, 'the other 49')
    assert.equal(calls_of('shaky'), before.shaky + 1)
    assert.match((await gateway.gate('short-breaker')).state, /^half.open$/)
    if (good) probe.answer()
    else probe.fail(503, { message: 'still busy' })
    for (const asked of await loading) {
      if (asked.tag === probe.tag) await compare(asked, good ? ['shaky'] : ['shaky', 'ok'])
      else assert.deepEqual(await compare(asked, ['ok']), ['shaky'])
    }
    assert.equal(calls_of('shaky'), before.shaky + 1)
  }

  assert.equal((await gateway.gate('short-breaker')).state, 'closed')
  upstreams.behave('shaky', (call) => call.answer())
  for (const asked of await load('shaky')) await compare(asked, ['shaky'])
})

// --- Deadlines

test('a deadline from the header', seconds(10), () =>
  each(ALL, async (client) => {
    const asked = await ask(gateway, client, 'patient', { headers: { 'X-Timeout': '300ms' } })
    check_error(client, { status: 504, error: 'InternalServerError', code: 'deadline_exceeded' }, asked)
    await compare(asked, ['slow'])
    const [call] = upstreams.of(asked.tag)
    const took = (await call.left) - call.at
    assert.ok(took < AT_ONCE, `${took} ms`)
  }))

test('a deadline from the header, in the middle of a stream', seconds(10), () =>
  each(STREAMS, async (client) => {
    const asked = await ask(gateway, client, 'mid-stream', { headers: { 'X-Timeout': '1s' } })
    assert.equal(asked.text, 'Plan ')
    assert.equal(asked.error?.code ?? asked.error, 'deadline_exceeded')
    await compare(asked, ['stall'])
    await upstreams.of(asked.tag)[0].left
  }))

test('a deadline that is none', seconds(10), () =>
  each(ALL, async (client) => {
    const asked = await ask(gateway, client, 'patient', { headers: { 'X-Timeout': 'soon' } })
    check_error(client, { status: 400, error: 'BadRequestError', message: /X-Timeout/ }, asked)
    assert.deepEqual(upstreams.of(asked.tag), [])
  }))

// --- At the end, of everything

test('keys are told to nobody', () => {
  const told = gateway.output + errors.map((error) => `${error?.message} ${JSON.stringify(error)}`).join('\n')
  assert.match(told, /wrong key/)
  assert.ok(!told.includes(PROVIDER_KEY))
})
