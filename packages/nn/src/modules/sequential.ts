/**
 * @file `Sequential`: modules run one after the other.
 */
import { TesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { childrenOf, isModule } from '../module/module-tree.js';
import type { TensorModule } from '../module/module.js';
import { Numbered } from './numbered.js';

/**
 * Chains modules, numbered (`new Sequential(a, b)`) or named (`new Sequential({ conv: a, act: b })`).
 * The children are fields named so, as in PyTorch's state dicts.
 *
 * @see torch.nn.Sequential
 * @throws invalid-argument for what is no module, and for names that are empty, have dots or are taken
 */
export class Sequential extends Numbered<TensorModule> {
  constructor(
    ...modules: readonly TensorModule[] | readonly [Readonly<Record<string, TensorModule>>]
  ) {
    super();
    const [first] = modules;
    const isNamed =
      modules.length === 1 && typeof first === 'object' && first !== null && !isModule(first);
    for (const [name, module] of Object.entries(isNamed ? first : modules)) {
      this._kept(name, module);
      if (name === '' || name.includes('.') || name in this)
        throw new TesseraError(
          'invalid-argument',
          `Sequential: a module cannot be called '${name}'.`,
          {
            hints: [
              'Take a name without dots that is no parameter, submodule or field of every module.',
            ],
          },
        );
      this._set(name, module);
    }
  }

  /** The modules at positions from `start` to before `end`, under their names; negative ones count from the end. */
  slice(start?: number, end?: number): this {
    const part = new (this.constructor as new () => this)();
    for (const [name, module] of this._entries().slice(start, end)) part._add(name, module);
    return part;
  }

  override forward(input: Tensor): Tensor {
    let value = input;
    for (const module of childrenOf(this)) value = (module as TensorModule).call(value);
    return value;
  }
}
