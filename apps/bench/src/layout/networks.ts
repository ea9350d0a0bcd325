/**
 * @file What `pnpm bench layout` runs: ResNet-18, two networks of depthwise convolutions, and the convolution
 * networks of the conformance list, each as one compiled function.
 */
import { BatchNorm2d, Conv2d, Linear, Module, Sequential } from '@tessera/nn';
import { type Tensor, flatten } from '@tessera/tensor';
import { ResNet18 } from '../tracer/networks.js';

/** A network and the images it gets. */
export interface LayoutNetwork {
  readonly name: string;
  readonly make: (isSmall: boolean) => Module | Promise<Module>;
  /** Sizes of a batch that adapters in software get through as well. */
  readonly small: readonly number[];
  readonly full: readonly number[];
}

/** The model of the row about cross entropy, up to its scores. */
class ConvLinear extends Module {
  conv: Conv2d = new Conv2d(1, 111, 3, { padding: 'same' });
  out: Linear = new Linear(39 * 111, 111);

  override forward(x: Tensor): Tensor {
    return this.out.call(flatten(this.conv.call(x).transpose(1, 2), 2));
  }
}

function twoConvs(): Module {
  return new Sequential(
    new Conv2d(3, 512, 3, { stride: 2, bias: false }),
    new Conv2d(512, 512, 3, { stride: 2, bias: false }),
  );
}

function threeConvs(): Module {
  return new Sequential(
    new Conv2d(3, 512, 7, { stride: 7, bias: false }),
    new Conv2d(512, 512, 7, { groups: 512, padding: 'same', bias: false }),
    new Conv2d(512, 512, 1, { bias: false }),
  );
}

async function recorded(name: string): Promise<Module> {
  // Loaded here: other benches start without it.
  const { recordedModels } = await import('@tessera/testkit');
  return recordedModels.find((model) => model.name === name)!.build();
}

/** Of the list's rows a batch is as in the row. */
export const LAYOUT_NETWORKS: readonly LayoutNetwork[] = [
  {
    name: 'resnet18',
    make: (isSmall) => new ResNet18(isSmall ? 16 : 64),
    small: [2, 3, 32, 32],
    full: [4, 3, 64, 64],
  },
  {
    name: 'convnext',
    make: () => recorded('test_convnext'),
    small: [2, 3, 32, 32],
    full: [4, 3, 128, 128],
  },
  {
    name: 'efficientnet',
    make: () => recorded('test_efficientnet'),
    small: [2, 3, 32, 32],
    full: [4, 3, 128, 128],
  },
  {
    name: 'two_convs',
    make: twoConvs,
    small: [2, 3, 16, 16],
    full: [2, 3, 16, 16],
  },
  {
    name: 'three_convs',
    make: threeConvs,
    small: [2, 3, 16, 16],
    full: [2, 3, 16, 16],
  },
  {
    name: 'conv_linear',
    make: () => new ConvLinear(),
    small: [1, 1, 24, 39],
    full: [4, 1, 144, 39],
  },
  {
    name: 'conv_bn',
    make: () =>
      new Sequential(new Conv2d(32, 32, 3, { stride: 2, bias: false }), new BatchNorm2d(32)),
    small: [3, 32, 32, 32],
    full: [3, 32, 32, 32],
  },
  {
    name: 'conv_3x3',
    make: () => new Conv2d(3, 128, 3, { padding: 1, bias: false }),
    small: [2, 3, 5, 5],
    full: [2, 3, 5, 5],
  },
  {
    name: 'conv_1x1',
    make: () => new Conv2d(256, 384, 1, { bias: false }),
    small: [1, 256, 16, 16],
    full: [8, 256, 16, 16],
  },
];
