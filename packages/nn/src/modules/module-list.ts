/**
 * @file `ModuleList`: modules in an array.
 */
import { TesseraError } from '@tessera/shared';
import { checkValues } from '../module/check-child.js';
import { moduleText } from '../module/module-repr.js';
import type { Module, TensorModule } from '../module/module.js';
import { Numbered } from './numbered.js';

/**
 * Modules by position; their names in the state dict are numbers. A plain array in a field works the
 * same; this one has methods and prints as PyTorch's.
 *
 * @see torch.nn.ModuleList
 */
export class ModuleList<M extends Module = TensorModule> extends Numbered<M> {
  constructor(modules: Iterable<M> = []) {
    super();
    this.extend(modules);
  }

  override extend(modules: Iterable<M>): this {
    checkValues('ModuleList', modules);
    return super.extend(modules);
  }

  /** The modules at positions from `start` to before `end`; negative ones count from the end. */
  slice(start?: number, end?: number): this {
    const Same = this.constructor as new (modules: readonly M[]) => this;
    return new Same([...this].slice(start, end));
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
