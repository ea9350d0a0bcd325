/**
 * @file The tables of FEATURES.md are what the registry and the lowerings say. `UPDATE_DOCS=1` rewrites them.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { blockNames, checkedDocument, documentPath } from './doc-blocks.js';
import { operatorsByFile } from './op-families.js';

/** Families, each with its files or folders of `packages/tensor/src/ops`. */
const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  Arithmetic: [
    'pointwise/arithmetic',
    'pointwise/rsub',
    'pointwise/division',
    'pointwise/fused-arithmetic',
    'pointwise/power',
    'pointwise/integer',
  ],
  'Exponential, logarithm, trigonometry': [
    'pointwise/exponential',
    'pointwise/log-domain',
    'pointwise/trigonometric',
  ],
  'Special functions': [
    'pointwise/special',
    'pointwise/floating-function',
    'pointwise/modified-bessel-i',
    'pointwise/polygamma',
    'special',
  ],
  'Rounding, extrema': [
    'pointwise/rounding',
    'pointwise/extremum',
    'pointwise/float-parts',
    'pointwise/real',
  ],
  'Comparison, logic, choice': [
    'pointwise/comparison',
    'pointwise/closeness',
    'pointwise/membership',
    'pointwise/logical',
    'pointwise/where',
    'pointwise/heaviside',
    'pointwise/fill',
  ],
  Activations: ['activation'],
  'Copies and conversions': ['arrange/copy'],
  Views: ['view', 'arrange/set-storage'],
  'Joining and padding': ['arrange/join', 'resample/pad'],
  'Repeating, turning, grids': [
    'arrange/meshgrid',
    'arrange/pixel',
    'arrange/rearrange',
    'arrange/repeat',
  ],
  Reductions: ['reduction', 'order/order-statistic', 'order/quantile'],
  'Scans and sorting': ['scan', 'order/sort', 'order/search-sorted', 'order/unique'],
  Indexing: ['indexing'],
  Attention: ['attention'],
  'Matrix products': ['matmul'],
  'Linear algebra': ['linalg'],
  'Convolution and pooling': ['convolution', 'pool'],
  'Resizing and sampling': ['resample/upsample', 'resample/grid-sampler'],
  Normalization: ['norm'],
  Losses: ['loss'],
  Factories: ['factory'],
  'Random numbers': ['random'],
};

const files = await operatorsByFile();
// After the operators were registered under observation.
const { supportOf, byName } = await import('./op-support.js');
type Support = ReturnType<typeof supportOf>;
type Mark = Support['grad'];
const { allOps } = await import('@tessera/tensor/internal');

const COLUMNS = ['grad', 'eagerCpu', 'eagerWgpu', 'cpu', 'wgpu'] as const;
const HEADER = ['gradient', 'eager cpu', 'eager wgpu', 'compiled cpu', 'compiled wgpu'];
const SIGNS: Readonly<Record<Mark, string>> = {
  yes: '✓',
  parts: '=',
  reference: 'ref',
  alone: 'own',
  break: 'break',
  none: '–',
  no: '✗',
};

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function table(first: readonly string[], rows: readonly (readonly string[])[]): string {
  const header = [...first, ...HEADER];
  return [row(header), row(header.map(() => '---')), ...rows.map(row)].join('\n');
}

/** `all`, `12 of 13` or `–` of the overloads that a column applies to. */
function share(supports: readonly Support[], column: (typeof COLUMNS)[number]): string {
  const own = supports
    .map((support) => support[column])
    .filter((mark) => mark !== 'parts' && mark !== 'none');
  const yes = own.filter((mark) => mark === 'yes' || mark === 'alone').length;
  if (own.length === 0) return supports.some((support) => support[column] === 'parts') ? '=' : '–';
  return yes === own.length ? 'all' : `${yes} of ${own.length}`;
}

function opsOf(family: string): NonNullable<ReturnType<typeof files.get>> {
  const stems = FAMILIES[family]!;
  const own = [...files.keys()]
    .filter((file) => stems.some((stem) => new RegExp(`^${stem}(?:$|[-/])`).test(file)))
    .sort();
  // Helpers of other namespaces are not in the tables.
  return own.flatMap((file) => files.get(file)!).filter((op) => op.schema.namespace === 'aten');
}

function familyRow(family: string): string[] {
  const ops = opsOf(family);
  const supports = ops.map(supportOf);
  return [
    family,
    String(byName(ops).size),
    String(ops.length),
    ...COLUMNS.map((column) => share(supports, column)),
  ];
}

/** One line per name: its overloads' marks, where they agree once. */
function nameRow(name: string, ops: ReturnType<typeof opsOf>): string[] {
  const forms = [
    ...new Set(ops.map((op) => (op.schema.overload === 'default' ? '' : op.schema.overload))),
  ].filter((form) => form !== '');
  const inplace = ops.some((op) => op.isMutable && op.schema.name.endsWith('_'))
    ? ['in place']
    : [];
  const marks = COLUMNS.map((column) => {
    const found = new Set(ops.map((op) => supportOf(op)[column]));
    // Overloads made of others say nothing new beside those that are not.
    if (found.size > 1) found.delete('parts');
    return [...found].map((mark) => SIGNS[mark]).join(' ');
  });
  return [`\`${name}\``, [...forms, ...inplace].join(', '), ...marks];
}

const total = allOps().filter((op) => op.schema.namespace === 'aten').length;
const blocks = {
  families: `${total} operators (overloads) under ${Object.keys(FAMILIES).reduce((sum, family) => sum + byName(opsOf(family)).size, 0)} names.\n\n${table(['family', 'names', 'overloads'], Object.keys(FAMILIES).map(familyRow))}`,
  operators: Object.keys(FAMILIES)
    .map(
      (family) =>
        `### ${family}\n\n${table(
          ['operator', 'overloads'],
          [...byName(opsOf(family))].map(([name, ops]) => nameRow(name, ops)),
        )}`,
    )
    .join('\n\n'),
};

it('puts every operator of the registry into one family', () => {
  const listed = Object.keys(FAMILIES).flatMap(opsOf);
  const names = allOps()
    .filter((op) => op.schema.namespace === 'aten')
    .map((op) => op.qualifiedName);
  expect(listed.map((op) => op.qualifiedName).sort()).toEqual(names.sort());
});

it('runs every operator eagerly on the CPU', () => {
  const missing = Object.keys(FAMILIES)
    .flatMap(opsOf)
    .filter((op) => supportOf(op).eagerCpu === 'no');
  expect(missing.map((op) => op.qualifiedName)).toEqual([]);
});

it('says what the registry and the lowerings say', () => {
  const { actual, expected } = checkedDocument('FEATURES.md', blocks);
  expect(actual, 'run UPDATE_DOCS=1 npx vitest run --root packages/testkit features').toBe(
    expected,
  );
});

it('has exactly the tables that are generated', () => {
  const document = readFileSync(documentPath('FEATURES.md'), 'utf8');
  expect(blockNames(document).sort()).toEqual(Object.keys(blocks).sort());
});
