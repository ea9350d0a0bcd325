/**
 * @file Gradients of a model's parameters against finite differences.
 *
 * The gradients are those of the compiled model, in its own types, on the device (operator by operator where values on
 * it decide what happens). The differences are computed in
 * float64 on the CPU: the loss, a weighted sum of all float outputs, a little before and behind where the parameters
 * are. Of each parameter up to 32 elements move at once, that with the largest gradient among them, each along its
 * gradient, so that nothing cancels. Where a kink (a ReLU, a maximum) lies in between, a smaller step decides; where
 * the file itself rounds to float32, a larger one: the best of several steps counts, and a gradient that is wrong is
 * wrong at all of them. At a kink itself (untrained models have pre-activations of exactly 0) any gradient between the
 * slopes before and behind is right.
 */
import { compile } from '@tessera/compile';
import { type OnnxModule, type OnnxOutputs, importOnnx } from '@tessera/onnx';
import { isTesseraError } from '@tessera/shared';
import {
  type DeviceType,
  type Tensor,
  isFloatingPoint,
  isTensor,
  noGrad,
  tensor,
} from '@tessera/tensor';
import type { Named, RecordedModel } from './recorded-model.js';

/** The largest error, and of which parameter. */
export interface GradientCheck {
  /** Of the gradient of the same elements, or of a thousandth of the largest such sum if that is more. */
  readonly error: number;
  readonly parameter: string;
  readonly parameters: number;
}

const SAMPLES = 32;
/**
 * The smallest are for norms of what is all zeros, whose slope changes within the square root of their epsilon, and for
 * untrained models whose last ReLU gets numbers of 1e-9: a larger step of its bias passes the kinks of many of them.
 */
export const STEPS = [1e-4, 1e-3, 1e-5, 1e-6, 1e-8, 1e-10, 1e-12] as const;
const FLOAT32_STEPS = [1e-2, 3e-3, 3e-2] as const;
/** Slopes before and behind that differ by more, of their mean, have a kink between them. */
const BENDS = 1e-2;
/** Good enough not to try other steps. */
const AGREES = 1e-4;

async function numbersOf(value: Tensor): Promise<number[]> {
  return ((await value.detach().reshape([-1]).toArray()) as (number | boolean)[]).map(Number);
}

/** The weighted sum of the float outputs; weights have no pattern and are the same for every size. */
function lossOf(outputs: OnnxOutputs, weights: Named): Tensor | null {
  const parts = Object.entries(outputs).flatMap(([name, output]) => {
    const weight = weights[name];
    if (weight === undefined || !isTensor(output) || !isFloatingPoint(output.dtype)) return [];
    return [output.mul(weight.to(output.dtype)).sum()];
  });
  return parts.length === 0 ? null : parts.reduce((sum, part) => sum.add(part));
}

function weightsFor(outputs: Named): Record<string, Tensor> {
  return Object.fromEntries(
    Object.entries(outputs).map(([name, { sizes }], salt) => {
      const count = sizes.reduce((a, b) => a * b, 1);
      const values = Array.from({ length: count }, (_, i) => Math.sin(1 + salt + i * 12.9898));
      return [name, tensor(values).reshape([...sizes])];
    }),
  );
}

const onDevice = (values: Named, device: DeviceType): Named =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value.to(device)]));

/** The loss by the compiled model; operator by operator where values on a device decide what happens. */
async function compiledLoss(
  model: OnnxModule,
  weights: Named,
  inputs: Named,
): Promise<Tensor | null> {
  try {
    return compile(() => lossOf(model.call(inputs), weights))();
  } catch (error) {
    if (!isTesseraError(error, 'data-async-only')) throw error;
    return lossOf(await model.run(inputs), weights);
  }
}

/** Gradients by name, of the compiled model; null where none reaches a parameter. */
async function compiledGradients(
  recorded: RecordedModel,
  weights: Named,
  device: DeviceType,
): Promise<Map<string, number[] | null> | null> {
  const model = (await importOnnx(recorded.file)).to(device);
  const [there, inputs] = [onDevice(weights, device), onDevice(recorded.inputs, device)];
  const loss = await compiledLoss(model, there, inputs);
  if (loss === null || !loss.requiresGrad) return null;
  loss.backward();
  const found = new Map<string, number[] | null>();
  for (const [name, { grad }] of model.namedParameters())
    found.set(name, grad === null ? null : await numbersOf(grad));
  return found;
}

/** Elements of a parameter, which way they move, and their gradients along it: each, and the sum. */
interface Sample {
  readonly name: string;
  readonly parameter: Tensor;
  readonly at: readonly number[];
  readonly along: readonly number[];
  readonly owns: readonly number[];
  readonly own: number;
}

/** A loss on the CPU as a function of elements of one parameter. */
interface Loss {
  readonly steps: readonly number[];
  readonly parameters: ReadonlyMap<string, Tensor>;
  /** The loss with the parameters as the file has them. */
  readonly here: number;
  value(): number;
}

/** In float64; in float32 if the file does not let operators run in another type. */
async function preciseLoss(recorded: RecordedModel, weights: Named): Promise<Loss> {
  const make = async (dtype: 'float64' | 'float32'): Promise<Loss> => {
    const model = (await importOnnx(recorded.file)).to(dtype);
    const inputs = Object.fromEntries(
      Object.entries(recorded.inputs).map(([name, value]) => [
        name,
        isFloatingPoint(value.dtype) ? value.to(dtype) : value,
      ]),
    );
    const run = compile(() => noGrad(() => lossOf(model.call(inputs), weights)));
    const value = (): number => run()!.item() as number;
    const steps = dtype === 'float64' ? STEPS : FLOAT32_STEPS;
    return { steps, parameters: new Map(model.namedParameters()), here: value(), value };
  };
  try {
    return await make('float64');
  } catch (error) {
    if (!isTesseraError(error)) throw error;
    return await make('float32');
  }
}

/** Elements that move: the one with the largest gradient, and others spread over the parameter. */
function chosen(gradient: readonly number[]): number[] {
  let largest = 0;
  gradient.forEach((value, i) => {
    if (Math.abs(value) > Math.abs(gradient[largest]!)) largest = i;
  });
  const stride = Math.max(1, Math.floor(gradient.length / SAMPLES));
  const spread = Array.from({ length: SAMPLES - 1 }, (_, i) => i * stride);
  return [...new Set([largest, ...spread])].filter((i) => i < gradient.length);
}

/** The slopes of the loss along a direction, smaller first. */
export interface Slopes {
  readonly low: number;
  readonly high: number;
}

/** Before and behind, and their mean if it is smooth there; null where a step changes what the model does, such as sizes. */
function slopes(loss: Loss, parameter: Tensor, { at, along }: Sample, step: number): Slopes | null {
  const flat = parameter.detach().reshape([-1]);
  const original = flat.clone();
  const places = tensor([...at], { dtype: 'int64' });
  const moved = (by: number): number =>
    noGrad(() => {
      flat.copy_(original);
      flat.indexAdd_(0, places, tensor([...along], { dtype: flat.dtype }).mul(by));
      return loss.value();
    });
  try {
    const { here } = loss;
    const [before, behind] = [(here - moved(-step)) / step, (moved(step) - here) / step];
    const mean = (before + behind) / 2;
    // A curve bends less with smaller steps, a kink does not.
    if (Math.abs(behind - before) < BENDS * Math.abs(mean)) return { low: mean, high: mean };
    return { low: Math.min(before, behind), high: Math.max(before, behind) };
  } catch (error) {
    if (isTesseraError(error)) return null;
    throw error;
  } finally {
    noGrad(() => flat.copy_(original));
  }
}

/** See the file header; null for a model whose outputs depend on no parameter. @throws onnx-invalid */
export async function checkGradients(
  recorded: RecordedModel,
  device: DeviceType,
): Promise<GradientCheck | null> {
  const weights = weightsFor(recorded.outputs);
  const gradients = await compiledGradients(recorded, weights, device);
  if (gradients === null) return null;
  const loss = await preciseLoss(recorded, weights);
  const samples = Array.from(gradients, ([name, gradient]): Sample => {
    const parameter = loss.parameters.get(name)!;
    const values = gradient ?? Array<number>(parameter.numel).fill(0);
    const at = chosen(values);
    const along = at.map((i) => (values[i]! < 0 ? -1 : 1));
    const owns = at.map((i) => Math.abs(values[i]!));
    const own = owns.reduce((sum, each) => sum + each, 0);
    return { name, parameter, at, along, owns, own };
  });
  const floor = 1e-3 * Math.max(...samples.map(({ own }) => own || 0));
  let worst = { error: 0, parameter: '' };
  for (const sample of samples) {
    const isUnused = gradients.get(sample.name) === null;
    let error = errorOf(loss, sample, floor, isUnused);
    // Elements that move in opposite directions may meet their kinks on opposite sides: one at a time they cannot.
    if (error > AGREES * 10) error = apart(loss, sample, floor, isUnused, error);
    if (error >= worst.error) worst = { error, parameter: sample.name };
  }
  return { ...worst, parameters: samples.length };
}

/**
 * How far a gradient is from the slopes. What is no number is infinitely far, unless neither is one: an exponent of
 * negative numbers has no slope.
 */
export function distanceTo({ low, high }: Slopes, gradient: number): number {
  if (Number.isNaN(gradient) && Number.isNaN(low)) return 0;
  const distance = Math.max(low - gradient, gradient - high, 0);
  return Number.isNaN(distance) ? Infinity : distance;
}

/** The smallest error over the steps. What has no gradient may decide sizes: beside it is no loss of the same outputs. */
export function errorOf(loss: Loss, sample: Sample, floor: number, isUnused: boolean): number {
  const { parameter, own } = sample;
  let error = Infinity;
  for (const step of loss.steps) {
    const found = slopes(loss, parameter, sample, step);
    if (found === null) return isUnused ? 0 : error;
    error = Math.min(error, distanceTo(found, own) / Math.max(own || 0, floor, Number.MIN_VALUE));
    if (error < AGREES) break;
  }
  return error;
}

/** The largest error of elements that move alone, or that of all together if one is as far off. */
function apart(
  loss: Loss,
  sample: Sample,
  floor: number,
  isUnused: boolean,
  together: number,
): number {
  const { at, along, owns } = sample;
  let largest = 0;
  for (const [j, place] of at.entries()) {
    const alone = { ...sample, at: [place], along: [along[j]!], own: owns[j]! };
    largest = Math.max(largest, errorOf(loss, alone, floor, isUnused));
    if (largest >= together) return together;
  }
  return largest;
}
