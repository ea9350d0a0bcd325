/**
 * @file What PyTorch computed for modules (data/reference-modules.py), and running one of these cases.
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { type DType, type Tensor, fromTypedArray, isTensor } from '@tessera/tensor';
import * as nn from '../src/index.js';

/** A recorded tensor; values that are no numbers are text. */
interface RecordedTensor {
  readonly shape: number[];
  readonly dtype: DType;
  readonly values: (number | string)[];
}

/** One forward and backward of a module. */
export interface ModuleCase {
  readonly kind: string;
  /** Of the constructor. */
  readonly args: unknown[];
  readonly train: boolean;
  /** Whether the first input is passed three times. */
  readonly same: boolean;
  readonly state: Record<string, RecordedTensor>;
  readonly inputs: unknown[];
  /** Last argument of the call. */
  readonly options: unknown;
  readonly outputs: RecordedTensor[];
  readonly cotangents: (RecordedTensor | null)[];
  readonly inputGrads: (RecordedTensor | null)[];
  readonly grads: Record<string, RecordedTensor>;
  readonly buffers: Record<string, RecordedTensor>;
  readonly repr: string | null;
}

/** One call of a function of `functional`. */
export interface FunctionCase {
  readonly name: string;
  readonly args: unknown[];
  readonly output: RecordedTensor;
}

const recorded = JSON.parse(
  gunzipSync(readFileSync(new URL('data/reference-modules.json.gz', import.meta.url))).toString(),
) as { readonly cases: ModuleCase[]; readonly functional: FunctionCase[] };

/** Recorded modules. */
export const cases: readonly ModuleCase[] = recorded.cases;
/** Recorded functions. */
export const functional: readonly FunctionCase[] = recorded.functional;

/** Recorded tensors within a value as tensors. */
export function restore(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(restore);
  if (isRecorded(value)) {
    const { shape, dtype, values } = value;
    const numbers = values.map((item) =>
      item === 'inf' ? Infinity : item === '-inf' ? -Infinity : Number(item),
    );
    return fromTypedArray(Float64Array.from(numbers), shape, { dtype });
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, restore(item)]));
}

/** Tensors within lists, in order. */
export function tensorsIn(value: unknown): Tensor[] {
  if (isTensor(value)) return [value];
  return Array.isArray(value) ? value.flatMap(tensorsIn) : [];
}

function isRecorded(value: unknown): value is RecordedTensor {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'values');
}

/** Name of a case in a test. */
export function caseName({ kind, args, inputs, train }: ModuleCase): string {
  const short = JSON.stringify(args, (_, value: unknown) => (isRecorded(value) ? 'tensor' : value));
  const shapes = (list: readonly unknown[]): string =>
    list
      .map((item) =>
        Array.isArray(item)
          ? `(${shapes(item)})`
          : `[${(item as RecordedTensor | null)?.shape.join(', ') ?? ''}]`,
      )
      .join(', ');
  return `${kind}(${short.slice(1, -1)}) of ${shapes(inputs)}${train ? '' : ' in evaluation'}`;
}

/** The module of a case with its recorded state. */
export function moduleOf(item: ModuleCase): nn.Module {
  const classes = nn as unknown as Record<
    string,
    (new (...args: unknown[]) => nn.Module) | undefined
  >;
  const Class = classes[item.kind];
  if (Class === undefined) throw new Error(`There is no module ${item.kind}.`);
  const module = new Class(...(restore(item.args) as unknown[]));
  module.train(item.train);
  module.loadStateDict(restore(item.state) as Record<string, Tensor>);
  return module;
}

/** Arguments of the call, and its differentiable inputs in the order of `inputGrads`. */
export function argumentsOf(item: ModuleCase): { args: unknown[]; inputs: Tensor[] } {
  const given = restore(item.inputs) as unknown[];
  const inputs = tensorsIn(given);
  inputs.forEach((input, i) => item.inputGrads[i] !== null && input.requiresGrad_());
  const args = item.same ? [given[0], given[0], given[0]] : given;
  return { args: item.options === null ? args : [...args, restore(item.options)], inputs };
}
