/**
 * @file `updateBn`: running statistics of batch norms, for parameters that were never trained on.
 */
import { checkOptionNames } from '@tessera/shared';
import { type DeviceType, type Tensor, isTensor, noGrad } from '@tessera/tensor';
import type { Module, TensorModule } from '../module/module.js';
import { BatchNorm1d, BatchNorm2d, BatchNorm3d } from '../modules/batch-norm.js';
import { checkModule } from '../module/check-child.js';

/** Options of `updateBn`. */
export interface UpdateBnOptions {
  /** Moves every batch there first. */
  readonly device?: DeviceType;
}

type AnyBatchNorm = BatchNorm1d | BatchNorm2d | BatchNorm3d;

function isBatchNorm(module: Module): module is AnyBatchNorm {
  return [BatchNorm1d, BatchNorm2d, BatchNorm3d].some((type) => module instanceof type);
}

/** Begins the statistics again, as plain averages over all batches to come. */
function startOver(layer: AnyBatchNorm): void {
  noGrad(() => {
    layer.running_mean?.zero_();
    layer.running_var?.fill_(1);
    layer.num_batches_tracked?.zero_();
  });
}

/**
 * Runs a module over all batches of a loader, only to take the running statistics of its batch norms anew.
 *
 * @param loader batches of inputs; of a list, the first is the input
 * @see torch.optim.swa_utils.update_bn
 */
export async function updateBn(
  loader: Iterable<unknown> | AsyncIterable<unknown>,
  model: Module,
  options: UpdateBnOptions = {},
): Promise<void> {
  checkOptionNames('updateBn', options, { device: true });
  checkModule('updateBn', model);
  const layers = model.modules().filter(isBatchNorm);
  if (layers.length === 0) return;
  const momenta = layers.map((layer) => layer.momentum);
  const { training } = model;
  model.train();
  layers.forEach(startOver);
  const open: { momentum: number | null }[] = layers;
  open.forEach((layer) => (layer.momentum = null));
  try {
    for await (const batch of loader) {
      const input = (Array.isArray(batch) ? batch[0] : batch) as Tensor;
      const placed =
        options.device !== undefined && isTensor(input) ? input.to(options.device) : input;
      noGrad(() => (model as TensorModule).call(placed));
    }
  } finally {
    open.forEach((layer, i) => (layer.momentum = momenta[i]!));
    model.train(training);
  }
}
