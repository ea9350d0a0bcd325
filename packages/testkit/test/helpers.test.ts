/**
 * @file The comparison helpers and counting backends on results whose verdict is known.
 */
import { compile, compileFx, compileFxInner } from '@tessera/compile';
import { Storage, type Tensor, full, ones, tensor } from '@tessera/tensor';
import { makeTensor, readNumbers, writeNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import {
  CompileCounter,
  CompileCounterWithBackend,
  assertClose,
  assertCloseAsync,
  gradcheck,
  oracleTensor,
  compareEqualOutsAndGrads,
  randStrided,
  runAndGetCode,
  same,
} from '../src/index.js';

describe('tensors of the oracle', () => {
  it('have zeros between elements, whatever their memory held: devices refuse some numbers', () => {
    // 2⁴⁰, which devices without int64 cannot store, in memory that the next tensors get.
    const dirty = Array.from({ length: 8 }, () => Storage.allocate('cpu', 5 * 8));
    const huge = new Array<number>(5).fill(2 ** 40);
    for (const each of dirty) writeNumbers(makeTensor(each, 'int64', 'cpu', [5], [1]), huge);
    for (const each of dirty) each.release();
    const bytes = new Uint8Array(BigInt64Array.of(1n, 2n, 4n).buffer);
    const file = { torch: '', cases: [], bytes: () => bytes };
    const reference = { tensor: 0, dtype: 'int64', shape: [3], stride: [2] } as const;
    const { storage } = oracleTensor(file, reference);
    const whole = makeTensor(storage, 'int64', 'cpu', [5], [1]);
    expect([...readNumbers(whole)]).toEqual([1, 0, 2, 0, 4]);
  });
});

describe('same', () => {
  it('compares nested results, dtypes and shapes', async () => {
    const value = { a: [tensor([1, 2]), 3], b: null };
    expect(await same(value, { a: [tensor([1, 2]), 3], b: null })).toBe(true);
    expect(await same(value, { a: [tensor([1, 2.5]), 3], b: null })).toBe(false);
    expect(await same(value, { a: [tensor([1, 2])], b: null })).toBe(false);
    expect(await same(value, { a: [tensor([1, 2]), 4], b: null })).toBe(false);
    expect(await same(ones([2]), ones([2], { dtype: 'float64' }))).toBe(false);
    expect(await same(ones([2]), ones([2, 1]))).toBe(false);
    expect(await same(tensor([NaN]), tensor([NaN]))).toBe(false);
    expect(await same(tensor([NaN]), tensor([NaN]), { equalNan: true })).toBe(true);
  });

  it('lets float64 decide where eager is as wrong as the compiled result', async () => {
    const fp64Ref = full([2000], 100, { dtype: 'float64' });
    const eager = full([2000], 100.1);
    expect(await same(eager, full([2000], 100.15), { fp64Ref })).toBe(true);
    expect(await same(eager, full([2000], 100.15))).toBe(false);
    expect(await same(eager, full([2000], 100.5), { fp64Ref })).toBe(false);
    expect(await same(eager, full([2000], NaN), { fp64Ref })).toBe(false);
  });
});

describe('assertClose', () => {
  it('refuses options that it has not', async () => {
    const value = tensor([1]);
    const options = { rtoll: 1 } as never;
    expect(() => assertClose(value, value, options)).toThrow(/no option 'rtoll'/);
    await expect(assertCloseAsync(value, value, options)).rejects.toThrow(/no option 'rtoll'/);
  });

  it('looks into arrays and records', async () => {
    const value = { loss: 1, grads: [tensor([1, 2])] };
    assertClose(value, { loss: 1, grads: [tensor([1, 2])] });
    const off = { loss: 1, grads: [tensor([1, 3])] };
    expect(() => assertClose(value, off)).toThrow(/\['grads'\]\[0\]: Tensor-likes are not close/);
    expect(() => assertClose(value, { loss: 1 })).toThrow(/keys of the mappings/);
    await assertCloseAsync(value, value);
    await expect(assertCloseAsync(value, off)).rejects.toThrow(/not close/);
  });
});

describe('counting backends', () => {
  const fn = (x: Tensor): Tensor => x.mul(2).add(1);

  it('are backends themselves', () => {
    for (const counter of [new CompileCounter(), new CompileCounterWithBackend('aot_eager')]) {
      const compiled = compile(fn, { backend: counter });
      for (let i = 0; i < 2; i++)
        assertClose(compiled(ones([3])), full([3], 3, { dtype: 'float32' }));
      expect([counter.frameCount, counter.opCount, counter.graphs.length]).toEqual([1, 2, 1]);
      counter.clear();
      expect(counter.frameCount).toBe(0);
    }
    expect(() => new CompileCounterWithBackend('none')).toThrow(/There is no backend 'none'/);
  });

  it('may return the graph', () => {
    const compiled = compile(fn, { backend: (graph) => graph });
    assertClose(compiled(ones([3])), full([3], 3, { dtype: 'float32' }));
  });

  it('see what the compiler compiles inside', () => {
    let kernels = 0;
    const compiled = compile(fn, {
      backend: (graph, examples) =>
        compileFx(graph, examples, {
          innerCompile: (inner, values) => {
            kernels += inner.graph.nodes.filter(({ op }) => op === 'call_function').length;
            return compileFxInner(inner, values);
          },
        }),
    });
    assertClose(compiled(ones([3])), full([3], 3, { dtype: 'float32' }));
    expect(kernels).toBe(2);
  });
});

describe('helpers of tests', () => {
  it('compares results and gradients', async () => {
    const f = (x: Tensor, y: Tensor): Tensor[] => [x.mul(y), x.sin()];
    const inputs = [ones([3]).requiresGrad_(), full([3], 0.5)];
    await compareEqualOutsAndGrads(f, compile(f), inputs);
    const wrong = (x: Tensor, y: Tensor): Tensor[] => [x.mul(y), x.detach().sin()];
    await expect(compareEqualOutsAndGrads(f, wrong, inputs)).rejects.toThrow(/gradients\[0\]/);
  });

  it('makes tensors with strides', () => {
    const x = randStrided([2, 3], [1, 4]);
    expect([x.sizes, x.strides]).toEqual([
      [2, 3],
      [1, 4],
    ]);
    expect(randStrided([4], [2], { dtype: 'int64' }).dtype).toBe('int64');
  });

  it('hands arguments to the function it watches', async () => {
    const { result, compiled } = await runAndGetCode(
      compile((x: Tensor) => x.exp()),
      ones([2]),
    );
    expect(result.sizes).toEqual([2]);
    expect(compiled).toHaveLength(1);
  });
});

describe('gradcheck', () => {
  it('refuses what it would not check', () => {
    const x = tensor([1, 2], { dtype: 'float64' });
    expect(() => gradcheck((a) => a.tanh(), [x])).toThrow(/no input requires grad/);
    expect(() => gradcheck((a) => a.tanh(), x as never)).toThrow(/must be a list/);
    const leaf = x.clone().requiresGrad_();
    expect(() => gradcheck((a) => a.tanh(), [leaf], { tol: 1 } as never)).toThrow(
      /no option 'tol'/,
    );
    gradcheck((a) => a.tanh(), [leaf], { eps: 1e-6 });
  });
});
