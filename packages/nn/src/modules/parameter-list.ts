/**
 * @file `ParameterList`: parameters in an array.
 */
import { TesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { checkValues } from '../module/check-child.js';
import { ownParameters } from '../module/module-tree.js';
import { Parameter } from '../parameter.js';
import { Numbered } from './numbered.js';

/** Parameters by position; their names in the state dict are numbers. Other tensors become parameters. @see torch.nn.ParameterList */
export class ParameterList extends Numbered<Parameter, Tensor> {
  constructor(values: Iterable<Tensor> = []) {
    super();
    this.extend(values);
  }

  /** @internal */
  override _entries(): [string, Parameter][] {
    return [...ownParameters(this)];
  }

  /** @internal */
  override _kept(_name: string | number, value: Tensor): Parameter {
    return asParameter(value);
  }

  override extend(values: Iterable<Tensor>): this {
    checkValues('ParameterList', values);
    return super.extend(values);
  }

  /** The parameters at positions from `start` to before `end`; negative ones count from the end. */
  slice(start?: number, end?: number): this {
    const Same = this.constructor as new (values: readonly Tensor[]) => this;
    return new Same([...this].slice(start, end));
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
