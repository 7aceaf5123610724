// The published packages over one root, or over sessions in memory alone.
import { Context } from '@deepseek-ai/cordis'
import SessionStore from '@deepseek-ai/dsh-session'
import Persistence from '@deepseek-ai/dsh-session-persistence-jsonl'
import QueryEngine from '@deepseek-ai/dsh-session-query'

/** Abstract only in its two full-text methods, which nothing here asks. */
class Engine extends QueryEngine {
  searchSessions() { return Promise.reject(new Error('no search here')) }
  searchEvents() { return Promise.reject(new Error('no search here')) }
}

export async function mount(root, compression) {
  const ctx = new Context()
  await ctx.plugin(SessionStore)
  if (root !== undefined) await ctx.plugin(Persistence, { root, compression })
  await ctx.plugin(Engine)
  return ctx
}
export const unmount = ctx => ctx.fiber.dispose()
