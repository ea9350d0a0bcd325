/**
 * @file `quietly`: where operators run that stand for another one.
 */
import { noGrad } from '../../autograd/grad-mode.js';
import { withAutocastSettings } from '../../autocast/autocast-state.js';
import { withPreDispatchMode } from '../../dispatch/modes.js';

/** Runs `fn` below autograd, autocast and capture, which have seen the operator itself. */
export function quietly<T>(fn: () => T): T {
  return withPreDispatchMode(null, () => withAutocastSettings(null, () => noGrad(fn)));
}
