// Mentions, snapshots and candidates: what the reference plugin does, over sessions in memory and on disk.
import path from 'node:path'
import { Context } from '@deepseek-ai/cordis'
import { SessionReferenceResolver, parseSessionReferenceText } from '@deepseek-ai/dsh-session-reference'
import { inputs, measure, wanted } from './measure.mjs'
import { mount, unmount } from './mount.mjs'

const WORDS = ['the', 'parser', 'returns', 'a', 'value', 'when', 'called.', 'See', '(above),', '会话', 'and', 'then', '`code`', '"quoted"', '[link](https://example.com)', '\n']
const MANY = 10000
const MiB = 1 << 20
const agent = { id: 'target', session: { header: { id: 'target', cwd: '/w/3' } } }

/** Numbers that look random and are the same on every run (mulberry32). */
function numbers(seed) {
  let a = seed >>> 0
  return () => { a = (a + 0x6d2b79f5) >>> 0; let t = Math.imul(a ^ (a >>> 15), a | 1); t ^= t + Math.imul(t ^ (t >>> 7), t | 61); return (t ^ (t >>> 14)) >>> 0 }
}
function prose(bytes, seed) {
  const next = numbers(seed)
  const parts = []
  for (let made = 0; made < bytes;) { const word = WORDS[next() % WORDS.length] + ' '; parts.push(word); made += Buffer.byteLength(word) }
  return Buffer.from(parts.join('')).subarray(0, bytes).toString('utf8').replaceAll('\ufffd', '.')
}
const mention = (id, label) => `@[${label}](dsh-session:${Buffer.from(JSON.stringify(id)).toString('base64url')})`

export default async function () {
  const third = prose(21700, 1)
  const texts = {
    'three-mentions': third + mention('session-1', 'Alpha') + third + mention('session-2', 'Be\\]ta') + third + mention('session-3', 'Gamma'),
    'no-mentions': prose(65536, 2), unclosed: '@['.repeat(32768),
  }
  for (const [name, text] of Object.entries(texts)) await measure(`parse/${name}`, () => parseSessionReferenceText(text))
  if (wanted('prepare')) await prepare()
  if (wanted('candidates')) await candidates()
}

/** The resolver over a query service that answers as told, or over that of a mounted root. */
async function resolver(query, ctx = new Context()) {
  if (query) ctx.provide('sessionQuery', query)
  let made
  await ctx.plugin({ name: 'bench', inject: ['sessionQuery'], apply(inner) { made = new SessionReferenceResolver(inner, {}) } })
  return made
}

async function prepare() {
  const references = ['a', 'b', 'c'].map(sessionId => ({ sessionId }))
  const content = [{ type: 'text', text: 'go' }]
  for (const bytes of [1 << 20, 65536, 8192, 1024, 256]) {
    const surfaces = Object.fromEntries(references.map(({ sessionId }, at) => [sessionId, talk(sessionId, bytes, at + 1)]))
    const service = await resolver({ readSurface: async id => surfaces[id] })
    await measure(`prepare/${bytes}`, () => service.prepare(agent, content, references))
  }
}

/** A mebibyte of prose: a prompt and a reply, and again. */
function talk(id, bytes, seed) {
  const texts = Array.from({ length: 13 }, (_, at) => prose(bytes, seed * 7919 + at))
  const events = Array.from({ length: MiB / bytes }, (_, seq) => {
    const content = [{ type: 'text', text: texts[seq % 13] }]
    const user = { type: 'user/message', data: { id: `m${seq}`, role: 'user', content, source: { kind: 'user' } } }
    const assistant = { type: 'assistant/message', data: { turn: 1, step: 1, message: { id: `m${seq}`, role: 'assistant', content, source: { kind: 'model', provider: 'p', model: 'm' } } } }
    return { ...seq % 2 ? assistant : user, seq, time: 1790000000000 + seq, surfaceOp: 'append' }
  })
  return { session: { version: 0, id, createdAt: 1790000000000, cwd: '/w' }, capturedThroughSeq: events.length - 1, events }
}

async function candidates() {
  const about = ['parser', 'İstanbul build', 'straße lookup', '会话 panel']
  const records = Array.from({ length: MANY }, (_, at) => ({ header: { version: 0, id: `session-${at}`, createdAt: 2e12 - at, ...at % 5 ? { cwd: `/w/${at % 21}` } : {} }, live: false, persisted: true }))
  const titles = new Map(records.map(({ header }, at) => [header.id, { sessionId: header.id, status: 'fulfilled', value: { session: header, title: { title: `Fix the ${about[at % 4]} number ${at}` } } }]))
  const memory = await resolver({ listSessions: async () => records, readTitleSnapshots: async ids => ids.map(id => titles.get(id)) })
  for (const [name, query] of [['all', ''], ['few', 'number 777'], ['many', 'FIX'], ['none', 'zzzz']]) await measure(`candidates/${name}`, () => memory.listCandidates(agent, query))
  const ctx = await mount(path.join(inputs, 'many'), 'zstd')
  const disk = await resolver(undefined, ctx)
  for (const [name, query] of [['disk-all', ''], ['disk-few', 'number 777']]) await measure(`candidates/${name}`, () => disk.listCandidates(agent, query), { seconds: 10 })
  await unmount(ctx)
}
