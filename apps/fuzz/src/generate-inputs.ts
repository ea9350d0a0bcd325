/**
 * @file Random tensors and calls: shapes and dtypes from a small set, layouts, duplicates, overlaps, and what
 * changes from call to call.
 */
import { type DType, isFloatingPoint } from '@tessera/tensor';
import type { Dice } from './dice.js';
import {
  type ArgSpec,
  BACKWARDS,
  type CallSpec,
  MEANWHILES,
  PLAIN_CALL,
  type TensorSpec,
} from './program.js';

/** Sizes are the batch (which may vary from call to call), 3, 1 and 2. */
const SHAPES: readonly (readonly ('B' | number)[])[] = [
  ['B', 3],
  ['B', 3],
  ['B', 3],
  [3],
  ['B'],
  ['B', 1],
  [1, 3],
  [],
  [2, 'B', 3],
  [3, 3],
];

const DTYPES: readonly DType[] = [
  ...Array<DType>(9).fill('float32'),
  'float64',
  'int64',
  'int64',
  'int32',
  'bool',
  'float16',
  'bfloat16',
];

/** Shape, dtype and layout of a tensor, to fill with values of any batch size. */
export interface Form {
  readonly shape: readonly ('B' | number)[];
  readonly dtype: DType;
  readonly layout: 'contiguous' | 'transposed' | 'sliced' | 'expanded';
  readonly requiresGrad: boolean;
  readonly leaf: boolean;
}

/** A random form. */
export function randomForm(dice: Dice): Form {
  const shape = dice.pick(SHAPES);
  const dtype = dice.pick(DTYPES);
  const requiresGrad = isFloatingPoint(dtype) && dice.chance(0.5);
  const layout =
    shape.length < 2 || dice.chance(0.7)
      ? 'contiguous'
      : dice.pick(['transposed', 'sliced', 'expanded'] as const);
  return { shape, dtype, layout, requiresGrad, leaf: dice.chance(0.5) };
}

function value(dice: Dice, dtype: DType): number {
  if (dtype === 'bool') return dice.below(2);
  if (!isFloatingPoint(dtype)) return dice.below(dtype === 'int64' ? 3 : 9);
  return Math.round((dice.next() * 3 - 1.5) * 256) / 256;
}

/** A tensor of a form. */
export function fillForm(dice: Dice, form: Form, batch: number): TensorSpec {
  const { dtype, layout, requiresGrad, leaf } = form;
  const shape = form.shape.map((size) => (size === 'B' ? batch : size));
  const stored =
    layout === 'transposed'
      ? [...shape].reverse()
      : layout === 'sliced'
        ? [...shape.slice(0, -1), shape.at(-1)! * 2]
        : layout === 'expanded'
          ? [1, ...shape.slice(1)]
          : shape;
  const views: TensorSpec['views'][number][] = [{ name: 'view', args: [stored] }];
  if (layout === 'transposed')
    views.push({ name: 'permute', args: [shape.map((_, d) => shape.length - 1 - d)] });
  if (layout === 'sliced') views.push({ name: 'slice', args: [-1, 0, null, 2] });
  if (layout === 'expanded') views.push({ name: 'expand', args: [shape] });
  const numel = stored.reduce((a, b) => a * b, 1);
  const data = Array.from({ length: numel }, () => value(dice, dtype));
  return { dtype, data, views, requiresGrad, leaf };
}

/** Views that an argument may be of another. */
function overlap(dice: Dice, form: Form, batch: number): TensorSpec['views'] {
  const choices: TensorSpec['views'][] = [[]];
  const first = form.shape[0] === 'B' ? batch : form.shape[0];
  if (first !== undefined) {
    // Nothing can be selected of an empty batch.
    if (first > 0) choices.push([{ name: 'select', args: [0, 0] }]);
    choices.push([{ name: 'slice', args: [0, 0, null, 1] }]);
    if (first > 1) choices.push([{ name: 'slice', args: [0, 1, null, 1] }]);
    choices.push([{ name: 'transpose', args: [0, -1] }]);
    choices.push([{ name: 'detach', args: [] }]);
  }
  return dice.pick(choices);
}

/**
 * Batches of eight calls: two that code for all sizes is made from, three that are samples of what sizes do, and others,
 * which may need no graph then.
 */
export function sizedBatches(dice: Dice): number[] {
  const later = [0, 1, 2, 3, 5, 6, 7, 8, 9, 12, 13, 16, 17];
  const first = dice.below(3);
  const samples = [5, 9, 12, 7, 15, 10].slice(first, first + 3);
  return [
    4,
    dice.pick([2, 3, 6, 8]),
    ...samples,
    ...Array.from({ length: 3 }, () => dice.pick(later)),
  ];
}

/** Three calls, or one of each batch; what changes between them is drawn anew for each program. */
export function randomCalls(
  dice: Dice,
  forms: readonly Form[],
  captured: readonly Form[],
  sizes: readonly number[] | null = null,
): CallSpec[] {
  const drawn = dice.chance(0.3) ? [4, dice.pick([2, 5]), dice.pick([3, 4, 5])] : [4, 4, 4];
  const batches = sizes ?? drawn;
  const aliased = dice.chance(0.3);
  const aliasChanges = dice.chance(0.5);
  const gradChanges = dice.chance(0.3);
  const firstAlias = forms.map((_, i) => (i > 0 && dice.chance(0.6) ? dice.below(i) : -1));
  const constants = { k: dice.pick([2, 0.5, 1, 3]), numbersChange: dice.chance(0.6) };
  const again = dice.chance(0.35);
  const toggles = dice.chance(0.4);
  const replaces = dice.chance(0.4);
  const fails = dice.chance(0.3);
  const backward = dice.chance(0.7);
  return batches.map((batch, c): CallSpec => {
    const isView = forms.map((_, i) => {
      if (!aliased || firstAlias[i]! < 0) return false;
      return !aliasChanges || dice.chance(0.5);
    });
    const isAgain: boolean[] = [];
    const args = forms.map((form, i): ArgSpec => {
      if (isView[i]) {
        // An alias of an alias is one of the tensor itself.
        let of = firstAlias[i]!;
        while (isView[of]) of = firstAlias[of]!;
        const views = overlap(dice, forms[of]!, batch);
        // A tensor that comes again may have been laid out anew by then.
        return { kind: 'alias', of, views: isAgain[of] === true ? [] : views };
      }
      const sameBatch = c > 0 && batch === batches[c - 1];
      isAgain[i] = again && sameBatch && dice.chance(0.6);
      if (isAgain[i]) return { kind: 'again' };
      const flipped =
        gradChanges && c > 0 && isFloatingPoint(form.dtype) && dice.chance(0.5)
          ? { ...form, requiresGrad: !form.requiresGrad }
          : form;
      return { kind: 'new', tensor: fillForm(dice, flipped, batch) };
    });
    const replace: Record<string, TensorSpec> = {};
    captured.forEach((form, i) => {
      if (c > 0 && replaces && dice.chance(0.5)) replace[`w${i}`] = fillForm(dice, form, 4);
    });
    return {
      ...PLAIN_CALL,
      args,
      k: constants.numbersChange ? constants.k + c : constants.k,
      ks: constants.numbersChange ? [c, 2 - c, 1].slice(0, 1 + dice.below(3)) : [1, 2],
      replace,
      fail: fails && dice.chance(0.4),
      training: !(toggles && c === 1),
      frozen: toggles && c === 2,
      lr: constants.numbersChange ? 0.1 / (c + 1) : 0.1,
      noGrad: toggles && dice.chance(0.2),
      meanwhile: dice.chance(0.5) ? dice.pick(MEANWHILES) : null,
      backward:
        backward && dice.chance(0.9) ? (dice.chance(0.5) ? 'sum' : dice.pick(BACKWARDS)) : null,
    };
  });
}
