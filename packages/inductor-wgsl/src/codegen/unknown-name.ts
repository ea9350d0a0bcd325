/**
 * @file The error of a kernel that names what it does not have.
 */
import { TesseraError } from '@tessera/shared';

/** A kernel uses a name that means nothing where it stands. */
export function unknownName(kernel: string, what: string, name: string | number): TesseraError {
  return new TesseraError(
    'plan-invalid',
    `Kernel '${kernel}' uses ${what} '${name}', which is not known there.`,
    {
      context: { kernel, name },
      hints: [
        'Run verifyKernel from @tessera/inductor-core on the kernel: it names the first violation.',
      ],
    },
  );
}
