/**
 * @file Runs a function eagerly and compiled (graphs run op by op) on equal inputs and compares everything
 * that a caller could see: results, modified inputs, gradients, history.
 */
import { type GraphModule } from '@tessera/graph';
import { type Tensor, callOp, getOp, isTensor, tensor } from '@tessera/tensor';
import { requiresGrad } from '@tessera/tensor/internal';
import { expect } from 'vitest';
import { type GraphCompiler, aotFunction, runEagerly } from '../../src/index.js';

/** Calls an operator by name. */
export function op(name: string, ...args: readonly unknown[]): Tensor {
  return callOp(getOp(name.includes('::') ? name : `aten::${name}`), args) as Tensor;
}

/** A compiler that checks, keeps and runs graphs. */
export function recording(): {
  compiler: GraphCompiler;
  modules: GraphModule[];
  print: (index: number) => string;
} {
  const modules: GraphModule[] = [];
  return {
    modules,
    print: (index) => modules[index].print(),
    compiler(module) {
      module.lint();
      modules.push(module);
      return runEagerly(module);
    },
  };
}

/** An input of a comparison; leaf unless `leaf` is false. */
export interface InputSpec {
  readonly data: Parameters<typeof tensor>[0];
  readonly grad?: boolean;
  /** With `grad`: a leaf (default), or the result of an op on one. */
  readonly leaf?: boolean;
}

function makeInputs(specs: readonly InputSpec[]): { leaves: Tensor[]; inputs: Tensor[] } {
  const leaves = specs.map((spec) => {
    const leaf = tensor(spec.data, { dtype: 'float64' });
    return spec.grad === true ? leaf.requiresGrad_() : leaf;
  });
  return {
    leaves,
    inputs: leaves.map((leaf, i) => (specs[i].leaf === false ? leaf.mul(1) : leaf)),
  };
}

/** Strides, without those of dimensions of size 1, which place nothing. */
function stridesThatMatter(value: Tensor): number[] {
  return value.strides.map((stride, i) => (value.sizes[i] === 1 || value.numel === 0 ? 0 : stride));
}

interface Seen {
  readonly outputs: unknown[];
  readonly inputs: unknown[];
  readonly grads: unknown[];
  readonly requires: boolean[];
}

/** Inputs of shape [2, 3] that overlap in one memory. */
export function overlapping(count: number): () => { leaves: Tensor[]; inputs: Tensor[] } {
  return () => {
    const base = tensor(
      Array.from({ length: 12 }, (_, i) => (i + 1) / 4),
      { dtype: 'float64' },
    );
    return {
      leaves: [base],
      inputs: Array.from({ length: count }, (_, i) => op('as_strided', base, [2, 3], [3, 1], i)),
    };
  };
}

function observe(
  fn: (...inputs: Tensor[]) => unknown[],
  make: () => { leaves: Tensor[]; inputs: Tensor[] },
): Seen {
  const { leaves, inputs } = make();
  const outputs = fn(...inputs);
  const tensors = [...outputs, ...inputs].filter((value) => isTensor(value));
  const seen = {
    outputs: outputs.map((value) =>
      isTensor(value) ? [value.toArray(), stridesThatMatter(value)] : value,
    ),
    inputs: inputs.map((value) => value.toArray()),
    requires: tensors.map((value) => requiresGrad(value)),
  };
  let total: Tensor | null = null;
  tensors.forEach((value, i) => {
    if (!requiresGrad(value) || value.dtype !== 'float64') return;
    // Different weights, so that a gradient cannot hide in another.
    const part = op('sum', op('mul.Tensor', op('mul.Tensor', value, value), i + 1), null);
    total = total === null ? part : op('add.Tensor', total, part, 1);
  });
  (total as Tensor | null)?.backward();
  return { ...seen, grads: leaves.map((leaf) => leaf.grad?.toArray() ?? null) };
}

/** Deep equality; numbers may differ by rounding. */
export function expectClose(actual: unknown, expected: unknown, path = ''): void {
  if (typeof actual === 'number' && typeof expected === 'number') {
    const close =
      Object.is(actual, expected) || Math.abs(actual - expected) <= 1e-9 * (1 + Math.abs(expected));
    if (!close) throw new Error(`${path}: ${actual} instead of ${expected}`);
  } else if (
    typeof actual === 'object' &&
    typeof expected === 'object' &&
    actual !== null &&
    expected !== null
  ) {
    expect(Object.keys(actual), path).toEqual(Object.keys(expected));
    for (const key of Object.keys(expected)) {
      expectClose(
        (actual as Record<string, unknown>)[key],
        (expected as Record<string, unknown>)[key],
        `${path}.${key}`,
      );
    }
  } else expect(actual, path).toEqual(expected);
}

/** Compares; returns the compiled graphs. */
export function compare(
  fn: (...inputs: Tensor[]) => unknown[],
  specs: readonly InputSpec[] | (() => { leaves: Tensor[]; inputs: Tensor[] }),
): ReturnType<typeof recording> {
  const make =
    typeof specs === 'function' ? specs : (): ReturnType<typeof makeInputs> => makeInputs(specs);
  const graphs = recording();
  const expected = observe(fn, make);
  const compiled = aotFunction(fn, { fwCompiler: graphs.compiler });
  expectClose(observe(compiled, make), expected);
  return graphs;
}
