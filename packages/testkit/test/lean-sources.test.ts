/**
 * @file Fields in built files: what a constructor sets is not declared besides, and objects are the same.
 */
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
    expect(made(after).map((value) => ({ ...value }))).toEqual(
      made(before).map((value) => ({ ...value })),
    );
    expect(new after.classes.Place(3, [1]).text).toBe('6,9,1');
    // Also those that nothing was assigned to: all objects of a class have one form.
    expect(Object.keys(new after.classes.Place(3)).sort()).toEqual(
      Object.keys(new before.classes.Place(3)).sort(),
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
