/**
 * @file `pnpm onnx:nodes`: the operator tests of the onnx package on one device.
 *
 * Ends with one JSON line: {device, total, passed, failed, unsupported, worst}.
 */
import { parseArgs } from 'node:util';
import { deviceNamed } from './command-line.js';
import { carriedTests, testsOfFolder } from './node-test.js';
import { loadOnnxruntimeWeb } from './onnxruntime-web.js';
import { loadHere, runNodeTest } from './run-nodes.js';

/** How it is called. */
export const NODES_USAGE = `pnpm onnx:nodes [--dir FOLDER] [--device cpu|wgpu] [--only WORD] [--peer] [--json]

Runs the tests of an unpacked archive, <kind>/<test>/model.onnx with their data sets; without --dir those that
the repository carries.
  --peer  with onnxruntime-web instead, for its number`;

/** Runs the program. @throws invalid-argument */
export async function runNodes(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      dir: { type: 'string' },
      device: { type: 'string', default: 'cpu' },
      only: { type: 'string', default: '' },
      peer: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  const { dir, only } = values;
  const device = await deviceNamed(values.device, NODES_USAGE);
  const load = values.peer ? loadOnnxruntimeWeb : loadHere(device);
  const counts = { total: 0, passed: 0, failed: 0, unsupported: 0 };
  let worst = { test: '', error: 0 };
  for (const each of dir === undefined ? carriedTests() : testsOfFolder(dir)) {
    const { test } = each;
    if (!test.includes(only)) continue;
    const result = await runNodeTest(each, load);
    counts.total++;
    counts[result.status]++;
    if (result.status === 'passed' && result.error >= worst.error)
      worst = { test, error: result.error };
    if (result.status !== 'passed' && !values.json)
      console.log(`${result.status}  ${test}  ${result.reason}`);
  }
  console.log(
    JSON.stringify({ device: values.peer ? 'onnxruntime-web' : device, ...counts, worst }),
  );
  process.exitCode = counts.total > 0 ? 0 : 1;
}
