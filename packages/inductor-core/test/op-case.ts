/**
 * @file Calls of single operators recorded from PyTorch 2.11 (its own OpInfo samples), and how to run one
 * through the compiler and the reference interpreter.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { type Argument, Graph, GraphModule, type Node, getItem } from '@tessera/graph';
import { type DType, OpOverload, type Tensor, parseSchema } from '@tessera/tensor';
import {
  contiguousStrides,
  fakeFromMeta,
  findOp,
  hasInternalOverlap,
  numelOf,
  storageExtent,
} from '@tessera/tensor/internal';
import {
  type BufferData,
  type CompileTarget,
  allocateData,
  compileGraph,
  interpretPlan,
  verifyPlan,
} from '../src/index.js';

/** A recorded tensor: elements in row-major order of `shape`; `stride` where the call saw another layout. */
export interface RecordedTensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly stride?: readonly number[];
  readonly data: readonly (number | string)[];
}

/** A recorded call. */
export interface OpCase {
  readonly schema: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly out: readonly unknown[];
}

/** Absolute and relative tolerance by dtype; 0 for integers. */
const TOLERANCE: Partial<Record<DType, number>> = { float64: 1e-7, float32: 2e-5, float16: 2e-3 };

/** The recorded calls by operator. */
export function loadCases(): Map<string, OpCase[]> {
  const folder = new URL('fixtures/', import.meta.url);
  const cases = readdirSync(folder).flatMap(
    (name) => JSON.parse(gunzipSync(readFileSync(new URL(name, folder))).toString()) as OpCase[],
  );
  const byOp = new Map<string, OpCase[]>();
  for (const item of cases) {
    if (selectsByMask(item)) continue;
    const { qualifiedName } = new OpOverload(parseSchema(item.schema), {});
    byOp.set(qualifiedName, [...(byOp.get(qualifiedName) ?? []), item]);
  }
  return byOp;
}

/** Masks select a number of elements that is known only at run time: left to the reference kernel. */
function selectsByMask({ schema, args }: OpCase): boolean {
  const indices = args['indices'];
  return (
    schema.startsWith('aten::index.Tensor') &&
    Array.isArray(indices) &&
    indices.some((index) => isTensor(index) && index.dtype === 'bool')
  );
}

function isTensor(value: unknown): value is RecordedTensor {
  return typeof value === 'object' && value !== null && 'data' in value;
}

/** Storage offset of the q-th element in row-major order. */
function offsetOf(q: number, shape: readonly number[], strides: readonly number[]): number {
  let rest = q;
  let offset = 0;
  for (let d = shape.length - 1; d >= 0; d--) {
    offset += (rest % shape[d]!) * strides[d]!;
    rest = Math.floor(rest / shape[d]!);
  }
  return offset;
}

function memory(tensor: RecordedTensor, strides: readonly number[]): BufferData {
  const data = allocateData(tensor.dtype, storageExtent(tensor.shape, strides));
  tensor.data.forEach((value, q) => {
    const at = offsetOf(q, tensor.shape, strides);
    if (data instanceof BigInt64Array) data[at] = BigInt(value);
    else data[at] = Number(value);
  });
  return data;
}

class CaseGraph {
  readonly graph = new Graph();
  readonly inputs: BufferData[] = [];

  argument(value: unknown): Argument {
    if (isTensor(value)) {
      const strides = value.stride ?? contiguousStrides(value.shape);
      const node = this.graph.placeholder('x');
      node.meta.val = fakeFromMeta({
        sizes: value.shape,
        strides,
        dtype: value.dtype,
        device: 'cpu',
      });
      this.inputs.push(memory(value, strides));
      return node;
    }
    if (Array.isArray(value)) return value.map((item) => this.argument(item));
    if (typeof value === 'object' && value !== null)
      return Number((value as { float: string }).float.replace('inf', 'Infinity'));
    return value as Argument;
  }
}

/** The recorded result as a fake tensor; results that are views get a dense layout of their own. */
function fakeResult(value: unknown): Tensor | null {
  if (!isTensor(value)) return null;
  const recorded = value.stride ?? contiguousStrides(value.shape);
  const dense =
    numelOf(value.shape) > 0 &&
    storageExtent(value.shape, recorded) === numelOf(value.shape) &&
    !hasInternalOverlap(value.shape, recorded);
  return fakeFromMeta({
    sizes: value.shape,
    strides: dense ? recorded : contiguousStrides(value.shape),
    dtype: value.dtype,
    device: 'cpu',
  });
}

/** Runs a case and returns a description of the first difference, or null. */
export function runCase(item: OpCase, backend: CompileTarget): string | null {
  const schema = parseSchema(item.schema);
  const built = new CaseGraph();
  const args = schema.args.map((formal) => {
    const given = item.args[formal.name];
    return given === undefined ? (formal.default as Argument) : built.argument(given);
  });
  // The recorded signature, and whether numbers may stand for tensors.
  const { qualifiedName } = new OpOverload(schema, {});
  const tags = findOp(qualifiedName)?.record.tags;
  const node = built.graph.callFunction(new OpOverload(schema, { tags }), args);
  const recorded = item.out.flat() as unknown[];
  const vals = recorded.map(fakeResult);
  const isList = schema.returns.length > 1 || schema.returns[0]!.type.list;
  node.meta.val = isList ? vals : vals[0]!;
  const kept = vals.flatMap((val, i) => (val === null ? [] : [i]));
  built.graph.output(
    kept.map((i): Node => {
      if (!isList) return node;
      const result = built.graph.callFunction(getItem, [node, i]);
      result.meta.val = vals[i]!;
      return result;
    }),
  );
  const plan = compileGraph(new GraphModule([], built.graph), { backend });
  verifyPlan(plan);
  const limit = backend.capabilities.maxBuffersPerKernel;
  for (const { params, name } of plan.kernels) {
    if (params.length > limit) return ` ${name} has ${params.length} buffers, ${limit} are allowed`;
  }
  const results = interpretPlan(plan, built.inputs);
  for (const [position, i] of kept.entries()) {
    const difference = compare(
      results[position]!,
      plan.outputs[position]!,
      recorded[i] as RecordedTensor,
    );
    if (difference !== null) return `result ${i}${difference}`;
  }
  return null;
}

function compare(
  got: BufferData,
  layout: {
    readonly dtype: DType;
    readonly sizes: readonly number[];
    readonly strides: readonly number[];
  },
  want: RecordedTensor,
): string | null {
  if (layout.dtype !== want.dtype) return ` has dtype ${layout.dtype}, PyTorch gives ${want.dtype}`;
  const tolerance = TOLERANCE[want.dtype] ?? 0;
  for (const [q, raw] of want.data.entries()) {
    const expected = Number(raw);
    const actual = Number(got[offsetOf(q, layout.sizes, layout.strides)]);
    if (actual === expected || (Number.isNaN(actual) && Number.isNaN(expected))) continue;
    if (!(Math.abs(actual - expected) <= tolerance + tolerance * Math.abs(expected)))
      return `[${q}] is ${actual}, PyTorch gives ${expected}`;
  }
  return null;
}
