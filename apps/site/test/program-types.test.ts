import { describe, expect, it } from 'vitest';
import { typeFiles } from '../src/build/type-files.js';
import { EXAMPLES } from '../src/explorer/examples.js';
import { runProgram } from '../src/explorer/run-program.js';
import { ProgramTypes } from '../src/explorer/types/program-types.js';

const types = new ProgramTypes(JSON.parse(typeFiles()) as Record<string, string>);

/** Where a text ends in a program that is typed as far as that. */
function after(source: string, text: string): number {
  types.update(source);
  return source.indexOf(text) + text.length;
}

const PROGRAM = `import { type Tensor, ones } from '@tessera/tensor';
const x: Tensor = ones([2]);
`;

describe('types of a program', () => {
  for (const { name, source } of EXAMPLES)
    it(`finds nothing wrong with the example: ${name}`, () => {
      types.update(source);
      expect(types.problems()).toEqual([]);
    });

  it('knows every package that programs may import', () => {
    types.update(`import { compile } from '@tessera/compile';
import { Linear } from '@tessera/nn';
import { relu } from '@tessera/nn/functional';
import { SGD } from '@tessera/nn/optim';
import { ones } from '@tessera/tensor';
const layer = new Linear(2, 3);
const step = compile(() => relu(layer.call(ones([1, 2]))));
new SGD(layer.parameters(), { lr: 0.1 });
console.log(step().shape);
`);
    expect(types.problems()).toEqual([]);
  });

  it('says what is wrong and where', () => {
    const source = `${PROGRAM}x.noSuchMethod();\nx.to('cuda');\nif (`;
    types.update(source);
    const found = types
      .problems()
      .map(({ from, to, message }) => [source.slice(from, to), message]);
    expect(found).toEqual([
      ['', 'Expression expected.'],
      ['noSuchMethod', "Property 'noSuchMethod' does not exist on type 'Tensor'."],
      ["'cuda'", expect.stringContaining('not assignable')],
    ]);
    types.update('');
    expect(types.problems()).toEqual([]);
  });

  it('marks imports that the program cannot have, as what runs it refuses them', async () => {
    const names = ['@tessera/shared', '@tessera/tensor/internal', '@tessera/onnx', './mine.js'];
    for (const name of names)
      for (const source of [`import * as all from '${name}';\nall;`, `await import('${name}');`]) {
        types.update(source);
        const found = types
          .problems()
          .map(({ from, to, message }) => [source.slice(from, to), message]);
        const host = { compiled: () => {}, log: () => {} };
        const thrown: unknown = await runProgram(source, host).catch((error: unknown) => error);
        expect(found, source).toEqual([[`'${name}'`, (thrown as Error).message]]);
        expect(found[0]![1]).toContain(
          'only @tessera/compile, @tessera/nn, @tessera/nn/functional',
        );
      }
    // Types are gone when a program runs.
    types.update(
      `import type { Size } from '@tessera/shared';\nconst n: Size = 2;\nconsole.log(n);`,
    );
    expect(types.problems()).toEqual([]);
  });

  it('shows declarations with what their comments say', () => {
    const hover = types.hover(after(`${PROGRAM}x.softmax(0);`, 'x.soft'));
    expect(hover!.declaration).toMatch(/^\(property\) softmax: \(dim: number/);
    expect(hover!.documentation).not.toBe('');
    expect(types.hover(0)?.declaration ?? '').toBe('');
  });

  it('lists members after a dot, and names elsewhere', () => {
    const names = (position: number): string[] =>
      types.completions(position).map(({ name }) => name);
    expect(names(after(`${PROGRAM}x.so`, 'x.so'))).toContain('softmax');
    const inScope = names(after(`${PROGRAM}on`, '\non'));
    expect(inScope).toContain('ones');
    expect(inScope).not.toContain('softmax');
  });
});
