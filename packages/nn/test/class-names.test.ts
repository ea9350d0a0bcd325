/**
 * @file Classes are called what they are exported as, also in a bundle, where one that names itself gets another name:
 * modules, optimizers and errors print it.
 */
import { expect, it } from 'vitest';
import * as nn from '../src/index.js';
import * as optim from '../src/optim/index.js';

it.each(Object.entries({ nn, optim }))(
  'classes of %s have the names of their exports',
  (_, all) => {
    const classes = Object.entries(all).filter(
      ([, value]) => typeof value === 'function' && /^class\b/.test(String(value)),
    );
    expect(classes.length).toBeGreaterThan(10);
    expect(classes.filter(([name, value]) => (value as { name: string }).name !== name)).toEqual(
      [],
    );
  },
);
