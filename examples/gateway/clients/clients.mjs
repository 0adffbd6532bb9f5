// Four ways to ask the gateway: OpenAI's own client and Vercel's AI SDK, for the whole answer and for a stream. Each
// asks once: who tries again, when, and where, is the chain's to say.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, streamText } from 'ai'
import OpenAI from 'openai'

const KEY = 'the-clients-own-key'

// fetch, but for what it remembers of the answer for the tests, whatever the client then makes of it.
function watched(asked) {
  return async (...args) => {
    asked.requests += 1
    const response = await fetch(...args)
    asked.status = response.status
    asked.label = response.headers.get('x-request-id')
    asked.answeredBy = response.headers.get('x-answered-by')
    asked.retryAfter = response.headers.get('retry-after')
    return response
  }
}

export function openai(gateway, asked = {}) {
  return new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEY, maxRetries: 0, fetch: watched(asked) })
}

export function aiModel(gateway, chain, asked = {}) {
  return createOpenAICompatible({
    name: 'gateway',
    baseURL: `${gateway.url}/v1`,
    apiKey: KEY,
    fetch: watched(asked),
  })(chain)
}

const messages = [{ role: 'user', content: 'Which plan?' }]

async function openaiPlain(gateway, chain, tag, { headers, signal }, asked) {
  const answer = await openai(gateway, asked).chat.completions.create(
    { model: chain, messages, user: tag },
    { headers, signal },
  )
  asked.text = answer.choices[0].message.content
}

async function openaiStream(gateway, chain, tag, { headers, signal, on_text }, asked) {
  const stream = await openai(gateway, asked).chat.completions.create(
    { model: chain, messages, user: tag, stream: true },
    { headers, signal },
  )
  for await (const { choices } of stream) {
    const piece = choices[0].delta.content
    if (!piece) continue
    asked.text += piece
    on_text?.()
  }
}

const aiRequest = (gateway, chain, tag, { headers, signal }, asked) => ({
  model: aiModel(gateway, chain, asked),
  messages,
  maxRetries: 0,
  headers,
  abortSignal: signal,
  providerOptions: { gateway: { user: tag } },
})

async function aiPlain(gateway, chain, tag, options, asked) {
  asked.text = (await generateText(aiRequest(gateway, chain, tag, options, asked))).text
}

async function aiStream(gateway, chain, tag, options, asked) {
  // Its streams throw nothing: what fails is a part like any other.
  const { fullStream } = streamText({ ...aiRequest(gateway, chain, tag, options, asked), onError() {} })
  for await (const part of fullStream) {
    if (part.type === 'error') throw part.error
    if (part.type === 'abort') throw new Error('aborted')
    if (part.type !== 'text-delta') continue
    asked.text += part.text
    options.on_text?.()
  }
}

export const clients = { openaiPlain, openaiStream, aiPlain, aiStream }

let tags = 0

// One request. What comes of it: {tag, requests, status, label, answeredBy, retryAfter, text, error}.
export async function ask(gateway, client, chain, options = {}) {
  const asked = { tag: options.tag ?? `tag-${++tags}`, requests: 0, text: '' }
  try {
    await clients[client](gateway, chain, asked.tag, options, asked)
  } catch (error) {
    asked.error = error
  }
  return asked
}
