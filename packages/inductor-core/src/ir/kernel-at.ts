/**
 * @file `kernelAt`: a kernel with symbolic sizes at given sizes.
 *
 * It says what generated code of the symbolic kernel must compute there, for the interpreter, the verifier and
 * backends without symbolic sizes.
 */
import { type Size, SymInt } from '@tessera/shared';
import { IrBuilder } from './build.js';
import type { Expr, Stmt } from './expr.js';
import type { LoopVar, SizedLoop } from './index-expr.js';
import type { ExternArg, ExternKernel, FusedKernel } from './kernel.js';
import { type GeneratedKernel, kernelLoops, kernelRoots, kernelStmts } from './kernel-parts.js';
import { type KernelMap, mapKernel } from './map-kernel.js';
import { indexValues, postorder } from './walk.js';

/** The value of a size. */
export type SizeValue = (size: Size) => number;

class Specialiser implements KernelMap<number> {
  private readonly ir = new IrBuilder();
  private readonly memo = new Map<Expr, Expr>();

  constructor(private readonly valueOf: SizeValue) {}

  loops(vars: readonly SizedLoop[]): LoopVar[] {
    return vars.map(({ name, size }) => {
      const value = this.valueOf(size);
      this.ir.sym(name, value);
      return { name, size: value };
    });
  }

  expr(root: Expr): Expr {
    return this.ir.rewrite([root], { size: this.valueOf }, this.memo)[0]!;
  }

  stmt(stmt: Stmt): Stmt {
    const value = this.expr(stmt.value);
    if (stmt.kind === 'reduce') return { ...stmt, value };
    for (const inside of indexValues(stmt.index)) this.expr(inside);
    const index = this.ir.substituteIndex(
      stmt.index,
      () => undefined,
      (inside) => this.memo.get(inside)!,
      this.valueOf,
    );
    return { ...stmt, index, value };
  }
}

/** A call of a reference kernel at given sizes. */
function externAt(kernel: ExternKernel<Size>, valueOf: SizeValue): ExternKernel {
  const each = (sizes: readonly Size[]): number[] => sizes.map(valueOf);
  const buffer = (arg: Extract<ExternArg<Size>, { kind: 'buffer' }>) => ({
    ...arg,
    sizes: each(arg.sizes),
    strides: each(arg.strides),
    offset: valueOf(arg.offset),
  });
  const argument = (arg: ExternArg<Size>): ExternArg => {
    if (arg.kind === 'buffer') return buffer(arg);
    if (arg.kind === 'list') return { ...arg, items: arg.items.map(argument) };
    if (arg.kind === 'scalar') return arg;
    const { value } = arg;
    if (isSizes(value)) return { ...arg, value: each(value) };
    return { ...arg, value: value instanceof SymInt ? valueOf(value) : value };
  };
  return {
    ...kernel,
    args: kernel.args.map(argument),
    outputs: kernel.outputs.map(buffer),
  };
}

type ExternValue = Extract<ExternArg<Size>, { kind: 'value' }>['value'];

function isSizes(value: ExternValue): value is readonly Size[] {
  return Array.isArray(value) && typeof value[0] !== 'boolean';
}

/** The symbolic expressions among the arguments of a call. */
function externSizes({ args, outputs }: ExternKernel<Size>): SymInt[] {
  const found = new Set<SymInt>();
  const visit = (arg: ExternArg<Size>): void => {
    const sizes =
      arg.kind === 'buffer'
        ? [...arg.sizes, ...arg.strides, arg.offset]
        : arg.kind === 'value'
          ? [arg.value].flat()
          : [];
    for (const size of sizes) if (size instanceof SymInt) found.add(size);
    if (arg.kind === 'list') arg.items.forEach(visit);
  };
  [...args, ...outputs].forEach(visit);
  return [...found];
}

/** See the file header. A parameter that a kernel does not need at these sizes is kept. */
export function kernelAt(kernel: FusedKernel<Size>, valueOf: SizeValue): FusedKernel {
  if (isStaticKernel(kernel)) return kernel;
  if (kernel.kind === 'extern') return externAt(kernel, valueOf);
  return mapKernel(kernel, new Specialiser(valueOf));
}

const known = new WeakMap<FusedKernel<Size>, readonly SymInt[]>();

/** The symbolic expressions in a kernel, each once. */
export function kernelSizes(kernel: FusedKernel<Size>): readonly SymInt[] {
  let found = known.get(kernel);
  if (found === undefined) {
    found = kernel.kind === 'extern' ? externSizes(kernel) : collectSizes(kernel);
    known.set(kernel, found);
  }
  return found;
}

function collectSizes(kernel: GeneratedKernel<Size>): SymInt[] {
  const found = new Set<SymInt>();
  for (const { size } of kernelLoops(kernel)) if (typeof size !== 'number') found.add(size);
  const indices = kernelStmts(kernel).flatMap((stmt) =>
    stmt.kind === 'store' ? [stmt.index] : [],
  );
  for (const expr of postorder(kernelRoots(kernel)))
    if (expr.kind === 'load' || expr.kind === 'index' || expr.kind === 'random')
      indices.push(expr.index);
  for (let e = indices.pop(); e !== undefined; e = indices.pop()) {
    if (e.kind === 'size') found.add(e.size);
    else if (e.kind === 'add') indices.push(...e.terms);
    else if (e.kind === 'mul') indices.push(...e.factors);
    else if (e.kind === 'div' || e.kind === 'mod') indices.push(e.num, e.den);
  }
  return [...found];
}

/** Whether a kernel has numbers for all sizes. */
export function isStaticKernel(kernel: FusedKernel<Size>): kernel is FusedKernel {
  return kernelSizes(kernel).length === 0;
}
