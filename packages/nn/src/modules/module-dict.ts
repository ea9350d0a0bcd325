/**
 * @file `ModuleDict`: modules by name.
 */
import { checkChild } from '../module/check-child.js';
import { ownChildren } from '../module/module-tree.js';
import type { Module, TensorModule } from '../module/module.js';
import { type Entries, Named } from './named.js';

/** Modules by name; the names are those in the state dict. @see torch.nn.ModuleDict */
export class ModuleDict<M extends Module = TensorModule> extends Named<M> {
  constructor(modules: Entries<M> = {}) {
    super();
    this.update(modules);
  }

  /** @internal */
  protected override get _kind(): string {
    return 'module';
  }

  override entries(): [string, M][] {
    return [...ownChildren(this)] as [string, M][];
  }

  /** @internal */
  protected override _kept(name: string, module: M): M {
    checkChild('ModuleDict', name, module, 'Parameters have a ParameterDict.');
    return module;
  }
}
