/**
 * @file `pnpm test`: the test matrix over packages, then one table and the summed line
 * `N passed, N failed[, N skipped]`.
 *
 * Arguments go to turbo (`pnpm test --filter=@tessera/tensor`, `pnpm test --force`). A package whose
 * inputs did not change is answered from turbo's cache, results file included.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { turbo } from './turbo.mjs';
import { members, root } from './workspace.mjs';

const results = (member) => join(root, member.dir, '.test-results/vitest.json');

const runs = join(root, '.turbo/runs');
rmSync(runs, { recursive: true, force: true });
for (const member of members()) rmSync(results(member), { force: true });

const status = turbo([
  'run',
  'test',
  '--continue',
  // A package runs one file after another, and files wait for browsers, devices and ranks of MPI: three packages at a
  // time left a fifth of two processors idle.
  '--concurrency=4',
  '--log-order=grouped',
  '--output-logs=new-only',
  // What became of each package, written to `.turbo/runs`.
  '--summarize',
  ...process.argv.slice(2),
]);

const [summary] = existsSync(runs) ? readdirSync(runs) : [];
if (summary === undefined) process.exit(status || 1);
const { tasks } = JSON.parse(readFileSync(join(runs, summary), 'utf8'));

const rows = [];
const failures = [];
const total = { passed: 0, failed: 0, skipped: 0 };
for (const member of members()) {
  const task = tasks.find((t) => t.taskId === `${member.manifest.name}#test`);
  if (task === undefined) continue;
  const row = {
    name: member.manifest.name,
    files: 0,
    passed: 0,
    failed: 0,
    skipped: 0,
    seconds: 0,
  };
  if (existsSync(results(member))) {
    const report = JSON.parse(readFileSync(results(member), 'utf8'));
    row.files = report.testResults.length;
    row.passed = report.numPassedTests;
    row.failed = report.numFailedTests;
    row.skipped = report.numPendingTests + report.numTodoTests;
    for (const file of report.testResults) {
      for (const test of file.assertionResults) {
        if (test.status === 'failed')
          failures.push(`${relative(root, file.name)}: ${test.fullName}`);
      }
      row.seconds += Math.max(0, file.endTime - file.startTime) / 1000;
      // A file that did not load has no tests of its own to fail.
      if (file.status === 'failed' && !file.assertionResults.some((t) => t.status === 'failed')) {
        row.failed += 1;
        failures.push(`${relative(root, file.name)}: did not load`);
      }
    }
  }
  // Outside any test: an error nobody caught, a worker that died, vitest itself.
  if (task.execution?.exitCode !== 0 && row.failed === 0) {
    row.failed = 1;
    failures.push(`${member.manifest.name}: outside any test`);
  }
  if (row.files === 0 && row.failed === 0) continue;
  rows.push(row);
  for (const key of Object.keys(total)) total[key] += row[key];
}

const columns = ['name', 'files', 'passed', 'failed', 'skipped', 'seconds'];
const cells = [
  ['package', ...columns.slice(1)],
  ...rows.map((row) => columns.map((c) => (c === 'seconds' ? row[c].toFixed(1) : String(row[c])))),
];
const widths = columns.map((_, i) => Math.max(...cells.map((line) => line[i].length)));
console.log('');
for (const line of cells) {
  console.log(
    line.map((c, i) => (i === 0 ? c.padEnd(widths[i]) : c.padStart(widths[i]))).join('  '),
  );
}
console.log('');
for (const failure of failures) console.log(`FAILED ${failure}`);
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : '';
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
process.exitCode = status === 0 && total.failed === 0 ? 0 : 1;
