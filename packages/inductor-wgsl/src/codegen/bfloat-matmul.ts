/**
 * @file Products of bfloat16 matrices by subgroup matrices of float16: a rewrite of the plan.
 *
 * A bfloat16 has 8 significant bits and a float16 has 11. So the values of a row are exact in float16, but for a power
 * of two, if the least of them is not smaller than the largest by more than 2²⁹. Each row of the left factor, and each
 * column of the right one, gets a power of two of its own; products of such float16 values are exact, as products of
 * the bfloat16 values are in float32, and results are multiplied by both powers again. Rows whose values lie further
 * apart, or are infinite or NaN, are left to a second product, in float32 as ever.
 */
import {
  contiguousAlongK,
  type BufferParam,
  type Expr,
  type FusedKernel,
  type IndexExpr,
  IrBuilder,
  isReduction,
  type LoopKernel,
  type LoopVar,
  type MatmulKernel,
  matmulShape,
  type PartialMatmul,
  postorder,
  type Stage,
  stmtRoots,
} from '@tessera/inductor-core';
import { matrixTile } from './matrix-tiles.js';
import { unusedName } from './names.js';
import type { Replacement } from './replace-kernels.js';
import { matmulPieces, parameters } from './split-matmul.js';
import type { WgslTarget } from './target.js';

/** Operations (two for each product) that are worth the other kernels, and those for each value that is converted. */
const ENOUGH = { inAll: 2 ** 33, each: 512 };
/** Most values of a converted factor: they take memory. */
const MOST_VALUES = 2 ** 27;
/** Pieces into which a product of such shape would be cut, and is not: it takes so much longer. */
const MOST_PIECES = 2;
/** Rows of sums side by side, where neighbours lie along rows. */
const PIECES = 64;

/** Largest values become at least 2¹⁵ and less than 2¹⁶; normal numbers of float16 begin at 2⁻¹⁴. */
const TOP = 15;
const LEAST = 2 ** -14;
/** Powers of two up to 2^±62, so that products of two of them, and of results, neither overflow nor lose bits. */
const STEPS = [32, 16, 8, 4, 2, 1];
const RANGE = { low: 2 ** -46, high: 2 ** 77 };
/** In the place of zeros, which are exact whatever they are multiplied by. */
const NO_VALUE = 2 ** 60;

/** Whether a value is a bfloat16, widened or not. */
function isBfloat(expr: Expr): boolean {
  const isCast = expr.kind === 'op' && expr.op === 'cast';
  if (expr.dtype === 'bfloat16') return isCast || expr.kind === 'load';
  return isCast && expr.dtype === 'float32' && isBfloat(expr.args[0]!);
}

/** What stands for a large product of bfloat16 matrices on a device with subgroup matrices; null for other kernels. */
export function bfloatProduct(kernel: FusedKernel, target: WgslTarget): Replacement | null {
  if (kernel.kind !== 'matmul' || target.matrices === null || !isBfloatProduct(kernel)) return null;
  const { batch, m, n, k } = matmulShape(kernel);
  const { product, ...replacement } = inHalves(kernel);
  const values = replacement.scratch.flatMap(({ dtype, numel }) =>
    dtype === 'float16' ? [numel] : [],
  );
  const least = Math.max(ENOUGH.inAll, ENOUGH.each * (values[0] + values[1]));
  const pays =
    2 * batch * m * n * k >= least &&
    values.every((count) => count <= MOST_VALUES) &&
    replacement.kernels.every(({ params }) => params.length <= target.maxStorageBuffers) &&
    matrixTile(product, target) !== null &&
    matmulPieces(product, target) <= MOST_PIECES;
  return pays ? replacement : null;
}

/** The kernels of a product that `isBfloatProduct` accepts; `product` is the one of halves, as if it made all results. */
export function inHalves(kernel: MatmulKernel): Replacement & { readonly product: MatmulKernel } {
  const e = new IrBuilder();
  const [a, b] = [new Factor(e, kernel, 'a'), new Factor(e, kernel, 'b')];
  const factor = e.op('mul', [a.factor(), b.factor()]);
  const epilogue = kernel.epilogue.map((stmt) => {
    if (stmt.kind !== 'store') return stmt;
    const [value] = e.rewrite([stmt.value], {
      acc: ({ dtype, id }) => e.op('mul', [e.acc(dtype, id), factor]),
    });
    return { ...stmt, value };
  });
  const read = (buffer: Scratch): BufferParam => ({ ...buffer, access: 'read' });
  const scales = [read(a.scale), read(b.scale)];
  const stored = parameters(kernel, kernel.epilogue.flatMap(stmtRoots), null, kernel);
  const product: MatmulKernel = {
    ...kernel,
    name: `${kernel.name}_halves`,
    params: [read(a.packed), read(b.packed), ...scales, ...stored.params],
    scalars: stored.scalars,
    a: a.half(),
    b: b.half(),
    epilogue,
  };
  const rest = { ...kernel, name: `${kernel.name}_rest`, params: [...kernel.params, ...scales] };
  const left = { rows: a.isLeft(), columns: b.isLeft() };
  const shared = (part: MatmulKernel, of: 'first' | 'rest'): PartialMatmul => ({
    ...part,
    share: { ...left, of },
  });
  return {
    kernels: [...a.kernels(), ...b.kernels(), shared(product, 'first'), shared(rest, 'rest')],
    scratch: [...a.scratch(), ...b.scratch()],
    product,
  };
}

/** Products of bfloat16 values whose epilogues may be emitted twice. */
export function isBfloatProduct(kernel: MatmulKernel): boolean {
  const { a, b, accDtype, epilogue } = kernel;
  return (
    accDtype === 'float32' &&
    kernel.k.length > 0 &&
    !isReduction(kernel) &&
    isBfloat(a) &&
    isBfloat(b) &&
    postorder([a, b, ...epilogue.flatMap(stmtRoots)]).every(({ kind }) => kind !== 'check')
  );
}

/** Points of a nest of loops. */
function points(vars: readonly LoopVar[]): number {
  return vars.reduce((count, { size }) => count * size, 1);
}

/** Memory between kernels. */
interface Scratch {
  readonly name: string;
  readonly dtype: 'float16' | 'float32';
}

/** A factor of the product, and what it becomes. */
class Factor {
  /** Variables of its rows: those of the product that it varies with, and its own. */
  private readonly rows: readonly LoopVar[];
  private readonly alongK: boolean;
  private readonly value: Expr;
  readonly values: number;
  /** Its values in float16. */
  readonly packed: Scratch;
  /** What results are multiplied by, negative for rows that are left alone; then what values are multiplied by. */
  readonly scale: Scratch;
  private readonly extremes: Scratch;
  /** Parts of the sum whose extremes are found side by side. */
  private readonly pieces: number;

  constructor(
    private readonly e: IrBuilder,
    private readonly kernel: MatmulKernel,
    private readonly side: 'a' | 'b',
  ) {
    const { batch, m, n, k, params } = kernel;
    const x = side === 'a' ? m : n;
    const used = new Set<string>();
    const expr = kernel[side];
    [this.value] = e.rewrite([expr], { symbol: (name) => void used.add(name) });
    this.rows = [...batch.filter(({ name }) => used.has(name)), ...x];
    this.alongK = contiguousAlongK({ name: side, expr, batch, x, k });
    this.values = this.count * points(k);
    const named = (what: string): string => unusedName(params, `${what}_${side}`);
    this.packed = { name: named('halves'), dtype: 'float16' };
    this.scale = { name: named('scales'), dtype: 'float32' };
    this.extremes = { name: named('extremes'), dtype: 'float32' };
    const [{ size }] = k;
    const choices = Array.from({ length: PIECES }, (_, i) => PIECES - i);
    this.pieces = this.alongK ? 1 : choices.find((pieces) => size % pieces === 0)!;
  }

  private get count(): number {
    return points(this.rows);
  }

  private get row(): IndexExpr {
    return this.linear(this.rows);
  }

  /** What its results are multiplied by. */
  factor(): Expr {
    return this.e.load('float32', this.scale.name, this.row);
  }

  /** Whether the product leaves a row alone. */
  isLeft(): Expr {
    return this.e.op('lt', [this.factor(), this.e.const('float32', 0)]);
  }

  /** Its values as the product reads them. */
  half(): Expr {
    const { e, packed } = this;
    return e.cast(e.load('float16', packed.name, this.linear(this.order)), 'float32');
  }

  scratch(): Replacement['scratch'] {
    const { packed, scale, extremes, count, pieces, values } = this;
    return [
      { ...packed, numel: values },
      { ...scale, numel: 2 * count },
      ...(pieces > 1 ? [{ ...extremes, numel: 2 * pieces * count }] : []),
    ];
  }

  /** Finds the scales, and makes halves: in one kernel where it can hold a row. */
  kernels(): readonly LoopKernel[] {
    const { e, kernel, rows, order, value, packed, scale, row, count, pieces } = this;
    const found = scales(e);
    const stored: Stage = {
      kind: 'outer',
      body: [
        { kind: 'store', buf: scale.name, index: row, value: found.signed },
        { kind: 'store', buf: scale.name, index: e.add(row, e.int(count)), value: found.up },
      ],
    };
    const index = this.linear(order);
    // Rows that are not exact in float16 are left alone.
    const packedBy = (kind: Stage['kind'], up: Expr): Stage => ({
      kind,
      body: [
        { kind: 'store', buf: packed.name, index, value: e.op('mul', [value, up]), isExact: true },
      ],
    });
    const extremes = this.extremesOf(value);
    if (pieces === 1) {
      const stages = [extremes, stored, packedBy('inner', found.up)];
      return [this.loop('pack', [rows, kernel.k], { value, writes: [scale, packed], stages })];
    }
    const up = e.load('float32', scale.name, e.add(row, e.int(count)));
    const stages = [packedBy('outer', up)];
    return [
      ...this.scalesInPieces(stored),
      this.loop('pack', [order, []], { value, reads: [scale], writes: [packed], stages }),
    ];
  }

  /** Extremes of pieces of the sums, then scales. */
  private scalesInPieces(stored: Stage): readonly LoopKernel[] {
    const { e, kernel, rows, value, pieces, scale, extremes, count } = this;
    const [first, ...others] = kernel.k;
    const piece: LoopVar = { name: unusedName([...rows, ...kernel.k], 'piece'), size: pieces };
    const steps: LoopVar = { name: first.name, size: first.size / pieces };
    const part = e.sym(piece.name, pieces);
    const place = e.add(e.scale(part, steps.size), e.sym(steps.name, steps.size));
    const [some] = e.rewrite([value], {
      symbol: (name) => (name === first.name ? place : undefined),
    });
    const at = this.linear([piece, ...rows]);
    const places = [at, e.add(at, e.int(pieces * count))];
    const keep: Stage = {
      kind: 'outer',
      body: places.map((index, id) => ({
        kind: 'store',
        buf: extremes.name,
        index,
        value: e.acc('float32', id),
      })),
    };
    const [high, low] = places.map((index) => e.load('float32', extremes.name, index));
    return [
      this.loop(
        'extremes',
        [
          [piece, ...rows],
          [steps, ...others],
        ],
        {
          value,
          writes: [extremes],
          stages: [this.extremesOf(some), keep],
        },
      ),
      this.loop('scales', [rows, [piece]], {
        reads: [extremes],
        writes: [scale],
        stages: [reduced(high, low), stored],
      }),
    ];
  }

  /** The largest magnitude, and the least other than zero; NaN with NaN. */
  private extremesOf(value: Expr): Stage {
    const { e } = this;
    const number = (of: number): Expr => e.const('float32', of);
    const size = e.op('abs', [value]);
    const low = e.op('where', [e.op('eq', [size, number(0)]), number(NO_VALUE), size]);
    return reduced(size, low);
  }

  /** Variables in the order in which halves lie in memory: as the values do. */
  private get order(): readonly LoopVar[] {
    const { rows, alongK, kernel, side } = this;
    const own = kernel[side === 'a' ? 'm' : 'n'];
    if (alongK) return [...rows, ...kernel.k];
    return [...rows.slice(0, rows.length - own.length), ...kernel.k, ...own];
  }

  private linear(vars: readonly LoopVar[]): IndexExpr {
    const { e } = this;
    let index = e.int(0);
    for (const { name, size } of vars) index = e.add(e.scale(index, size), e.sym(name, size));
    return index;
  }

  /** A kernel of a part's name over outer and inner variables. */
  private loop(
    part: string,
    [outer, inner]: readonly [readonly LoopVar[], readonly LoopVar[]],
    { value, reads = [], writes, stages }: LoopParts,
  ): LoopKernel {
    const { kernel, side } = this;
    const { params, scalars } = parameters(kernel, value === undefined ? [] : [value], null);
    return {
      kind: 'loop',
      name: `${kernel.name}_${part}_${side}`,
      params: [
        ...params,
        ...reads.map((buffer) => ({ ...buffer, access: 'read' }) as const),
        ...writes.map((buffer) => ({ ...buffer, access: 'write' }) as const),
      ],
      scalars,
      outer,
      inner,
      stages,
    };
  }
}

/** What a kernel of a factor does: with the factor's own values, and with memory between kernels. */
interface LoopParts {
  readonly value?: Expr;
  readonly reads?: readonly Scratch[];
  readonly writes: readonly Scratch[];
  readonly stages: readonly Stage[];
}

function reduced(high: Expr, low: Expr): Stage {
  const dtype = 'float32';
  return {
    kind: 'inner',
    body: [
      { kind: 'reduce', op: 'max', ids: [0], dtype, value: high },
      { kind: 'reduce', op: 'min', ids: [1], dtype, value: low },
    ],
  };
}

/** Scales of a row of which the extremes are known; what results are multiplied by is negative if it is left alone. */
function scales(e: IrBuilder): { readonly signed: Expr; readonly up: Expr } {
  const [high, low] = [e.acc('float32', 0), e.acc('float32', 1)];
  const number = (value: number): Expr => e.const('float32', value);
  let size = e.op('maximum', [high, number(RANGE.low)]);
  let [up, down] = [number(1), number(1)];
  const times = (value: Expr, factor: number, where: Expr): Expr =>
    e.op('where', [where, e.op('mul', [value, number(factor)]), value]);
  for (const isSmall of [true, false])
    for (const step of STEPS) {
      const power = 2 ** (isSmall ? step : -step);
      const is = isSmall
        ? e.op('lt', [size, number(2 ** (TOP + 1 - step))])
        : e.op('ge', [size, number(2 ** (TOP + step))]);
      size = times(size, power, is);
      up = times(up, power, is);
      down = times(down, 1 / power, is);
    }
  const isWide = e.op('lt', [e.op('mul', [low, up]), number(LEAST)]);
  const isLarge = e.op('or', [e.op('isnan', [high]), e.op('ge', [high, number(RANGE.high)])]);
  const isLeft = e.op('or', [isLarge, isWide]);
  return { signed: e.op('where', [isLeft, e.op('neg', [down]), down]), up };
}
