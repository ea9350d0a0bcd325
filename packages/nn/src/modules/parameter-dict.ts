/**
 * @file `ParameterDict`: parameters by name.
 */
import { TesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { checkValues } from '../module/check-child.js';
import { Module } from '../module/module.js';
import type { Parameter } from '../parameter.js';
import { asParameter, parameterText } from './parameter-list.js';

/** Parameters by name; the names are those in the state dict. Other tensors become parameters. @see torch.nn.ParameterDict */
export class ParameterDict extends Module {
  constructor(values: Readonly<Record<string, Tensor>> = {}) {
    super();
    checkValues('ParameterDict', values, true);
    for (const [name, value] of Object.entries(values)) this.set(name, value);
  }

  /** Number of parameters. */
  get size(): number {
    return this.keys().length;
  }

  /** Names in order. */
  keys(): string[] {
    return this.namedParameters({ recurse: false }).map(([name]) => name);
  }

  /** Whether there is a parameter of this name. */
  has(name: string): boolean {
    return this.keys().includes(name);
  }

  /** The parameter of a name. @throws invalid-argument if there is none */
  get(name: string): Parameter {
    const found = this.namedParameters({ recurse: false }).find(([key]) => key === name);
    if (found === undefined)
      throw new TesseraError('invalid-argument', `ParameterDict has no parameter '${name}'.`, {
        hints: [`Its parameters are: ${this.keys().join(', ')}.`],
      });
    return found[1];
  }

  /** Adds or replaces a parameter. @throws invalid-argument for a name that cannot be a field */
  set(name: string, value: Tensor): this {
    const taken = name in this && !this.has(name);
    if (name === '' || name.includes('.') || taken)
      throw new TesseraError(
        'invalid-argument',
        `ParameterDict: a parameter cannot be called '${name}'.`,
        {
          hints: ['Choose a name without dots that is no attribute of Module.'],
        },
      );
    Object.assign(this, { [name]: asParameter(value) });
    return this;
  }

  *[Symbol.iterator](): Generator<[string, Parameter]> {
    for (const name of this.keys()) yield [name, this.get(name)];
  }

  /** A dict is no function. @throws invalid-argument always */
  override forward(): never {
    throw new TesseraError('invalid-argument', 'ParameterDict has no forward.', {
      hints: ["Use its parameters: dict.get('name')."],
    });
  }

  override extraRepr(): string {
    return [...this].map(([name, value]) => `  (${name}): ${parameterText(value)}`).join('\n');
  }
}
