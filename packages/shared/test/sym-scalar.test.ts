import { describe, expect, it } from 'vitest';
import { ShapeEnv, SymScalar, scalarHint, sizeMul, sizeToScalar } from '../src/index.js';
import { thrownBy } from './thrown-by.js';

describe('SymScalar', () => {
  const lr = new SymScalar(0.1, 'float', 'lr');

  it.each<[string, (s: never) => unknown]>([
    ['addition', (s) => (s as number) + 1],
    ['multiplication', (s) => (s as number) * 2],
    ['comparison', (s) => (s as number) > 0],
    ['Math functions', (s) => Math.sqrt(s)],
    ['string concatenation', (s) => 'lr=' + (s as string)],
  ])('refuses %s, whose result would be frozen into the graph', (_, compute) => {
    const error = thrownBy(() => compute(lr as never));
    expect(error.code).toBe('lifted-scalar');
    expect(error.hints[0]).toContain('before passing it');
  });

  it('may be printed', () => {
    expect(`${lr.toString()}`).toBe('SymScalar(lr, float, hint 0.1)');
    expect(String(new SymScalar(3, 'int'))).toBe('SymScalar(int, hint 3)');
  });

  it('has a hint of its own type', () => {
    expect(scalarHint(lr)).toBe(0.1);
    expect(scalarHint(new SymScalar(1, 'bool'))).toBe(true);
    expect(scalarHint(2.5)).toBe(2.5);
    expect(scalarHint(false)).toBe(false);
  });
});

describe('sizeToScalar', () => {
  it('keeps a plain size plain and carries a symbolic one with its expression', () => {
    expect(sizeToScalar(6)).toBe(6);
    const size = sizeMul(new ShapeEnv().createSymbol(8, { source: 'x.size(0)' }), 3);
    const scalar = sizeToScalar(size) as SymScalar;
    expect(scalar).toMatchObject({ hint: 24, kind: 'int', name: '3 * s0' });
    expect(scalar.expr).toBe(size);
  });
});
