/**
 * @file `KnownValues`: what expressions that were emitted are, by the mask that is around them.
 *
 * A value is known at the outermost level where everything it depends on is bound, until that level's loop closes
 * (see `Scope`).
 */
import type { Expr } from '@tessera/inductor-core';
import { type Dependencies, READS_MEMORY } from './dependencies.js';
import type { MaskContext, Scope } from './scope.js';
import type { Value } from './value.js';
import type { VectorBuilder } from './vector-builder.js';

/** An expression inside of a mask. */
export interface Masked {
  readonly expr: Expr;
  readonly mask: MaskContext | undefined;
}

/** See the file header. */
export class KnownValues {
  constructor(
    private readonly scope: Scope,
    private readonly deps: Dependencies,
    private readonly vb: VectorBuilder,
  ) {}

  /** The mask, if it matters: to expressions that read memory. */
  effective({ expr, mask }: Masked): MaskContext | undefined {
    return mask !== undefined && this.deps.of(expr).has(READS_MEMORY) ? mask : undefined;
  }

  /** The number of the level that an expression's value is known at. */
  levelOf({ expr, mask }: Masked): number {
    return Math.max(this.scope.levelOf(this.deps.of(expr)), mask?.level ?? 0);
  }

  find(wanted: Masked): Value | undefined {
    const { expr } = wanted;
    const mask = this.effective(wanted);
    const { values } = this.scope.levels[this.levelOf({ expr, mask })];
    return values.get(expr)?.get(mask);
  }

  /** A value that is known, in lanes. */
  get(wanted: Masked): Value {
    return inLanes(this.find(wanted)!);
  }

  keep(wanted: Masked, value: Value): void {
    const mask = this.effective(wanted);
    const { values } = this.scope.level(this.levelOf({ expr: wanted.expr, mask }));
    if (!values.has(wanted.expr)) values.set(wanted.expr, new Map());
    values.get(wanted.expr)!.set(mask, value);
  }

  /** The context inside a mask whose value is known. */
  inside({ expr, mask }: Masked): MaskContext {
    const level = this.levelOf({ expr, mask });
    const { masks } = this.scope.level(level);
    const known = masks.get(expr)?.get(mask);
    if (known !== undefined) return known;
    const own = this.get({ expr, mask });
    const value =
      mask === undefined ? own : this.scope.at(level, () => bothTrue(this.vb, mask.value, own));
    const made: MaskContext = { id: this.scope.nextMaskId(), value, level };
    if (!masks.has(expr)) masks.set(expr, new Map());
    masks.get(expr)!.set(mask, made);
    return made;
  }
}

/** Makes the lanes of a value here, where whatever comes later finds them. */
function inLanes(value: Value): Value {
  void value.regs;
  return value;
}

function bothTrue(vb: VectorBuilder, a: Value, b: Value): Value {
  return {
    kind: 'bool',
    uniform: a.uniform && b.uniform,
    regs: vb.bin('v128.and', a.regs, b.regs),
  };
}
