/**
 * @file `ModuleDict`: modules by name.
 */
import { checkChild } from '../module/check-child.js';
import { ownChildren } from '../module/module-tree.js';
import type { Module, TensorModule } from '../module/module.js';
import { Named } from './named.js';

/**
 * Modules by name; the names are those in the state dict. Of those that it is made of, `get` knows the types.
 *
 * @see torch.nn.ModuleDict
 * @example new ModuleDict({ tokens: new Embedding(8, 4), head: new Linear(4, 8) }).get('head').weight
 */
export class ModuleDict<
  M extends Module = TensorModule,
  Known extends Readonly<Record<string, M>> = Readonly<Record<string, M>>,
> extends Named<M, M, Known> {
  constructor(modules?: (Known & Readonly<Record<string, M>>) | Iterable<readonly [string, M]>) {
    super();
    this.update(modules ?? {});
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
