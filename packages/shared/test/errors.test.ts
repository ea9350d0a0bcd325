import { describe, expect, it } from 'vitest';
import { TesseraError, isTesseraError, nearestNames } from '../src/index.js';

describe('TesseraError', () => {
  const error = new TesseraError(
    'pytree-mismatch',
    'The structure has 3 leaves, but 2 were given.',
    {
      context: { expected: 3, got: 2 },
      hints: ['Give one leaf per place.', 'Or flatten again.'],
      location: 'model.ts:12:7',
      cause: new RangeError('inner'),
    },
  );

  it('prints the message, the place, the hints and the page of its code', () => {
    expect(error.message).toMatchInlineSnapshot(`
      "The structure has 3 leaves, but 2 were given.
        at model.ts:12:7
      → Give one leaf per place.
      → Or flatten again.
      See https://github.com/tessera-ml/tessera/blob/main/docs/errors/pytree-mismatch.md"
    `);
    expect(String(new TesseraError('invalid-argument', 'No.'))).toBe(
      'TesseraError: No.\nSee https://github.com/tessera-ml/tessera/blob/main/docs/errors/invalid-argument.md',
    );
  });

  it('carries code, facts, hints, place and cause as data', () => {
    expect(error).toBeInstanceOf(Error);
    expect(error.code).toBe('pytree-mismatch');
    expect(error.context).toEqual({ expected: 3, got: 2 });
    expect(error.hints).toHaveLength(2);
    expect(error.location).toBe('model.ts:12:7');
    expect(error.cause).toBeInstanceOf(RangeError);
    expect('location' in new TesseraError('invalid-argument', 'No.')).toBe(false);
  });

  it('is recognised across copies of the package, by name and code', () => {
    const foreign = Object.assign(new Error('x'), {
      name: 'TesseraError',
      code: 'invalid-argument',
    });
    expect(isTesseraError(foreign)).toBe(true);
    expect(isTesseraError(foreign, 'invalid-argument')).toBe(true);
    expect(isTesseraError(foreign, 'pytree-mismatch')).toBe(false);
    expect(isTesseraError(new Error('x'))).toBe(false);
    expect(isTesseraError(undefined)).toBe(false);
  });
});

describe('nearestNames', () => {
  const names = ['inductor', 'eager', 'aot_eager', 'trace.verify', 'fallbackRandom'];

  it('finds typing errors: missing, swapped and extra letters', () => {
    expect(nearestNames('inductr', names)).toEqual(['inductor']);
    expect(nearestNames('idnuctor', names)).toEqual(['inductor']);
    expect(nearestNames('eagerr', names)).toEqual(['eager', 'aot_eager'].slice(0, 1));
  });

  it('ignores case, hyphens and underscores', () => {
    expect(nearestNames('AOT-Eager', names)[0]).toBe('aot_eager');
    expect(nearestNames('fallback_random', names)[0]).toBe('fallbackRandom');
  });

  it('also offers names that contain the given one, after closer ones', () => {
    expect(nearestNames('verify', names)).toEqual(['trace.verify']);
    expect(nearestNames('eager', names)).toEqual(['eager', 'aot_eager']);
  });

  it('offers nothing when nothing is close, and at most the limit', () => {
    expect(nearestNames('quantum', names)).toEqual([]);
    expect(nearestNames('a1', ['a2', 'a3', 'a4', 'a5'], 2)).toEqual(['a2', 'a3']);
  });
});

describe('stacks', () => {
  const deep = (n: number): TesseraError =>
    n === 0 ? new TesseraError('invalid-argument', 'deep') : deep(n - 1);
  const callOfTheUser = (): TesseraError => deep(30);

  it('reach the frames of the user behind those of the library, and leave the limit as it was', () => {
    const before = Error.stackTraceLimit;
    expect(callOfTheUser().stack).toContain('callOfTheUser');
    expect(Error.stackTraceLimit).toBe(before);
  });

  it('are none where none are wanted', () => {
    const before = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    try {
      expect(callOfTheUser().stack).not.toContain('callOfTheUser');
    } finally {
      Error.stackTraceLimit = before;
    }
  });
});
