/**
 * @file FakeTensors that stand for real tensors in a trace.
 */
import { Storage, type Tensor, makeTensor } from '@tessera/tensor';

/**
 * Makes FakeTensors of real ones: same metadata, leaves of autograd; tensors that share memory give
 * fakes that share a storage, and the same tensor gives the same fake.
 */
export class FakeConverter {
  private readonly tensors = new Map<Tensor, Tensor>();
  private readonly storages = new Map<Storage, Storage>();

  /** The fake of a tensor; a fake stands for itself. */
  convert(tensor: Tensor): Tensor {
    if (tensor.isFake) return tensor;
    let fake = this.tensors.get(tensor);
    if (fake === undefined) {
      fake = makeTensor(
        this.storage(tensor.storage),
        tensor.dtype,
        tensor.device,
        tensor.sizes,
        tensor.strides,
        tensor.storageOffset,
      );
      fake.requiresGradFlag = tensor.requiresGradFlag;
      this.tensors.set(tensor, fake);
    }
    return fake;
  }

  private storage(storage: Storage): Storage {
    let fake = this.storages.get(storage);
    if (fake === undefined)
      this.storages.set(storage, (fake = Storage.fake(storage.device, storage.nbytes)));
    return fake;
  }
}
