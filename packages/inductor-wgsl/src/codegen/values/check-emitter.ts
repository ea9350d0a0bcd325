/**
 * @file Checks in WGSL: a failed one is noted in a small buffer of the device, and the kernel goes on with 0.
 *
 * A check is evaluated wherever its operands are, also by threads and lanes beyond the end of a loop: those
 * do not count. Nor do threads without an outer point, which know no results of reductions.
 */
import {
  indexOf,
  indexSymbols,
  kernelLoops,
  postorder,
  type Expr,
  type SizedLoop,
  moves,
} from '@tessera/inductor-core';
import type { CodeBlock } from '../code-block.js';
import type { SymbolText } from './index-emitter.js';
import type { ProgramBuilder } from '../program.js';
import { widen, type Value } from './value.js';
import { typeName, type Width } from './wgsl-types.js';

/** Operands of a check, emitted before. */
export interface CheckOperands {
  readonly subject: Value;
  readonly ok: Value;
  readonly value: Value;
}

/** Where a check is evaluated. */
export interface CheckSite {
  readonly block: CodeBlock;
  /** Names of what must hold for the thread to count. */
  readonly tests: readonly string[];
  readonly symbol: (name: string) => SymbolText;
}

/** Notes a failure; gives the value, or 0 where the check failed. */
export function emitCheck(
  builder: ProgramBuilder,
  { block, tests, symbol }: CheckSite,
  expr: Extract<Expr, { kind: 'check' }>,
  { subject, ok, value }: CheckOperands,
): Value {
  const limits: Value[] = limitsOf(expr, builder.kernel).map((v) =>
    within(symbol(v.name), builder.size(v.size)),
  );
  for (const text of tests) limits.push({ text, type: 'bool', width: 1, atom: true });
  const width: Width = [subject, ok, value, ...limits].some((part) => part.width === 4) ? 4 : 1;
  const bad = [`!${widen(ok, width)}`, ...limits.map((limit) => widen(limit, width))].join(' & ');
  const failed = width === 4 ? `any(${bad})` : bad;
  const report = builder.checkFunction(width);
  const args = [
    `${builder.checkNumber(expr)}u`,
    ...(width === 4 ? [bad] : []),
    `${typeName('i32', width)}(${widen(subject, width)})`,
  ];
  block.line(`if (${failed}) { ${report}(${args.join(', ')}); }`);
  const zero = `${typeName(value.type, width)}(${value.type === 'bool' ? 'false' : '0'})`;
  return {
    text: `select(${zero}, ${widen(value, width)}, ${widen(ok, width)})`,
    type: value.type,
    width,
    atom: false,
  };
}

function within(symbol: SymbolText, size: string): Value {
  const width: Width = symbol.lanes === undefined ? symbol.width : 4;
  return {
    text: `(${symbol.lanes ?? symbol.text} < ${typeName('u32', width)}(${size}))`,
    type: 'bool',
    width,
    atom: true,
  };
}

/** The loop variables that an expression depends on, if they move at all. */
function limitsOf(expr: Expr, kernel: ProgramBuilder['kernel']): SizedLoop[] {
  const named = new Set<string>();
  for (const part of postorder([expr])) {
    const index = indexOf(part);
    if (index !== null) indexSymbols(index, named);
  }
  const loops = kernel.kind === 'joined' ? kernel.parts.flatMap(kernelLoops) : kernelLoops(kernel);
  return loops.filter((v) => moves(v) && named.has(v.name));
}
