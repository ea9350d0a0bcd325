/**
 * @file This program trains on the CPU, so `item()` gives a number at once.
 */
import type { TypeChoices } from '@tessera/tensor';

declare module '@tessera/tensor' {
  interface TypeChoices {
    readonly onlyCpu: true;
  }
}
