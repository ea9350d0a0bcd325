/**
 * @file `pnpm onnx:model`: a whole model, compiled, against recorded outputs and finite differences.
 */
import { compile, counters, explain, observeCompilations } from '@tessera/compile';
import { type OnnxModule, type OnnxOutputs, importOnnx } from '@tessera/onnx';
import { isTesseraError } from '@tessera/shared';
import { type DeviceType, type Tensor, isTensor, noGrad } from '@tessera/tensor';
import { checkGradients } from './check-gradients.js';
import {
  type Named,
  type RecordedModel,
  batchAxes,
  inputsAtBatch,
  outputsAtBatch,
  readRecorded,
} from './recorded-model.js';

/** What is asked for. */
export interface ModelOptions {
  /** The safetensors file. */
  readonly inputs: string;
  readonly device: DeviceType;
  /** Runs at this batch size as well. */
  readonly batch?: number;
}

/** What became of it; the JSON line. */
export interface ModelResult {
  readonly model: string;
  /** Of the largest element of the output. */
  readonly maxError: number;
  /** The largest error of a parameter's gradient; null if no output depends on one. */
  readonly gradientError: number | null;
  /** Parameter with that error. */
  readonly gradientOf: string | null;
  readonly parameters: number;
  /** Graphs that a call was captured as, for all sizes: 1 without graph breaks. */
  readonly graphs: number;
  /** Times that code was made for them: for the sizes of a call, or for all sizes. */
  readonly compilations: number;
  /** Kernels that a call launches. */
  readonly kernels: number;
  readonly firstMs: number;
  /** Median of the calls that follow the first. */
  readonly ms: number;
  readonly batch?: number;
}

const CALLS = 7;

async function numbersOf(value: Tensor): Promise<number[]> {
  return ((await value.detach().reshape([-1]).toArray()) as (number | boolean)[]).map(Number);
}

/** Largest difference, of the largest element; infinite where shapes or special values differ. */
async function errorOf(got: unknown, wanted: Tensor): Promise<number> {
  if (!isTensor(got) || got.sizes.join() !== wanted.sizes.join()) return Infinity;
  const [mine, theirs] = [await numbersOf(got), await numbersOf(wanted)];
  let [difference, largest] = [0, 0];
  for (const [i, value] of theirs.entries()) {
    const own = mine[i]!;
    if (Number.isFinite(value)) largest = Math.max(largest, Math.abs(value));
    if (own === value || (Number.isNaN(own) && Number.isNaN(value))) continue;
    const distance = Math.abs(own - value);
    difference = Math.max(difference, Number.isNaN(distance) ? Infinity : distance);
  }
  return difference === 0 ? 0 : difference / (largest || 1);
}

type Run = (inputs: Named) => OnnxOutputs;

/**
 * Outputs of the compiled model; of the model operator by operator where values on a device decide what happens.
 */
async function outputsOf(compiled: Run, model: OnnxModule, inputs: Named): Promise<OnnxOutputs> {
  try {
    return compiled(inputs);
  } catch (error) {
    if (!isTesseraError(error, 'data-async-only')) throw error;
    return await noGrad(() => model.run(inputs));
  }
}

/** Graphs of a function that has run; 0 where it could not be compiled. */
function graphCount(compiled: Run, inputs: Named): number {
  try {
    return explain(compiled)(inputs).graphCount;
  } catch (error) {
    if (!isTesseraError(error, 'data-async-only')) throw error;
    return 0;
  }
}

/** Waits until outputs are computed. */
async function finished(outputs: OnnxOutputs): Promise<void> {
  for (const output of Object.values(outputs)) if (isTensor(output)) await output.toArray();
}

/** Runs a model and checks what it gives. @throws invalid-argument, onnx-invalid, onnx-unsupported */
export async function runModel(
  file: string,
  { inputs: tensorFile, device, batch }: ModelOptions,
): Promise<ModelResult> {
  const model = (await importOnnx(file)).to(device);
  const recorded = await readRecorded(file, tensorFile, model);
  const compiled = compile((inputs: Named) => noGrad(() => model.call(inputs)));
  const there = ({ inputs }: RecordedModel): Named =>
    Object.fromEntries(Object.entries(inputs).map(([name, x]) => [name, x.to(device)]));
  const made: number[] = [];
  const templates = counters.get('inductor', 'templates');
  let ownCode = 0;
  const stop = observeCompilations((_graph, { plan, isShared }) => {
    made.push(plan.launches.length);
    if (!isShared) ownCode++;
  });
  let maxError = 0;
  const compare = async (outputs: OnnxOutputs, wanted: Named): Promise<void> => {
    for (const [name, value] of Object.entries(wanted))
      maxError = Math.max(maxError, await errorOf(outputs[name], value));
  };
  const timed = async (inputs: Named): Promise<{ outputs: OnnxOutputs; ms: number }> => {
    const start = performance.now();
    const outputs = await outputsOf(compiled, model, inputs);
    await finished(outputs);
    return { outputs, ms: performance.now() - start };
  };
  const first = await timed(there(recorded));
  const kernels = made.reduce((sum, launches) => sum + launches, 0);
  await compare(first.outputs, recorded.outputs);
  let last = recorded;
  if (batch !== undefined) {
    const axes = batchAxes(model);
    const inputs = inputsAtBatch(recorded, axes, batch);
    const byOperators = await noGrad(() => model.run(there({ ...recorded, inputs })));
    const outputs = outputsAtBatch(recorded, axes, batch, byOperators);
    last = { ...recorded, inputs, outputs };
    await compare((await timed(there(last))).outputs, last.outputs);
  }
  const inputs = there(last);
  const times: number[] = [];
  for (let i = 0; i < CALLS; i++) times.push((await timed(inputs)).ms);
  stop();
  const graphs = graphCount(compiled, inputs);
  const gradients = await checkGradients(last, device);
  return {
    model: recorded.name,
    maxError,
    gradientError: gradients?.error ?? null,
    gradientOf: gradients?.parameter ?? null,
    parameters: gradients?.parameters ?? 0,
    graphs,
    compilations: ownCode + counters.get('inductor', 'templates') - templates,
    kernels,
    firstMs: Math.round(first.ms),
    ms: Number(times.sort((a, b) => a - b)[CALLS >> 1]!.toFixed(3)),
    ...(batch !== undefined && { batch }),
  };
}
