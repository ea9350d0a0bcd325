/**
 * @file `pnpm test`: the test matrix over packages, then one table and the summed line
 * `N passed, N failed[, N skipped]`.
 *
 * Arguments go to turbo (`pnpm test --filter=@tessera/tensor`, `pnpm test --force`). A package whose
 * inputs did not change is answered from turbo's cache, results file included.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { turbo } from './turbo.mjs';
import { members, root } from './workspace.mjs';

const results = (member) => join(root, member.dir, '.test-results/vitest.json');

for (const member of members()) rmSync(results(member), { force: true });

const status = turbo([
  'run',
  'test',
  '--continue',
  // Test files use threads of their own; two packages at a time fill a small machine.
  '--concurrency=2',
  '--log-order=grouped',
  '--output-logs=new-only',
  ...process.argv.slice(2),
]);

const rows = [];
const total = { passed: 0, failed: 0, skipped: 0 };
for (const member of members()) {
  if (!existsSync(results(member))) continue;
  const report = JSON.parse(readFileSync(results(member), 'utf8'));
  const row = {
    name: member.manifest.name,
    files: report.testResults.length,
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    skipped: report.numPendingTests + report.numTodoTests,
    seconds: 0,
  };
  for (const file of report.testResults) {
    row.seconds += Math.max(0, file.endTime - file.startTime) / 1000;
    // A file that failed to load has no assertions of its own: count the file as one failure.
    if (file.status === 'failed' && !file.assertionResults.some((t) => t.status === 'failed')) {
      row.failed += 1;
    }
  }
  if (row.files === 0) continue;
  rows.push(row);
  for (const key of Object.keys(total)) total[key] += row[key];
}

// Turbo failed although every test passed: something outside a test did (a crashed worker, say).
if (status !== 0 && total.failed === 0) total.failed = 1;

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
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : '';
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
process.exitCode = status === 0 && total.failed === 0 ? 0 : 1;
