/**
 * @file Mutations of inputs: `copy_` epilogues as stores into the input's own memory.
 *
 * Everything in the graph reads the old contents, so the stores come last and the scheduler orders them
 * after every reader. A value that reads its own target elsewhere than where it writes, and mutations
 * that read each other in a circle, go through scratch memory; all others cost no copy.
 */
import type { Steps } from '@tessera/shared';
import type { IrBuffer } from './ir-node.js';
import { postorder } from '../ir/walk.js';
import type { Expr } from '../ir/expr.js';
import type { LoweredTensor } from './lowered-tensor.js';
import type { Lowering } from './lowering.js';
import { operandArg, operandExpr } from './ops/elementwise.js';
import type { LoweredArg } from './registry.js';

interface Mutation {
  readonly buffer: IrBuffer;
  value: Expr;
}

/** Contents that an input gets, and where in the program it did; null if nobody knows. */
interface Update {
  readonly target: LoweredTensor;
  readonly value: LoweredArg;
  readonly at: number | null;
}

/** Adds the stores of all mutations, with a pause after each. */
export function* mutationSteps(l: Lowering, mutations: readonly Update[]): Steps<void> {
  l.origin = { op: 'copy_', node: null };
  const pending: Mutation[] = [];
  for (const { target, value, at } of mutations) {
    if (value === target) continue;
    const buffer = target.wholeBuffer!;
    if (at !== null) l.programOrder.noteWrite(buffer, at);
    const expr = l.ir.cast(
      operandExpr(l, operandArg(value, 'aten::copy_'), target.shape, target.dtype),
      target.dtype,
    );
    pending.push({
      buffer,
      value: readsElsewhere(l, expr, buffer) ? scratch(l, expr, buffer) : expr,
    });
    yield;
  }
  if (pending.length > 1) breakCircles(l, pending);
  for (const { buffer, value } of pending) {
    yield;
    l.addPointwise(buffer, value, true);
  }
}

/** The value through memory of its own, in the layout of its target. */
function scratch(l: Lowering, expr: Expr, buffer: IrBuffer): Expr {
  const value = l.pointwise(buffer.sizes, expr);
  value.layout = buffer.strides;
  value.realize();
  return value.expr;
}

function readsElsewhere(l: Lowering, expr: Expr, buffer: IrBuffer): boolean {
  const own = l.address(buffer, l.vars(buffer.sizes));
  return postorder([expr]).some(
    (e) => e.kind === 'load' && e.buf === buffer.name && e.index !== own,
  );
}

function loadsOf(expr: Expr): Set<string> {
  return new Set(postorder([expr]).flatMap((e) => (e.kind === 'load' ? [e.buf] : [])));
}

/** A mutation must precede the one that overwrites what it reads; values in a circle get scratch memory. */
function breakCircles(l: Lowering, mutations: Mutation[]): void {
  const byName = new Map(mutations.map((m) => [m.buffer.name, m]));
  const reads = new Map(
    mutations.map((m) => [
      m,
      [...loadsOf(m.value)]
        .map((name) => byName.get(name))
        .filter((other): other is Mutation => other !== undefined && other !== m),
    ]),
  );
  // Kahn's algorithm over "reads before overwritten"; what remains is circular.
  const readers = new Map(mutations.map((m) => [m, 0]));
  for (const targets of reads.values())
    for (const target of targets) readers.set(target, readers.get(target)! + 1);
  const ready = mutations.filter((m) => readers.get(m) === 0);
  const ordered: Mutation[] = [];
  const done = new Set<Mutation>();
  while (done.size < mutations.length) {
    const next = ready.pop();
    if (next === undefined) {
      // Each of these is read by another: as many steps from reader to reader end in a circle.
      const left = mutations.filter((m) => !done.has(m));
      const stuck = left.reduce((at) => left.find((m) => reads.get(m)!.includes(at))!);
      stuck.value = scratch(l, stuck.value, stuck.buffer);
      for (const target of reads.get(stuck)!) release(target, readers, ready);
      reads.set(stuck, []);
      if (readers.get(stuck) === 0) ready.push(stuck);
      continue;
    }
    if (done.has(next)) continue;
    done.add(next);
    ordered.push(next);
    for (const target of reads.get(next)!) release(target, readers, ready);
  }
  mutations.splice(0, mutations.length, ...ordered);
}

function release(target: Mutation, readers: Map<Mutation, number>, ready: Mutation[]): void {
  const left = readers.get(target)! - 1;
  readers.set(target, left);
  if (left === 0) ready.push(target);
}
