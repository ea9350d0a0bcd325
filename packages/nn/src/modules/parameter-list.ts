/**
 * @file `ParameterList`: parameters in an array.
 */
import { TesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { checkValues } from '../module/check-child.js';
import { Module } from '../module/module.js';
import { Parameter } from '../parameter.js';

/** Parameters by position; their names in the state dict are numbers. Other tensors become parameters. @see torch.nn.ParameterList */
export class ParameterList extends Module {
  /** The parameter at a position, from 0. */
  [index: number]: Parameter;

  constructor(values: Iterable<Tensor> = []) {
    super();
    this.extend(values);
  }

  /** Number of parameters. */
  get length(): number {
    return this.parameters({ recurse: false }).length;
  }

  /** The parameter at a position; negative counts from the end. @throws index-out-of-range */
  at(index: number): Parameter {
    const { length } = this;
    const position = index < 0 ? index + length : index;
    const parameter = this[position];
    if (parameter === undefined)
      throw new TesseraError(
        'index-out-of-range',
        `ParameterList: index ${index} is out of range for ${length} parameters`,
        { hints: ['Positions start at 0.'] },
      );
    return parameter;
  }

  /** Adds a parameter at the end. */
  append(value: Tensor): this {
    return this.extend([value]);
  }

  /** Adds parameters at the end. @throws invalid-argument unless they are a list */
  extend(values: Iterable<Tensor>): this {
    checkValues('ParameterList', values);
    let next = this.length;
    for (const value of values) this[next++] = asParameter(value);
    return this;
  }

  *[Symbol.iterator](): Generator<Parameter> {
    const { length } = this;
    for (let i = 0; i < length; i++) yield this.at(i);
  }

  /** A list is no function. @throws invalid-argument always */
  override forward(): never {
    throw new TesseraError('invalid-argument', 'ParameterList has no forward.', {
      hints: ['Use its parameters: list.at(0).'],
    });
  }

  override extraRepr(): string {
    return [...this].map((value, i) => `  (${i}): ${parameterText(value)}`).join('\n');
  }
}

/** The parameter itself, or a new one over the tensor's memory. */
export function asParameter(value: Tensor): Parameter {
  return value instanceof Parameter ? value : new Parameter(value);
}

/** `Parameter containing: [torch.float32 of size 2x3]`, as lists and dicts print it. */
export function parameterText(value: Parameter): string {
  return `Parameter containing: [torch.${value.dtype} of size ${value.sizes.join('x')}]`;
}
