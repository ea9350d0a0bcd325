/**
 * @file Products whose columns are pixels and whose steps are channels and taps: convolutions.
 *
 * Element (k, col) of B is the image at `stride · pixel + dilation · tap`. Packed like any other operand, every pixel of
 * the image would be computed and stored once for each tap. Where every index of B sees a pixel and a tap in that
 * combination only, B is a function of channels and *places*, and it is enough to pack the image itself.
 */
import { type Size, sizeKnown, sizeMul } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { SizedLoop } from '../../ir/index-expr.js';
import { type LinearForm, coefficientOf, otherParts } from '../../ir/linear-form.js';
import { extent, moves } from '../../ir/loop-vars.js';
import { indexOf, postorder } from '../../ir/walk.js';
import type { WindowAxis } from '../kernel/image-layout.js';
import type { LoopSpace } from '../vectors/loop-space.js';
import type { OrientedProduct } from './oriented-product.js';

/** See the file header. */
export interface Windows {
  /** The product with one image in every batch entry. */
  readonly product: OrientedProduct;
  readonly channels: readonly SizedLoop[];
  /** Variables of columns and steps that are 0. */
  readonly units: readonly string[];
  readonly channelCount: number;
  readonly y: WindowAxis;
  readonly x: WindowAxis;
  /** Taps of a channel. */
  readonly taps: number;
}

/** Taps of a channel are written out, each with addresses of its own. */
const MAX_TAPS = 64;
const MAX_STRIDE = 4;

/** A product as windows over images, or null. */
export function windowsOf(product: OrientedProduct): Windows | null {
  const { depth, b, kernel } = product;
  const { lines: cols } = b;
  if (typeof product.depthCount !== 'number' || b.plain !== null) return null;
  if (kernel.accDtype !== 'float32') return null;
  const pixels = cols.filter(moves);
  const steps = depth.filter(moves);
  const [x, y] = pixels.toReversed();
  if (x === undefined) return null;
  const forms = formsOf(b.expr, product.space);
  if (forms === null) return null;
  const horizontal = axisOf(x, steps, forms);
  // A step is a tap of one direction: that of the other does not move with it.
  const vertical = axisOf(
    y,
    steps.filter(({ name }) => name !== horizontal.tap),
    forms,
  );
  const taps = [vertical, horizontal].flatMap(({ tap }) => tap ?? []);
  const channels = steps.slice(0, steps.length - taps.length);
  const count = vertical.taps * horizontal.taps;
  // Weights lie in the order of k: channels, then taps by row.
  const ordered = steps.slice(channels.length).every(({ name }, i) => name === taps[i]);
  if (!ordered || count === 1 || count > MAX_TAPS) return null;
  const images = pixels.slice(0, -2);
  const batch = [...product.batch, ...images];
  const own = pixels.slice(-2);
  return {
    product: {
      ...product,
      batch,
      b: { ...b, lines: own },
      batchCount: extent(batch),
      colCount: extent(own),
    },
    channels,
    units: [...cols, ...depth].flatMap(({ name, size }) => (size === 1 ? name : [])),
    channelCount: product.depthCount / count,
    y: vertical,
    x: horizontal,
    taps: count,
  };
}

/** All indices of an expression, and what they divide, in terms of loop variables; null where some value has none. */
function formsOf(root: Expr, space: LoopSpace): LinearForm[] | null {
  const forms: LinearForm[] = [];
  for (const expr of postorder([root])) {
    if (expr.kind === 'random' || expr.kind === 'check') return null;
    const index = indexOf(expr);
    if (index !== null) forms.push(space.linear(index));
  }
  // What is found is visited too.
  for (const form of forms)
    for (const [part] of otherParts(form)) {
      if (part.kind !== 'div' && part.kind !== 'mod') return null;
      forms.push(space.linear(part.num));
    }
  return forms;
}

/** How places along a variable of pixels depend on it and on taps. */
function axisOf(
  pixel: SizedLoop | undefined,
  steps: readonly SizedLoop[],
  forms: readonly LinearForm[],
): WindowAxis {
  const plain = { tap: null, taps: 1, stride: 1, dilation: 1 };
  if (pixel === undefined) return { pixel: null, size: 1, ...plain };
  const { name, size } = pixel;
  const isUsed = (form: LinearForm): boolean => coefficientOf(form, name) !== 0;
  for (const tap of steps.toReversed()) {
    if (typeof tap.size !== 'number') continue;
    for (let stride = 1; stride <= MAX_STRIDE; stride++) {
      for (const dilation of stride === 1 ? DILATIONS : [1]) {
        const agrees = forms.every((form) => {
          const [a, b] = [coefficientOf(form, name), coefficientOf(form, tap.name)];
          return isEqual(sizeMul(a, dilation), sizeMul(b, stride));
        });
        if (agrees && forms.some(isUsed))
          return { pixel: name, size, tap: tap.name, taps: tap.size, stride, dilation };
      }
    }
  }
  return { pixel: name, size, ...plain };
}

/** With a stride of one: places may lie apart, and run against the taps (gradients of images). */
const DILATIONS = [1, -1, 2, -2, 3, -3, 4, -4];

function isEqual(a: Size, b: Size): boolean {
  return sizeKnown(a, '==', b) === true;
}
