/**
 * @file State dicts: a module's tensors by name, out and in.
 *
 * Names and order are PyTorch's: a module's own parameters, its own persistent buffers, then its
 * children. Loading checks everything first, so a state dict that does not fit changes nothing.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, formatSizes, noGrad, sameNumbers } from '@tessera/tensor';
import type { Module } from './module.js';
import { everyPath, joinName, ownBuffers, ownParameters } from './module-tree.js';

/** Tensors by name. */
export type StateDict = Record<string, Tensor>;

/** Names that did not match when loading with `strict: false`. */
export interface LoadReport {
  readonly missingKeys: readonly string[];
  readonly unexpectedKeys: readonly string[];
}

/** Parameters and persistent buffers by name, not detached. */
export function stateTensors(module: Module): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  everyPath(module, (prefix, part) => {
    for (const [name, tensor] of ownParameters(part)) tensors.set(joinName(prefix, name), tensor);
    for (const [name, tensor] of ownBuffers(part, true))
      tensors.set(joinName(prefix, name), tensor);
  });
  return tensors;
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}

/** Copies values in by name. @throws state-dict-mismatch, before anything is copied */
export function loadTensors(
  module: Module,
  values: Readonly<Record<string, Tensor>>,
  strict: boolean,
): LoadReport {
  const targets = stateTensors(module);
  const missingKeys = [...targets.keys()].filter((name) => values[name] === undefined);
  const unexpectedKeys = Object.keys(values).filter((name) => !targets.has(name));
  const problems: string[] = [];
  if (strict && missingKeys.length > 0)
    problems.push(`Missing key(s) in state_dict: ${quoted(missingKeys)}. `);
  if (strict && unexpectedKeys.length > 0)
    problems.push(`Unexpected key(s) in state_dict: ${quoted(unexpectedKeys)}. `);
  const mismatched: string[] = [];
  for (const [name, target] of targets) {
    const value = values[name];
    if (value === undefined || sameNumbers(value.sizes, target.sizes)) continue;
    mismatched.push(name);
    problems.push(
      `size mismatch for ${name}: copying a param with shape ${formatSizes(value.sizes)} from checkpoint, the shape in current model is ${formatSizes(target.sizes)}.`,
    );
  }
  if (problems.length > 0) {
    throw new TesseraError(
      'state-dict-mismatch',
      `Error(s) in loading state_dict for ${module.constructor.name}:\n\t${problems.join('\n\t')}`,
      {
        context: { missingKeys, unexpectedKeys, mismatched },
        hints:
          mismatched.length > 0
            ? ['Build the module with the sizes of the checkpoint.']
            : ['Rename the keys, or pass { strict: false } to load what fits.'],
      },
    );
  }
  noGrad(() => {
    for (const [name, target] of targets) {
      const value = values[name];
      if (value !== undefined)
        target.copy_(value.device === target.device ? value : value.to(target.device));
    }
  });
  return { missingKeys, unexpectedKeys };
}
