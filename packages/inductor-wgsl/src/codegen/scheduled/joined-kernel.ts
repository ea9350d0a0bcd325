/**
 * @file `JoinedKernel`: loop kernels, or recurrences, that do not wait for one another, in one launch whose workgroups they divide.
 *
 * A launch takes a GPU longer than a small kernel, and the processor as long as a large one. PyTorch's inductor calls
 * these combo kernels.
 */
import {
  type BufferParam,
  type ChainStep,
  type Expr,
  type FusedKernel,
  IrBuilder,
  type IndexExpr,
  type KernelMap,
  type Launch,
  type LoopKernel,
  type LoopVar,
  mapKernel,
  type RecurrenceKernel,
  type Rewrite,
  type ScalarParam,
  stmtRoots,
  unusedName,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';

/** What may share a launch, with others of its kind. */
export type JoinedPart = LoopKernel<Size> | RecurrenceKernel<Size>;

/** See the file header. Parts name buffers and scalars as the whole does; each has loop variables of its own. */
export interface JoinedKernel {
  readonly kind: 'joined';
  readonly name: string;
  readonly params: readonly BufferParam[];
  readonly scalars: readonly ScalarParam[];
  readonly parts: readonly JoinedPart[];
}

/** What a launch may be of. */
export type LaunchedKernel = FusedKernel<Size> | JoinedKernel | ChainStep;

/** A kernel with what a launch binds to it. */
export interface BoundKernel {
  readonly kernel: JoinedPart;
  readonly launch: Launch;
}

/** The kernels as one, and its launch but for its number. Equal names of scalars are one scalar. */
export function joinKernels(bound: readonly BoundKernel[]): {
  readonly kernel: JoinedKernel;
  readonly launch: Omit<Launch, 'kernel'>;
} {
  const buffers = new Map<number, BufferParam>();
  const scalars = new Map<number, ScalarParam>();
  const parts = bound.map(({ kernel, launch }, number) => {
    const names = new Map<string, string>();
    for (const [i, param] of kernel.params.entries()) {
      const index = launch.buffers[i];
      const known = buffers.get(index);
      const name = known?.name ?? unusedName([...buffers.values()], param.name);
      if (known === undefined) buffers.set(index, { ...param, name });
      names.set(param.name, name);
    }
    for (const [i, scalar] of kernel.scalars.entries()) scalars.set(launch.scalars[i], scalar);
    return renamed(
      kernel,
      (name) => names.get(name)!,
      (name) => `${name}_${number}`,
    );
  });
  return {
    kernel: {
      kind: 'joined',
      name: parts.map(({ name }) => name).join('_with_'),
      params: [...buffers.values()],
      scalars: [...scalars.values()],
      parts,
    },
    launch: { buffers: [...buffers.keys()], scalars: [...scalars.keys()] },
  };
}

/** A kernel with other names of its buffers and loop variables. */
function renamed(
  kernel: JoinedPart,
  nameOf: (buffer: string) => string,
  variableOf: (variable: string) => string,
): JoinedPart {
  const ir = new IrBuilder();
  const symbol = (name: string): IndexExpr => ir.sym(variableOf(name));
  const memo = new Map<Expr, Expr>();
  const rule: Rewrite = {
    symbol,
    load: ({ dtype, buf }, index) => ir.load(dtype, nameOf(buf), index),
  };
  const map: KernelMap<Size> = {
    loops: <S extends Size>(vars: readonly LoopVar<S>[]) =>
      vars.map(({ name, size }): LoopVar<S> => {
        ir.sym(variableOf(name), size);
        return { name: variableOf(name), size };
      }),
    expr: (root) => ir.rewrite([root], rule, memo)[0],
    stmt(each) {
      ir.rewrite(stmtRoots(each), rule, memo);
      const value = memo.get(each.value)!;
      if (each.kind === 'reduce') return { ...each, value };
      const index = ir.substituteIndex(each.index, symbol, (inside) => memo.get(inside)!);
      return { ...each, buf: nameOf(each.buf), index, value };
    },
  };
  const params = kernel.params.map((param) => ({ ...param, name: nameOf(param.name) }));
  return { ...mapKernel(kernel, map), params };
}
