// One log: decoded, folded, opened for its surface, appended to. Roots: listed and searched by title.
import fs from 'node:fs'
import path from 'node:path'
import { foldSurface } from '@deepseek-ai/dsh-session'
import { inputs, measure, wanted } from './measure.mjs'
import { mount, unmount } from './mount.mjs'

const ENCODINGS = [['raw', 'none'], ['zstd', 'zstd']]

export default async function () {
  for (const [name, compression] of ['decode', 'fold', 'open'].some(wanted) ? ENCODINGS : []) {
    const ctx = await mount(path.join(inputs, name), compression)
    await measure(`decode/${name}`, () => ctx.sessionPersistence.loadStored('10k'))
    if (name === 'raw' && wanted('fold')) for (const id of ['10k', '1m']) {
      const { events } = await ctx.sessionPersistence.loadStored(id)
      await measure(`fold/${id}`, () => foldSurface(events))
    }
    for (const id of ['10k', '1m']) await measure(`open/${name}-${id}`, () => ctx.sessionQuery.readSurface(id), { seconds: 8 })
    if (name === 'raw' && wanted('open')) await live(await ctx.sessionPersistence.loadStored('10k'))
    await unmount(ctx)
  }
  if (wanted('append')) for (const [name, compression] of ENCODINGS) await append(name, compression)
  if (wanted('list') || wanted('search')) await roots()
}

/** The surface of a session that is open. */
async function live({ meta, events }) {
  const ctx = await mount()
  const session = ctx.sessions.prepare('10k', { seed: events, meta })
  ctx.sessions.enter(session)
  ctx.sessions.announce(session)
  await measure('open/live-10k', () => ctx.sessionQuery.readSurface('10k'))
  await unmount(ctx)
}

/** A turn of the large log again and again, each time as one batch. */
async function append(name, compression) {
  const root = fs.mkdtempSync(path.join(inputs, 'appended-'))
  const source = await mount(path.join(inputs, 'raw'), 'none')
  const turn = turnOf((await source.sessionPersistence.loadStored('10k')).events)
  await unmount(source)
  const ctx = await mount(root, compression)
  await ctx.sessionPersistence.create({ version: 0, id: 'appended', createdAt: 1790000000000, cwd: '/w', delegationDepth: 0 })
  let seq = 0
  const batch = () => { const from = seq; seq += turn.length; return turn.map((event, at) => ({ ...event, seq: from + at, ...event.sourceEventSeqs ? { sourceEventSeqs: [from + at - 1] } : {} })) }
  await ctx.sessionPersistence.append('appended', batch())
  await measure(`append/${name}`, events => ctx.sessionPersistence.append('appended', events), { setup: batch, seconds: 8 })
  await unmount(ctx)
  fs.rmSync(root, { recursive: true })
}

/** The first turn without its packed deltas and its request header, as the other side appends it. */
function turnOf(events) {
  const end = events.findIndex(event => event.type === 'turn/end')
  const packed = new Set(['text-delta', 'reasoning-delta', 'tool-call-delta'])
  return events.slice(0, end + 1).filter(event => event.type !== 'request/header' && !packed.has(event.data.chunk?.type))
}

async function roots() {
  const root = path.join(inputs, 'many')
  const list = async ctx => { const records = await ctx.sessionQuery.listSessions(); if (records.length !== 10000) throw new Error(`${records.length} sessions`); return records.map(record => record.header.id) }
  const search = async ctx => {
    const titles = await ctx.sessionQuery.readTitleSnapshots(await list(ctx))
    const found = titles.filter(read => read.status === 'fulfilled' && read.value.title?.title.toLowerCase().includes('number 777'))
    if (found.length !== 11) throw new Error(`${found.length} found`)
  }
  const fresh = () => mount(root, 'zstd')
  await measure('list/cold', list, { setup: fresh, seconds: 10 })
  await measure('search/cold', search, { setup: fresh, seconds: 10 })
  const warm = await fresh()
  await list(warm)
  await measure('list/warm', () => list(warm), { seconds: 10 })
  await measure('search/warm', () => search(warm), { seconds: 10 })
  await unmount(warm)
}
