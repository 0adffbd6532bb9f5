// Model providers that behave as the tests want it, each an HTTP server of its own, and what they were asked.
import { EventEmitter, once } from 'node:events'
import http from 'node:http'

// The text of the answer in pieces, as the elements of a stream.
const chunk = (delta, finish_reason = null) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1700000000,
  model: 'upstream-model',
  choices: [{ index: 0, delta, finish_reason }],
})
export const ROLE = chunk({ role: 'assistant', content: '' })
export const text = (content) => chunk({ content })
export const finish = (reason) => chunk({}, reason)
export const delta = chunk
export const event = (data) => `data: ${JSON.stringify(data)}\n\n`
export const DONE = 'data: [DONE]\n\n'

export const completion = (message, finish_reason = 'stop') => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1700000000,
  model: 'upstream-model',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
})

// One request to a provider. `left` is resolved when its connection ends before its answer has.
class Call {
  constructor(upstream, request, body, response) {
    Object.assign(this, { upstream, headers: request.headers, body, response, at: performance.now() })
    this.tag = body.user // clients set it, the gateway passes it on: whose request it is
    this.streamed = body.stream === true
    this.left = new Promise((resolve) => {
      response.on('close', () => response.writableFinished || this.broken || resolve(performance.now()))
    })
  }

  head(status = 200, headers = { 'content-type': this.streamed ? 'text/event-stream' : 'application/json' }) {
    this.response.writeHead(status, headers)
  }
  json(document, status = 200, headers = {}) {
    this.head(status, { 'content-type': 'application/json', ...headers })
    this.response.end(JSON.stringify(document))
  }
  fail(status, error, headers = {}) {
    this.json({ error }, status, headers)
  }
  send(...data) {
    for (const one of data) this.response.write(one === DONE ? DONE : event(one))
  }
  // The connection ends where the answer does not.
  async break() {
    this.broken = true
    // What was written goes out first; then the end comes without the last chunk.
    if (this.response.headersSent) await new Promise((resolve) => this.response.write('', resolve))
    this.response.socket.end()
  }
  answer(content = 'Plan B') {
    if (!this.streamed) return this.json(completion({ content }))
    this.head()
    const half = Math.ceil(content.length / 2)
    this.send(ROLE, text(content.slice(0, half)), text(content.slice(half)), finish('stop'), DONE)
    this.response.end()
  }
  // The first half of an answer, and of its text.
  half() {
    this.head()
    if (this.streamed) this.send(ROLE, text('Plan '))
    else this.response.write(JSON.stringify(completion({ content: 'Plan B' })).slice(0, 60))
  }
}

export class Upstreams {
  calls = []
  urls = {}
  #servers = []
  #behaviours = {}
  #called = new EventEmitter().setMaxListeners(0)

  async add(name, behave) {
    this.#behaviours[name] = behave
    const server = http.createServer(async (request, response) => {
      request.setEncoding('utf8')
      let body = ''
      for await (const piece of request) body += piece
      const call = new Call(name, request, JSON.parse(body), response)
      this.calls.push(call)
      this.#called.emit('call')
      response.on('error', () => {})
      try {
        await this.#behaviours[name](call, this.of(call.tag, name).length)
      } catch (error) {
        response.destroy(error)
      }
    })
    server.listen({ port: 0, host: '127.0.0.1', backlog: 500 })
    await once(server, 'listening')
    this.#servers.push(server)
    this.urls[name] = `http://127.0.0.1:${server.address().port}`
  }

  behave(name, behaviour) {
    this.#behaviours[name] = behaviour
  }

  // What came of the request with that tag, in order.
  of(tag, name) {
    return this.calls.filter((call) => call.tag === tag && (!name || call.upstream === name))
  }

  // Resolved as soon as `condition` holds, which may change with each call.
  async until(condition, what) {
    const signal = AbortSignal.timeout(10_000)
    for (let result; ; ) {
      if ((result = condition())) return result
      await once(this.#called, 'call', { signal }).catch(() => {
        throw new Error(`no call within 10 s: ${what}`)
      })
    }
  }

  close() {
    for (const server of this.#servers) {
      server.closeAllConnections()
      server.close()
    }
  }
}
