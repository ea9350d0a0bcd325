/**
 * @file Whether results show the maximum of an `online_softmax`, which may miss NaN.
 *
 * NaN in a row makes its sum of exponentials NaN, and with it what a softmax computes: exp(x - maximum) / sum. A maximum
 * that is a result by itself, or decides something, must know of NaN on its own.
 */
import type { Expr, ScalarOp } from '../ir/expr.js';
import { operands, postorder } from '../ir/walk.js';
import type { FusionContext } from '../fuse/fusion-context.js';
import { nodeOutputs } from '../lower/ir-node.js';

/** Operations that are NaN where an operand is. */
const SPREADS_NAN: ReadonlySet<string> = new Set<ScalarOp>([
  'add',
  'sub',
  'mul',
  'div',
  'fma',
  'neg',
  'exp',
  'log',
]);

/** Whether a value reads a shown buffer and is not NaN by a lost one. */
function shows(value: Expr, lost: readonly string[], shown: readonly string[]): boolean {
  const nan = new Set<Expr>();
  const wrong = new Set<Expr>();
  for (const expr of postorder([value])) {
    const from = operands(expr);
    const reads = (names: readonly string[]): boolean =>
      expr.kind === 'load' && names.includes(expr.buf);
    const spreads = expr.kind === 'op' && SPREADS_NAN.has(expr.op);
    if (reads(lost) || (spreads && from.some((operand) => nan.has(operand)))) nan.add(expr);
    else if (reads(shown) || from.some((operand) => wrong.has(operand))) wrong.add(expr);
  }
  return wrong.has(value);
}

/** Whether a result would be wrong if the buffers of the maximum missed NaN and those of the sum did not. */
export function showsMaximum(
  context: FusionContext,
  maximum: readonly string[],
  sum: readonly string[],
): boolean {
  const shown = [...maximum];
  for (const name of shown) {
    const { kind, output } = context.buffers.get(name)!;
    if (kind === 'input' || output >= 0) return true;
    for (const reader of context.readers.get(name) ?? []) {
      if (reader.kind !== 'pointwise' && reader.kind !== 'reduction') return true;
      const outs = nodeOutputs(reader).map((out) => out.name);
      if (outs.every((out) => sum.includes(out) || shown.includes(out))) continue;
      if (shows(reader.value, sum, shown)) shown.push(...outs);
    }
  }
  return false;
}
