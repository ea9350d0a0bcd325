/**
 * @file What TypeScript knows of a lowering's arguments. `expectTypeOf` and the `@ts-expect-error` lines are checked by
 * the type check of the package: one that stops being an error fails it.
 */
import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  type LoweredArg,
  type LoweredArgs,
  type LoweredTensor,
  type Operand,
  type RuntimeScalar,
  lowerGraph,
  registerLowering,
} from '../src/index.js';
import { lowerings } from '../src/lower/typed-lowering.js';
import { GraphBuilder, target } from './graph-builder.js';

/** Never runs: the lines below are for the compiler. */
export function refused(): void {
  registerLowering('aten::glu', (_l, [x, dim]) => {
    // @ts-expect-error a dimension has no shape
    void dim.shape.length;
    return x;
  });
  // @ts-expect-error `glu` has two arguments
  registerLowering('aten::glu', (_l, [, , third]) => third);
  // @ts-expect-error no such operator
  lowerings({ 'aten::gluu': () => null });
}

describe('lowerings are typed by schema', () => {
  it('gives tensors, numbers that may be of run time, lists and what may be missing', () => {
    expectTypeOf<LoweredArgs<'aten::glu'>>().toEqualTypeOf<
      readonly [LoweredTensor, number | RuntimeScalar]
    >();
    expectTypeOf<LoweredArgs<'aten::cat'>[0]>().toEqualTypeOf<readonly LoweredTensor[]>();
    expectTypeOf<LoweredArgs<'aten::index_put'>[1]>().toEqualTypeOf<
      readonly (LoweredTensor | null)[]
    >();
    expectTypeOf<LoweredArgs<'aten::convolution_backward'>[10]>().toEqualTypeOf<
      readonly boolean[]
    >();
    expectTypeOf<LoweredArgs<'aten::gelu'>[1]>().toEqualTypeOf<string>();
  });

  it('lets numbers stand for tensors where eager does', () => {
    expectTypeOf<LoweredArgs<'aten::atan2'>[1]>().toEqualTypeOf<Operand>();
  });

  it('knows nothing of an operator of somebody else', () => {
    expectTypeOf<LoweredArgs<'custom::thing'>>().toEqualTypeOf<readonly LoweredArg[]>();
  });
});

describe('graphs that were not traced', () => {
  it('are refused where a tensor is missing, by the name of the argument', () => {
    const b = new GraphBuilder();
    const node = b.op('glu', b.input([4]), 0);
    node.args = [2, 0];
    const lower = (): unknown => lowerGraph(b.done(node), target().capabilities);
    expect(lower).toThrow("aten::glu: expected a tensor for 'self' while lowering, got 2.");
  });
});
