/**
 * @file `ModuleDict`: modules by name.
 */
import { TesseraError } from '@tessera/shared';
import { checkChild, checkValues } from '../module/check-child.js';
import { childrenOf, ownChildren } from '../module/module-tree.js';
import { Module, type TensorModule } from '../module/module.js';

/** Modules by name; the names are those in the state dict. @see torch.nn.ModuleDict */
export class ModuleDict<M extends Module = TensorModule> extends Module {
  constructor(modules: Readonly<Record<string, M>> = {}) {
    super();
    checkValues('ModuleDict', modules, true);
    for (const [name, module] of Object.entries(modules)) this.set(name, module);
  }

  /** Number of modules. */
  get size(): number {
    return childrenOf(this).length;
  }

  /** Whether there is a module of this name. */
  has(name: string): boolean {
    return [...ownChildren(this)].some(([key]) => key === name);
  }

  /** The module of a name. @throws invalid-argument if there is none */
  get(name: string): M {
    const entry = [...ownChildren(this)].find(([key]) => key === name);
    if (entry === undefined)
      throw new TesseraError('invalid-argument', `ModuleDict has no module '${name}'.`, {
        hints: [`Its modules are: ${this.keys().join(', ')}.`],
      });
    return entry[1] as M;
  }

  /** Adds or replaces a module. @throws invalid-argument for what is no module, or a name that cannot be a field */
  set(name: string, module: M): this {
    checkChild('ModuleDict', name, module, 'Parameters have a ParameterDict.');
    if (name === '' || name.includes('.') || (name in this && !this.has(name))) {
      throw new TesseraError(
        'invalid-argument',
        `ModuleDict: a module cannot be called '${name}'.`,
        {
          hints: ['Choose a name without dots that is no attribute of Module.'],
        },
      );
    }
    Object.assign(this, { [name]: module });
    return this;
  }

  /** Names in order. */
  keys(): string[] {
    return [...ownChildren(this)].map(([name]) => name);
  }

  *[Symbol.iterator](): Generator<[string, M]> {
    yield* [...ownChildren(this)] as [string, M][];
  }

  /** A dict is no function. @throws invalid-argument always */
  override forward(): never {
    throw new TesseraError('invalid-argument', 'ModuleDict has no forward.', {
      hints: ['Call one of its modules: dict.get(name).call(x).'],
    });
  }
}
