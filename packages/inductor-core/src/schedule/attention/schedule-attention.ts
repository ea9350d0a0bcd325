/**
 * @file Attention and its gradients on threads: tiles of weights are made, used and forgotten.
 *
 * A group makes a tile of rows of the results. It goes through the columns tile by tile: products of `scores` (in slabs,
 * as in schedule-product.ts), weights of them in registers, the weights into shared memory, products with `values`. A
 * softmax keeps the largest logit and the sum of each row, and scales what it has when a larger one comes. Tiles outside
 * of a triangle are not visited.
 */
import { type Size, sizeCeilDiv } from '@tessera/shared';
import type { IndexExpr } from '../../ir/index-expr.js';
import type { AttentionKernel } from '../../ir/kernel.js';
import { extent } from '../../ir/loop-vars.js';
import { sum, times, variable, whole } from '../kernel/places.js';
import { apply, register, set } from '../kernel/register-values.js';
import type { RegisterOp, RegisterValue } from '../kernel/registers.js';
import type { ScheduledBody, ScheduledKernel, ScheduledStmt } from '../kernel/scheduled-kernel.js';
import { placeThread } from '../products/product-threads.js';
import { isLarge } from '../products/product-tiles.js';
import { addProducts, registerBlock } from '../products/register-block.js';
import { eachRow, Slab, type SlabRow, walkSlabs } from '../products/slab.js';
import type { ThreadTarget } from '../threads/thread-target.js';
import { attentionFrame, type AttentionOperand, visitColumns } from './attention-frame.js';
import {
  attentionNeeds,
  attentionPadding,
  type AttentionTile,
  chooseAttentionTile,
  resultVectors,
  tileColumns,
} from './attention-tiles.js';
import {
  publishWeights,
  storeWeights,
  type TileRegisters,
  weighScores,
  weightMemory,
  weightRegisters,
  weightsAt,
} from './attention-weights.js';
import { RunningSoftmax } from './running-softmax.js';
import { alongOf, columnShift, downOf, rowShift } from './tile-rows.js';

/** Decisions that are otherwise made by the shape. */
export interface AttentionChoices {
  readonly tile?: AttentionTile;
  /** Whether the steps of a slab are written out. */
  readonly unrolled?: boolean;
  /** Threads of a row find its largest logit without memory: they are of one subgroup. */
  readonly inSubgroup?: boolean;
}

/** Schedules attention. */
export function scheduleAttention(
  kernel: AttentionKernel<Size>,
  target: ThreadTarget,
  choices: AttentionChoices = {},
): ScheduledKernel {
  const needs = attentionNeeds(kernel);
  const tile = choices.tile ?? chooseAttentionTile(needs, target);
  const { bm, bn, bk, tm, tn } = tile;
  const { batch, rows, columns, width } = needs;
  const { accDtype } = kernel;
  const groups = resultVectors(tile, width);
  const across = tileColumns(tile);
  const extents = { bm, bn, covered: groups * across * 4, bk, bj: bn };
  const frame = attentionFrame(kernel, extents, target);
  const { grid, routines, place } = frame;
  if (grid.extent === 0)
    return {
      kernel,
      grid,
      threads: { name: 'lane', extent: 1 },
      accumulators: [],
      shared: [],
      body: [],
    };
  const isUnrolled =
    choices.unrolled ?? (!target.software && isLarge({ batch, m: rows, n: columns, k: width }));
  const threads = (bm / tm) * across;
  const padding = attentionPadding(tile, needs, target);
  const slabOf = (role: string, { operand, ...at }: AttentionOperand): Slab =>
    new Slab({
      ...at,
      name: operand.name,
      array: `slab_${role}`,
      bk,
      threads,
      // Threads of a software adapter run one after the other: loading ahead gains nothing.
      isLooped: target.software,
      padding,
      isNumbered: isUnrolled,
      dtype: accDtype,
    });
  const scoreSlabs = frame.factors.map(([a, b]) => [slabOf('a', a), slabOf('b', b)] as const);
  const valueSlabs = frame.values.map((value) => slabOf('v', value));
  const scores = kernel.scores.map((_, p) => registerBlock(`s${p}_`, tm, tn / 4));
  const results = kernel.values.map((_, q) => registerBlock(`r${q}_`, tm, groups));
  const weights = weightRegisters(kernel, tile, scores);
  const { inSubgroup = false } = choices;
  const softmax = kernel.softmax
    ? new RunningSoftmax({ tile, logits: scores[0]!, target, inSubgroup })
    : null;
  const multiply = (
    to: TileRegisters,
    a: (row: SlabRow, vector: IndexExpr) => RegisterValue,
    b: Slab,
  ): ScheduledStmt =>
    eachRow({ bk, isUnrolled }, (row) =>
      addProducts(
        to,
        (r) => a(row, sum(variable('row'), whole(rowShift(tile, r)))),
        (g) => b.vectorAt(row, sum(variable('column'), whole(columnShift(tile, g)))),
      ),
    );
  const score = (p: number): ScheduledBody => {
    const [a, b] = scoreSlabs[p]!;
    const product = multiply(scores[p]!, (row, vector) => a.vectorAt(row, vector), b);
    const steps = sizeCeilDiv(extent(kernel.k), bk);
    return [
      { kind: 'clear', of: scores[p]!.flat() },
      ...walkSlabs({ slabs: [a, b], steps, bk, multiply: [product] }),
    ];
  };
  const sumValues = (q: number): ScheduledBody => {
    const slab = valueSlabs[q]!;
    const first = variable('first_k');
    const product = multiply(
      results[q]!,
      (row, vector) => weightsAt(sum(first, row.k), vector),
      slab,
    );
    return [
      ...(q > 0 ? [{ kind: 'barrier' } as const] : []),
      ...publishWeights(tile, weights[q]!),
      ...walkSlabs({
        slabs: [slab],
        steps: bn / bk,
        bk,
        origin: variable('first_j'),
        multiply: [{ kind: 'let', name: 'first_k', index: times(variable('step'), bk) }, product],
      }),
    ];
  };
  const shared = [...scoreSlabs.flat(), ...valueSlabs].map((slab) => slab.shared);
  return {
    kernel,
    grid,
    threads: { name: 'lane', extent: threads },
    accumulators: [],
    // Those of a role are never needed at once.
    shared: [
      ...new Map(shared.map((array) => [array.name, array])).values(),
      weightMemory(tile, padding > 0 ? 1 : 0),
      ...(softmax?.shared ?? []),
    ],
    registers: accDtype,
    routines,
    body: [
      ...frame.begin,
      ...placeThread(tile, target),
      ...results.map((block) => ({ kind: 'clear', of: block.flat() }) as const),
      ...(softmax?.begin ?? []),
      ...visitColumns(kernel, tile, {
        visit: [
          ...scores.flatMap((_, p) => score(p)),
          ...weighScores(tile, place, scores, weights),
          ...(kernel.weightStores.length === 0 ? [] : storeWeights(tile, place, weights)),
          ...(softmax?.advance ?? []),
          ...(softmax === null ? [] : eachResult(results[0]!, 'mul', (i) => softmax.shrink(i))),
          ...results.flatMap((_, q) => sumValues(q)),
        ],
      }),
      ...(softmax?.finish ?? []),
      ...(softmax === null ? [] : eachResult(results[0]!, 'div', (i) => softmax.divisor(i))),
      ...(kernel.epilogue.length > 0 ? storeResults(tile, results) : []),
      ...(softmax === null || kernel.rowStores.length === 0 ? [] : [softmax.storeRows]),
    ],
  };
}

/** What an operation makes of each row of results, and a value of the row. */
function eachResult(
  results: TileRegisters,
  op: RegisterOp,
  by: (i: number) => RegisterValue,
): ScheduledBody {
  return results.flatMap((names, i) =>
    names.map((name) => set(name, apply(op, register(name), by(i)))),
  );
}

function storeResults(tile: AttentionTile, results: readonly TileRegisters[]): ScheduledBody {
  return results[0]!.flatMap((names, i) =>
    names.map((_, g): ScheduledStmt => {
      const of = results.map((block) => register(block[i]![g]!));
      const at = [variable('batch'), downOf(tile, i), alongOf(tile, g)];
      return { kind: 'visit', routine: 'store_c', at, of };
    }),
  );
}
