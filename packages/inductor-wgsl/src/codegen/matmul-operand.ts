/**
 * @file Loading one operand of a matmul into workgroup memory.
 *
 * Both operands are slabs of `bk` rows with `x` (m or n) along the row, so A is transposed on the way. A
 * unit is four values along whichever direction is contiguous in memory, so that it is one vec4 load where sizes
 * are multiples of four. Threads that follow each other take units along that direction.
 */
import { isMultiple } from '@tessera/shared';
import {
  postorder,
  type Expr,
  type SizedLoop,
  extent,
  fastest,
  fillsLanes,
  moves,
  LaneContext,
  type LaneSpec,
  laneAccess,
} from '@tessera/inductor-core';
import { wideText } from './buffer-access.js';
import { CodeBlock } from './code-block.js';
import { ExprEmitter } from './expr-emitter.js';
import type { SymbolText } from './index-emitter.js';
import { decompose } from './loop-vars.js';
import type { ProgramBuilder } from './program.js';
import { widen } from './value.js';
import { halfVector } from './half-values.js';
import type { LoadedOperand, LoadExpr } from './wide-halves.js';
import { typeName, type ScalarType } from './wgsl-types.js';

/** One operand. */
export interface Operand {
  /** Part of the names in generated code; a product's are `a` and `b`. */
  readonly name: string;
  readonly expr: Expr;
  readonly batch: readonly SizedLoop[];
  /** The operand's own variables: m of `a`, n of `b`. */
  readonly x: readonly SizedLoop[];
  readonly k: readonly SizedLoop[];
}

/**
 * Which way a slab is loaded: four values along x by each thread, with neighbouring threads along x or along k, or
 * four along k where those lie together in memory.
 */
export type LoadOrder = 'along x' | 'threads along k' | 'vectors along k';

/** The order in which an operand lies in memory. */
export function loadOrder(operand: Operand): LoadOrder {
  if (!contiguousAlongK(operand)) return 'along x';
  // Lanes that wander over several variables cost more arithmetic than vectors save.
  return lanesAlong(operand.k).scattered === undefined ? 'vectors along k' : 'threads along k';
}

/** What differs between the four values that a thread loads. */
export function operandLanes(operand: Operand, order: LoadOrder): LaneSpec {
  return lanesAlong(order === 'vectors along k' ? operand.k : operand.x);
}

/** An operand that is loaded in an order. */
export function loadedOperand(operand: Operand, order: LoadOrder): LoadedOperand {
  const context = new LaneContext(operandLanes(operand, order), [operand.expr]);
  return { operand, order, context };
}

/** How four lanes cover variables: within the fastest where that is a multiple of four or alone. */
export function lanesAlong(vars: readonly SizedLoop[]): LaneSpec {
  const lane = fastest(vars);
  if (lane === null) return {};
  const moving = vars.filter(moves);
  if (fillsLanes(lane) || moving.length === 1) return { lane: lane.name };
  return { scattered: new Set(moving.map((v) => v.name)) };
}

/** Whether neighbouring k are neighbours in memory more often than neighbouring x. */
export function contiguousAlongK(operand: Operand): boolean {
  const k = fastest(operand.k);
  const x = fastest(operand.x);
  if (k === null) return false;
  let score = 0;
  for (const expr of postorder([operand.expr])) {
    if (expr.kind !== 'load') continue;
    const along = (lane: string | undefined): number | null =>
      lane === undefined
        ? 0
        : laneAccess(expr.index, {
            lane,
            step: 1,
            scattered: NONE,
            alignments: NOTHING,
            isUniform: () => false,
          }).stride;
    if (along(k.name) === 1) score++;
    if (along(x?.name) === 1) score--;
  }
  return score > 0;
}

const NONE: ReadonlySet<string> = new Set();
const NOTHING: ReadonlyMap<string, number> = new Map();

/** Declares the variables of x at the four lanes that begin at `position`, a multiple of four. */
export function decomposeLanes(
  block: CodeBlock,
  builder: ProgramBuilder,
  x: readonly SizedLoop[],
  spec: LaneSpec,
  position: string,
): Map<string, SymbolText> {
  if (spec.scattered !== undefined) {
    block.line(`let ${position}_lanes = ${position} + vec4u(0u, 1u, 2u, 3u);`);
    return decompose(block, builder, x, `${position}_lanes`, { width: 4 });
  }
  if (spec.lane === undefined) return decompose(block, builder, x, position);
  if (x.filter(moves).length === 1) {
    const symbols = decompose(block, builder, x, position);
    return symbols.set(spec.lane, {
      text: position,
      width: 1,
      lanes: `(${position} + vec4u(0u, 1u, 2u, 3u))`,
    });
  }
  const groups = builder.names.fresh('quad');
  block.line(`let ${groups} = ${position} / 4u;`);
  return decompose(block, builder, x, groups, { lane: spec.lane });
}

/**
 * Adds `fn load_<name>(batch, along, depth) -> vec4`: four values along x or k, zero beyond the end of k. Where what is read
 * in a wide way is given, eight halves as words.
 */
export function addLoadFunction(
  builder: ProgramBuilder,
  { operand, context, order, wide }: LoadedOperand & { readonly wide: LoadExpr | null },
  type: ScalarType | 'f16',
  checkK: boolean,
): void {
  const block = new CodeBlock();
  const emitter = new ExprEmitter(builder, context, [operand.expr]);
  const spec = operandLanes(operand, order);
  const along = (vars: readonly SizedLoop[], place: string, hasLanes: boolean) =>
    hasLanes
      ? decomposeLanes(block, builder, vars, spec, place)
      : decompose(block, builder, vars, place);
  const inK = order === 'vectors along k';
  const symbols = new Map([
    ...decompose(block, builder, operand.batch, 'batch'),
    ...along(operand.x, 'along', !inK),
    ...along(operand.k, 'depth', inK),
  ]);
  emitter.enter(block, symbols);
  const vector = wide === null ? typeName(type, 4) : 'vec4u';
  const depth = extent(operand.k);
  const end = (): string => builder.size(depth);
  if (wide !== null) {
    if (checkK) block.line(`if (depth >= ${end()}) { return vec4u(0); }`);
    block.line(`return ${wideText(builder.buffer(wide.buf), emitter.indexBase(wide.index))};`);
  } else {
    const value =
      type === 'f16' ? halfVector(emitter, operand.expr) : widen(emitter.value(operand.expr), 4);
    const inside = (): string =>
      inK && !isMultiple(depth, 4)
        ? `(vec4u(depth) + vec4u(0u, 1u, 2u, 3u)) < vec4u(${end()})`
        : `depth < ${end()}`;
    block.line(checkK ? `return select(${vector}(0), ${value}, ${inside()});` : `return ${value};`);
  }
  builder.addFunction(
    `load_${operand.name}(batch: u32, along: u32, depth: u32) -> ${vector}`,
    block,
  );
}
