/**
 * @file Running recorded operators: in the grad mode of the recording and seen by no mode, wherever the program is by now.
 *
 * Casts of an autocast scope are operators of the record already.
 */
import { gradMode, modes, withAutocastSettings } from '@tessera/tensor/internal';

/** Runs `fn` so; the grad mode that it leaves is undone. */
export function asRecorded<R>(enabled: boolean, fn: () => R): R {
  const { pre, unseen } = modes;
  const current = gradMode.enabled;
  modes.pre = null;
  modes.unseen = true;
  gradMode.enabled = enabled;
  try {
    return withAutocastSettings(null, fn);
  } finally {
    modes.pre = pre;
    modes.unseen = unseen;
    gradMode.enabled = current;
  }
}
