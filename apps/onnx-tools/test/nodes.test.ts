/**
 * @file The operator tests of the onnx package that the repository carries pass on the CPU, every one.
 */
import { config } from '@tessera/compile';
import { expect, it } from 'vitest';
import { carriedTests } from '../src/node-test.js';
import { type NodeResult, loadHere, runNodeTest } from '../src/run-nodes.js';

it('passes every operator test that the repository carries', { timeout: 300_000 }, async () => {
  let passed = 0;
  const others: NodeResult[] = [];
  await config.patch({ 'eager.kernels': 'reference' }, async () => {
    for (const test of carriedTests()) {
      const result = await runNodeTest(test, loadHere('cpu'));
      if (result.status === 'passed') passed++;
      else others.push(result);
    }
  });
  expect(others).toEqual([]);
  expect(passed).toBe(1048);
});
