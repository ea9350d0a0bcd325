/**
 * @file One recorded model in one mode: outputs, gradients and losses against PyTorch's.
 */
import { compile } from '@tessera/compile';
import type { Module } from '@tessera/nn';
import { type Tensor } from '@tessera/tensor';
import { toDtype } from '@tessera/tensor/internal';
import type { ModelFile } from './model-file.js';
import type { RecordedModel } from './recorded-model.js';
import { tensorIn } from '../oracle/tensor-in.js';

/** How a model runs: as it is, or compiled by a backend without graph breaks. */
export const MODEL_MODES = ['eager', 'aot_eager', 'inductor'] as const;

/** One of them. */
export type ModelMode = (typeof MODEL_MODES)[number];

/** Largest relative error that passes, float32. */
export const MODEL_TOLERANCE = 1e-3;

/** Training steps that are compared. */
const STEPS = 8;

/** One comparison. */
export interface ModelCheck {
  /** `output`, `loss`, `grad conv.weight`, `norm of grad conv.weight`, `loss of step 3`. */
  readonly what: string;
  /** Largest difference, relative to the largest magnitude of what is expected. */
  readonly error: number;
  readonly passed: boolean;
}

function wrap<A extends unknown[], R>(fn: (...args: A) => R, mode: ModelMode): (...args: A) => R {
  return mode === 'eager' ? fn : compile(fn, { backend: mode, fullgraph: true });
}

function numbers(tensor: Tensor): Float64Array {
  const values = tensor.detach().contiguous().toTypedArray();
  return Float64Array.from(values, Number);
}

function check(
  what: string,
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  noise = 0,
): ModelCheck {
  let [difference, largest] = [actual.length === expected.length ? 0 : Infinity, 0];
  for (let i = 0; i < expected.length; i++) {
    const gap = Math.abs(actual[i]! - expected[i]!);
    difference = Math.max(difference, Number.isNaN(gap) ? Infinity : gap);
    largest = Math.max(largest, Math.abs(expected[i]!));
  }
  const error = difference === 0 ? 0 : difference / largest;
  return { what, error, passed: error <= MODEL_TOLERANCE || difference <= noise };
}

/** The recorded input in the recorded memory order. */
function inputOf(model: RecordedModel, file: ModelFile): Tensor {
  const input = file.tensors[`${model.name}/input0`]!;
  return model.timeLast === true ? input.permute([1, 2, 0]).contiguous().permute([2, 0, 1]) : input;
}

/** The model with its recorded weights. */
function load(model: RecordedModel, file: ModelFile): Module {
  const prefix = `${model.name}/state/`;
  const state = Object.entries(file.tensors).filter(([name]) => name.startsWith(prefix));
  const built = model.build();
  built.loadStateDict(
    Object.fromEntries(state.map(([name, value]) => [name.slice(prefix.length), value])),
  );
  return built.train(file.models[model.name]!.mode !== 'eval');
}

/** The first result of a model that has several. */
function outputOf(module: { call(x: Tensor): unknown }, input: Tensor): Tensor {
  const result = module.call(input);
  return tensorIn(Array.isArray(result) ? result[0] : result, null);
}

/** Input and labels of a training step. */
function batch(
  model: RecordedModel,
  file: ModelFile,
  step: number,
): { input: Tensor; target: Tensor | null } {
  const images = file.tensors['digits/images_u8'];
  if (!model.name.startsWith('digits_') || images === undefined)
    return {
      input: inputOf(model, file),
      target: file.tensors[`${model.name}/target`] ?? null,
    };
  // Batches of 100 of the first 1,500 in order, pixels from 0 to 16 as 0 to 1.
  const start = (step % 15) * 100;
  return {
    input: toDtype(images.narrow(0, start, 100), 'float32')
      .div(16)
      .reshape([100, 1, 8, 8]),
    target: toDtype(file.tensors['digits/labels']!.narrow(0, start, 100), 'int64'),
  };
}

function checkGradients(model: RecordedModel, file: ModelFile, module: Module): ModelCheck[] {
  const norms = file.models[model.name]!.grad_norm ?? {};
  const parameters = new Map(module.namedParameters());
  return Object.entries(norms).flatMap(([name, norm]) => {
    const grad = parameters.get(name)?.grad ?? null;
    const actual = grad === null ? new Float64Array() : numbers(grad);
    const recorded = file.tensors[`${model.name}/grad/${name}`];
    const size = Math.sqrt(actual.reduce((sum, value) => sum + value * value, 0));
    const checks = [check(`norm of grad ${name}`, [size], [norm], model.noise)];
    if (recorded !== undefined)
      checks.push(check(`grad ${name}`, actual, numbers(recorded), model.noise));
    return checks;
  });
}

function checkForward(model: RecordedModel, file: ModelFile, mode: ModelMode): ModelCheck[] {
  const record = file.models[model.name]!;
  if (record.loss === undefined) return [];
  const module = load(model, file);
  const { input, target } = batch(model, file, 0);
  const run = wrap((x: Tensor, labels: Tensor | null): [Tensor, Tensor] => {
    const output = outputOf(module, x);
    return [output, model.loss(output, x, { target: labels })];
  }, mode);
  const [output, loss] = run(input, target);
  loss.backward();
  const recorded = file.tensors[`${model.name}/output`]!;
  return [
    check('output', numbers(output), numbers(recorded)),
    check('loss', numbers(loss), [record.loss], model.noise),
    ...checkGradients(model, file, module),
  ];
}

function checkTraining(model: RecordedModel, file: ModelFile, mode: ModelMode): ModelCheck[] {
  const losses = file.models[model.name]!.losses;
  if (losses === undefined || model.optimizer === undefined) return [];
  const module = load(model, file);
  const optimizer = model.optimizer(module);
  const step = wrap((x: Tensor, labels: Tensor | null): Tensor => {
    optimizer.zeroGrad();
    const loss = model.loss(outputOf(module, x), x, { target: labels });
    loss.backward();
    optimizer.step();
    return loss;
  }, mode);
  return losses.slice(0, STEPS).map((expected, i) => {
    const { input, target } = batch(model, file, i);
    return check(`loss of step ${i}`, numbers(step(input, target)), [expected], model.noise);
  });
}

/** Runs a model forward, backward and through its recorded training steps. */
export function runRecordedModel(
  model: RecordedModel,
  file: ModelFile,
  mode: ModelMode,
): ModelCheck[] {
  return [...checkForward(model, file, mode), ...checkTraining(model, file, mode)];
}
