/**
 * @file Negative log likelihood.
 *
 * `nll_loss_forward` takes [C] or [N, C], `nll_loss2d_forward` takes [N, C, H, W]; one kernel serves both.
 */
import { denseMeta } from '../../kernels/suggest-format.js';
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { checkFloating } from '../../kernels/restrict-dtypes.js';
import { type ValueCheck, valueError } from '../../kernels/value-check.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { OpRecord, TensorMeta } from '../../op/op-record.js';
import { checkGradient, formatSizes, sameNumbers, numelOf } from '../../shape.js';
import type { SchemaArgs } from '../../op/schema-types.js';
import type { Tensor } from '../../tensor.js';
import { zerosLike } from '../factory/like.js';
import { reshape, view } from '../view/view.js';

/** What a loss does with its elements. */
export type Reduction = 'none' | 'mean' | 'sum';

/** ATen's number of a reduction. @throws invalid-argument */
export function reductionNumber(reduction: Reduction): number {
  const number = ['none', 'mean', 'sum'].indexOf(reduction);
  if (number < 0)
    throw new TesseraError(
      'invalid-argument',
      `${String(reduction)} is not a valid value for reduction`,
      { hints: ["Use 'none', 'mean' or 'sum'."] },
    );
  return number;
}

const MEAN = 1;

function classDim(self: Tensor): number {
  return self.ndim === 1 ? 0 : 1;
}

/** Shape of the losses before reduction. */
function lossSizes(self: Tensor): number[] {
  return self.sizes.filter((_, i) => i !== classDim(self));
}

function tensorMeta(sizes: readonly number[], like: Tensor): TensorMeta {
  return denseMeta(like, sizes);
}

type Losses = SchemaArgs<`aten::nll_loss_forward(${typeof FORWARD_ARGS}) -> Tensor`>;
type LossGradients = SchemaArgs<`aten::nll_loss_backward(${typeof BACKWARD_ARGS}) -> Tensor`>;

/** @throws shape-mismatch unless the target has one class per loss */
function checkTarget(self: Tensor, target: Tensor): void {
  const expected = lossSizes(self);
  if (sameNumbers(target.sizes, expected)) return;
  const [rows, batch] = [expected[0], target.sizes[0]];
  throw new TesseraError(
    'shape-mismatch',
    rows === batch
      ? `nll_loss: Expected target size ${formatSizes(expected)}, got ${formatSizes(target.sizes)}`
      : `nll_loss: Expected input batch_size (${rows}) to match target batch_size (${batch}).`,
    { hints: [`The target has one class index per loss: shape ${formatSizes(expected)}.`] },
  );
}

/** @throws dtype-mismatch */
export function checkClassType(op: string, { dtype }: Tensor): void {
  if (dtype === 'int64' || dtype === 'uint8' || dtype === 'int32') return;
  throw new TesseraError(
    'dtype-mismatch',
    `${op}: expected scalar type Long but found ${dtype} for the target`,
    { hints: ["Class indices are integers: target.to('int64')."] },
  );
}

/** @throws shape-mismatch, dtype-mismatch */
function checkInputs({ self, target, weight }: Losses): void {
  checkFloating('nll_loss_out_frame', self);
  checkTarget(self, target);
  checkClassType('nll_loss', target);
  checkClassWeight('nll_loss', weight, self.sizes[classDim(self)]!);
  if (weight !== null && weight.dtype !== self.dtype)
    throw new TesseraError(
      'dtype-mismatch',
      `nll_loss: expected scalar type ${self.dtype} but found ${weight.dtype} for the weight`,
      { hints: [`Convert it: weight.to('${self.dtype}').`] },
    );
}

/** @throws shape-mismatch unless there is a weight for each class, or none */
export function checkClassWeight(op: string, weight: Tensor | null, classes: number): void {
  if (weight === null || (weight.ndim === 1 && weight.sizes[0] === classes)) return;
  throw new TesseraError(
    'shape-mismatch',
    `${op}: weight tensor should be defined either for all ${classes} classes or no classes but got weight tensor of shape: ${formatSizes(weight.sizes)}`,
    { hints: ['Give one weight per class.'] },
  );
}

/** Calls `visit(loss, position, weight)` for each loss whose target is not ignored. @throws index-out-of-range */
function forEachLoss(
  { self: input, target, weight, ignore_index }: Losses,
  visit: (i: number, at: number, weight: number) => void,
): void {
  const classes = input.sizes[classDim(input)]!;
  const check: ValueCheck = {
    rule: 'class',
    op: 'nll_loss',
    classes,
    ignored: ignore_index,
  };
  const inner = numelOf(input.sizes.slice(2));
  const targets = readNumbers(target);
  const weights = weight === null ? null : readNumbers(weight);
  targets.forEach((cls, i) => {
    if (cls === ignore_index) return;
    if (!(cls >= 0 && cls < classes)) throw valueError(check, cls);
    visit(
      i,
      (Math.floor(i / inner) * classes + cls) * inner + (i % inner),
      weights === null ? 1 : weights[cls]!,
    );
  });
}

function forwardRecord(backward: () => OpOverload<Tensor>): OpRecord<Losses, never> {
  return {
    tags: ['reduction'],
    meta: (args) => {
      checkInputs(args);
      const self = args.self;
      return [tensorMeta(args.reduction === 0 ? lossSizes(self) : [], self), tensorMeta([], self)];
    },
    kernel: (args, [output, totalWeight]) => {
      const x = readNumbers(args.self);
      const losses = new Float64Array(args.target.numel);
      let weightSum = 0;
      let lossSum = 0;
      forEachLoss(args, (i, at, w) => {
        losses[i] = -x[at]! * w;
        weightSum += w;
        lossSum += losses[i]!;
      });
      writeNumbers(
        output!,
        args.reduction === 0 ? losses : [args.reduction === MEAN ? lossSum / weightSum : lossSum],
      );
      // Unreduced losses need no total; PyTorch leaves 0 there, but for a single one.
      writeNumbers(totalWeight!, [args.reduction === 0 && args.self.ndim > 1 ? 0 : weightSum]);
    },
    saved: ['self', 'target', 'weight', 'out.1'],
    constantOutputs: [1],
    vjp: ({ self, target, weight, reduction, ignore_index }, { grad, outs }) => ({
      self: () =>
        callOp(backward(), [grad, self, target, weight, reduction, ignore_index, outs[1]]),
    }),
  };
}

function backwardRecord(
  forward: () => OpOverload<[Tensor, Tensor]>,
): OpRecord<LossGradients, never> {
  return {
    meta: (args) => {
      const { self, grad_output, reduction } = args;
      checkInputs(args);
      checkGradient('nll_loss', grad_output, reduction === 0 ? lossSizes(self) : []);
      return tensorMeta(self.sizes, self);
    },
    kernel: (args, [out]) => {
      const grads = readNumbers(args.grad_output);
      const total = args.reduction === MEAN ? readNumbers(args.total_weight)[0]! : 1;
      const results = new Float64Array(out!.numel);
      forEachLoss(
        args,
        (i, at, w) => (results[at] = (-w * grads[args.reduction === 0 ? i : 0]!) / total),
      );
      writeNumbers(out!, results);
    },
    saved: ['target', 'weight'],
    vjp: ({ target, weight, reduction, ignore_index }, { grad }) => ({
      grad_output: () => callOp(forward(), [grad, target, weight, reduction, ignore_index])[0],
      self: () => zerosLike(grad),
    }),
  };
}

const FORWARD_ARGS =
  'Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index';
const BACKWARD_ARGS =
  'Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight';

const forwardOp: OpOverload<[Tensor, Tensor]> = defineOp(
  `aten::nll_loss_forward(${FORWARD_ARGS}) -> (Tensor output, Tensor total_weight)`,
  forwardRecord(() => backwardOp),
);
const forward2dOp: OpOverload<[Tensor, Tensor]> = defineOp(
  `aten::nll_loss2d_forward(${FORWARD_ARGS}) -> (Tensor output, Tensor total_weight)`,
  forwardRecord(() => backward2dOp),
);
const backwardOp: OpOverload<Tensor> = defineOp(
  `aten::nll_loss_backward(${BACKWARD_ARGS}) -> Tensor`,
  backwardRecord(() => forwardOp),
);
const backward2dOp: OpOverload<Tensor> = defineOp(
  `aten::nll_loss2d_backward(${BACKWARD_ARGS}) -> Tensor`,
  backwardRecord(() => forward2dOp),
);

const lossNdOp = defineOp(
  'aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor',
  {
    decompose: ({ self: input, target: labels, weight, reduction, ignore_index }) => {
      const call = (op: OpOverload<[Tensor, Tensor]>, x: Tensor, y: Tensor): Tensor =>
        callOp(op, [x, y, weight, reduction, ignore_index])[0];
      if (input.ndim <= 2) return call(forwardOp, input, labels);
      if (input.ndim === 4) return call(forward2dOp, input, labels);
      checkTarget(input, labels);
      const [n, c] = input.sizes;
      const rest = numelOf(input.sizes.slice(2));
      const flat = call(
        forward2dOp,
        reshape(input, [n, c, 1, rest]),
        reshape(labels, [n, 1, rest]),
      );
      return reduction === 0 ? view(flat, [n, ...input.sizes.slice(2)]) : flat;
    },
  },
);

/** Parameters of classification losses. */
export interface NllLossOptions {
  /** One weight per class. */
  readonly weight?: Tensor | null;
  readonly reduction?: Reduction;
  /** Targets with this value count for nothing. */
  readonly ignoreIndex?: number;
}
const NLL_LOSS: OptionNames<NllLossOptions> = { weight: true, ignoreIndex: true, reduction: true };

/** -input[target], averaged with the weights: input [N, C, …] of log-probabilities, target [N, …] of class indices. @throws shape-mismatch, index-out-of-range */
export function nllLoss(input: Tensor, target: Tensor, options?: NllLossOptions): Tensor {
  checkOptionNames('nllLoss', options, NLL_LOSS);
  return callOp(lossNdOp, [
    input,
    target,
    options?.weight ?? null,
    reductionNumber(options?.reduction ?? 'mean'),
    options?.ignoreIndex ?? -100,
  ]);
}
