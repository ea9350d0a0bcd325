/**
 * @file What is read from a safetensors file of recorded inputs and outputs.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serializeSafetensors, tensor } from '@tessera/tensor';
import { afterAll, expect, it } from 'vitest';
import { readRecorded } from '../src/recorded-model.js';

const folder = mkdtempSync(join(tmpdir(), 'onnx-recorded-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('numbers that the file declares without dimensions have none, also where a list of one is recorded', async () => {
  const file = join(folder, 'values.safetensors');
  const [one, list] = [tensor([3]), tensor([4])];
  const values = { 'm/in/steps': one, 'm/in/x': list, 'm/out/loss': one, 'm/out/y': list };
  writeFileSync(file, serializeSafetensors(values));
  const declared = (name: string, shape: number[] | null) => ({ name, shape, dtype: null });
  const recorded = await readRecorded('m.onnx', file, {
    inputs: [declared('steps', []), declared('x', [1])],
    outputs: [declared('loss', []), declared('y', null)],
  });
  const shapes = { ...recorded.inputs, ...recorded.outputs };
  expect(Object.entries(shapes).map(([name, { shape }]) => [name, shape])).toEqual([
    ['steps', []],
    ['x', [1]],
    ['loss', []],
    ['y', [1]],
  ]);
});
