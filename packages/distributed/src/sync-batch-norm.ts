/**
 * @file `SyncBatchNorm`: batch norm over the samples of all ranks.
 *
 * The ranks gather their means, sums of squared deviations and counts; what they combine to normalises every rank's
 * samples. Written in differentiable operators, so gradients are reduced over the ranks as well, and a compiled model
 * fuses all but the gathering. Modelled on `torch.nn.SyncBatchNorm`; the combination is Chan's ("Updating formulae and
 * a pairwise algorithm for computing sample variances", 1979).
 */
import { TesseraError, checkOptionNames } from '@tessera/shared';
import {
  BatchNorm1d,
  BatchNorm2d,
  BatchNorm3d,
  type BatchNormModuleOptions,
  Module,
} from '@tessera/nn';
import { type Tensor, cat, full, noGrad, reciprocal } from '@tessera/tensor';
import { allGatherTensor } from './functional/collectives.js';
import { type ProcessGroup, groupNamed, isInitialized } from './process-group.js';

type BatchNormLayer = BatchNorm1d | BatchNorm2d | BatchNorm3d;

/** Options of `SyncBatchNorm`: those of a batch norm, and whose samples count. */
export interface SyncBatchNormOptions extends BatchNormModuleOptions {
  /** The ranks (default: all, once there are any). */
  readonly processGroup?: ProcessGroup;
}

/** A batch norm of any rank. */
class AnyBatchNorm extends BatchNorm1d {
  protected override checkInput(input: Tensor): void {
    if (input.ndim < 2 || input.sizes[1] === 0)
      throw new TesseraError(
        'shape-mismatch',
        input.ndim < 2
          ? `expected at least 2D input (got ${input.ndim}D input)`
          : 'SyncBatchNorm number of input channels should be non-zero',
        { hints: ['The input is [N, C, …].'] },
      );
  }
}

/**
 * See the file header. Made with a number of channels, or of a layer, whose parameters and buffers it takes over. While
 * evaluating, and while there is no process group or one of a single rank, it is the batch norm of its own samples.
 *
 * @see torch.nn.SyncBatchNorm
 */
export class SyncBatchNorm extends Module {
  readonly eps: number;
  readonly momentum: number | null;
  weight: BatchNormLayer['weight'];
  bias: BatchNormLayer['bias'];
  declare running_mean: Tensor | null;
  declare running_var: Tensor | null;
  declare num_batches_tracked: Tensor | null;
  /** In an object, so that it is no submodule. */
  private readonly _replaced: { readonly layer: BatchNormLayer };
  private readonly _group: ProcessGroup | null;

  constructor(numFeatures: number, options?: SyncBatchNormOptions);
  constructor(layer: BatchNormLayer, processGroup?: ProcessGroup);
  constructor(from: number | BatchNormLayer, more?: SyncBatchNormOptions | ProcessGroup) {
    super();
    const { layer, processGroup } = partsOf(from, more);
    this.eps = layer.eps;
    this.momentum = layer.momentum;
    this.weight = layer.weight;
    this.bias = layer.bias;
    this.registerBuffer('running_mean', layer.running_mean);
    this.registerBuffer('running_var', layer.running_var);
    this.registerBuffer('num_batches_tracked', layer.num_batches_tracked);
    this._replaced = { layer };
    this._group = processGroup;
    this.training = layer.training;
  }

  /** Replaces every batch norm of a model, however deep; returns the model. */
  static convert<M extends Module>(module: M, processGroup: ProcessGroup = groupNamed()): M {
    return converted(module, processGroup);
  }

  /** The same, by PyTorch's name; without a group it is all ranks, once there are any. @see torch.nn.SyncBatchNorm.convert_sync_batchnorm */
  static convertSyncBatchnorm<M extends Module>(module: M, processGroup?: ProcessGroup): M {
    return converted(module, processGroup);
  }

  /** [N, C, …] → [N, C, …] @throws shape-mismatch */
  forward(input: Tensor): Tensor {
    const group = this._group ?? (isInitialized() ? groupNamed() : null);
    if (!this.training || group === null || group.size === 1) {
      const { layer } = this._replaced;
      layer.training = this.training;
      // A state that was loaded with `assign` put other tensors in their places.
      const { weight, bias, running_mean, running_var, num_batches_tracked } = this;
      if (layer.weight !== weight || layer.running_mean !== running_mean)
        Object.assign(layer, { weight, bias, running_mean, running_var, num_batches_tracked });
      return layer.call(input);
    }
    return this.normalize(input, group);
  }

  override extraRepr(): string {
    return this._replaced.layer.extraRepr();
  }

  private normalize(input: Tensor, group: ProcessGroup): Tensor {
    const channels = input.sizes[1]!;
    const dims = input.sizes.flatMap((_, i) => (i === 1 ? [] : [i]));
    const across = input.sizes.map((size, i) => (i === 1 ? size : 1));
    const x = input.dtype === 'float64' ? input : input.to('float32');
    const own = x.mean(dims, { keepdim: true });
    const squares = x.sub(own).pow(2).sum(dims);
    const count = full([1], input.numel / channels, { dtype: x.dtype });
    const all = allGatherTensor(cat([own.view([channels]), squares, count]).unsqueeze(0), {
      gatherDim: 0,
      group,
    });
    const means = all.narrow(1, 0, channels);
    const counts = all.narrow(1, 2 * channels, 1);
    const total = counts.sum();
    const mean = means.mul(counts).sum(0).div(total);
    const between = means.sub(mean).pow(2).mul(counts).sum(0);
    const deviations = all.narrow(1, channels, channels).sum(0).add(between);
    noGrad(() => this.track(mean, deviations, total));
    const scale = deviations.div(total).add(this.eps).rsqrt();
    let y = x.sub(mean.view(across)).mul(scale.view(across));
    if (this.weight !== null) y = y.mul(this.weight.view(across));
    if (this.bias !== null) y = y.add(this.bias.view(across));
    return y.to(input.dtype);
  }

  private track(mean: Tensor, deviations: Tensor, total: Tensor): void {
    const { running_mean, running_var, num_batches_tracked: batches, momentum } = this;
    if (!this.training || running_mean === null || running_var === null) return;
    batches?.add_(1);
    const variance = deviations.div(total.sub(1));
    const share = momentum ?? reciprocal(batches!.to(mean.dtype));
    running_mean.add_(mean.sub(running_mean).mul(share));
    running_var.add_(variance.sub(running_var).mul(share));
  }
}

/** The layer of its own samples, and the ranks. @throws invalid-argument */
function partsOf(
  from: number | BatchNormLayer,
  more?: SyncBatchNormOptions | ProcessGroup,
): { layer: BatchNormLayer; processGroup: ProcessGroup | null } {
  if (typeof from !== 'number')
    return { layer: from, processGroup: (more as ProcessGroup) ?? null };
  checkOptionNames('SyncBatchNorm', more, { ...BatchNorm1d.optionNames, processGroup: true });
  const { processGroup = null, ...options } = (more ?? {}) as SyncBatchNormOptions;
  return { layer: new AnyBatchNorm(from, options), processGroup };
}

function isBatchNorm(module: Module): module is BatchNormLayer {
  return (
    module instanceof BatchNorm1d || module instanceof BatchNorm2d || module instanceof BatchNorm3d
  );
}

// Outside of the class: bundlers rename one that names itself, and modules print their names.
function converted<M extends Module>(module: M, processGroup?: ProcessGroup): M {
  if (isBatchNorm(module)) return new SyncBatchNorm(module, processGroup) as unknown as M;
  for (const [name, child] of module.namedChildren()) {
    const other = converted(child, processGroup);
    if (other !== child) replaceChild(module, name, child, other);
  }
  return module;
}

/** Children are fields, entries of lists, or entries of records. @throws invalid-argument */
function replaceChild(parent: Module, name: string, child: Module, by: Module): void {
  const places: unknown[] = [parent, ...Object.values(parent)];
  for (const place of places) {
    if (typeof place !== 'object' || place === null) continue;
    const record: Partial<Record<string, unknown>> = place;
    if (record[name] !== child) continue;
    record[name] = by;
    return;
  }
  throw new TesseraError(
    'invalid-argument',
    `SyncBatchNorm.convert cannot replace '${name}' of ${parent.constructor.name}.`,
    { hints: ['Build the model with SyncBatchNorm there.'] },
  );
}
