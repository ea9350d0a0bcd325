/**
 * @file A factor of a product of bfloat16 matrices (bfloat-matmul.ts), and the kernels that make its float16 values:
 * they find the extremes of each row, the power of two that brings them into float16, and multiply by it.
 */
import {
  contiguousAlongK,
  type Expr,
  type IndexExpr,
  type IrBuilder,
  type LoopKernel,
  type LoopVar,
  type MatmulKernel,
  type Replacement,
  type Stage,
  unusedName,
  usedParameters,
} from '@tessera/inductor-core';

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

/** Points of a nest of loops. */
function points(vars: readonly LoopVar[]): number {
  return vars.reduce((count, { size }) => count * size, 1);
}

/** Memory between kernels. */
export interface Scratch {
  readonly name: string;
  readonly dtype: 'float16' | 'float32';
}

/** A factor of the product, and what it becomes. */
export class BfloatFactor {
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

  scratch(): Replacement<MatmulKernel>['scratch'] {
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
    const { params, scalars } = usedParameters(kernel, value === undefined ? [] : [value]);
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
