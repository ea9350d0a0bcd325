import { beforeEach, describe, expect, it } from 'vitest';
import { counters, registerPackageCopy } from '../src/index.js';
import { thrownBy } from './thrown-by.js';

describe('counters', () => {
  beforeEach(() => counters.clear());

  it('count by group and key, and are 0 where nothing was counted', () => {
    counters.inc('inductor', 'pattern_matcher_count');
    counters.inc('inductor', 'pattern_matcher_count', 2);
    counters.inc('frames', 'total');
    expect(counters.get('inductor', 'pattern_matcher_count')).toBe(3);
    expect(counters.get('inductor', 'nothing')).toBe(0);
    expect(counters.get('nothing')).toEqual({});
    expect(counters.snapshot()).toEqual({
      inductor: { pattern_matcher_count: 3 },
      frames: { total: 1 },
    });
  });

  it('give snapshots that later counting does not change', () => {
    counters.inc('frames', 'total');
    const before = counters.get('frames');
    counters.inc('frames', 'total');
    expect(before).toEqual({ total: 1 });
  });

  it('are their snapshot as JSON', () => {
    counters.inc('frames', 'total');
    expect(JSON.stringify(counters)).toBe('{"frames":{"total":1}}');
  });

  it('are cleared by group or all at once', () => {
    counters.inc('a', 'x');
    counters.inc('b', 'x');
    counters.clear('a');
    expect(counters.snapshot()).toEqual({ b: { x: 1 } });
    counters.clear();
    expect(counters.snapshot()).toEqual({});
  });
});

describe('registerPackageCopy', () => {
  const dist = 'file:///app/node_modules/@x/tensor/dist/index.js';

  it('allows the same module again, as after a hot reload', () => {
    registerPackageCopy('@x/hot', '1.0.0', dist);
    registerPackageCopy('@x/hot', '1.0.0', `${dist}?t=1712345678`);
    registerPackageCopy('@x/hot', '1.0.0');
  });

  it('reports two versions with both files and how to deduplicate', () => {
    registerPackageCopy('@x/tensor', '1.0.0', dist);
    const error = thrownBy(() =>
      registerPackageCopy(
        '@x/tensor',
        '1.2.0',
        'file:///app/node_modules/@x/nn/node_modules/@x/tensor/dist/index.js',
      ),
    );
    expect(error.code).toBe('duplicate-package');
    expect(error.message).toContain('1.0.0 from file:///app/node_modules/@x/tensor/dist/index.js');
    expect(error.message).toContain('1.2.0 from file:///app/node_modules/@x/nn/');
    expect(error.message).toContain('npm dedupe');
  });

  it('reports the same version loaded from two files', () => {
    registerPackageCopy('@x/twice', '1.0.0', dist);
    const error = thrownBy(() =>
      registerPackageCopy('@x/twice', '1.0.0', 'file:///app/vendor/tensor.js'),
    );
    expect(error.code).toBe('duplicate-package');
  });

  it('reports two versions also where no file is known', () => {
    registerPackageCopy('@x/unknown', '1.0.0');
    expect(thrownBy(() => registerPackageCopy('@x/unknown', '2.0.0')).message).toContain(
      'an unknown file',
    );
  });
});
