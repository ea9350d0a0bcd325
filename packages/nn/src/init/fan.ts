/**
 * @file Fan-in, fan-out and gains: the numbers behind the initialisers.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor } from '@tessera/tensor';
import { formatSizes, checkTensors } from '@tessera/tensor/internal';

/** Nonlinearities with a known gain. */
export type Nonlinearity =
  | 'linear'
  | 'conv1d'
  | 'conv2d'
  | 'conv3d'
  | 'conv_transpose1d'
  | 'conv_transpose2d'
  | 'conv_transpose3d'
  | 'sigmoid'
  | 'tanh'
  | 'relu'
  | 'leaky_relu'
  | 'selu';

/** Inputs and outputs per unit of a weight [out, in, …kernel]. @throws shape-mismatch below two dimensions */
export function calculateFanInAndFanOut(tensor: Tensor): [fanIn: number, fanOut: number] {
  checkTensors('calculateFanInAndFanOut', { tensor });
  const { sizes } = tensor;
  if (sizes.length < 2) {
    throw new TesseraError(
      'shape-mismatch',
      `Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, not for shape ${formatSizes(sizes)}`,
      { hints: ['Initialise vectors with uniform_ or zeros_.'] },
    );
  }
  const receptiveField = sizes.slice(2).reduce((product, size) => product * size, 1);
  return [sizes[1]! * receptiveField, sizes[0]! * receptiveField];
}

/** Factor that keeps the variance through a nonlinearity; `param` is the slope of leaky_relu. @see torch.nn.init.calculate_gain */
export function calculateGain(nonlinearity: Nonlinearity, param = 0.01): number {
  const gains: Readonly<Record<Nonlinearity, number>> = {
    linear: 1,
    conv1d: 1,
    conv2d: 1,
    conv3d: 1,
    conv_transpose1d: 1,
    conv_transpose2d: 1,
    conv_transpose3d: 1,
    sigmoid: 1,
    tanh: 5 / 3,
    relu: Math.SQRT2,
    leaky_relu: Math.sqrt(2 / (1 + param ** 2)),
    selu: 3 / 4,
  };
  if (Object.hasOwn(gains, nonlinearity)) return gains[nonlinearity];
  throw new TesseraError('invalid-argument', `Unsupported nonlinearity ${nonlinearity}`, {
    hints: [`It is one of ${Object.keys(gains).join(', ')}.`],
  });
}
