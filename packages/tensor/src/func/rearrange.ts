/**
 * @file `rearrange`: views, transpositions and joins of dimensions by a pattern of names.
 *
 * `'b h w c -> b (h w) c'` is split into the sizes of single axes, put in the order of the right side, and joined.
 * Modelled on `torch.func.rearrange`, a native form of einops.
 *
 * @see https://einops.rocks/api/rearrange/
 */
import { TesseraError } from '@tessera/shared';
import { stack } from '../ops/arrange/join.js';
import { permute, reshape } from '../ops/view/view.js';
import { formatSizes, numelOf } from '../shape.js';
import type { Tensor } from '../tensor.js';
import { checkTensors } from '../check-tensors.js';

/** Stands for all axes that a pattern does not name. */
const REST = '…';

/** One side of a pattern: a group of names for each dimension, empty for one of size 1; `REST` for the others. */
type Side = readonly (readonly string[] | typeof REST)[];

function invalid(message: string, hint: string): TesseraError {
  return new TesseraError('invalid-argument', `rearrange: ${message}`, { hints: [hint] });
}

const NAMES = 'Axes have names of letters and digits: rearrange(x, "b h w c -> b (h w) c").';

/** @throws invalid-argument */
function checkName(name: string): void {
  if (/^\d+$/.test(name))
    throw invalid('rearrange only supports unnamed axes of size 1', 'Name the axis, or write 1.');
  if (!/^[a-z](\w*[a-z\d])?$/i.test(name)) throw invalid(`Invalid axis identifier: ${name}`, NAMES);
}

/** @throws invalid-argument */
function parseSide(expression: string): Side {
  if (/\./.test(expression.replace('...', '')))
    throw invalid(
      'Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor',
      NAMES,
    );
  const side: (string[] | typeof REST)[] = [];
  let group: string[] | null = null;
  for (const token of expression.match(/\.{3}|\w+|[^\s]/g) ?? []) {
    if (token === '(') {
      if (group !== null)
        throw invalid(
          'Axis composition is one-level (brackets inside brackets not allowed)',
          'Write the names in one pair of brackets.',
        );
      group = [];
    } else if (token === ')') {
      if (group === null) throw invalid('Brackets are not balanced', 'Open the bracket first.');
      side.push(group);
      group = null;
    } else if (token === '...') {
      if (group === null) side.push(REST);
      else group.push(REST);
    } else if (!/\w/.test(token)) {
      throw invalid(`Unknown character '${token}'`, NAMES);
    } else if (token !== '1') {
      checkName(token);
      if (side.flat().includes(token) || group?.includes(token) === true)
        throw invalid(
          `Indexing expression contains duplicate dimension '${token}'`,
          'Name each axis once on either side.',
        );
      if (group === null) side.push([token]);
      else group.push(token);
    } else if (group === null) {
      side.push([]);
    }
  }
  if (group !== null)
    throw invalid(`Imbalanced parentheses in expression: '${expression}'`, 'Close the bracket.');
  return side;
}

/** @throws invalid-argument */
function parse(pattern: string, lengths: Readonly<Record<string, number>>): [Side, Side] {
  const sides = pattern.split('->');
  if (sides.length !== 2)
    throw invalid("Pattern must contain a single '->' separator", 'Write "a b -> b a".');
  const [left, right] = sides.map(parseSide);
  const [from, to] = [left.flat(), right.flat()];
  if (to.includes(REST) && !from.includes(REST))
    throw invalid(
      `Ellipsis found in right side, but not left side of a pattern ${pattern}`,
      'Write ... on both sides.',
    );
  if (from.includes(REST) && !left.includes(REST))
    throw invalid(
      `Ellipsis is parenthesis in the left side is not allowed: ${pattern}`,
      'Write ... outside of brackets there.',
    );
  const lonely = [
    ...from.filter((name) => !to.includes(name)),
    ...to.filter((name) => !from.includes(name)),
  ];
  if (lonely.length > 0)
    throw invalid(
      `Identifiers only on one side of rearrange expression (should be on both): ${lonely.join(', ')}`,
      'Nothing is summed or repeated: use sum() or expand() for that.',
    );
  for (const [name, length] of Object.entries(lengths)) {
    if (!from.includes(name))
      throw invalid(
        `Identifiers not found in rearrange expression: ${name}`,
        'Give lengths of axes of the pattern.',
      );
    if (!Number.isInteger(length) || length < 0)
      throw invalid(
        `rearrange axis lengths must be integers, got: ${length}`,
        `Give the number of elements: { ${name}: 2 }.`,
      );
  }
  return [left, right];
}

/** The sizes of the axes that one dimension is made of. @throws shape-mismatch */
function sizesOf(
  group: readonly string[],
  size: number,
  lengths: Readonly<Record<string, number>>,
): number[] {
  const unknown = group.filter((name) => !(name in lengths));
  const known = numelOf(group.map((name) => lengths[name] ?? 1));
  const fits = unknown.length === 0 ? known === size : known > 0 && size % known === 0;
  if (unknown.length > 1 || !fits)
    throw new TesseraError(
      'shape-mismatch',
      unknown.length > 1
        ? `rearrange: cannot infer the sizes of two dimensions at once ${unknown.join(' and ')}`
        : `rearrange: a dimension of size ${size} is not (${group.map((name) => lengths[name] ?? name).join(' ') || 1})`,
      { hints: ['Give the lengths of all axes of a bracket but one: { h: 2 }.'] },
    );
  return group.map((name) => lengths[name] ?? size / known);
}

/**
 * The elements in another order of dimensions, which a pattern names: dimensions in brackets are one, `1` is a dimension
 * of one element, `...` stands for all that are not named. A list of tensors is stacked first. The result shares memory
 * with the tensor where it can.
 *
 * @param lengths of axes that cannot be inferred
 * @throws invalid-argument for a pattern; shape-mismatch if it does not fit the tensor
 * @example rearrange(images, 'b h w c -> b c h w') // [B, H, W, C] → [B, C, H, W]
 * @example rearrange(images, 'b (h p) (w q) c -> b (h w) (p q c)', { p: 16, q: 16 }) // patches
 * @see torch.func.rearrange
 */
export function rearrange(
  tensor: Tensor | readonly Tensor[],
  pattern: string,
  lengths: Readonly<Record<string, number>> = {},
): Tensor {
  if (typeof pattern !== 'string')
    throw new TesseraError('invalid-argument', 'rearrange takes a tensor and a pattern.', {
      hints: ["Write rearrange(x, 'b c h w -> b (c h w)')."],
    });
  const self = Array.isArray(tensor) ? stack(tensor) : tensor;
  checkTensors('rearrange', { tensor: self });
  const [left, right] = parse(pattern, lengths);
  const others = self.ndim - left.filter((group) => group !== REST).length;
  if (others < 0 || (others > 0 && !left.includes(REST)))
    throw new TesseraError(
      'shape-mismatch',
      `rearrange: Number of dimensions in pattern (${self.ndim - others}) must be ${left.includes(REST) ? 'less than or equal to' : 'equal to'} the number of dimensions in the tensor (${self.ndim})`,
      { hints: [`The tensor is ${formatSizes(self.sizes)}; ... stands for what is not named.`] },
    );
  const rest = Array.from({ length: others }, (_, i) => `${REST}${i}`);
  const expanded = (side: Side): readonly string[][] =>
    side.flatMap((group) =>
      group === REST
        ? rest.map((name) => [name])
        : [group.flatMap((name) => (name === REST ? rest : name))],
    );
  const from = expanded(left);
  const sizes = new Map(
    from.flatMap((group, dim) => {
      const parts = sizesOf(group, self.sizes[dim]!, lengths);
      return group.map((name, i) => [name, parts[i]!] as const);
    }),
  );
  const axes = [...sizes.keys()];
  const to = expanded(right);
  const apart = reshape(self, [...sizes.values()]);
  const ordered = permute(
    apart,
    to.flat().map((name) => axes.indexOf(name)),
  );
  return reshape(
    ordered,
    to.map((group) => numelOf(group.map((name) => sizes.get(name)!))),
  );
}
