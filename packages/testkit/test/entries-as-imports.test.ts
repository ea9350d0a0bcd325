/**
 * @file Namespaces that are entries of a package: bundlers drop of them what a page does not use.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { build as page } from 'vite';
import { expect, onTestFinished, test } from 'vitest';
import { entriesAsImports } from '../../../tooling/entries-as-imports.mjs';

const FILES: Readonly<Record<string, string>> = {
  'src/index.ts':
    "import * as parts from './parts/index.js'; export { parts }; export { own } from './own/index.js';",
  'src/parts/index.ts':
    "import { own } from '../own/index.js'; export const used = () => own(); export const other = () => 'unused';",
  'src/own/index.ts': "export const own = () => 'shared';",
  'page.js': "import { own, parts } from './dist/index.js'; console.log(own() + parts.used());",
};

test('a page has what it uses of a namespace', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'entries-')));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const entryPoints = ['src/index.ts', 'src/parts/index.ts'].map((name) => join(folder, name));
  await build({
    entryPoints,
    bundle: true,
    splitting: true,
    format: 'esm',
    outdir: join(folder, 'dist'),
    outbase: join(folder, 'src'),
    plugins: [entriesAsImports(entryPoints)],
  });
  const { parts, own } = await import(join(folder, 'dist/index.js'));
  expect([own(), parts.used(), parts.other()]).toEqual(['shared', 'shared', 'unused']);
  const result = await page({
    root: folder,
    configFile: false,
    logLevel: 'silent',
    build: { write: false, minify: false, rollupOptions: { input: join(folder, 'page.js') } },
  });
  if (!('output' in result)) throw new Error('not one bundle');
  const { code } = result.output[0];
  expect(code).toContain('shared');
  expect(code).not.toContain('unused');
});
