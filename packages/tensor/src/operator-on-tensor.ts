/**
 * @file The error of `x * 2`, `loss < best` and `x + y` on tensors.
 */
import { TesseraError } from '@tessera/shared';

/** `hint` is what the language wants: a number for `*`, `-`, `<`; anything for `+` and `==`. */
export function operatorOnTensor(hint: string): TesseraError {
  return new TesseraError(
    'operator-on-tensor',
    "JavaScript's operators do not work on tensors: + - * / < > == need numbers.",
    {
      hints: [
        'Call the function: x.add(y), x.mul(2), x.lt(y), x.eq(y).',
        'For one number: loss.item() < best (await it on other devices than cpu).',
        ...(hint === 'default' ? ['For text: `loss: ${loss}`.'] : []),
      ],
    },
  );
}
