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

/** What a value is where a row has NaN: NaN by the sum, wrong by the maximum, or the same as ever. */
type Effect = 'lost' | 'shown' | 'none';

function effectOn(value: Expr, buffers: ReadonlyMap<string, Effect>): Effect {
  const effects = new Map<Expr, Effect>();
  for (const expr of postorder([value])) {
    const from = operands(expr).map((operand) => effects.get(operand)!);
    const spreads = expr.kind === 'op' && SPREADS_NAN.has(expr.op);
    const own = expr.kind === 'load' ? (buffers.get(expr.buf) ?? 'none') : 'none';
    if (own === 'lost' || (spreads && from.includes('lost'))) effects.set(expr, 'lost');
    else effects.set(expr, own === 'shown' || from.includes('shown') ? 'shown' : 'none');
  }
  return effects.get(value)!;
}

/** Whether a result would be wrong if the buffers of the maximum missed NaN and those of the sum did not. */
export function showsMaximum(
  context: FusionContext,
  maximum: readonly string[],
  sum: readonly string[],
): boolean {
  const buffers = new Map<string, Effect>(sum.map((name) => [name, 'lost']));
  const shown = [...maximum];
  for (const name of shown) {
    buffers.set(name, 'shown');
    const { kind, output } = context.buffers.get(name)!;
    if (kind === 'input' || output >= 0) return true;
    for (const reader of context.readers.get(name) ?? []) {
      if (reader.kind !== 'pointwise' && reader.kind !== 'reduction') return true;
      const outs = nodeOutputs(reader).map((out) => out.name);
      if (outs.every((out) => buffers.has(out))) continue;
      if (effectOn(reader.value, buffers) === 'shown') shown.push(...outs);
    }
  }
  return false;
}
