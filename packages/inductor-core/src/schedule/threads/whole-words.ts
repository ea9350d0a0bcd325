/**
 * @file `wholeWords`: sums of products with packed weights, of which a step takes whole words.
 *
 * The parts of a word are the last inner variable. Four of them lie side by side in a vector and the other four are added
 * to them at once, so that a word is loaded once and every part is at a known place. Of `x · ((part - 8) · scale + zero)`
 * the scale and the zero are taken out of the sum of a word's parts. A part is not moved to the lowest bits, it is cut out
 * where it lies, and `x` is divided by what that makes it larger: `x` is the same for all columns. Two neighbouring words
 * with the same scale are one step: the scale is loaded once for both.
 *
 * The two terms of a step, products with the scale and what is left of the zero, are added one after the other: sums are
 * half as wide then, and leave registers to other threads (`Accumulator.narrow`).
 */
import type { Size } from '@tessera/shared';
import { IrBuilder } from '../../ir/build.js';
import { dependents } from '../../ir/dependents.js';
import type { Expr, Stmt } from '../../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import type { LoopKernel } from '../../ir/kernel.js';
import { fastest } from '../../ir/loop-vars.js';
import { operandsOf, wordPart } from '../../ir/word-part.js';

/** Parts of a word, and those of them in a vector. */
const PARTS = 8;
const LANES = 4;
const BITS = 4;
/** Words of a step where they have a scale in common. */
const WORDS = 2;

/** `x · ((part - 8) · scale + zero)`. */
interface PackedProduct {
  readonly x: Expr;
  readonly word: Expr;
  readonly scale: Expr;
  readonly zero: Expr;
}

/** See the file header; the same object where there are no such sums. */
export function wholeWords(kernel: LoopKernel<Size>): LoopKernel<Size> {
  const part = fastest(kernel.inner);
  const inner = kernel.stages.filter(({ kind }) => kind === 'inner');
  const body = inner.flatMap((stage) => stage.body);
  if (part?.size !== PARTS || inner.length !== 1 || !body.every(isSum)) return kernel;
  const values = body.map(({ value }) => value);
  const varying = dependents(values, new Set([part.name]));
  const packed = values.map((value) => packedProduct(value, part.name, varying));
  if (packed.every((each) => each === null)) return kernel;
  const pairs = pairedWords(kernel.inner.at(-2), values, packed);
  const loops = kernel.inner.map((loop) => {
    if (loop === part) return { ...loop, size: LANES };
    return loop === pairs ? { ...loop, size: (pairs.size as number) / WORDS } : loop;
  });
  const ir = new IrBuilder();
  for (const { name, size } of [...kernel.outer, ...loops]) ir.sym(name, size);
  const rewriter = new WordRewriter(ir, part.name, pairs?.name ?? null);
  const stages = kernel.stages.map((stage) =>
    stage !== inner[0]
      ? stage
      : {
          ...stage,
          body: body.map((stmt, i): Stmt => {
            const product = packed[i]!;
            const value = product === null ? rewriter.total(stmt.value) : rewriter.product(product);
            return { ...stmt, value };
          }),
        },
  );
  return { ...kernel, inner: loops, stages };
}

function isSum(stmt: Stmt): stmt is Extract<Stmt, { kind: 'reduce' }> {
  return stmt.kind === 'reduce' && stmt.op === 'sum' && stmt.value.dtype === 'float32';
}

/** The loop over words if neighbours always have a scale in common, or else null. */
function pairedWords(
  loop: SizedLoop | undefined,
  values: readonly Expr[],
  packed: readonly (PackedProduct | null)[],
): SizedLoop | null {
  if (typeof loop?.size !== 'number' || loop.size % WORDS !== 0) return null;
  const varying = dependents(values, new Set([loop.name]));
  const isCommon = packed.every(
    (each) => each === null || (!varying.has(each.scale) && !varying.has(each.zero)),
  );
  return isCommon ? loop : null;
}

/** The operands of a product that is such a one. */
function packedProduct(
  value: Expr,
  lane: string,
  varying: ReadonlySet<Expr>,
): PackedProduct | null {
  const factors = operandsOf(value, 'mul') ?? [];
  for (const [i, weight] of factors.entries()) {
    const [scaled, zero] = operandsOf(weight, 'add') ?? [];
    const [centred, scale] = operandsOf(scaled, 'mul') ?? [];
    const part = wordPart(operandsOf(centred, 'cast')?.[0]);
    if (part?.bits !== BITS || scale === undefined || zero === undefined) continue;
    const { index } = part.place;
    const isPlace = index.kind === 'sym' && index.name === lane;
    if (isPlace && ![part.word, scale, zero].some((each) => varying.has(each)))
      return { x: factors[1 - i]!, word: part.word, scale, zero };
  }
  return null;
}

/** Where a vector of parts is: low or high parts of one of the words of a step. */
interface Quarter {
  readonly word: number;
  readonly half: 0 | 1;
  readonly memo: Map<Expr, Expr>;
}

/** Expressions of a step: one vector of parts stands for all of its words'. */
class WordRewriter {
  private readonly quarters: readonly Quarter[];

  /** `pairs` is the variable of the words, of which two are a step; null for steps of one word. */
  constructor(
    private readonly ir: IrBuilder,
    private readonly part: string,
    private readonly pairs: string | null,
  ) {
    this.quarters = Array.from({ length: pairs === null ? 1 : WORDS }, (_, word) =>
      ([0, 1] as const).map((half): Quarter => ({ word, half, memo: new Map() })),
    ).flat();
  }

  /** The sum of a value over all parts. */
  total(value: Expr): Expr {
    return this.sum(this.quarters.map((quarter) => this.at(value, quarter)));
  }

  product({ x, word, scale, zero }: PackedProduct): Expr {
    const { ir } = this;
    const int = (value: number): Expr => ir.const('int32', value);
    const place = ir.op('mul', [ir.index('int32', ir.sym(this.part)), int(BITS)]);
    const mask = ir.op('shl', [int(2 ** BITS - 1), place]);
    const larger = ir.cast(ir.op('shl', [int(1), place]), 'float32');
    const smaller = ir.op('div', [ir.const('float32', 1), larger]);
    const products = this.quarters.map((quarter) => {
      const whole = this.at(word, quarter);
      const half = quarter.half === 0 ? whole : ir.op('shr', [whole, int(LANES * BITS)]);
      const parts = ir.cast(ir.op('and', [half, mask]), 'float32');
      return ir.op('mul', [ir.op('mul', [this.at(x, quarter), smaller]), parts]);
    });
    const [by, from] = [scale, zero].map((each) => this.at(each, this.quarters[0]!));
    const centre = ir.op('mul', [by!, ir.const('float32', 2 ** (BITS - 1))]);
    return ir.op('add', [
      ir.op('mul', [this.sum(products), by!]),
      ir.op('mul', [this.total(x), ir.op('sub', [from!, centre])]),
    ]);
  }

  private sum(terms: readonly Expr[]): Expr {
    return terms.reduce((total, term) => this.ir.op('add', [total, term]));
  }

  private at(expr: Expr, { word, half, memo }: Quarter): Expr {
    const { ir, part, pairs } = this;
    const place = ir.add(ir.sym(part), ir.int(half * LANES));
    const symbol = (name: string): IndexExpr | undefined => {
      if (name === part) return place;
      return name === pairs ? ir.add(ir.mul(ir.sym(name), ir.int(WORDS)), ir.int(word)) : undefined;
    };
    return ir.rewrite([expr], { symbol }, memo)[0]!;
  }
}
