/**
 * @file Initialisers that set most elements to zero.
 */
import { type OptionNames, checkOptionNames, TesseraError } from '@tessera/shared';
import { type Tensor, eye, fromTypedArray, noGrad, randperm } from '@tessera/tensor';
import { fill_, normal_, zero_, checkTensors } from '@tessera/tensor/internal';

const DIRAC: OptionNames<{ groups: number }> = { groups: true };
const SPARSE: OptionNames<{ std: number }> = { std: true };

/** @throws shape-mismatch */
function expectRank(tensor: Tensor, ranks: readonly number[], message: string): void {
  checkTensors('init', { tensor });
  if (ranks.includes(tensor.ndim)) return;
  throw new TesseraError('shape-mismatch', message, {
    hints: [`The tensor has ${tensor.ndim} dimensions.`],
  });
}

/** The identity matrix. @throws shape-mismatch unless it is a matrix @see torch.nn.init.eye_ */
export function eye_(tensor: Tensor): Tensor {
  expectRank(tensor, [2], 'Only tensors with 2 dimensions are supported');
  const [rows, columns] = tensor.sizes;
  return noGrad(() =>
    tensor.copy_(eye(rows, columns, { dtype: tensor.dtype, device: tensor.device })),
  );
}

/**
 * A convolution's weight that passes on as many channels as it can, per group.
 *
 * @throws shape-mismatch unless it has three to five dimensions, invalid-argument unless the groups divide the channels
 * @see torch.nn.init.dirac_
 */
export function dirac_(tensor: Tensor, options?: { readonly groups?: number }): Tensor {
  checkOptionNames('dirac_', options, DIRAC);
  const groups = options?.groups ?? 1;
  expectRank(tensor, [3, 4, 5], 'Only tensors with 3, 4, or 5 dimensions are supported');
  const [out, inChannels, ...kernel] = tensor.sizes;
  if (out % groups !== 0)
    throw new TesseraError('invalid-argument', 'dim 0 must be divisible by groups', {
      hints: ['The first dimension holds the output channels of all groups.'],
    });
  const perGroup = out / groups;
  return noGrad(() => {
    zero_(tensor);
    for (let group = 0; group < groups; group++)
      for (let channel = 0; channel < Math.min(perGroup, inChannels); channel++) {
        let tap = tensor.select(0, group * perGroup + channel).select(0, channel);
        for (const size of kernel) tap = tap.select(0, Math.floor(size / 2));
        fill_(tap, 1);
      }
    return tensor;
  });
}

/**
 * Normal values, of which a share of each column is set to zero.
 *
 * @throws shape-mismatch unless it is a matrix
 * @see torch.nn.init.sparse_
 */
export function sparse_(
  tensor: Tensor,
  sparsity: number,
  options?: { readonly std?: number },
): Tensor {
  checkOptionNames('sparse_', options, SPARSE);
  const std = options?.std ?? 0.01;
  expectRank(tensor, [2], 'Only tensors with 2 dimensions are supported');
  const [rows, columns] = tensor.sizes;
  const zeros = Math.ceil(sparsity * rows);
  const kept = new Float64Array(rows * columns).fill(1);
  for (let column = 0; column < columns; column++) {
    const order = randperm(rows).toTypedArray();
    for (const row of order.subarray(0, zeros)) kept[Number(row) * columns + column] = 0;
  }
  return noGrad(() => {
    normal_(tensor, 0, std);
    const mask = fromTypedArray(kept, [rows, columns], { dtype: tensor.dtype });
    return tensor.mul_(mask.to(tensor.device));
  });
}
