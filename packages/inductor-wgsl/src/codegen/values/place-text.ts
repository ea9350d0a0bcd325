/**
 * @file WGSL text of a schedule's own indices, u32: where threads are, bounds of loops, places in shared memory.
 */
import type { IndexExpr } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';

/** How variables and sizes read. */
export interface PlaceNames {
  variable(name: string): string;
  size(size: Size): string;
}

/** How tightly a text binds: a sum, a product or quotient, a name or number. */
type Binding = 0 | 1 | 2;

interface Piece {
  readonly text: string;
  readonly binding: Binding;
}

function inside(piece: Piece, binding: Binding): string {
  return piece.binding < binding ? `(${piece.text})` : piece.text;
}

/** A factor of a product that is a number below zero, and what is left without its sign; null if there is none. */
function negated(term: IndexExpr): IndexExpr | null {
  if (term.kind !== 'mul') return null;
  const at = term.factors.findIndex((factor) => factor.kind === 'int' && factor.value < 0);
  if (at < 0) return null;
  const { value } = term.factors[at] as Extract<IndexExpr, { kind: 'int' }>;
  const factors = [...term.factors];
  if (value === -1) factors.splice(at, 1);
  else factors[at] = { kind: 'int', value: -value };
  return factors.length === 1 ? factors[0]! : { kind: 'mul', factors };
}

/** The text of an index; with no more parentheses than it needs, but for divisions in products and divisions. */
export function placeText(index: IndexExpr, names: PlaceNames): string {
  const visit = (node: IndexExpr): Piece => {
    switch (node.kind) {
      case 'int':
        return { text: `${node.value}u`, binding: 2 };
      case 'size':
        return { text: names.size(node.size), binding: 2 };
      case 'sym':
        return { text: names.variable(node.name), binding: 2 };
      case 'add': {
        const text = node.terms.reduce((sum, term) => {
          const taken = negated(term);
          const piece = inside(visit(taken ?? term), 1);
          return sum === '' ? piece : `${sum} ${taken === null ? '+' : '-'} ${piece}`;
        }, '');
        return { text, binding: 0 };
      }
      case 'mul':
        return {
          text: node.factors.map((factor) => inside(visit(factor), 2)).join(' * '),
          binding: 1,
        };
      case 'div':
      case 'mod': {
        const symbol = node.kind === 'div' ? '/' : '%';
        return {
          text: `${inside(visit(node.num), 2)} ${symbol} ${inside(visit(node.den), 2)}`,
          binding: 1,
        };
      }
      case 'value':
        throw new TypeError('a schedule reads no memory to know where a thread is');
    }
  };
  return visit(index).text;
}
