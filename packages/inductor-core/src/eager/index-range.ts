/**
 * @file Whether the indices of a call lie in the tensor that they index. Compiled kernels do not look: they read
 * and write where an index says.
 */
import { type OpOverload, type Tensor, cpuHeap, isTensor, readNumbers } from '@tessera/tensor';

/** Indices and what they must lie in. */
interface Indexed {
  readonly index: Tensor;
  /** Elements along the indexed dimension. */
  readonly size: number;
  /** Whether -1 is the last element. */
  readonly wraps?: boolean;
  /** A value that stands for no element. */
  readonly ignored?: number;
}

type Rule = (args: readonly unknown[]) => readonly Indexed[];

function sizeAt(tensor: Tensor, dim: number): number {
  return tensor.ndim === 0 ? 1 : tensor.sizes[dim < 0 ? dim + tensor.ndim : dim]!;
}

/** `op(self, dim, index, …)` */
const along: Rule = ([self, dim, index]) => [
  { index: index as Tensor, size: sizeAt(self as Tensor, dim as number) },
];

const classes: Rule = ([scores, target, , , ignored]) => [
  {
    index: target as Tensor,
    size: sizeAt(scores as Tensor, (scores as Tensor).ndim === 1 ? 0 : 1),
    ignored: ignored as number,
  },
];

/** `op(self, indices, …)`; masks are no indices. */
const subscripts: Rule = ([self, indices]) => {
  const list = indices as readonly (Tensor | null)[];
  if (list.some((index) => index?.dtype === 'bool' || index?.dtype === 'uint8')) return [];
  return list.flatMap((index, dim) =>
    index === null ? [] : [{ index, size: sizeAt(self as Tensor, dim), wraps: true }],
  );
};

/** By name without overload; in-place forms have the rule of their op. */
const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ...'index_select gather index_add index_copy scatter scatter_add scatter_reduce'
    .split(' ')
    .map((name): [string, Rule] => [name, along]),
  [
    'embedding',
    ([weight, index]) => [{ index: index as Tensor, size: sizeAt(weight as Tensor, 0) }],
  ],
  ['index_fill', (args) => along(args).map((indexed) => ({ ...indexed, wraps: true }))],
  ['nll_loss_forward', classes],
  ['nll_loss2d_forward', classes],
  [
    'take',
    ([self, index]) => [{ index: index as Tensor, size: (self as Tensor).numel, wraps: true }],
  ],
  ['index', subscripts],
  ['index_put', subscripts],
]);

const rules = new WeakMap<OpOverload, Rule | null>();

function ruleOf(op: OpOverload): Rule | null {
  const { namespace, name } = op.schema;
  const rule = namespace === 'aten' ? RULES.get(name.replace(/_$/, '')) : undefined;
  rules.set(op, rule ?? null);
  return rule ?? null;
}

/** See the file header; true for operators without indices. */
export function indicesInRange(op: OpOverload, args: readonly unknown[]): boolean {
  let rule = rules.get(op);
  if (rule === undefined) rule = ruleOf(op);
  return rule === null || rule(args).every(inRange);
}

function inRange(indexed: Indexed): boolean {
  const { index, size, wraps = false, ignored } = indexed;
  if (!isTensor(index)) return true;
  if (index.dtype === 'int64' && index.isContiguous()) return wordsInRange(indexed);
  const least = wraps ? -size : 0;
  return readNumbers(index).every((i) => (i >= least && i < size) || i === ignored);
}

/** As halves of 32 bits: reading 64-bit integers as such makes an object of each. */
function wordsInRange({ index, size, wraps = false, ignored }: Indexed): boolean {
  const words = cpuHeap().i32;
  const first = index.dataPtr() / 4;
  const ignoredHigh = ignored !== undefined && ignored < 0 ? -1 : 0;
  for (let at = first, end = first + 2 * index.numel; at < end; at += 2) {
    const low = words[at]!;
    const high = words[at + 1]!;
    if (high === 0 && low >= 0 && low < size) continue;
    if (wraps && high === -1 && low < 0 && low >= -size) continue;
    if (low !== ignored || high !== ignoredHigh) return false;
  }
  return true;
}
