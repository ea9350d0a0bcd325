/**
 * @file Padding.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, constantPad } from '@tessera/tensor';

/** Options of `pad`. */
export interface PadOptions {
  /** Only `constant` (default). */
  readonly mode?: 'constant';
  /** What the border holds (default 0). */
  readonly value?: number;
}

/**
 * A border around a tensor: pairs (before, after) from the last dimension on; negative ones cut off.
 *
 * @throws invalid-argument for another mode, shape-mismatch
 * @see torch.nn.functional.pad
 */
export function pad(input: Tensor, pads: readonly number[], options: PadOptions = {}): Tensor {
  const { mode = 'constant', value = 0 } = options;
  if (mode !== 'constant')
    throw new TesseraError('invalid-argument', `pad: mode '${String(mode)}' is not supported`, {
      hints: ["Use mode 'constant', or build the border with cat()."],
    });
  return constantPad(input, pads, value);
}
