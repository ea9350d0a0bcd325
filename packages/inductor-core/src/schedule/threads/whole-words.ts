/**
 * @file `wholeWords`: sums of products with packed weights, of which a step takes whole words.
 *
 * The parts of a word are the last inner variable. Four of them lie side by side in a vector and the other four are added
 * to them at once, so that a word is loaded once and every part is at a known place. Of `x · ((part - 8) · scale + zero)`
 * the scale and the zero are taken out of the sum of a word's parts. A part is not moved to the lowest bits, it is cut out
 * where it lies, and `x` is divided by what that makes it larger: `x` is the same for all columns.
 */
import type { Size } from '@tessera/shared';
import { IrBuilder } from '../../ir/build.js';
import { dependents } from '../../ir/dependents.js';
import type { Expr, Stmt } from '../../ir/expr.js';
import type { LoopKernel } from '../../ir/kernel.js';
import { fastest } from '../../ir/loop-vars.js';
import { operandsOf, wordPart } from '../../ir/word-part.js';

/** Parts of a word, and those of them in a vector. */
const PARTS = 8;
const LANES = 4;
const BITS = 4;

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
  const loops = kernel.inner.map((loop) => (loop === part ? { ...loop, size: LANES } : loop));
  const ir = new IrBuilder();
  for (const { name, size } of [...kernel.outer, ...loops]) ir.sym(name, size);
  const rewriter = new WordRewriter(ir, part.name);
  const stages = kernel.stages.map((stage) =>
    stage !== inner[0]
      ? stage
      : {
          ...stage,
          body: body.map((stmt, i): Stmt => {
            const product = packed[i]!;
            const value =
              product === null ? rewriter.halves(stmt.value) : rewriter.product(product);
            return { ...stmt, value };
          }),
        },
  );
  return { ...kernel, inner: loops, stages };
}

function isSum(stmt: Stmt): stmt is Extract<Stmt, { kind: 'reduce' }> {
  return stmt.kind === 'reduce' && stmt.op === 'sum' && stmt.value.dtype === 'float32';
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

/** Expressions of a step: one vector of parts stands for all of a word's. */
class WordRewriter {
  private readonly memos = [new Map<Expr, Expr>(), new Map<Expr, Expr>()] as const;

  constructor(
    private readonly ir: IrBuilder,
    private readonly part: string,
  ) {}

  /** A value of the low parts plus that of the high ones. */
  halves(value: Expr): Expr {
    return this.ir.op('add', [this.at(value, 0), this.at(value, 1)]);
  }

  product({ x, word, scale, zero }: PackedProduct): Expr {
    const { ir } = this;
    const int = (value: number): Expr => ir.const('int32', value);
    const place = ir.op('mul', [ir.index('int32', ir.sym(this.part)), int(BITS)]);
    const mask = ir.op('shl', [int(2 ** BITS - 1), place]);
    const larger = ir.cast(ir.op('shl', [int(1), place]), 'float32');
    const smaller = ir.op('div', [ir.const('float32', 1), larger]);
    const [whole, by, from] = [word, scale, zero].map((each) => this.at(each, 0));
    const high = ir.op('shr', [whole!, int(LANES * BITS)]);
    const products = [whole!, high].map((half, h) => {
      const parts = ir.cast(ir.op('and', [half, mask]), 'float32');
      return ir.op('mul', [ir.op('mul', [this.at(x, h as 0 | 1), smaller]), parts]);
    });
    const centre = ir.op('mul', [by!, ir.const('float32', 2 ** (BITS - 1))]);
    return ir.op('add', [
      ir.op('mul', [ir.op('add', products), by!]),
      ir.op('mul', [this.halves(x), ir.op('sub', [from!, centre])]),
    ]);
  }

  /** An expression at the low or the high parts. */
  private at(expr: Expr, half: 0 | 1): Expr {
    const { ir, part, memos } = this;
    const index = ir.add(ir.sym(part), ir.int(half * LANES));
    const symbol = (name: string) => (name === part ? index : undefined);
    return ir.rewrite([expr], { symbol }, memos[half])[0]!;
  }
}
