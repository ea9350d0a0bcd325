/**
 * @file `kernels --out FILE [--models FILE] [filter…]`: writes the texts of generated kernels as JSON, by path.
 *
 * `scripts/kernels-diff.mjs` bundles this from the sources of a revision and compares what two of them write.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { brotliDecompressSync } from 'node:zlib';
import { config } from '@tessera/compile';
import { unpackModels } from '@tessera/testkit';
import { kernelTexts } from './kernel-texts.js';
import { kernelSubjects } from './subjects.js';

const { values, positionals } = parseArgs({
  options: { out: { type: 'string' }, models: { type: 'string' } },
  allowPositionals: true,
});
config.set({ 'cpu.threads': 1 });
const models =
  values.models === undefined
    ? null
    : unpackModels(brotliDecompressSync(readFileSync(values.models)));
const all: Record<string, string> = {};
for (const subject of kernelSubjects(positionals, models)) {
  const start = performance.now();
  const texts = await kernelTexts(subject);
  for (const [path, text] of texts) all[path] = text;
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2K${subject.name} ${seconds} s`);
}
if (process.stderr.isTTY) process.stderr.write('\r\x1b[2K');
writeFileSync(values.out ?? '/dev/stdout', JSON.stringify(all));
process.exit();
