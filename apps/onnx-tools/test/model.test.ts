/**
 * @file `pnpm onnx:model` on models that PyTorch exported: outputs, other batch sizes, gradients, and what it refuses.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { unpack } from '../src/archive.js';
import { runModelCommand } from '../src/model-command.js';
import type { ModelResult } from '../src/run-model.js';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'onnx-model-'));
  const packed = gunzipSync(readFileSync(new URL('../data/models.gz', import.meta.url)));
  for (const [name, bytes] of unpack(packed)) writeFileSync(join(folder, name), bytes);
});
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = 0;
});

/** The JSON line of a run. */
async function run(...args: string[]): Promise<ModelResult> {
  const lines: string[] = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  await runModelCommand(args);
  expect(process.exitCode).toBe(0);
  return JSON.parse(lines.at(-1)!) as ModelResult;
}

const inputs = (): string[] => ['--inputs', join(folder, 'models.safetensors')];

it.each([
  ['cnn', 18],
  ['encoder', 30],
  ['lstm', 8],
])(
  '%s: outputs and all gradients are right, in one graph',
  { timeout: 120_000 },
  async (name, count) => {
    const result = await run(join(folder, `${name}.onnx`), ...inputs(), '--json');
    expect(result).toMatchObject({ model: name, parameters: count, graphs: 1, compilations: 1 });
    expect(result.maxError).toBeLessThan(1e-6);
    expect(result.gradientError).toBeLessThan(1e-3);
    expect(result.kernels).toBeGreaterThan(5);
  },
);

it.each(['cnn', 'encoder', 'lstm'])(
  '%s: rows of a larger batch are those of the recorded one',
  { timeout: 120_000 },
  async (name) => {
    const result = await run(join(folder, `${name}.onnx`), ...inputs(), '--batch', '5');
    expect(result.maxError).toBeLessThan(1e-6);
    expect(result.batch).toBe(5);
  },
);

it('an output that differs makes the program fail', { timeout: 120_000 }, async () => {
  const tensors = readFileSync(join(folder, 'models.safetensors'));
  // The last number of the file belongs to an output of the LSTM.
  tensors.writeFloatLE(100, tensors.length - 4);
  const file = join(folder, 'other.safetensors');
  writeFileSync(file, tensors);
  vi.spyOn(console, 'log').mockImplementation(() => {});
  await runModelCommand([join(folder, 'lstm.onnx'), '--inputs', file, '--json']);
  expect(process.exitCode).toBe(1);
});

it.each([
  [[], 'takes one file'],
  [['nothing.onnx', '--inputs', 'x'], 'There is no file nothing.onnx'],
  [['cnn.onnx'], 'takes one file, and its inputs'],
  [['cnn.onnx', '--inputs', 'nothing'], 'There is no file'],
  [['cnn.onnx', '--inputs', 'models.safetensors', '--batch', '0'], '--batch must be'],
  [['cnn.onnx', '--inputs', 'models.safetensors', '--device', 'tpu'], '--device must be'],
])('refuses %j', async (args, message) => {
  const placed = args.map((arg) => (/^(cnn|models)\./.test(arg) ? join(folder, arg) : arg));
  await expect(runModelCommand(placed)).rejects.toThrow(message);
});
