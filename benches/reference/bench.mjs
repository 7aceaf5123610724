// How fast the published TypeScript packages are, on the inputs that `cargo run --release -p dsh-benches` makes.
//   node bench.mjs --inputs DIR [--json FILE] [--quick] [--only PREFIX]
// Copy this folder aside first (npm writes node_modules), then `npm install --no-package-lock`.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { fileURLToPath } from 'node:url'

// Zstandard came with Node 22.15: an older one starts the one that npm installed.
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 15)) {
  const node = fileURLToPath(new URL('node_modules/.bin/node', import.meta.url))
  const run = spawnSync(node, ['--max-old-space-size=8192', ...process.argv.slice(1)], { stdio: 'inherit' })
  process.exit(run.status ?? 1)
}
const { inputs, json, rows } = await import('./measure.mjs')
if (!inputs || !fs.existsSync(inputs)) { console.error('usage: node bench.mjs --inputs DIR [--json FILE] [--quick] [--only PREFIX]'); process.exit(2) }
for (const part of ['./logs.mjs', './references.mjs']) await (await import(part)).default()
if (json) fs.writeFileSync(json, JSON.stringify({ node: process.version, rows }, null, 1) + '\n')
process.exit(0)
