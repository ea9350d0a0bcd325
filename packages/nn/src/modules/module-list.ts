/**
 * @file `ModuleList`: modules in an array.
 */
import { TesseraError } from '@tessera/shared';
import { moduleText } from '../module/module-repr.js';
import { checkChild, checkValues } from '../module/check-child.js';
import { childrenOf } from '../module/module-tree.js';
import { Module, type TensorModule } from '../module/module.js';

/**
 * Modules by position; their names in the state dict are numbers. A plain array in a field works the
 * same; this one has methods and prints as PyTorch's.
 *
 * @see torch.nn.ModuleList
 */
export class ModuleList<M extends Module = TensorModule> extends Module {
  /** The module at a position, from 0. */
  [index: number]: M;

  constructor(modules: Iterable<M> = []) {
    super();
    this.extend(modules);
  }

  /** Number of modules. */
  get length(): number {
    return childrenOf(this).length;
  }

  /** The module at a position; negative counts from the end. @throws index-out-of-range */
  at(index: number): M {
    const module = this[index < 0 ? index + this.length : index];
    if (module === undefined)
      throw new TesseraError(
        'index-out-of-range',
        `ModuleList: index ${index} is out of range for ${this.length} modules`,
        { hints: ['Positions start at 0.'] },
      );
    return module;
  }

  /** Adds a module at the end. */
  append(module: M): this {
    return this.extend([module]);
  }

  /** Adds modules at the end. @throws invalid-argument for what is no module */
  extend(modules: Iterable<M>): this {
    checkValues('ModuleList', modules);
    let next = this.length;
    for (const module of modules) {
      checkChild('ModuleList', String(next), module, 'Parameters have a ParameterList.');
      this[next++] = module;
    }
    return this;
  }

  *[Symbol.iterator](): Generator<M> {
    const { length } = this;
    for (let i = 0; i < length; i++) yield this.at(i);
  }

  /** A list is no function. @throws invalid-argument always */
  override forward(): never {
    throw new TesseraError('invalid-argument', 'ModuleList has no forward.', {
      hints: ['Call its modules: for (const layer of layers) x = layer.call(x).'],
    });
  }

  override toString(): string {
    return moduleText(this, true);
  }
}
