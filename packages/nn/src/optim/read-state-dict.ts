/**
 * @file State dicts as an optimizer is given them: its own, PyTorch's `{ state, param_groups }`, and the flat names
 * that `loadTorchCheckpoint` makes of that (`state.0.exp_avg`, and `param_groups.0.lr` among the values) or
 * `saveCheckpoint` of our own, where numbers are tensors (`paramGroups.0.lr`).
 */
import { TesseraError } from '@tessera/shared';
import { isTensor } from '@tessera/tensor';
import { itemAtOnce, readList } from '@tessera/tensor/internal';
import type { OptimizerStateDict } from './optimizer-state-dict.js';
import { type Tree, camelCase, isTree, nested } from './state-names.js';

/** What PyTorch's groups have besides options and names: how it computes, and where its schedulers keep theirs. */
const IGNORED = new Set(
  'foreach fused capturable differentiable swa_lr max_lr min_lr max_momentum base_momentum'.split(
    ' ',
  ),
);

/** What is no tensor, and is written as one in a file of tensors; see `saveCheckpoint`. */
function plain(value: unknown): unknown {
  if (!isTensor(value)) return value;
  const { dtype } = value;
  if (dtype === 'uint8') return String.fromCharCode(...readList(value));
  if (value.ndim > 0) return null;
  const number = itemAtOnce(value);
  return dtype === 'bool' ? number !== 0 : number;
}

/** The options of a group that are set, of PyTorch's by our names; a list of names with numbers is an array. */
function optionsOf(group: Tree, isTorch: boolean): Tree {
  const options: Tree = {};
  for (const [name, value] of Object.entries(group)) {
    // What PyTorch leaves open, each optimizer here has a default for.
    if (IGNORED.has(name) || value === null) continue;
    const list = isTree(value) && '0' in value ? Object.values(value).map(plain) : plain(value);
    // Choices are words of PyTorch's; other words are the program's own.
    options[isTorch ? camelCase(name) : name] =
      isTorch && name.endsWith('_fn') && typeof list === 'string' ? camelCase(list) : list;
  }
  return options;
}

/**
 * Any of those forms as our own. Without groups, the parameters are numbered in order and keep their options.
 *
 * @param own the optimizer's groups
 * @throws state-dict-mismatch
 */
export function readStateDict(
  dict: unknown,
  own: readonly { readonly params: readonly unknown[] }[],
): OptimizerStateDict {
  const flat = isTree(dict) ? dict : {};
  const given = Object.keys(flat).some((name) => /^(state|paramGroups|param_groups)\./.test(name))
    ? nested(flat)
    : flat;
  const torch = given['param_groups'];
  const groups = given['paramGroups'] ?? torch;
  if (!isTree(groups ?? given['state']))
    throw new TesseraError('state-dict-mismatch', 'This is no state dict of an optimizer.', {
      context: { keys: Object.keys(flat) },
      hints: [
        "It has 'state' and 'paramGroups', or PyTorch's 'param_groups'. Of a file that torch.save wrote, loadTorchCheckpoint(path, { prefix }) gives it, with the prefix that the optimizer has there.",
      ],
    });
  let next = 0;
  const numbered = own.map(({ params }) => ({ params: params.map(() => next++) }));
  return {
    state: given['state'] ?? {},
    paramGroups: isTree(groups)
      ? Object.values(groups).map((group) => optionsOf(group as Tree, groups === torch))
      : numbered,
  } as unknown as OptimizerStateDict;
}
