/**
 * @file `LoweredTensor`: a tensor during lowering.
 *
 * It is one of three things: an expression not computed yet (over the canonical variables of its
 * sizes), a buffer, or a view: an index map onto one of the former. Operators read it at coordinates
 * (`load`), which inlines expressions and composes views. `realize` gives it (or what it views) memory
 * in place, so that all later readers see the buffer.
 *
 * Canonical variables depend on the sizes alone, so pointwise operators of equal shapes combine
 * expressions without any substitution. A dimension of size 1 has the constant coordinate 0.
 */
import type { DType } from '@tessera/tensor';
import type { Expr } from '../ir/expr.js';
import type { IndexExpr } from '../ir/index-expr.js';
import type { IrBuffer } from './ir-node.js';
import type { Lowering } from './lowering.js';
import { type Shape, fixedShape } from './shape-math.js';

type Source =
  | { readonly kind: 'expr'; readonly expr: Expr }
  | { readonly kind: 'buffer'; readonly buffer: IrBuffer }
  | { readonly kind: 'view'; readonly base: LoweredTensor; readonly coords: readonly IndexExpr[] };

/** See the file header. Sizes in elements. */
export class LoweredTensor {
  private source: Source;
  /** Strides that the value has in eager, used when it is given memory; null for row-major. */
  layout: Shape | null = null;
  private cached: Expr | null = null;

  constructor(
    private readonly lowering: Lowering,
    readonly dtype: DType,
    /** Sizes, which may be symbolic. */
    readonly shape: Shape,
    source: Source,
  ) {
    this.source = source;
  }

  /** The sizes as numbers: where the graph has symbols, it is lowered again without them. */
  get sizes(): readonly number[] {
    return fixedShape(this.shape);
  }

  /** The element at `coords`, one index per dimension. */
  load(coords: readonly IndexExpr[]): Expr {
    const { source, lowering } = this;
    switch (source.kind) {
      case 'expr':
        return lowering.at(source.expr, this.shape, coords);
      case 'buffer':
        return lowering.loadBuffer(source.buffer, coords);
      case 'view':
        return source.base.load(lowering.indicesAt(source.coords, this.shape, coords));
    }
  }

  /** The element at this tensor's own canonical variables. */
  get expr(): Expr {
    if (this.source.kind === 'expr') return this.source.expr;
    this.cached ??= this.load(this.lowering.vars(this.shape));
    return this.cached;
  }

  /** A view: its element at canonical variables is this tensor's element at `coords`. */
  view(sizes: Shape, coords: readonly IndexExpr[]): LoweredTensor {
    const { source, lowering } = this;
    if (source.kind !== 'view')
      return new LoweredTensor(lowering, this.dtype, sizes, { kind: 'view', base: this, coords });
    return new LoweredTensor(lowering, this.dtype, sizes, {
      kind: 'view',
      base: source.base,
      coords: lowering.indicesAt(source.coords, this.shape, coords),
    });
  }

  /** Whether reading it needs no computation. */
  get isRealized(): boolean {
    return (
      this.source.kind === 'buffer' || (this.source.kind === 'view' && this.source.base.isRealized)
    );
  }

  get isView(): boolean {
    return this.source.kind === 'view';
  }

  /** Gives the value memory if it has none; a view realizes what it views. Returns that buffer. */
  realize(): IrBuffer {
    const { source } = this;
    if (source.kind === 'buffer') return source.buffer;
    this.cached = null;
    if (source.kind === 'view') return source.base.realize();
    const buffer = this.lowering.storeValue(source.expr, this.dtype, this.shape, this.layout);
    this.source = { kind: 'buffer', buffer };
    return buffer;
  }

  /** The buffer that this is, or is a view of, and the place in it of the element at `coords`; null for other values. */
  placeOf(
    coords: readonly IndexExpr[],
  ): { readonly buffer: IrBuffer; readonly coords: readonly IndexExpr[] } | null {
    const { source, lowering } = this;
    if (source.kind === 'buffer') return { buffer: source.buffer, coords };
    if (source.kind === 'expr') return null;
    return source.base.placeOf(lowering.indicesAt(source.coords, this.shape, coords));
  }

  /** The buffer if this is one in full, not a view of it. */
  get wholeBuffer(): IrBuffer | null {
    return this.source.kind === 'buffer' ? this.source.buffer : null;
  }
}
