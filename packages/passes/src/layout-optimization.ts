/**
 * @file Layouts for convolutions: what they read is laid out channels last, and what follows them follows
 * (layout-propagation).
 *
 * Images and their gradients get `prims::inductor_force_stride_order` in front, once each, which goes again where
 * they lie so already; weights are laid out once per graph run, or folded where they are constants. Gradients of
 * weights keep eager's strides: whoever accumulates them or updates with them reads them beside the parameter.
 * Modelled on inductor's layout optimization.
 */
import { type GraphModule, type Node, getItem, tensorVal } from '@tessera/graph';
import { type DeviceType, type Tensor } from '@tessera/tensor';
import { formatStrides } from '@tessera/tensor/internal';
import { passesConfig } from './config.js';
import { emitForced, liesAs, propagateLayouts } from './layout-propagation.js';
import type { Pass } from './pass.js';

/** What a graph is for: its convolutions have constants as weights, parameters, or gradients too. */
export type LayoutUse = 'frozen' | 'inference' | 'training';

/** Where `pnpm bench layout` shows channels last to be faster (ADR 25). */
const FASTER: Readonly<Record<string, readonly LayoutUse[]>> = { cpu: ['frozen'] };

/** One convolution alone gets its result laid out back at once. */
const FEWEST_CONVOLUTIONS = 2;

/** Images of fewer channels than a vector holds are read as fast by rows of pixels. */
const FEWEST_CHANNELS = 4;

/** What convolutions read: positions of images and of the weight among their arguments. */
interface Operands {
  readonly images: readonly number[];
  readonly weight: number | null;
  readonly groups: number;
}

/** The pass over a graph; `frozen` where weights are constants. */
export function layoutOptimization(frozen: boolean): Pass {
  return { name: 'layout-optimization', run: (module) => optimizeLayouts(module, frozen) > 0 };
}

/** Lays out convolutions and what follows them; returns how many convolutions. */
function optimizeLayouts(module: GraphModule, frozen: boolean): number {
  const { nodes } = module.graph;
  const use = frozen ? 'frozen' : nodes.some(isConvolutionBackward) ? 'training' : 'inference';
  const convolutions = nodes.filter((node) => {
    const image = operandsOf(node) === null ? null : tensorVal(node.input());
    return image?.ndim === 4 && prefersChannelsLast(use, image.device);
  });
  const fewest = passesConfig.forceLayoutOptimization ? 1 : FEWEST_CONVOLUTIONS;
  if (convolutions.length < fewest) return 0;
  const layouts = new Layouts(module);
  for (const node of convolutions) layouts.layOut(node, operandsOf(node)!);
  propagateLayouts(module);
  return convolutions.length;
}

function prefersChannelsLast(use: LayoutUse, device: DeviceType): boolean {
  const { layoutOptimization: wanted, forceLayoutOptimization: forced } = passesConfig;
  if (wanted !== null) return forced || wanted;
  return forced || FASTER[device]?.includes(use) === true;
}

function nameOf(node: Node): string | null {
  return node.op === 'call_function' && typeof node.target === 'object'
    ? node.target.qualifiedName
    : null;
}

function isConvolutionBackward(node: Node): boolean {
  return nameOf(node) === 'aten::convolution_backward';
}

/** What a convolution reads; null for other nodes. */
function operandsOf(node: Node): Operands | null {
  switch (nameOf(node)) {
    case 'aten::convolution':
      return { images: [0], weight: 1, groups: node.number(8) };
    case 'tessera::convolution_pointwise':
      return { images: [0], weight: 1, groups: node.number(6) };
    case 'aten::convolution_backward': {
      const [input, weight, bias] = [node.args[10]].flat();
      if (!input && !weight) return bias ? { images: [0], weight: null, groups: 1 } : null;
      return {
        images: weight ? [0, 1] : [0],
        // The gradient of the weight does not read it.
        weight: input ? 2 : null,
        groups: node.number(9),
      };
    }
    default:
      return null;
  }
}

/** Puts layouts in front of convolutions, each once. */
class Layouts {
  private readonly made = new Map<Node, Map<string, Node>>();

  constructor(private readonly module: GraphModule) {}

  layOut(node: Node, { images, weight, groups }: Operands): void {
    for (const at of images) {
      const image = node.input(at);
      const val = tensorVal(image)!;
      if (val.sizes[1]! >= FEWEST_CHANNELS)
        this.replace(node, at, image, formatStrides(val, 'channelsLast'));
    }
    if (weight !== null) {
      const parameter = node.input(weight);
      this.replace(node, weight, parameter, weightStrides(tensorVal(parameter)!, groups));
    }
    if (isConvolutionBackward(node)) this.keepWeightGradient(node);
  }

  private replace(node: Node, at: number, value: Node, strides: readonly number[]): void {
    if (!liesAs(tensorVal(value)!, strides)) node.updateArg(at, this.laidOut(node, value, strides));
  }

  private laidOut(before: Node, value: Node, strides: readonly number[]): Node {
    let made = this.made.get(value);
    if (made === undefined) this.made.set(value, (made = new Map<string, Node>()));
    const key = strides.join();
    let node = made.get(key);
    if (node === undefined) {
      node = this.module.graph.insertingBefore(before, () =>
        emitForced(this.module, value, strides),
      );
      made.set(key, node);
    }
    return node;
  }

  private keepWeightGradient(node: Node): void {
    for (const item of [...node.users.keys()]) {
      if (item.target !== getItem || item.args[1] !== 1 || item.users.size === 0) continue;
      const { strides } = tensorVal(item)!;
      const users = [...item.users.keys()];
      const kept = this.module.graph.insertingAfter(item, () =>
        emitForced(this.module, item, strides),
      );
      for (const user of users) user.replaceInputWith(item, kept);
    }
  }
}

/** Channels last; of one channel per group, the channels of the groups last. */
function weightStrides(weight: Tensor, groups: number): readonly number[] {
  const [outputs, channels, height, width] = weight.sizes;
  return channels === 1 && groups > 1
    ? [1, height * width * outputs, width * outputs, outputs]
    : formatStrides(weight, 'channelsLast');
}
