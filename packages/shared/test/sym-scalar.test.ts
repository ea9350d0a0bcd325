import { describe, expect, it } from 'vitest';
import { SymScalar } from '../src/index.js';
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
});
