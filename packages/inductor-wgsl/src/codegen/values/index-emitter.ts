/**
 * @file WGSL text of index expressions, in unsigned 32-bit arithmetic.
 *
 * Wrap-around makes negative intermediate terms right; an index that is negative as a whole becomes huge
 * and is caught by WebGPU's bounds checks, so loads under a false mask need no clamping.
 */
import type { Expr, IndexExpr } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { Width } from './wgsl-types.js';

/** An index in WGSL: u32 or vec4u. */
export interface IndexText {
  readonly text: string;
  readonly width: Width;
}

/** Text of a loop variable. */
export interface SymbolText {
  /** Value, or lane 0's value of the variable that is spread over the lanes. */
  readonly text: string;
  readonly width: Width;
  /** All four values, for the variable that is spread over the lanes. */
  readonly lanes?: string;
}

/** How symbols and run-time values read. */
export interface IndexNames {
  symbol(name: string): SymbolText;
  value(expr: Expr): IndexText;
  size(size: Size): string;
}

interface Piece extends IndexText {
  /** Needs parentheses inside a product or quotient. */
  readonly sum: boolean;
}

function factor(piece: Piece): string {
  return piece.sum ? `(${piece.text})` : piece.text;
}

const wider = (a: Width, b: Width): Width => (a === 4 || b === 4 ? 4 : 1);

/**
 * Text of an index: for lane 0 when `lanes` is false, else for all lanes (of width 1 when they agree).
 */
export function emitIndex(index: IndexExpr, names: IndexNames, lanes: boolean): IndexText {
  const visit = (node: IndexExpr): Piece => {
    switch (node.kind) {
      case 'int':
        return { text: `${node.value >>> 0}u`, width: 1, sum: false };
      case 'size':
        return { text: names.size(node.size), width: 1, sum: false };
      case 'sym': {
        const symbol = names.symbol(node.name);
        if (lanes && symbol.lanes !== undefined)
          return { text: symbol.lanes, width: 4, sum: false };
        return { text: symbol.text, width: symbol.width, sum: false };
      }
      case 'value':
        return { ...names.value(node.value), sum: false };
      case 'add': {
        let text = '';
        let width: Width = 1;
        for (const term of node.terms) {
          const { magnitude, negative } = splitSign(term);
          const piece = visit(magnitude);
          width = wider(width, piece.width);
          const body = piece.sum ? `(${piece.text})` : piece.text;
          text =
            text === ''
              ? negative
                ? `0u - ${body}`
                : body
              : `${text} ${negative ? '-' : '+'} ${body}`;
        }
        return { text, width, sum: true };
      }
      case 'mul': {
        const pieces = node.factors.map(visit);
        return {
          text: pieces.map(factor).join(' * '),
          width: pieces.reduce<Width>((width, piece) => wider(width, piece.width), 1),
          sum: false,
        };
      }
      case 'div':
      case 'mod': {
        const num = visit(node.num);
        const den = visit(node.den);
        return {
          text: `(${factor(num)} ${node.kind === 'div' ? '/' : '%'} ${factor(den)})`,
          width: wider(num.width, den.width),
          sum: false,
        };
      }
    }
  };
  return visit(index);
}

/** `-3 · x` as (`3 · x`, negative). */
function splitSign(term: IndexExpr): { magnitude: IndexExpr; negative: boolean } {
  if (term.kind === 'int' && term.value < 0)
    return { magnitude: { kind: 'int', value: -term.value }, negative: true };
  if (term.kind !== 'mul' || term.factors[0].kind !== 'int' || term.factors[0].value >= 0) {
    return { magnitude: term, negative: false };
  }
  const value = -term.factors[0].value;
  const rest = term.factors.slice(1);
  const factors: IndexExpr[] = value === 1 ? rest : [{ kind: 'int', value }, ...rest];
  return {
    magnitude: factors.length === 1 ? factors[0] : { kind: 'mul', factors },
    negative: true,
  };
}
