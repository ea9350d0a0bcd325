/**
 * @file Runs size-limit and prints one line per budget.
 */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { root } from './workspace.mjs';

const program = join(
  createRequire(import.meta.url).resolve('size-limit/package.json'),
  '../bin.js',
);
const run = spawnSync(process.execPath, [program, '--json'], { cwd: root, encoding: 'utf8' });

/** @type {{ name: string, passed: boolean, size: number, sizeLimit: number }[]} */
let budgets;
try {
  budgets = JSON.parse(run.stdout);
} catch {
  console.error(`${run.stdout}${run.stderr}`);
  process.exit(1);
}

const kilobytes = (bytes) => (bytes / 1000).toFixed(1);
for (const { name, passed, size, sizeLimit } of budgets) {
  const verdict = passed ? '' : `  over by ${kilobytes(size - sizeLimit)} kB`;
  const figures = `${kilobytes(size).padStart(6)} of ${kilobytes(sizeLimit).padStart(5)} kB`;
  console.log(`${figures}  ${name}${verdict}`);
}
process.exitCode = run.status ?? 1;
