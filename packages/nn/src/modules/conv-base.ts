/**
 * @file What convolutions and transposed convolutions have in common: options, parameters, how they print.
 */
import { TesseraError } from '@tessera/shared';
import { empty } from '@tessera/tensor';
import { kaimingUniform_ } from '../init/kaiming.js';
import { pythonLiteral } from '../module/module-repr.js';
import { Module } from '../module/module.js';
import { Parameter } from '../parameter.js';
import type { FactoryOptions } from './factory-options.js';
import { resetBias } from './linear.js';

/** A number for every spatial dimension, or one for each. */
export type PerDimension = number | readonly number[];

/** Options of both kinds; a number stands for every spatial dimension. */
export interface ConvBaseOptions extends FactoryOptions {
  /** Step of the window (default 1). */
  readonly stride?: PerDimension;
  /** Distance of the window's elements (default 1). */
  readonly dilation?: PerDimension;
  /** Groups of channels that do not mix (default 1). */
  readonly groups?: number;
  /** Whether a bias is added (default true). */
  readonly bias?: boolean;
}

/** Options as the base takes them, with the padding of the kind and what only the kind knows taken out. */
interface BaseOptions<P> extends ConvBaseOptions {
  readonly padding?: PerDimension | P;
  readonly transposed: boolean;
}

/** See the file header. `P` is the padding it may have. */
export abstract class ConvBase<P extends readonly number[] | string> extends Module {
  readonly kernelSize: readonly number[];
  readonly stride: readonly number[];
  readonly padding: P;
  readonly dilation: readonly number[];
  readonly groups: number;
  /** [out, in / groups, …kernel], transposed [in, out / groups, …kernel] */
  weight: Parameter;
  /** [out], or null. */
  bias: Parameter | null;

  /** @throws invalid-argument */
  constructor(
    readonly inChannels: number,
    readonly outChannels: number,
    kernelSize: PerDimension,
    options: BaseOptions<P>,
  ) {
    super();
    const {
      stride = 1,
      padding = 0,
      dilation = 1,
      groups = 1,
      bias = true,
      transposed,
      ...factory
    } = options;
    this.kernelSize = this.perDimension('kernelSize', kernelSize);
    this.stride = this.perDimension('stride', stride);
    const named = typeof padding === 'string';
    this.padding = (named ? padding : this.perDimension('padding', padding)) as P;
    this.dilation = this.perDimension('dilation', dilation);
    this.groups = groups;
    this.checkGroups();
    const [first, second] = transposed ? [inChannels, outChannels] : [outChannels, inChannels];
    this.weight = new Parameter(empty([first, second / groups, ...this.kernelSize], factory));
    this.bias = bias ? new Parameter(empty([outChannels], factory)) : null;
    this.resetParameters();
  }

  /** Number of spatial dimensions. */
  protected abstract get rank(): number;

  /** One value per spatial dimension. @throws invalid-argument */
  protected perDimension(name: string, value: PerDimension): readonly number[] {
    const { rank } = this;
    const list = typeof value === 'number' ? Array<number>(rank).fill(value) : value;
    if (Array.isArray(list) && list.length === rank && list.every((item) => Number.isInteger(item)))
      return [...list];
    const given = Array.isArray(value) ? `[${value.join(', ')}]` : `'${String(value)}'`;
    throw new TesseraError(
      'invalid-argument',
      `${this.constructor.name}: ${name} must be an integer or a list of ${rank}, not ${given}`,
      { hints: [`Give one ${name} for all spatial dimensions, or one for each.`] },
    );
  }

  /** @throws invalid-argument unless the groups divide both numbers of channels */
  private checkGroups(): void {
    const { inChannels, outChannels, groups } = this;
    if (groups > 0 && inChannels % groups === 0 && outChannels % groups === 0) return;
    throw new TesseraError(
      'invalid-argument',
      `${this.constructor.name}: inChannels (${inChannels}) and outChannels (${outChannels}) must be divisible by groups (${groups})`,
      { hints: ['Choose a number of groups that divides both.'] },
    );
  }

  /** Draws new values: uniform within ±1/√fanIn. */
  resetParameters(): void {
    kaimingUniform_(this.weight, { a: Math.sqrt(5) });
    if (this.bias !== null) resetBias(this.weight, this.bias);
  }

  /** `name=value` unless all values are `usual`. */
  protected reprUnless(usual: number, name: string, list: readonly number[]): string[] {
    return list.every((value) => value === usual) ? [] : [`${name}=${pythonLiteral(list)}`];
  }

  /** What the kind prints between dilation and groups. */
  protected reprOfKind(): string[] {
    return [];
  }

  override extraRepr(): string {
    const { padding } = this;
    return [
      `${this.inChannels}, ${this.outChannels}`,
      `kernel_size=${pythonLiteral(this.kernelSize)}`,
      `stride=${pythonLiteral(this.stride)}`,
      ...(typeof padding === 'string'
        ? [`padding=${padding}`]
        : this.reprUnless(0, 'padding', padding)),
      ...this.reprUnless(1, 'dilation', this.dilation),
      ...this.reprOfKind(),
      ...(this.groups === 1 ? [] : [`groups=${this.groups}`]),
      ...(this.bias === null ? ['bias=False'] : []),
    ].join(', ');
  }
}
