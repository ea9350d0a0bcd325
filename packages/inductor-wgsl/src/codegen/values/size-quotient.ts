/**
 * @file Quotients of sizes. WebGPU's division may be off by a few units in the last place, which can move the element
 * that is nearest to a position, so they are uniforms, divided on the host.
 */
import type { Expr } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';

/** The sizes that an expression is the quotient of; null for others. */
export function sizeQuotient({
  op,
  dtype,
  args,
}: Extract<Expr, { kind: 'op' }>): readonly [Size, Size] | null {
  if (op !== 'div' || dtype !== 'float32') return null;
  const [a, b] = args.map((arg) => {
    const size = arg.kind === 'op' && arg.op === 'cast' ? arg.args[0]! : arg;
    if (size.kind === 'const') return size.value;
    return size.kind === 'index' && size.index.kind === 'size' ? size.index.size : null;
  });
  return a == null || b == null ? null : [a, b];
}
