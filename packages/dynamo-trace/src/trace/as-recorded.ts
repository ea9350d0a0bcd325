/**
 * @file Running recorded operators: in the grad mode of the recording and seen by no mode, wherever the program is by now.
 *
 * Casts of an autocast scope are operators of the record already.
 */
import { type HostFunction, registerHostFunction } from '@tessera/graph';
import { setGradEnabled } from '@tessera/tensor';
import { gradMode, modes, withAutocastSettings } from '@tessera/tensor/internal';

/** Host function that graphs call where operators ran in another grad mode than those before them. */
export const gradModeNode: HostFunction = setGradEnabled;

registerHostFunction('setGradEnabled', gradModeNode, { pure: false });

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
