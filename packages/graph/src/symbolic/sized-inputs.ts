/**
 * @file FakeTensors that stand for given tensors at other sizes.
 */
import { Storage, type Tensor } from '@tessera/tensor';
import { makeTensor, storageBytes, storageExtent } from '@tessera/tensor/internal';
import { symbolicStrides } from './symbolic-shape.js';

/** A tensor some of whose sizes vary. */
export interface SizedInput {
  readonly tensor: Tensor;
  /** Per dim: number of the size that it has, or -1 for its own. */
  readonly dims: readonly number[];
}

/** The inputs at given sizes: same dtypes and layouts, those that share memory on one storage. */
export function fakesAt(inputs: readonly SizedInput[], sizes: readonly number[]): Tensor[] {
  const layouts = inputs.map(({ tensor, dims }) => {
    const now = tensor.sizes.map((size, i) => (dims[i] < 0 ? size : sizes[dims[i]]));
    const strides = symbolicStrides(tensor, now, (a, b) => a * b);
    return { sizes: now, strides };
  });
  const bytes = new Map<Storage | Tensor, number>();
  inputs.forEach(({ tensor }, i) => {
    const extent = tensor.storageOffset + storageExtent(layouts[i].sizes, layouts[i].strides);
    const key = tensor.storageOrNull ?? tensor;
    const needed = Math.max(storageBytes(tensor.device, tensor.dtype, extent), bytes.get(key) ?? 0);
    bytes.set(key, needed);
  });
  const storages = new Map<Storage | Tensor, Storage>();
  return inputs.map(({ tensor }, i) => {
    const key = tensor.storageOrNull ?? tensor;
    let storage = storages.get(key);
    if (storage === undefined)
      storages.set(key, (storage = Storage.fake(tensor.device, bytes.get(key)!)));
    const fake = makeTensor(
      storage,
      tensor.dtype,
      tensor.device,
      layouts[i].sizes,
      layouts[i].strides,
      tensor.storageOffset,
    );
    fake.requiresGradFlag = tensor.requiresGrad;
    return fake;
  });
}
