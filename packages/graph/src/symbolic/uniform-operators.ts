/**
 * @file Operators that do the same at all sizes: what their rules, parts and derivatives compute from sizes is sums and
 * products of them, without asking how large they are.
 *
 * That is a promise of whoever lists an operator here, which a test checks for every one. It holds for sizes of 2
 * and more that vary, and within a *case*: tensors of one class of layouts, slices that lie inside. Numbers that were
 * right at enough sizes (`SizeSamples`) are right at others of the same case.
 */
import { type OpOverload, type Tensor, isTensor } from '@tessera/tensor';
import { viewStrides } from '@tessera/tensor/internal';

/** A tensor as far as operators ask for its sizes. */
export type Shaped = Pick<Tensor, 'sizes' | 'strides'>;

/** Names without overload; operators on elements are told by their tag. */
const UNIFORM: ReadonlySet<string> = new Set(
  `tessera::autograd_grad tessera::recurrent_layer tessera::recurrent_layer_backward
  view reshape view_as reshape_as flatten unflatten squeeze unsqueeze permute transpose t mT movedim expand expand_as
  detach clone contiguous _to_copy to stack cat split split_with_sizes chunk unbind slice slice_scatter slice_backward
  select select_scatter select_backward narrow zeros ones full zeros_like ones_like new_zeros new_ones
  new_empty_strided arange tril triu flip pad constant_pad_nd
  sum mean amax amin max min all any argmax argmin logsumexp softmax log_softmax _softmax _log_softmax
  _softmax_backward_data _log_softmax_backward_data layer_norm native_layer_norm native_layer_norm_backward rms_norm
  cross_entropy_loss nll_loss nll_loss_nd nll_loss_forward nll_loss_backward mse_loss l1_loss relu6 square rsub selu celu
  mm bmm mv dot addmm baddbmm matmul linear scaled_dot_product_attention _scaled_dot_product_flash_attention_for_cpu
  _scaled_dot_product_flash_attention_for_cpu_backward embedding embedding_dense_backward index_select gather`
    .split(/\s+/)
    .map((name) => (name.includes('::') ? name : `aten::${name}`)),
);

/** Operators whose rules ask for sizes: the case in which a call is, null for one that nothing is promised of. */
type CaseOf = (args: readonly unknown[], outs: readonly Shaped[]) => string | null;

const reshaped: CaseOf = ([self], [out]) => {
  const { sizes, strides } = self as Shaped;
  if (numelOf(sizes) !== numelOf(out!.sizes)) return null;
  return viewStrides(sizes, strides, out!.sizes) === null ? 'copy' : 'view';
};

/** Parts of one size but for the last, along a dimension. */
function parts(size: number, part: number, dim: number, outs: readonly Shaped[]): string | null {
  const fit = outs.every(({ sizes }, i) => sizes.at(dim) === Math.min(part, size - i * part));
  return fit && outs.length === Math.ceil(size / part) ? String(outs.length) : null;
}

const sliced =
  (before: number): CaseOf =>
  (args) => {
    const [dim, start, end, step] = args.slice(before) as (number | null | undefined)[];
    const size = (args[0] as Shaped).sizes.at(dim ?? 0)!;
    return (step ?? 1) === 1 ? bounds(start ?? 0, end ?? LAST, size) : null;
  };

const selected =
  (before: number): CaseOf =>
  (args) => {
    const [dim, index] = args.slice(before) as [number, number];
    const size = (args[0] as Shaped).sizes.at(dim)!;
    return index < size && index >= -size ? (index < 0 ? 'from the end' : '') : null;
  };

const widened = (pad: unknown): string | null =>
  (pad as readonly number[]).every((n) => n >= 0) ? '' : null;

/** What a slice ends at that goes to the end. */
const LAST = 2 ** 53 - 1;

/** Which ends of a slice are counted from the end, and which lie outside and are moved to where it begins or ends. */
function bounds(start: number, end: number, size: number): string {
  const from = start < 0 ? start + size : start;
  const to = end < 0 ? end + size : end;
  const least = Math.min(Math.max(from, 0), size);
  return `${start < 0}${place(from, 0, size)}${end < 0}${place(to, least, size)}`;
}

function place(at: number, first: number, last: number): string {
  return at < first ? '<' : at > last ? '>' : '';
}

const CASES: Readonly<Record<string, CaseOf>> = {
  'aten::view': reshaped,
  'aten::reshape': reshaped,
  'aten::flatten': reshaped,
  'aten::unflatten': reshaped,
  'aten::view_as': reshaped,
  'aten::reshape_as': reshaped,
  'aten::slice': sliced(1),
  'aten::slice_scatter': sliced(2),
  'aten::select': selected(1),
  'aten::select_scatter': selected(2),
  'aten::slice_backward': ([, sizes, dim, start, end, step]) =>
    sliced(1)([{ sizes }, dim, start, end, step], []),
  'aten::select_backward': ([, sizes, dim, index]) => selected(1)([{ sizes }, dim, index], []),
  'aten::narrow': ([self, dim, start, length]) =>
    typeof start !== 'number' || start < 0
      ? null
      : sliced(1)([self, dim, start, start + (length as number), 1], []),
  'aten::split': ([self, part, dim = 0], outs) =>
    parts((self as Shaped).sizes.at(dim as number)!, part as number, dim as number, outs),
  'aten::chunk': ([self, count, dim = 0], outs) => {
    const size = (self as Shaped).sizes.at(dim as number)!;
    return parts(size, Math.ceil(size / (count as number)), dim as number, outs);
  },
  'aten::unbind': (_, outs) => String(outs.length),
  'aten::constant_pad_nd': ([, pad]) => widened(pad),
  'aten::pad': ([, pad, mode = 'constant']) => (mode === 'constant' ? widened(pad) : null),
  'aten::scaled_dot_product_attention': (args) => (args[7] === true ? null : ''),
};

/** The arguments of `arange` are (start, end, step), of its overloads fewer. */
const RANGE = 'aten::arange.start_step';

/** Whether an operator does the same at all sizes. */
export function isUniform(op: OpOverload): boolean {
  return op.hasTag('pointwise') || UNIFORM.has(baseName(op));
}

/** Whether calls of an operator at some sizes may be in another case than at others, of the same layouts. */
export function hasCases(op: OpOverload): boolean {
  return baseName(op) in CASES || op.qualifiedName === RANGE;
}

/**
 * The case in which a call of a uniform operator is: what is known of calls is known of those in the same case. Null
 * for a call that nothing is known of.
 */
export function caseOfCall(
  op: OpOverload,
  args: readonly unknown[],
  outs: readonly Shaped[],
): string | null {
  let found = caseOfSizes(op, args, outs);
  if (found === null) return null;
  for (const arg of args) if (isShaped(arg)) found += `;${layoutClass(arg)}`;
  return found;
}

/** The same for operands of known classes of layouts. */
export function caseOfSizes(
  op: OpOverload,
  args: readonly unknown[],
  outs: readonly Shaped[],
): string | null {
  if (op.qualifiedName === RANGE && (args[2] ?? 1) !== 1) return null;
  const caseOf = CASES[baseName(op)];
  return caseOf === undefined ? '' : caseOf(args, outs);
}

/** What operators may ask of a layout: in which order dimensions lie in memory, and which of them could be one. */
export function layoutClass({ sizes, strides }: Shaped): string {
  let code = '';
  for (let i = 0; i < sizes.length; i++) {
    const stride = strides[i]!;
    code += stride === 1 ? '1' : '-';
    for (let j = 0; j < i; j++) {
      const other = strides[j]!;
      const order = other > stride ? '>' : other < stride ? '<' : '=';
      code += other === stride * sizes[i]! || stride === other * sizes[j]! ? `${order}!` : order;
    }
  }
  return code;
}

function isShaped(value: unknown): value is Shaped {
  return isTensor(value) || (typeof value === 'object' && value !== null && 'strides' in value);
}

function numelOf(sizes: readonly number[]): number {
  return sizes.reduce((product, size) => product * size, 1);
}

const names = new WeakMap<OpOverload, string>();

/** Name without overload, and without the underscore of writing in place. */
function baseName(op: OpOverload): string {
  let name = names.get(op);
  if (name === undefined)
    names.set(op, (name = op.qualifiedName.replace(/\..*/, '').replace(/(?<=[a-z])_$/, '')));
  return name;
}
