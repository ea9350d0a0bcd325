/**
 * @file `pnpm test:full [package…]`: runs as a whole the tests of which `pnpm test` tries a sample. They are the
 * files that import `tooling/full-tests.ts`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { members, root } from './workspace.mjs';

const vitest = join(
  createRequire(import.meta.url).resolve('vitest/package.json'),
  '..',
  'vitest.mjs',
);
const wanted = process.argv.slice(2);

/** Test files of a package that try samples. */
function sampledFiles(folder) {
  const tests = join(folder, 'test');
  if (!existsSync(tests)) return [];
  return readdirSync(tests)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(tests, name))
    .filter((file) => readFileSync(file, 'utf8').includes('/tooling/full-tests.js'));
}

let failed = 0;
let ran = 0;
for (const { dir, manifest } of members()) {
  const folder = join(root, dir);
  const files = sampledFiles(folder).map((file) => relative(folder, file));
  if (files.length === 0) continue;
  if (wanted.length > 0 && !wanted.includes(manifest.name)) continue;
  console.log(`${manifest.name}: ${files.join(' ')}`);
  const { status } = spawnSync(process.execPath, [vitest, 'run', '--reporter=default', ...files], {
    cwd: folder,
    env: { ...process.env, TESSERA_FULL_TESTS: '1' },
    stdio: 'inherit',
  });
  ran++;
  if (status !== 0) failed++;
}
console.log(`${ran - failed} of ${ran} packages passed`);
process.exitCode = failed > 0 || ran === 0 ? 1 : 0;
