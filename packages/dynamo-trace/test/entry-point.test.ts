/**
 * @file Lists of steps are of one kind to the engine, whether they were recorded before or belong to a new function: code
 * that was optimised for one function serves the next.
 */
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { expect, it } from 'vitest';
import { EntryPoint } from '../src/trace/entry-point.js';
import { type Step, newNode } from '../src/trace/step.js';

setFlagsFromString('--allow-natives-syntax');
const haveSameMap = runInThisContext('(a, b) => %HaveSameMap(a, b)') as (
  a: object,
  b: object,
) => boolean;

it('lists of steps of a new function are of the kind of those that were recorded', () => {
  const step = { kind: 'return' } as Step;
  let recorded = newNode().steps;
  for (let i = 0; i < 1000; i++) {
    recorded = newNode().steps;
    recorded.unshift(step);
  }
  expect(haveSameMap(new EntryPoint().steps, recorded)).toBe(true);
});
