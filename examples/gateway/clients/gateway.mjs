// The gateway's program: started with settings, and read line by line.
import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export class Gateway {
  output = '' // all that it has said
  lines = [] // of it, those of its log
  #read = new EventEmitter().setMaxListeners(0)

  static async start(program, settings, environment) {
    const gateway = new Gateway()
    gateway.folder = mkdtempSync(join(tmpdir(), 'planb-clients-'))
    const file = join(gateway.folder, 'gateway.conf')
    writeFileSync(file, settings)
    gateway.process = spawn(program, ['--settings', file, '--port', '0', '--grace', '500ms'], {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    gateway.ended = once(gateway.process, 'exit')
    process.on('exit', () => gateway.process.kill('SIGKILL')) // where the tests break down
    for (const stream of [gateway.process.stdout, gateway.process.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        gateway.output += line + '\n'
        if (line.startsWith('{')) gateway.lines.push(JSON.parse(line))
        gateway.#read.emit('line')
      })
    }
    gateway.ended.then(() => gateway.#read.emit('line'))
    gateway.url = (await gateway.line({ event: 'listening' })).url
    return gateway
  }

  // The first line with these members, waited for.
  async line(members) {
    const signal = AbortSignal.timeout(10_000)
    for (;;) {
      const found = this.lines.find((line) => Object.entries(members).every(([key, value]) => line[key] === value))
      if (found) return found
      if (this.process.exitCode !== null) throw new Error(`the gateway has ended:\n${this.output.slice(-2000)}`)
      await once(this.#read, 'line', { signal }).catch(() => {
        throw new Error(`no line ${JSON.stringify(members)} within 10 s`)
      })
    }
  }

  // What the chain says of a request, once it is over: the steps of its attempts in order, and those passed over.
  async story(label) {
    const request = await this.line({ event: 'request', label })
    const of = (...events) =>
      this.lines.filter((line) => line.label === label && events.includes(line.event)).map((line) => line.step_name)
    return { request, attempts: of('attempt_success', 'attempt_failure'), skipped: of('step_skipped') }
  }

  async get(path) {
    const answer = await fetch(this.url + path)
    return answer.text()
  }

  async gate(name) {
    return JSON.parse(await this.get('/admin/gates')).find((gate) => gate.name === name)
  }

  async stop() {
    this.process.kill('SIGTERM')
    const [code] = await this.ended
    rmSync(this.folder, { recursive: true })
    return code
  }
}
