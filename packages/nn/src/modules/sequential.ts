/**
 * @file `Sequential`: modules run one after the other.
 */
import { TesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { checkChild } from '../module/check-child.js';
import { childrenOf, isModule } from '../module/module-tree.js';
import { Module, type TensorModule } from '../module/module.js';

/**
 * Chains modules, numbered (`new Sequential(a, b)`) or named (`new Sequential({ conv: a, act: b })`).
 * The children are fields named so, as in PyTorch's state dicts.
 *
 * @see torch.nn.Sequential
 */
export class Sequential extends Module {
  /** The module at a position, from 0, where they have no names of their own. */
  [index: number]: TensorModule;

  constructor(
    ...modules: readonly TensorModule[] | readonly [Readonly<Record<string, TensorModule>>]
  ) {
    super();
    const [first] = modules;
    const named =
      modules.length === 1 && typeof first === 'object' && !isModule(first)
        ? Object.entries(first)
        : null;
    for (const [name, module] of named ??
      (modules as readonly TensorModule[]).map((item, i): [string, TensorModule] => [
        String(i),
        item,
      ])) {
      this.define(name, module);
    }
  }

  private define(name: string, module: TensorModule): void {
    checkChild('Sequential', name, module, 'Pass modules, or one record of modules.');
    if (name === '' || name.includes('.') || name in this) {
      throw new TesseraError(
        'invalid-argument',
        `Sequential: a module cannot be called '${name}'.`,
        {
          hints: ['Choose a name without dots that is no attribute of Module.'],
        },
      );
    }
    Object.assign(this, { [name]: module });
  }

  /** Number of modules. */
  get length(): number {
    return childrenOf(this).length;
  }

  /** The module at a position; negative counts from the end. @throws index-out-of-range */
  at(index: number): TensorModule {
    const module = childrenOf(this).at(index);
    if (module === undefined)
      throw new TesseraError(
        'index-out-of-range',
        `Sequential: index ${index} is out of range for ${this.length} modules`,
        { hints: ['Positions start at 0.'] },
      );
    return module as TensorModule;
  }

  /** Adds a module at the end. */
  append(module: TensorModule): this {
    this.define(String(this.length), module);
    return this;
  }

  [Symbol.iterator](): IterableIterator<TensorModule> {
    return (childrenOf(this) as TensorModule[]).values();
  }

  override forward(input: Tensor): Tensor {
    let value = input;
    for (const module of this) value = module.call(value);
    return value;
  }
}
