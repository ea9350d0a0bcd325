/**
 * @file `pnpm conformance [--json FILE] [filter…]`: runs the rows of the conformance list and prints how
 * many of each file pass. `pnpm conformance --mutate [fault…]` shows instead that rows fall when what they are
 * about is broken (see mutate-rows.mjs).
 *
 * Every row is one test under its exact name; a row that fails, or a file that does not load, is an
 * exit status of 1. FILE gets vitest's JSON report, with one entry of `rows` per test: file, name, device
 * (`cpu` for rows that are not per device), status, duration in ms and, of a failure, the message.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { mutateRows } from './mutate-rows.mjs';
import { root } from './workspace.mjs';

const { values, positionals } = parseArgs({
  options: { json: { type: 'string' }, mutate: { type: 'boolean' } },
  allowPositionals: true,
});
const project = join(root, 'packages/testkit');
const report = resolve(
  process.env.INIT_CWD ?? process.cwd(),
  values.json ?? join(project, '.test-results/conformance.json'),
);
rmSync(report, { force: true });

/** Where Chromium brings a software WebGPU adapter, if Debian's package is installed. */
function softwareAdapter() {
  const listed = spawnSync('dpkg', ['-L', 'chromium', 'chromium-common'], { encoding: 'utf8' });
  return listed.stdout?.split('\n').find((path) => path.endsWith('/vk_swiftshader_icd.json'));
}

const env = { ...process.env };
if (env.VK_ICD_FILENAMES === undefined) {
  const driver = softwareAdapter();
  // Added to the drivers that the machine has, not instead of them.
  if (driver !== undefined) env.VK_ADD_DRIVER_FILES ??= driver;
}

if (values.mutate) {
  Object.assign(process.env, env);
  process.exit((await mutateRows(positionals)) ? 0 : 1);
}

const manifest = createRequire(import.meta.url).resolve('vitest/package.json');
const vitest = join(manifest, '..', 'vitest.mjs');
const run = spawnSync(
  process.execPath,
  [
    vitest,
    'run',
    ...['--root', project, '--config', 'vitest.conformance.config.ts'],
    ...['--reporter=dot', '--reporter=json', `--outputFile.json=${report}`],
    ...positionals,
  ],
  // Stdout is the table alone.
  { env, stdio: ['ignore', 2, 2] },
);
if (!existsSync(report)) process.exit(run.status || 1);

const total = { passed: 0, failed: 0, todo: 0 };
const failures = [];
const rows = [];
const results = JSON.parse(readFileSync(report, 'utf8'));
const tests = [];
for (const file of results.testResults) {
  const row = { name: basename(file.name), passed: 0, failed: 0, todo: 0 };
  for (const { title, status, duration, failureMessages } of file.assertionResults) {
    const kind = status === 'passed' || status === 'todo' ? status : 'failed';
    row[kind] += 1;
    const [, name = title, device = 'cpu'] = /^(.+) \((cpu|wgpu)\)$/.exec(title) ?? [];
    tests.push({
      file: row.name,
      name,
      device,
      status,
      duration: Math.round(duration ?? 0),
      message: (failureMessages ?? []).join('\n'),
    });
    if (kind === 'failed') failures.push(`${row.name}: ${title} (${status})`);
  }
  if (file.assertionResults.length === 0) {
    row.failed += 1;
    failures.push(`${row.name}: the file did not load`);
    const message = file.message ?? 'the file did not load';
    tests.push({
      file: row.name,
      name: row.name,
      device: 'cpu',
      status: 'failed',
      duration: 0,
      message,
    });
  }
  rows.push(row);
  for (const key of Object.keys(total)) total[key] += row[key];
}
writeFileSync(report, JSON.stringify({ ...results, rows: tests }));
rows.sort((a, b) => a.name.localeCompare(b.name));
const width = Math.max(...rows.map((row) => row.name.length));
const line = ({ passed, failed, todo }) =>
  `${passed} passed, ${failed} failed${todo > 0 ? `, ${todo} todo` : ''}`;
for (const row of rows) console.log(`${row.name.padEnd(width)}  ${line(row)}`);
for (const failure of failures) console.log(`failed  ${failure}`);
console.log(line(total));
process.exitCode = run.status === 0 && total.failed === 0 ? 0 : 1;
