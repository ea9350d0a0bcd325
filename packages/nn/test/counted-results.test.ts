/**
 * @file Results of which there are as many as arguments: their types say so, so that strict programs
 * (`noUncheckedIndexedAccess`) take them apart without assertions. The types are the test: `tsc` checks this file.
 */
import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  type Tensor,
  arange,
  grad,
  ones,
  parseSafetensors,
  serializeSafetensors,
  split,
  tensor,
} from '@tessera/tensor';
import { grad as gradOf, gradAndValue, jacrev } from '@tessera/tensor/func';
import {
  DataLoader,
  Embedding,
  Linear,
  type Module,
  ModuleDict,
  ModuleList,
  TensorDataset,
  randomSplit,
} from '../src/index.js';

const leaf = (...values: number[]): Tensor => tensor(values, { requiresGrad: true });

describe('as many results as arguments', () => {
  it('of datasets of tensors and what is loaded of them', () => {
    const data = new TensorDataset(arange(6).reshape([3, 2]), arange(3));
    expectTypeOf(data.get(0)).toEqualTypeOf<[Tensor, Tensor]>();
    for (const batch of new DataLoader(data, { batchSize: 3 })) {
      expectTypeOf(batch).toEqualTypeOf<[Tensor, Tensor]>();
      expect(batch.map((part) => part.sizes)).toEqual([[3, 2], [3]]);
    }
    const several: readonly Tensor[] = [ones([2])];
    expectTypeOf(new TensorDataset(...several).get(0)).toEqualTypeOf<Tensor[]>();
  });

  it('of a dataset that is divided', () => {
    const parts = randomSplit(new TensorDataset(arange(4)), [3, 1]);
    expectTypeOf(parts).toHaveProperty('length').toEqualTypeOf<2>();
    expect(parts.map(({ length }) => length)).toEqual([3, 1]);
  });

  it('of gradients', () => {
    const [a, b] = [leaf(1, 2), leaf(3)];
    const loss = (): Tensor => a.mul(b).sum();
    const both = grad(loss(), [a, b]);
    expectTypeOf(both).toEqualTypeOf<[Tensor, Tensor]>();
    expectTypeOf(grad(loss(), a)).toEqualTypeOf<[gradient: Tensor]>();
    const list = [a, b];
    expectTypeOf(grad(loss(), list)).toEqualTypeOf<Tensor[]>();
    const some = grad(loss(), [a, leaf(1)], { allowUnused: true });
    expectTypeOf(some).toEqualTypeOf<[Tensor | null, Tensor | null]>();
    expect(both.map((g) => g.toArray())).toEqual([[3, 3], [3]]);
    expect(some[1]).toBeNull();
  });

  it('of derivatives of functions, with what is returned beside', () => {
    const product = (p: Tensor, q: { readonly k: Tensor }): Tensor => p.mul(q.k).sum();
    const given = [ones([2]), { k: tensor(3) }] as const;
    const second = gradOf(product, { argnums: 1 })(...given);
    expectTypeOf(second).toEqualTypeOf<{ readonly k: Tensor }>();
    expect(second.k.item()).toBe(2);
    const pair = gradOf(product, { argnums: [1, 0] })(...given);
    expectTypeOf(pair).toEqualTypeOf<[{ readonly k: Tensor }, Tensor]>();
    expect(pair[1].toArray()).toEqual([3, 3]);
    const aux = gradOf((x: Tensor) => [x.sum(), { n: 3 }], { hasAux: true })(ones([1]));
    expectTypeOf(aux).toEqualTypeOf<[gradient: Tensor, aux: { n: number }]>();
    expect(aux[1].n).toBe(3);
    const [gradients, value] = gradAndValue(product, { argnums: [0, 1] })(...given);
    expectTypeOf(gradients).toEqualTypeOf<[Tensor, { readonly k: Tensor }]>();
    expect(value.item()).toBe(6);
    const matrices = jacrev((x: Tensor, y: Tensor) => x.mul(y), { argnums: [0, 1] });
    expectTypeOf(matrices).returns.toEqualTypeOf<[Tensor, Tensor]>();
  });

  it('of parts of given sizes', () => {
    const parts = split(arange(5), [2, 3]);
    expectTypeOf(parts).toEqualTypeOf<[Tensor, Tensor]>();
    expectTypeOf(arange(5).split([2, 3])).toEqualTypeOf<[Tensor, Tensor]>();
    expectTypeOf(arange(5).split(2)).toEqualTypeOf<Tensor[]>();
    expect(parts.map((part) => part.numel)).toEqual([2, 3]);
  });
});

describe('a dict of modules', () => {
  it('knows the types of those that it is made of', () => {
    const parts = new ModuleDict({
      tokens: new Embedding(8, 4),
      blocks: new ModuleList([new Linear(4, 4)]),
    });
    expectTypeOf(parts.get('tokens')).toEqualTypeOf<Embedding>();
    expectTypeOf(parts.get('blocks').at(0)).toEqualTypeOf<Linear>();
    const name: string = 'tokens';
    expectTypeOf(parts.get(name)).toEqualTypeOf<Embedding | ModuleList<Linear>>();
    expectTypeOf(parts.get('other', null)).toEqualTypeOf<Embedding | ModuleList<Linear> | null>();
    const pairs = new ModuleDict([['a', new Linear(1, 1)]]);
    expectTypeOf(pairs.get('a')).toEqualTypeOf<Linear>();
    const any: ModuleDict<Module> = parts;
    expect(
      any
        .get(name)
        .parameters()
        .map((weight) => weight.sizes),
    ).toEqual([[8, 4]]);
    expect(() => parts.get('head')).toThrow("ModuleDict has no module 'head'.");
  });
});

describe('bytes of a file', () => {
  it('are what a Blob takes', async () => {
    const blob = new Blob([serializeSafetensors({ x: ones([1]) })]);
    const bytes = new Uint8Array(await blob.arrayBuffer());
    expect(parseSafetensors(bytes)['x']!.toArray()).toEqual([1]);
  });
});
