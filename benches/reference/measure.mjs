// Times one thing after the other: warm-up, then samples until the time is spent; the median counts.
export const rows = []
const flag = name => { const at = process.argv.indexOf(`--${name}`); return at < 0 ? undefined : process.argv[at + 1] ?? '' }
export const quick = process.argv.includes('--quick')
export const inputs = flag('inputs')
export const json = flag('json')
const only = flag('only')

/** Whether anything of this name, or whose name begins so, is to be measured. */
export const wanted = name => only === undefined || name.startsWith(only) || only.startsWith(name)

/** `setup` runs before each call of `fn`, untimed; its result is the argument. */
export async function measure(name, fn, { setup = () => undefined, seconds = 4 } = {}) {
  if (!wanted(name)) return
  if (quick) seconds /= 8
  const once = async () => { const given = await setup(); const began = performance.now(); await fn(given); return performance.now() - began }
  const first = await once()
  const inner = setup.length === 0 && first < 1 ? Math.max(1, Math.floor(5 / Math.max(first, 0.0005))) : 1
  const sample = async () => { let sum = 0; for (let k = 0; k < inner; k++) sum += await once(); return sum / inner }
  const warm = performance.now() + Math.min(500, seconds * 250)
  if (first < 1000) while (performance.now() < warm) await sample()
  // What takes longer than the whole time is measured once: it will not change the picture.
  const samples = first > seconds * 1000 ? [first] : []
  const end = samples.length > 0 ? 0 : performance.now() + seconds * 1000
  while (samples.length === 0 || (performance.now() < end && samples.length < 2000)) samples.push(await sample())
  samples.sort((a, b) => a - b)
  const at = part => samples[Math.min(samples.length - 1, Math.floor(part * samples.length))]
  const row = { name, median_ms: at(0.5), p10_ms: at(0.1), p90_ms: at(0.9), samples: samples.length }
  rows.push(row)
  console.error(`${name.padEnd(24)} ${row.median_ms.toPrecision(4).padStart(10)} ms  (p10 ${row.p10_ms.toPrecision(3)}, p90 ${row.p90_ms.toPrecision(3)}, n=${row.samples}x${inner})`)
}
