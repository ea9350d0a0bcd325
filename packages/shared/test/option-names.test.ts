/**
 * @file Options that a function does not have, and values in the place of options, are errors that spell the call.
 */
import { describe, expect, it } from 'vitest';
import { type OptionNames, type TesseraError, checkOptionNames } from '../src/index.js';

interface ReduceOptions {
  readonly keepdim?: boolean;
  readonly dtype?: string;
}
const NAMES: OptionNames<ReduceOptions> = { keepdim: true, dtype: true };

function refusal(owner: string, options: unknown): string[] {
  try {
    checkOptionNames(owner, options, NAMES);
  } catch (error) {
    const { code, message, hints } = error as TesseraError;
    expect(code).toBe('invalid-argument');
    return [message.split('\n')[0]!, ...hints];
  }
  throw new Error('It was not refused.');
}

describe('checkOptionNames', () => {
  it('accepts no options and known ones', () => {
    for (const options of [undefined, {}, { keepdim: true }, { dtype: undefined, keepdim: false }])
      expect(() => checkOptionNames('sum', options, NAMES)).not.toThrow();
  });

  it('spells the call that a positional value was meant to be', () => {
    expect(refusal('argmax', true)).toEqual([
      'argmax: options are an object, not true.',
      'Write argmax(…, { keepdim: true }).',
      'Its options are: keepdim, dtype.',
    ]);
    expect(refusal('Linear', false)[1]).toBe('Write new Linear(…, { keepdim: false }).');
    expect(refusal('sum', 'x')[0]).toBe("sum: options are an object, not 'x'.");
    expect(refusal('sum', null)[0]).toBe('sum: options are an object, not null.');
    expect(refusal('sum', [1])[0]).toBe('sum: options are an object, not an array.');
    // PyTorch's x.sum(0, 1).
    expect(refusal('sum', 1)[1]).toBe('Several dimensions are a list: sum([…, 1]).');
    expect(refusal('A new tensor', 1)[1]).toBe('Name them: { keepdim: 1 }.');
  });

  it('calls an instance of a class what it is', () => {
    class Weights {
      readonly values = [1];
    }
    expect(refusal('sum', new Weights())[0]).toBe('sum: options are an object, not a Weights.');
  });

  it('proposes the name that was meant', () => {
    expect(refusal('sum', { keepDim: true })).toEqual([
      "sum has no option 'keepDim'.",
      "Did you mean 'keepdim'?",
    ]);
    expect(refusal('sum', { axis: 1 })[1]).toBe('Its options are: keepdim, dtype.');
  });

  it('takes no option from what all objects have', () => {
    expect(refusal('sum', { toString: 1 })[0]).toBe("sum has no option 'toString'.");
  });

  it('leaves names to the caller that may be its own, but for those near to a known one', () => {
    const check = (options: object): void =>
      checkOptionNames('A group', options, NAMES, (name) => name !== 'axis');
    expect(() => check({ name: 'head', keepdim: true })).not.toThrow();
    expect(() => check({ name: 'head', keepDim: true })).toThrow("Did you mean 'keepdim'?");
    expect(() => check({ axis: 1 })).toThrow("has no option 'axis'");
  });
});
