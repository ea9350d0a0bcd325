/**
 * @file The modules around the op that is being recorded, by the names under which they are reached.
 */
import { runningModules } from '@tessera/tensor/internal';
import type { NodeMeta } from '../ir/node.js';

/** Path and class of every running module, outermost first; undefined outside modules. */
export function moduleStack(): NodeMeta['nnModuleStack'] {
  if (runningModules.length === 0) return undefined;
  let path = '';
  return runningModules.map((module, i) => {
    const name = i === 0 ? '' : fieldOf(runningModules[i - 1]!, module);
    path = path === '' ? name : `${path}${name === '' ? '' : '.'}${name}`;
    return { path, type: module.constructor.name };
  });
}

/** The field, or the place in an array field, that holds a module; its class if none does. */
function fieldOf(owner: object, module: object): string {
  for (const [key, value] of Object.entries(owner)) {
    if (value === module) return key;
    const index = Array.isArray(value) ? value.indexOf(module) : -1;
    if (index >= 0) return `${key}.${index}`;
    // One level down: a container whose own forward does not run (ModuleList, ModuleDict).
    if (typeof value !== 'object' || value === null) continue;
    const inner = Object.entries(value).find(([, item]) => item === module);
    if (inner !== undefined) return `${key}.${inner[0]}`;
  }
  return module.constructor.name;
}
