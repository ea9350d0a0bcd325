/**
 * @file Exported graphs without a tracer: made by hand, written as data, read back, and run.
 */
import { type Tensor, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import {
  ExportedGraph,
  ExportedTensor,
  type JsonExport,
  ResultLeaf,
  exportFromJson,
  exportToJson,
  makeFx,
} from '../src/index.js';

const source = (root: string): { root: string; steps: readonly [] } => ({ root, steps: [] });

/** `(x, scale) => ({ sum: x + x, x })` for one kind of x. */
function doubling(x: Tensor): ExportedGraph {
  const module = makeFx((a: Tensor) => [a.add(a)])(x);
  return new ExportedGraph(
    module,
    [{ root: 0, source: source("L['x']"), guard: ExportedTensor.of(x) }],
    [{ root: 1, source: source("L['scale']"), value: 2 }],
    { sum: new ResultLeaf({ output: 0 }), x: new ResultLeaf({ input: 0 }) },
  );
}

const throughJson = (exported: ExportedGraph): ExportedGraph =>
  exportFromJson(JSON.parse(JSON.stringify(exportToJson(exported))) as JsonExport);

describe('an exported graph', () => {
  it('runs, also when it was read back', () => {
    const exported = doubling(ones([2, 3]));
    const x = tensor([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    for (const graph of [exported, throughJson(exported)]) {
      const result = graph.call(x, 2) as { sum: Tensor; x: Tensor };
      expect(result.sum.toArray()).toEqual([
        [2, 4, 6],
        [8, 10, 12],
      ]);
      expect(result.x).toBe(x);
      expect(graph.guards).toEqual([
        "L['scale'] == 2",
        "L['x']: TENSOR_MATCH float32 cpu [2, 3] strides [3, 1]",
      ]);
    }
  });

  it.each<[string, unknown[], string]>([
    ['another constant', [ones([2, 3]), 3], "L['scale'] == 2"],
    ['no tensor', [1, 2], "type(L['x']) is Tensor"],
    [
      'another dtype',
      [ones([2, 3], { dtype: 'int32' }), 2],
      "tensor 'L['x']' dtype mismatch. expected Float, actual Int",
    ],
    [
      'another size',
      [ones([2, 4]), 2],
      "tensor 'L['x']' size mismatch at index 1. expected 3, actual 4",
    ],
    [
      'another layout',
      [ones([3, 2]).t(), 2],
      "tensor 'L['x']' stride mismatch at index 0. expected 3, actual 1",
    ],
    ['gradients', [ones([2, 3]).requiresGrad_(), 2], 'requires_grad mismatch'],
  ])('refuses %s', (_, args, words) => {
    const code = expect.objectContaining({ code: 'export-guard' }) as Error;
    for (const graph of [doubling(ones([2, 3])), throughJson(doubling(ones([2, 3])))]) {
      expect(() => graph.call(...args)).toThrow(code);
      expect(() => graph.call(...args)).toThrow(words);
    }
  });

  it('takes any stride where there is one element', () => {
    const x = tensor([[1], [2]]).t();
    expect(x.strides).toEqual([1, 1]);
    const result = doubling(ones([1, 2])).call(x, 2) as { sum: Tensor };
    expect(result.sum.toArray()).toEqual([[2, 4]]);
  });
});
