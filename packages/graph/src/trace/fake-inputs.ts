/**
 * @file FakeTensors that stand for other tensors in a trace.
 */
import { Storage, type Tensor } from '@tessera/tensor';
import { makeTensor } from '@tessera/tensor/internal';

/**
 * Makes FakeTensors: same metadata, leaves of autograd; tensors that share memory give fakes that share
 * a storage, and the same tensor gives the same fake.
 */
export class FakeConverter {
  private readonly tensors = new Map<Tensor, Tensor>();
  private readonly storages = new Map<Storage, Storage>();

  /** The fake of a tensor; a fake stands for itself. */
  convert(tensor: Tensor): Tensor {
    return tensor.isFake ? tensor : this.fresh(tensor);
  }

  /** The fake of a tensor; a fake gets a new one too. */
  fresh(tensor: Tensor): Tensor {
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
    if (fake === undefined) {
      fake = Storage.fake(storage.device, storage.nbytes);
      this.storages.set(storage, fake);
    }
    return fake;
  }
}
