/**
 * @file `pnpm onnx:nodes`: the operator tests of the onnx package on one device.
 *
 * Ends with one JSON line: {device, total, passed, failed, unsupported, worst}.
 */
import { parseArgs } from 'node:util';
import { initWebGpu, registerKernelBackend } from '@tessera/compile';
import { isTesseraError } from '@tessera/shared';
import { carriedTests, testsOfFolder } from './node-test.js';
import { runNodeTest } from './run-nodes.js';

const USAGE = `pnpm onnx:nodes [--dir FOLDER] [--device cpu|wgpu] [--only WORD] [--json]

Runs the tests of an unpacked archive, <kind>/<test>/model.onnx with their data sets; without --dir those that
the repository carries.`;

async function nodes(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      dir: { type: 'string' },
      device: { type: 'string', default: 'cpu' },
      only: { type: 'string', default: '' },
      json: { type: 'boolean', default: false },
    },
  });
  const { dir, device, only } = values;
  if (device !== 'cpu' && device !== 'wgpu') {
    console.log(USAGE);
    process.exitCode = 2;
    return;
  }
  if (device === 'wgpu') registerKernelBackend((await initWebGpu()).backend);
  const counts = { total: 0, passed: 0, failed: 0, unsupported: 0 };
  let worst = { test: '', error: 0 };
  for (const each of dir === undefined ? carriedTests() : testsOfFolder(dir)) {
    const { test } = each;
    if (!test.includes(only)) continue;
    const result = await runNodeTest(each, device);
    counts.total++;
    counts[result.status]++;
    if (result.status === 'passed' && result.error >= worst.error)
      worst = { test, error: result.error };
    if (result.status !== 'passed' && !values.json)
      console.log(`${result.status}  ${test}  ${result.reason}`);
  }
  console.log(JSON.stringify({ device, ...counts, worst }));
  process.exitCode = counts.total > 0 ? 0 : 1;
}

async function main(): Promise<void> {
  const [program, ...rest] = process.argv.slice(2);
  if (program === 'nodes') await nodes(rest);
  else {
    console.log(USAGE);
    process.exitCode = 2;
  }
}

try {
  await main();
} catch (error) {
  if (!isTesseraError(error)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
// Dawn's device keeps the process alive.
process.exit();
