/**
 * @file `ParameterDict`: parameters by name.
 */
import { TesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { ownParameters } from '../module/module-tree.js';
import type { Parameter } from '../parameter.js';
import { type Entries, Named } from './named.js';
import { asParameter, parameterText } from './parameter-list.js';

/**
 * Parameters by name; the names are those in the state dict. Other tensors become parameters. Those of a record come in
 * the order of their names, those of pairs, of a Map and of another dict in its own, as in PyTorch: optimizers number
 * them so.
 *
 * @see torch.nn.ParameterDict
 */
export class ParameterDict extends Named<Parameter, Tensor> {
  constructor(values: Entries<Tensor> = {}) {
    super();
    this.update(values);
  }

  /** @internal */
  protected override get _kind(): string {
    return 'parameter';
  }

  override entries(): [string, Parameter][] {
    return [...ownParameters(this)];
  }

  /** @internal */
  protected override _kept(_name: string, value: Tensor): Parameter {
    return asParameter(value);
  }

  /** @internal */
  protected override _fromRecord(record: Readonly<Record<string, Tensor>>): [string, Tensor][] {
    return super._fromRecord(record).sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** The parameter of a name, which is added if there is none. @throws invalid-argument */
  setdefault(name: string, value: Tensor): Parameter {
    if (!this.has(name)) this.set(name, value);
    return this.get(name);
  }

  /** Takes away the entry that was added last, and returns it with its name. @throws invalid-argument if there is none */
  popitem(): [name: string, parameter: Parameter] {
    const last = this.entries().at(-1);
    if (last === undefined)
      throw new TesseraError('invalid-argument', 'ParameterDict: the dict is empty.', {
        hints: ['Ask for its size first.'],
      });
    this.delete(last[0]);
    return last;
  }

  /** Another dict of the same parameters. */
  copy(): ParameterDict {
    return dictOf(this);
  }

  override extraRepr(): string {
    return [...this].map(([name, value]) => `  (${name}): ${parameterText(value)}`).join('\n');
  }
}

// Outside of the class: bundlers rename one that names itself, and modules print their names.
function dictOf(values: Entries<Tensor>): ParameterDict {
  return new ParameterDict(values);
}
