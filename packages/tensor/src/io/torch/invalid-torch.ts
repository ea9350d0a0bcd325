/**
 * @file The error of a file of `torch.save` that is not what it should be.
 */
import { TesseraError } from '@tessera/shared';

/** Throws that a file is no checkpoint of PyTorch that can be read. @throws torch-checkpoint-invalid */
export function invalidTorch(
  why: string,
  hint = 'Check that the file was downloaded completely and was written by torch.save.',
  context: Readonly<Record<string, unknown>> = {},
): never {
  throw new TesseraError('torch-checkpoint-invalid', `Cannot read this PyTorch file: ${why}.`, {
    context,
    hints: [hint],
  });
}
