/**
 * @file Refusing writes to memory of which there are views whose history cannot be written anew.
 *
 * @see PyTorch's handle_view_on_rebase
 */
import { TesseraError } from '@tessera/shared';
import type { MadeAs } from '../tensor-base.js';
import type { Tensor } from '../tensor.js';

/** @param modified what of the view `is being` modified @throws inplace-view */
export function refuseWrittenView(
  { autograd }: Tensor,
  madeAs: NonNullable<MadeAs>,
  modified: string,
): never {
  const node = autograd?.gradFn ?? null;
  const output =
    node === null
      ? ''
      : `Output ${autograd!.outputNr} of ${node.name.replace(/Backward0$/, '')} is a view`;
  const isInference = madeAs === 'inference';
  let what = `${output} and ${modified} modified inplace.`;
  if (node === null || madeAs !== 'multiple') {
    const mode = isInference ? 'inference' : 'no_grad';
    const prefix = node === null ? 'A view was' : `${output} of a view which was`;
    what = `${prefix} created in ${mode} mode and ${modified} modified inplace ${isInference ? 'in normal mode' : 'with grad mode enabled'}.`;
  }
  const block = isInference ? 'inference_mode' : 'no_grad';
  const why =
    madeAs === 'multiple'
      ? 'This view is the output of a function that returns multiple views. Such functions do not allow the output views to be modified inplace. You should replace the inplace operation by an out-of-place one.'
      : `Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace either both inside the ${block} block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked).`;
  throw new TesseraError('inplace-view', `${what} ${why}`);
}
