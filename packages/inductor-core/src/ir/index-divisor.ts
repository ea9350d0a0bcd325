/**
 * @file What divides an index, whatever its variables are.
 */
import { type Size, isMultiple } from '@tessera/shared';
import type { IndexExpr } from './index-expr.js';

function divisorOfSize(size: Size, most: number): number {
  let divisor = 1;
  while (divisor < most && isMultiple(size, 2 * divisor)) divisor *= 2;
  return divisor;
}

/** The largest of 1, 2, 4 … `most` that certainly divides an index; `ofVariable` is that of a variable. */
export function divisorIn(
  index: IndexExpr,
  most: number,
  ofVariable: (name: string) => number = () => 1,
): number {
  const inside = (part: IndexExpr): number => divisorIn(part, most, ofVariable);
  switch (index.kind) {
    case 'int':
      return divisorOfSize(index.value, most);
    case 'size':
      return divisorOfSize(index.size, most);
    case 'sym':
      return ofVariable(index.name);
    case 'add':
      return Math.min(...index.terms.map(inside));
    case 'mul':
      return Math.min(
        most,
        index.factors.reduce((product, factor) => product * inside(factor), 1),
      );
    case 'mod':
      return Math.min(inside(index.num), inside(index.den));
    case 'div':
    case 'value':
      return 1;
  }
}
