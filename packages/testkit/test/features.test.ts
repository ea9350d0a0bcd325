/**
 * @file The tables of FEATURES.md are what the registry and the lowerings say. `UPDATE_DOCS=1` rewrites them.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { blockNames, checkedDocument, documentPath } from './doc-blocks.js';
import { operatorsByFile } from './op-families.js';

/** Families, each with its folders and files of `packages/tensor/src/ops`; a file goes before its folder. */
const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  Arithmetic: ['arithmetic', 'division', 'fused-arithmetic', 'power', 'integer'].map(pointwise),
  'Exponential, logarithm, trigonometry': [
    'exponential',
    'log-domain',
    'trigonometric',
    'trigonometric-inverse',
  ].map(pointwise),
  'Special functions': ['special', 'polygamma'].map(pointwise),
  'Rounding, extrema': ['rounding', 'extremum', 'float-parts', 'real'].map(pointwise),
  'Comparison, logic, choice': [
    'comparison',
    'membership',
    'logical',
    'where',
    'heaviside',
    'fill',
  ].map(pointwise),
  Activations: ['activation'],
  'Copies and conversions': ['arrange/copy'],
  Views: ['view', 'arrange/set-storage'],
  'Joining and padding': [
    'arrange/join',
    'arrange/join-stack',
    'resample/pad',
    'resample/pad-edge',
  ],
  'Repeating, turning, grids': ['arrange', 'scan/finite-difference', 'view/diagonal'],
  Reductions: ['reduction', 'order/order-statistic', 'order/quantile', 'scan/trapezoid'],
  'Scans and sorting': ['scan', 'order'],
  Indexing: ['indexing'],
  Attention: ['attention'],
  'Matrix products': ['matmul'],
  'Distances, statistics, linear algebra': [
    'linalg',
    'matmul/cross',
    'matmul/cross-op',
    'matmul/distance',
    'matmul/similarity',
  ],
  'Convolution and pooling': ['convolution', 'pool'],
  'Resizing, sampling and patches': ['resample', 'convolution/im2col'],
  Normalization: ['norm'],
  Losses: ['loss'],
  Factories: ['factory'],
  'Random numbers': ['random'],
};

function pointwise(file: string): string {
  return `pointwise/${file}`;
}

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
  const yes = own.filter((mark) => mark === 'yes').length;
  if (own.length === 0) return supports.some((support) => support[column] === 'parts') ? '=' : '–';
  return yes === own.length ? 'all' : `${yes} of ${own.length}`;
}

function opsOf(family: string): NonNullable<ReturnType<typeof files.get>> {
  const places = FAMILIES[family]!;
  const named = new Set(Object.values(FAMILIES).flat());
  const own = [...files.keys()]
    .filter((file) => places.includes(named.has(file) ? file : file.split('/')[0]!))
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
