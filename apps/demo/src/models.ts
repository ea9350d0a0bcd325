/**
 * @file The two models and their optimizers, as the recorded PyTorch runs built them.
 */
import {
  AdaptiveAvgPool2d,
  BatchNorm2d,
  Conv2d,
  Flatten,
  Linear,
  Module,
  ReLU,
  Sequential,
} from '@tessera/nn';
import * as F from '@tessera/nn/functional';
import * as optim from '@tessera/nn/optim';
import { type DeviceType, type Tensor } from '@tessera/tensor';

/** Two convolutions with batch norm, average pooling and a linear layer; [N, 1, 8, 8] → [N, 10]. */
export class DigitsCnn extends Module {
  readonly c1: Conv2d = new Conv2d(1, 16, 3, { padding: 1 });
  readonly b1: BatchNorm2d = new BatchNorm2d(16);
  readonly c2: Conv2d = new Conv2d(16, 32, 3, { stride: 2, padding: 1 });
  readonly b2: BatchNorm2d = new BatchNorm2d(32);
  readonly pool: AdaptiveAvgPool2d = new AdaptiveAvgPool2d(1);
  readonly fc: Linear = new Linear(32, 10);

  forward(x: Tensor): Tensor {
    let h = F.relu(this.b1.call(this.c1.call(x)));
    h = F.relu(this.b2.call(this.c2.call(h)));
    return this.fc.call(this.pool.call(h).flatten(1));
  }
}

/** A model of the given kind, on a device, with the given weights. */
export function makeModel(
  kind: 'mlp' | 'cnn',
  state: Record<string, Tensor>,
  device: DeviceType,
): Module & { forward(x: Tensor): Tensor } {
  const model =
    kind === 'mlp'
      ? new Sequential(new Flatten(), new Linear(64, 128), new ReLU(), new Linear(128, 10))
      : new DigitsCnn();
  model.loadStateDict(state);
  model.to(device);
  return model as Module & { forward(x: Tensor): Tensor };
}

/** The optimizer of the recorded run. */
export function makeOptimizer(kind: 'mlp' | 'cnn', model: Module): optim.Optimizer {
  return kind === 'mlp'
    ? new optim.AdamW(model.parameters(), { lr: 1e-2 })
    : new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9, weightDecay: 1e-4 });
}
