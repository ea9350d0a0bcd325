/**
 * @file Chooses how a loop kernel is vectorised: which loop variable lies along the lanes.
 *
 * *Row*: an inner variable; lanes are parts of one reduction. *Outer*: an outer variable; every lane is
 * its own outer point (pointwise kernels, column reductions). *Tile*: two outer variables, of which
 * some buffers are contiguous along one and some along the other (transposes); 4×4 blocks are
 * transposed in registers. The choice minimises estimated vector operations: contiguous accesses cost
 * one, strided and gathered ones about one per lane.
 */
import { type Size, sizeHint } from '@tessera/shared';
import { itemSize, type DType } from '@tessera/tensor';
import type { Expr, Stmt } from '../../ir/expr.js';
import type { LoopKernel } from '../../ir/kernel.js';
import { EXPENSIVE_OPS } from '../../ir/scalar-ops.js';
import { type LinearForm, coefficientOf, otherParts } from '../../ir/linear-form.js';
import { indexSymbols, indexValues, postorder, stmtRoots } from '../../ir/walk.js';
import type { LoopSpace } from './loop-space.js';
import { type PreparedSpace, takesSteps } from './prepare-space.js';

/** The chosen vectorisation. */
export interface LaneChoice {
  readonly mode: 'row' | 'outer';
  readonly lane: string;
  /** Equal to `lane` unless tiles are transposed. */
  readonly across: string;
  /** Vectors per iteration. */
  readonly groups: number;
  /** Estimated single-thread time of the whole kernel, in nanoseconds. */
  readonly nanoseconds: number;
}

interface Access {
  readonly form: LinearForm;
  readonly dtype: DType;
}

interface StageCost {
  readonly kind: 'outer' | 'inner';
  readonly accesses: readonly Access[];
  /** Operations, a transcendental one counting as 35. */
  readonly operations: number;
  readonly reductions: number;
  /** Those of the reductions that are running ones. */
  readonly scans: number;
}

function operationCost(expr: Expr): number {
  if (expr.kind === 'random') return 80;
  if (expr.kind !== 'op') return 0;
  const width = itemSize(expr.dtype) === 8 ? 2 : 1;
  if (EXPENSIVE_OPS.has(expr.op)) return width === 2 ? 80 : 35;
  return (
    (expr.op === 'div' || expr.op === 'sqrt' || expr.op === 'rsqrt' || expr.op === 'reciprocal'
      ? 4
      : 1) * width
  );
}

function stageCosts(kernel: LoopKernel<Size>, space: LoopSpace): StageCost[] {
  return kernel.stages.map(({ kind, body }) => {
    const order = postorder(body.flatMap(stmtRoots));
    const accesses: Access[] = [];
    for (const expr of order)
      if (expr.kind === 'load')
        accesses.push({ form: space.linear(expr.index), dtype: expr.dtype });
    for (const stmt of body)
      if (stmt.kind === 'store')
        accesses.push({
          form: space.linear(stmt.index),
          dtype: kernel.params.find((param) => param.name === stmt.buf)?.dtype ?? stmt.value.dtype,
        });
    return {
      kind,
      accesses,
      operations: order.reduce((sum, expr) => sum + operationCost(expr), 0),
      reductions: body.filter((stmt: Stmt) => stmt.kind === 'reduce').length,
      scans: body.filter((stmt: Stmt) => stmt.kind === 'reduce' && stmt.running === true).length,
    };
  });
}

/** Whether an index depends on a variable other than linearly, or on run-time values. */
function isEntangled(form: LinearForm, name: string): boolean {
  return otherParts(form).some(
    ([part]) => indexValues(part).length > 0 || indexSymbols(part).has(name),
  );
}

/** Vector operations for one vector of an access; `across` is the tile's other variable. */
function accessCost({ form, dtype }: Access, name: string, across: string | undefined): number {
  const width = itemSize(dtype) === 8 ? 2 : 1;
  if (isEntangled(form, name)) return 14;
  const step = coefficientOf(form, name);
  if (typeof step !== 'number') return 14;
  if (step === 0) return 0.4;
  if (step === 1) return width;
  if (across !== undefined && coefficientOf(form, across) === 1 && itemSize(dtype) <= 4) return 3;
  return 6;
}

/** Operations on a vector of a scan along its lanes. */
const SCAN_OPERATIONS = 12;

/** Picks lane variable, mode and number of groups. */
export function chooseLanes(
  kernel: LoopKernel<Size>,
  { space, outer, inner }: PreparedSpace,
): LaneChoice {
  const stages = stageCosts(kernel, space);
  const product = (names: readonly string[]): number =>
    names.reduce((n, name) => n * space.hint(name), 1);
  const outerPoints = product(outer);
  const innerPoints = product(inner);
  const positional = kernel.stages.some((stage) =>
    stage.body.some(
      (stmt) =>
        stmt.kind === 'reduce' &&
        (stmt.running === true || stmt.op === 'argmax' || stmt.op === 'argmin'),
    ),
  );

  const cost = (mode: 'row' | 'outer', lane: string, across: string | undefined): number => {
    const size = Math.max(1, space.hint(lane));
    const share = Math.ceil(size / 4) / size;
    return stages.reduce((sum, stage) => {
      const inRow = mode === 'row' && stage.kind === 'outer';
      const points = outerPoints * (stage.kind === 'inner' ? innerPoints : 1) * (inRow ? 1 : share);
      const accesses = stage.accesses.reduce(
        (total, access) => total + (inRow ? 0.4 : accessCost(access, lane, across)),
        0,
      );
      // Merging lanes at the end of a row costs about a dozen operations per result.
      const merging = mode === 'row' ? outerPoints * stage.reductions * 12 : 0;
      // A scan along the lanes moves values between them.
      const scanning = stage.scans * (mode === 'row' ? SCAN_OPERATIONS : 1);
      return sum + points * (accesses + stage.operations + stage.reductions + scanning) + merging;
    }, 0);
  };

  let best: { mode: 'row' | 'outer'; lane: string; across: string; cost: number } | undefined;
  const consider = (mode: 'row' | 'outer', lane: string, across: string): void => {
    // Rows stream memory in order, columns do not: a small handicap.
    const total =
      cost(mode, lane, across === lane ? undefined : across) *
      (mode === 'outer' && inner.length > 0 ? 1.1 : 1);
    if (best === undefined || total < best.cost * 0.999) best = { mode, lane, across, cost: total };
  };
  const rows = takesSteps(kernel) ? [] : positional ? inner.slice(-1) : [...inner].reverse();
  for (const lane of rows) consider('row', lane, lane);
  for (const lane of [...outer].reverse()) consider('outer', lane, lane);
  if (inner.length === 0) {
    for (const lane of [...outer].reverse()) {
      for (const across of outer)
        if (across !== lane && space.hint(across) >= 4 && space.hint(lane) >= 4)
          consider('outer', lane, across);
    }
  }
  const chosen = best!;
  const heaviest = Math.max(
    ...stages
      .filter((stage) => inner.length === 0 || stage.kind === 'inner')
      .map((stage) => stage.operations + stage.accesses.length),
    0,
  );
  return {
    mode: chosen.mode,
    lane: chosen.lane,
    across: chosen.across,
    groups:
      chosen.across === chosen.lane
        ? groupsFor(
            kernel,
            heaviest,
            lengthOf(space.size(chosen.lane)),
            chosen.mode === 'outer' && inner.length > 0,
          )
        : 4,
    // A vector operation takes about 0.1 ns where it overlaps with others (measured).
    nanoseconds: chosen.cost * 0.1,
  };
}

/**
 * Vectors per iteration: as many as hide the latency of the body, fewer where its live values would not
 * fit the sixteen registers (measured: one exp four, two three). Light column reductions take eight, so
 * that each row gives two cache lines. Short loops prefer a divisor.
 */
function groupsFor(
  kernel: LoopKernel<Size>,
  operations: number,
  size: number,
  isColumn: boolean,
): number {
  const isWide = kernel.params.some((param) => itemSize(param.dtype) === 8);
  const light = isColumn && operations <= 6 ? 8 : 4;
  const wanted = isWide || operations > 100 ? 2 : operations > 52 ? 3 : light;
  const vectors = Math.ceil(size / 4);
  if (vectors >= 64) return wanted;
  for (let groups = wanted; groups > 1; groups--) if (vectors % groups === 0) return groups;
  return Math.min(wanted, vectors);
}

/** A length to choose groups by; a symbolic one is taken to be long. */
function lengthOf(size: Size): number {
  return typeof size === 'number' ? size : Math.max(sizeHint(size), 256);
}
