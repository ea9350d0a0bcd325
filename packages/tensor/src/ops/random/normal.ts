/**
 * @file `normal`: normal numbers of which each has a mean and a deviation of its own.
 *
 * Written in operators, of which a compiled function makes one kernel. @see torch.normal
 */
import { TesseraError } from '@tessera/shared';
import { noGrad } from '../../autograd/grad-mode.js';
import { isTraced } from '../../dispatch/is-traced.js';
import { readNumbers } from '../../kernels/elements.js';
import { checkFloating } from '../../kernels/restrict-dtypes.js';
import { broadcastShapes, sameNumbers } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { isTensor } from '../../tensor-factory.js';
import { detach } from '../arrange/copy.js';
import { type TensorOptions, finish, zeros } from '../factory/factory.js';
import { add, mul } from '../pointwise/arithmetic.js';
import { where } from '../pointwise/where.js';
import { randnLike } from './fill.js';
import { randn } from './random.js';

/**
 * Normal numbers of means and deviations, which broadcast: the result has the dtype of `mean` where that is a tensor, else
 * of `std`. As in PyTorch, gradients of both are zero; what is to be differentiated is `mean + std * randn`, which
 * `Normal.rsample` of distributions draws.
 *
 * @throws invalid-argument, shape-mismatch, dtype-unsupported
 * @example normal(zeros([3]), tensor([0.1, 1, 10]))
 */
export function normal(mean: Tensor, std?: Tensor | number): Tensor;
export function normal(mean: number, std: Tensor): Tensor;
/** Normal numbers of one mean and one deviation in a shape. */
export function normal(
  mean: number,
  std: number,
  size: readonly number[],
  options?: TensorOptions,
): Tensor;
export function normal(
  mean: Tensor | number,
  std: Tensor | number = 1,
  size?: readonly number[],
  options: TensorOptions = {},
): Tensor {
  const like = isTensor(mean) ? mean : std;
  if (!isTensor(like)) {
    if (!Array.isArray(size) || typeof mean !== 'number')
      refuse('normal: one mean and one deviation need a size.', 'Write normal(0, 1, [2, 3]).');
    checkStd(like);
    return finish(scaled(randn(size, { ...options, requiresGrad: false }), mean, like), options);
  }
  if (size !== undefined)
    refuse('normal: means or deviations that are tensors have the size.', 'Leave the size out.');
  checkFloating('normal', like);
  checkStd(std);
  const sizes = broadcastShapes(
    [mean, std].filter(isTensor).map((each) => each.sizes),
    'normal',
  );
  const { dtype, device } = like;
  const drawn = noGrad(() => {
    const noise = sameNumbers(sizes, like.sizes)
      ? randnLike(detach(like))
      : randn(sizes, { dtype, device });
    return scaled(noise, mean, std);
  });
  // Gradients of zero: never is anything chosen of these.
  return [mean, std]
    .filter((each): each is Tensor => isTensor(each) && each.requiresGrad)
    .reduce<Tensor>(
      (result, each) => where(zeros([], { dtype: 'bool', device }), each.to(dtype), result),
      drawn,
    );
}

/** Standard normal numbers with another deviation and mean. */
function scaled(noise: Tensor, mean: Tensor | number, std: Tensor | number): Tensor {
  const { dtype } = noise;
  const as = (value: Tensor | number): Tensor | number =>
    isTensor(value) ? detach(value).to(dtype) : value;
  return add(mul(noise, as(std)), as(mean));
}

/** @throws invalid-argument for a negative deviation, which of tensors is seen where their values are at hand */
function checkStd(std: Tensor | number): void {
  if (typeof std === 'number') {
    if (!(std >= 0))
      refuse(
        `normal expects std >= 0.0, but found std ${std}`,
        'A standard deviation is not negative.',
      );
  } else if (!isTensor(std)) {
    refuse(
      `normal: std must be a tensor or a number, not ${String(std)}`,
      'Write normal(mean, 1).',
    );
  } else if (
    std.device === 'cpu' &&
    !isTraced([std]) &&
    readNumbers(std).some((value) => value < 0)
  )
    refuse('normal expects all elements of std >= 0.0', 'A standard deviation is not negative.');
}

function refuse(message: string, hint: string): never {
  throw new TesseraError('invalid-argument', message, { hints: [hint] });
}
