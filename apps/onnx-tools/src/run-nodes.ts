/**
 * @file Runs operator tests of the onnx package: a model, and inputs and outputs as tensors.
 *
 * A test passes when each output has the dtype and shape of the file's and agrees within the suite's own tolerance;
 * floats of 16 bits within their rounding. Of random operators only dtypes and shapes are compared.
 */
import { importOnnx, parseTensorProto } from '@tessera/onnx';
import { isTesseraError } from '@tessera/shared';
import { type DType, type DeviceType, type Tensor, isTensor } from '@tessera/tensor';
import type { DataSet, NodeTest } from './node-test.js';

/** What became of one test. */
export interface NodeResult {
  readonly test: string;
  readonly status: 'passed' | 'failed' | 'unsupported';
  /** The largest error relative to what is allowed: up to 1 it passes. */
  readonly error: number;
  readonly reason: string;
}

/** The suite's tolerance: |got - expected| ≤ atol + rtol · |expected|. */
const RTOL = 1e-3;
const ATOL = 1e-7;
/** Rounding of the last bit, a few times over. */
const HALF_RTOL: Partial<Record<DType, number>> = { float16: 4e-3, bfloat16: 3e-2 };
const RANDOM =
  /bernoulli|randomuniform|randomnormal|multinomial|training_dropout|dropout_.*ratio_mask/;

async function numbers(tensor: Tensor): Promise<number[]> {
  const flat = tensor.detach().reshape([-1]);
  return ((await flat.toArray()) as (number | boolean)[]).map(Number);
}

/** Error relative to what is allowed, or what does not fit. */
async function difference(
  got: unknown,
  expected: Tensor,
  onlyShape: boolean,
): Promise<number | string> {
  if (!isTensor(got)) return `no tensor, but ${got === null ? 'nothing' : typeof got}`;
  if (got.shape.join() !== expected.shape.join())
    return `shape [${got.shape.join(', ')}] instead of [${expected.shape.join(', ')}]`;
  if (got.dtype !== expected.dtype) return `${got.dtype} instead of ${expected.dtype}`;
  if (onlyShape) return 0;
  const [mine, theirs] = [await numbers(got), await numbers(expected)];
  const rtol = HALF_RTOL[expected.dtype] ?? RTOL;
  const atol = HALF_RTOL[expected.dtype] === undefined ? ATOL : HALF_RTOL[expected.dtype]! / 4;
  let worst = 0;
  for (let i = 0; i < mine.length; i++) {
    const [a, b] = [mine[i]!, theirs[i]!];
    if (a === b || (Number.isNaN(a) && Number.isNaN(b))) continue;
    const error = Math.abs(a - b) / (atol + rtol * Math.abs(b));
    worst = Number.isFinite(error) ? Math.max(worst, error) : Infinity;
  }
  return worst;
}

/** Something that runs a model: inputs by name to outputs in order. */
export interface NodeRunner {
  readonly inputNames: readonly string[];
  run(inputs: Readonly<Record<string, Tensor>>): Promise<readonly unknown[]>;
}

/** Makes what runs a file. */
export type Load = (file: Uint8Array) => Promise<NodeRunner>;

/** Runs files here, on a device. */
export function loadHere(device: DeviceType): Load {
  return async (file) => {
    const model = (await importOnnx(file)).to(device);
    return {
      inputNames: model.inputs.map(({ name }) => name),
      async run(inputs) {
        const moved = Object.entries(inputs).map(([name, x]) => [name, x.to(device)]);
        return Object.values(await model.run(Object.fromEntries(moved)));
      },
    };
  };
}

async function runDataSet(
  runner: NodeRunner,
  data: DataSet,
  onlyShape: boolean,
): Promise<number | string> {
  const inputs: Record<string, Tensor> = {};
  data.inputs.forEach((bytes, i) => {
    const { name, tensor } = parseTensorProto(bytes);
    inputs[name === '' ? runner.inputNames[i]! : name] = tensor;
  });
  const results = await runner.run(inputs);
  let worst = 0;
  for (const [i, bytes] of data.outputs.entries()) {
    const error = await difference(results[i], parseTensorProto(bytes).tensor, onlyShape);
    if (typeof error === 'string') return `output ${i}: ${error}`;
    worst = Math.max(worst, error);
  }
  return worst;
}

/** The message of an error, on one line. */
function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n→')[0]!.replaceAll(/\s+/g, ' ').slice(0, 200);
}

/** Runs one test. */
export async function runNodeTest(
  { test, model: file, dataSets }: NodeTest,
  load: Load,
): Promise<NodeResult> {
  let worst = 0;
  try {
    const runner = await load(file);
    for (const data of dataSets) {
      const error = await runDataSet(runner, data, RANDOM.test(test));
      if (typeof error === 'string')
        return { test, status: 'failed', error: Infinity, reason: error };
      worst = Math.max(worst, error);
    }
  } catch (error) {
    const status = isTesseraError(error, 'onnx-unsupported') ? 'unsupported' : 'failed';
    return { test, status, error: Infinity, reason: messageOf(error) };
  }
  const passed = worst <= 1;
  const reason = passed ? '' : `${worst.toPrecision(3)} times the allowed difference`;
  return { test, status: passed ? 'passed' : 'failed', error: worst, reason };
}
