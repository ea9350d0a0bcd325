/**
 * @file What users get wrong: every mistake is a `TesseraError` with its code, that names what was wrong and says
 * what to do. Eager operators run compiled kernels here, as they do in programs.
 */
import { compile } from '@tessera/compile';
import { Linear } from '@tessera/nn';
import { isTesseraError } from '@tessera/shared';
import { ones } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { COMPILE_MISTAKES } from './mistakes/compile-mistakes.js';
import { HABIT_MISTAKES } from './mistakes/habit-mistakes.js';
import { NN_MISTAKES } from './mistakes/nn-mistakes.js';
import { OPTION_MISTAKES } from './mistakes/option-mistakes.js';
import { STATE_MISTAKES } from './mistakes/state-mistakes.js';
import { TENSOR_MISTAKES } from './mistakes/tensor-mistakes.js';

const ALL = [
  ...TENSOR_MISTAKES,
  ...STATE_MISTAKES,
  ...NN_MISTAKES,
  ...OPTION_MISTAKES,
  ...COMPILE_MISTAKES,
  ...HABIT_MISTAKES,
];

async function thrownBy(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error('Nothing was thrown.');
}

describe('user mistakes', () => {
  it.each(ALL)('%s', async (_name, call, code, names, hint) => {
    const error = await thrownBy(call);
    if (!isTesseraError(error)) throw error;
    expect(error.code).toBe(code);
    // The message without its hints, which come after it.
    const [message] = error.message.split('\n→ ') as [string];
    expect(names).not.toBe('');
    expect(message).toContain(names);
    expect(hint).not.toBe('');
    expect(error.hints.join(' ')).toContain(hint);
    // Whole, as somebody reads it; every text was read and found good before it was kept.
    expect(error.message.replace(/\S*\/(\S+):\d+:\d+/, '$1')).toMatchSnapshot();
  });
});

describe('mistakes that are for the type checker', () => {
  it('model(x): a module is an object, and the language alone says what happens at a call of one', () => {
    const model = new Linear(2, 1);
    const x = ones([1, 2]);
    // @ts-expect-error: not callable; model.call(x) is
    expect(() => model(x)).toThrow(new TypeError('model is not a function'));
    expect(model.call(x).shape).toEqual([1, 1]);
    // What a compiled module is.
    expect(compile(model)(x).shape).toEqual([1, 1]);
  });
});
