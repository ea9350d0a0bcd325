/**
 * @file What TypeScript reads from schema strings. `expectTypeOf` and the `@ts-expect-error` lines are checked by the
 * type check of the package: one that stops being an error fails it.
 */
import type { ScalarLike } from '@tessera/shared';
import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  type DType,
  type OpOverload,
  type Tensor,
  callOp,
  library,
  parseSchema,
  tensor,
} from '../src/index.js';
import {
  type SchemaArgs,
  type SchemaFunction,
  type SchemaKernel,
  type SchemaResult,
  allOps,
  defineOp,
} from '../src/internal.js';

/** Never runs: the lines below are for the compiler. */
export function refused(): void {
  defineOp('typetest::scale(Tensor self, float factor) -> Tensor', {
    // @ts-expect-error `factor` is a number
    meta: ({ factor }) => factor.sizes,
  });
  defineOp('typetest::scale(Tensor self, float factor) -> Tensor', {
    // @ts-expect-error there is no argument `other`
    kernel: ({ other }) => void other,
  });
  defineOp('typetest::scale(Tensor self, float factor) -> Tensor', {
    // @ts-expect-error the gradient of an argument that does not exist
    vjp: (_args, { grad }) => ({ self: grad, slef: grad }),
  });
  defineOp('typetest::scale(Tensor self, Tensor? mask) -> Tensor', {
    // @ts-expect-error a mask may be null
    decompose: ({ self, mask }) => self.mul(mask.sum()),
  });
  defineOp('typetest::scale(Tensor self) -> Tensor', {
    // @ts-expect-error one tensor, not a list
    decompose: ({ self }) => [self, self],
  });
  defineOp('typetest::scale(Tensor self) -> Tensor', {
    // @ts-expect-error there is no argument `other` to keep
    saved: ['other'],
    vjp: (_args, { grad }) => ({ self: grad }),
  });
  defineOp('typetest::scale(Tensor self) -> Tensor', {
    // @ts-expect-error there is no argument `other` to need
    vjp: (_args, { grad, needs }) => ({ self: needs('other') ? grad : null }),
  });
  library('typetest')
    .define('scale(Tensor self, float factor=2.0) -> Tensor')
    // @ts-expect-error `factor` is a number
    .impl('scale', 'cpu', (x, factor) => factor.add(x))
    .autograd('scale', {
      // @ts-expect-error there is no argument `x`
      vjp: ({ x }, { grad }) => ({ self: grad.mul(x) }),
    });
}

describe('SchemaArgs', () => {
  it('gives every base type its value', () => {
    expectTypeOf<
      SchemaArgs<'a::b(Tensor self, Scalar s, int i, SymInt n, float f, bool b, str t, ScalarType d) -> Tensor'>
    >().toEqualTypeOf<{
      self: Tensor;
      s: ScalarLike;
      i: number;
      n: number;
      f: number;
      b: boolean;
      t: string;
      d: DType;
    }>();
  });

  it('reads optional values, lists, aliases and both together', () => {
    expectTypeOf<
      SchemaArgs<'a::b.c(Tensor(a!) self, Tensor? mask, Tensor[] xs, Tensor?[] indices, int[2]? size, Tensor(a -> *) v) -> ()'>
    >().toEqualTypeOf<{
      self: Tensor;
      mask: Tensor | null;
      xs: readonly Tensor[];
      indices: readonly (Tensor | null)[];
      size: readonly number[] | null;
      v: Tensor;
    }>();
  });

  it('passes over defaults, with commas too, and over the star', () => {
    expectTypeOf<
      SchemaArgs<'a::b(Tensor self, int[2] stride=[1, 1], *, str mode="valid", ScalarType? dtype=None) -> Tensor'>
    >().toEqualTypeOf<{
      self: Tensor;
      stride: readonly number[];
      mode: string;
      dtype: DType | null;
    }>();
  });

  it('does not mind the name and the lengths of lists, and of unknown text reads what is clear', () => {
    expectTypeOf<
      SchemaArgs<`a::${string}(Tensor self, int[${number}] size) -> Tensor`>
    >().toEqualTypeOf<{ self: Tensor; size: readonly number[] }>();
    expectTypeOf<SchemaArgs<string>>().toBeAny();
    expectTypeOf<SchemaArgs<`a::b(${string}) -> Tensor`>>().toBeAny();
    for (const named of [
      {} as SchemaArgs<`a::b(Tensor self, ${string}) -> Tensor`>,
      {} as SchemaArgs<`a::b(Tensor self, int ${string}, bool flag) -> Tensor`>,
    ]) {
      expectTypeOf(named.self).toEqualTypeOf<Tensor>();
      expectTypeOf(named.other).toBeAny();
    }
  });

  it('names the same arguments as the parser, for a schema of each kind', () => {
    const text =
      'a::b(Tensor(a!) self, Tensor?[] indices, int[2] stride=[1, 1], *, Scalar alpha=1) -> Tensor(a!)';
    const names: Record<keyof SchemaArgs<typeof text>, true> = {
      self: true,
      indices: true,
      stride: true,
      alpha: true,
    };
    expect(Object.keys(names)).toEqual(parseSchema(text).args.map((arg) => arg.name));
  });
});

describe('SchemaResult', () => {
  it('is a value, a list, a tuple or nothing', () => {
    expectTypeOf<SchemaResult<'a::b(Tensor(a) self) -> Tensor(a)'>>().toEqualTypeOf<Tensor>();
    expectTypeOf<SchemaResult<'a::b(Tensor(a -> *) self) -> Tensor(a)[]'>>().toEqualTypeOf<
      Tensor[]
    >();
    expectTypeOf<
      SchemaResult<'a::b(Tensor self) -> (Tensor values, Tensor indices)'>
    >().toEqualTypeOf<[Tensor, Tensor]>();
    expectTypeOf<SchemaResult<'a::b(Tensor self) -> ()'>>().toEqualTypeOf<void>();
    expectTypeOf<SchemaResult<'a::b(Tensor self) -> bool'>>().toEqualTypeOf<boolean>();
    expectTypeOf<SchemaResult<string>>().toEqualTypeOf<unknown>();
  });

  it('is what a call of the overload returns', () => {
    const twice = defineOp('typetest::twice(Tensor self) -> (Tensor, Tensor)', {
      decompose: ({ self }) => [self, self.add(self)],
    });
    expectTypeOf(twice).toEqualTypeOf<OpOverload<[Tensor, Tensor]>>();
    const [once, doubled] = callOp(twice, [tensor([2])]);
    expect([once.item(), doubled.item()]).toEqual([2, 4]);
    const anything: OpOverload = twice;
    expect(allOps()).toContain(anything);
  });
});

describe('library', () => {
  it('types kernels, formulas and functions by the schema', () => {
    expectTypeOf<SchemaKernel<'s(Tensor self, float f=2.0) -> Tensor'>>().toEqualTypeOf<
      (self: Tensor, f: number) => Tensor
    >();
    expectTypeOf<SchemaFunction<'s(Tensor self, *, int[2] p=[0, 0], bool b) -> Tensor[]'>>()
      .parameter(1)
      .toEqualTypeOf<readonly number[] | undefined>();
    const lib = library('typetest2')
      .define('scale(Tensor self, float factor=2.0) -> Tensor')
      .impl('scale', 'cpu', (x, factor) => x.mul(factor))
      .impl('scale', 'meta', (x) => x.emptyLike())
      .autograd('scale', { vjp: ({ factor }, { grad }) => ({ self: () => grad.mul(factor) }) });
    const scale = lib.fn('scale');
    expectTypeOf(scale).toEqualTypeOf<(self: Tensor, factor?: number) => Tensor>();
    const x = tensor([1, 2], { requiresGrad: true });
    scale(x, 3).sum().backward();
    expect(scale(x).toArray()).toEqual([2, 4]);
    expect(x.grad!.toArray()).toEqual([3, 3]);
  });
});
