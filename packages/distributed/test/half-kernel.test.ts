/**
 * The embedded WebAssembly module is what its text is assembled into. `UPDATE_DOCS=1` rewrites it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import loadWabt from 'wabt';

const source = (name: string): string =>
  fileURLToPath(new URL(`../src/mpi/worker/${name}`, import.meta.url));

const HEADER = `/**
 * @file \`half-kernel.wat\` as a module, in base64: part of the worker's text. Made by
 * \`UPDATE_DOCS=1 npx vitest run half-kernel\`; then the worker's program is made anew.
 */
`;

it('the embedded module is made from its text', async () => {
  const wabt = await loadWabt();
  const parsed = wabt.parseWat('half-kernel.wat', readFileSync(source('half-kernel.wat'), 'utf8'));
  parsed.validate();
  const base64 = Buffer.from(parsed.toBinary({}).buffer).toString('base64');
  const text = `${HEADER}// prettier-ignore\nexport const HALF_KERNEL: string = '${base64}';\n`;
  const path = source('half-kernel.ts');
  if (process.env.UPDATE_DOCS === '1') writeFileSync(path, text);
  expect(readFileSync(path, 'utf8')).toBe(text);
});
