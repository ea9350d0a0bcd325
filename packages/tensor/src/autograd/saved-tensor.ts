/**
 * @file Values that a backward node keeps, with the version they had.
 */
import { TesseraError } from '@tessera/shared';
import { DTYPES } from '../dtype.js';
import { fakeFromMeta } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import type { TensorMeta } from '../op/op-record.js';
import { formatSizes } from '../shape.js';

/** A tensor whose values the vjp reads. */
export class SavedTensor {
  private readonly version: number;

  constructor(private readonly tensor: Tensor) {
    this.version = tensor.storage.version;
  }

  /** The tensor, if nobody modified it. @throws inplace-version */
  unpack(nodeName: string): Tensor {
    const now = this.tensor.storage.version;
    if (now !== this.version) {
      const maker = this.tensor.gradFn?.name;
      throw new TesseraError(
        'inplace-version',
        `one of the variables needed for gradient computation has been modified by an inplace operation: [${DTYPES[this.tensor.dtype].scalarTypeName} ${formatSizes(this.tensor.sizes)}]${maker === undefined ? '' : `, which is output of ${maker},`} is at version ${now}; expected version ${this.version} instead (needed by ${nodeName}).`,
        {
          hints: [
            'Use the out-of-place op, or clone() the tensor before modifying it.',
            'setDetectAnomaly(true) shows the forward op that saved it.',
          ],
        },
      );
    }
    return this.tensor;
  }
}

/** A tensor argument of which the vjp reads only the layout. */
export class SavedMeta {
  private readonly meta: TensorMeta;
  private readonly storageOffset: number;

  constructor(tensor: Tensor) {
    this.storageOffset = tensor.storageOffset;
    this.meta = {
      sizes: tensor.sizes,
      strides: tensor.strides,
      dtype: tensor.dtype,
      device: tensor.device,
    };
  }

  /** A FakeTensor of that layout. */
  unpack(): Tensor {
    const tensor = fakeFromMeta(this.meta);
    tensor.storageOffset = this.storageOffset;
    return tensor;
  }
}
