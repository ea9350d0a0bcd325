/**
 * @file Fields in built files: what a constructor sets is not declared besides, private members have short names, and
 * objects are the same.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { transform } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { leanSource } from '../../../tooling/lean-sources.mjs';

const CLASSES = `
  export class Place {
    readonly doubled: number;
    private tripled: number;
    seldom: number | undefined;
    cache?: number;
    readonly count = 7;
    constructor(readonly at: number, private readonly rest: readonly number[] = [], plain = 0) {
      this.doubled = this.tripled = 2 * at;
      if (plain > 0) this.seldom = plain;
      this.tripled = 3 * at;
    }
    get text() { return [this.doubled, this.tripled, this.rest].join(); }
  }
  export class Named extends Place {
    label: string;
    late: number | undefined;
    constructor(public override readonly at: number, label: string) {
      const half = at / 2;
      super(half);
      this.label = label;
      if (label === '') return;
      this.late = 1;
    }
  }
`;

async function load(text: string): Promise<{
  classes: Record<'Place' | 'Named', new (...args: unknown[]) => { readonly text: string }>;
  code: string;
}> {
  const tsconfigRaw = { compilerOptions: { useDefineForClassFields: true } };
  const { code } = await transform(text, { loader: 'ts', format: 'esm', tsconfigRaw });
  const classes = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as Awaited<
    ReturnType<typeof load>
  >['classes'];
  return { classes, code };
}

const written = leanSource(CLASSES, '/packages/graph/src/place.ts');

describe('fields that constructors set', () => {
  test('objects have the same properties with the same values', async () => {
    const before = await load(CLASSES);
    const after = await load(written);
    const made = ({ classes: { Place, Named } }: typeof before): object[] => [
      new Place(3),
      new Place(3, [1], 5),
      new Named(4, 'x'),
      new Named(4, ''),
    ];
    const short: Readonly<Record<string, string>> = { tripled: '$a', rest: '$b' };
    expect(made(after).map((value) => ({ ...value }))).toEqual(
      made(before).map((value) =>
        Object.fromEntries(Object.entries(value).map(([name, of]) => [short[name] ?? name, of])),
      ),
    );
    expect(new after.classes.Place(3, [1]).text).toBe('6,9,1');
    // Also those that nothing was assigned to: all objects of a class have one form.
    expect(Object.keys(new after.classes.Place(3)).length).toBe(
      Object.keys(new before.classes.Place(3)).length,
    );
  });

  test('no declaration is left of what is set in any case, and those of others are', async () => {
    const { code } = await load(written);
    const declared = [...code.matchAll(/^ {2}(\w+)( = .*)?;$/gm)].map(([, name]) => name);
    expect(declared).toEqual(['seldom', 'cache', 'count', 'late']);
  });

  test('modules keep the order of their fields', () => {
    expect(leanSource(CLASSES, '/packages/transformers/src/place.ts')).toBe(CLASSES);
  });
});

const COUNTERS = `
  class Counter {
    static private made = 0;
    private steps = 0;
    private readonly history: number[] = [];
    private nested = { steps: 10, add() { this.steps++; return this.steps; } };
    private shared = 1;
    private picked = 2;
    private named = 3;
    constructor(private readonly by = 1, readonly from = 0) { Counter.made += by; }
    private get last() { return this.history.at(-1); }
    private set last(value) { this.history.push(value); }
    private step() { this.steps += this.by; this.last = this.steps; }
    run(times: number) { [...Array(times)].forEach(() => this.step()); return [this.steps, this.last, this.nested.add()]; }
    of(other: { shared: number }) { const { picked, nested: { steps } } = this; return [other.shared, this.shared, picked, this['named'], steps]; }
  }
  class Whole { private all = 1; kept() { const { ...rest } = this; return { ...rest }; } }
  class Loud extends Counter { private volume = 1; loudness() { return this.volume; } }
  export const results = () => {
    const counter = new Loud(2);
    return [counter.run(3), counter.of({ shared: 5 }), counter.loudness(), Counter.made, new Whole().kept()];
  };
`;

describe('private members', () => {
  const short = leanSource(COUNTERS, '/packages/graph/src/counters.ts');

  test('classes do what they did', async () => {
    const results = async (text: string): Promise<unknown> => {
      const { classes } = await load(text);
      return (classes as unknown as { results: () => unknown }).results();
    };
    const after = await results(short);
    expect(after).toEqual([[6, 6, 11], [5, 1, 2, 3, 11], 1, 2, { all: 1 }]);
    expect(after).toEqual(await results(COUNTERS));
  });

  test('have short names where only `this` is asked for them, in classes without one above', () => {
    const long = [
      'made',
      'steps',
      'history',
      'nested',
      'shared',
      'picked',
      'named',
      'last',
      'step',
    ];
    const kept = long.filter((name) => new RegExp(`(this|Counter)\\W+${name}\\b`).test(short));
    // `steps` is also a member of the object literal, which is another `this`.
    expect(kept).toEqual(['made', 'steps', 'shared', 'named']);
    expect(short).toMatch(/\{ \$\w: picked, \$\w: \{ steps \} \} = this/);
    expect(short).toContain('private volume = 1');
    expect(short).toMatch(/this\.\$\w = by;/);
  });

  test('no source has such a name, which a class below could have for something else', () => {
    const packages = new URL('../../', import.meta.url);
    const sources = readdirSync(packages).flatMap((name) => {
      const folder = new URL(`${name}/src/`, packages);
      if (!existsSync(folder)) return [];
      const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
      return files.filter((file) => file.endsWith('.ts')).map((file) => new URL(file, folder));
    });
    expect(sources.length).toBeGreaterThan(1000);
    const named = sources.filter((file) =>
      /(\.|\breadonly |^ +)\$[a-z]{1,2}\b/m.test(readFileSync(file, 'utf8')),
    );
    expect(named).toEqual([]);
  });
});
