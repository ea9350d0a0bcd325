/**
 * @file Programs with subgroup matrices, rewritten for adapters that have none: each lane of a subgroup holds some
 * of the results, and reads what it needs of the factors from workgroup memory. Halves become single floats.
 *
 * A rewrite of text, so that all but the multiplication itself is what a device with matrices runs.
 */
import type { MatrixShape } from '../../src/codegen/target.js';
import type { WgslProgram } from '../../src/index.js';

const LOAD =
  /let (\w+) = subgroupMatrixLoad<subgroup_matrix_(\w+)<[^>]*>, (\w+)>\(&(\w+), (.*), (\d+)u\);/g;
const RELOAD =
  /(\w+) = subgroupMatrixLoad<subgroup_matrix_result<[^>]*>, row_major>\(&(\w+), (.*), (\d+)u\);/g;
const STORE = /subgroupMatrixStore<row_major>\(&(\w+), (.*), (\w+), (\d+)u\);/g;

/** What eight halves in four words become. */
const EIGHT = 'array<f32, 8>';

/** See the file header. */
export function emulateMatrices(
  program: WgslProgram,
  { m, n, k }: MatrixShape,
  lanes: number,
): WgslProgram {
  const held = (m * n) / lanes;
  // Result i of a lane is number r of its matrix.
  const each = (body: string): string =>
    `for (var i = 0u; i < ${held}u; i++) { let r = i * ${lanes}u + lane % ${lanes}u; ${body} }`;
  /** Values in an element of an array: four, or eight halves. */
  const valuesOf = (array: string): number =>
    program.text.includes(`var<workgroup> ${array}: array<vec4u, `) ? 8 : 4;
  /** A value that is a number of values behind element `at`. */
  const element = (array: string, at: string, behind: string): string =>
    `${array}[${at} + (${behind}) / ${valuesOf(array)}u][(${behind}) % ${valuesOf(array)}u]`;
  const place = (array: string, at: string, stride: string): string =>
    element(array, at, `(r / ${n}u) * ${valuesOf(array) * Number(stride)}u + r % ${n}u`);
  let text = program.text
    .replaceAll(/enable [^;]*;\s*|diagnostic[^;]*;\s*/g, '')
    .replaceAll(/\bvec4h\b/g, 'vec4f')
    .replaceAll(/(array<|-> )vec4u\b/g, `$1${EIGHT}`)
    .replaceAll(/(= |return )vec4u\(0\);/g, `$1${EIGHT}();`)
    .replaceAll(
      LOAD,
      (_, name: string, side: string, order: string, array: string, at: string, stride: string) => {
        const row = `${valuesOf(array) * Number(stride)}u`;
        const [down, across] = order === 'col_major' ? ['1u', row] : [row, '1u'];
        const values = side === 'left' ? held * k : k;
        const steps = `for (var k = 0u; k < ${k}u; k++)`;
        const load =
          side === 'left'
            ? each(
                `${steps} { ${name}[i * ${k}u + k] = ${element(array, at, `(r / ${n}u) * ${down} + k * ${across}`)}; }`,
              )
            : `${steps} { ${name}[k] = ${element(array, at, `k * ${down} + (lane % ${n}u) * ${across}`)}; }`;
        return `var ${name}: array<f32, ${values}>; ${load}`;
      },
    )
    .replaceAll(RELOAD, (_, name: string, array: string, at: string, stride: string) =>
      each(`${name}[i] = ${place(array, at, stride)};`),
    )
    .replaceAll(
      /(\w+) = subgroupMatrixMultiplyAccumulate\((\w+), (\w+), \w+\);/g,
      'multiply_matrices(&$2, &$3, &$1);',
    )
    .replaceAll(STORE, (_, array: string, at: string, name: string, stride: string) =>
      each(`${place(array, at, stride)} = ${name}[i];`),
    )
    .replaceAll(
      /(\w+ = .*)subgroupShuffleXor\((\w+), (\d+)u\)(.*;)/g,
      'shuffled[lane] = $2; workgroupBarrier(); $1shuffled[lane ^ $3u]$4 workgroupBarrier();',
    )
    .replaceAll(/subgroup_matrix_result<[^>]*>/g, `array<f32, ${held}>`)
    .replaceAll(/\bf16\b/g, 'f32');
  text = text.replace(
    '@compute',
    `var<workgroup> shuffled: array<vec4f, 256>;
fn multiply_matrices(a: ptr<function, array<f32, ${held * k}>>, b: ptr<function, array<f32, ${k}>>, c: ptr<function, array<f32, ${held}>>) {
  for (var i = 0u; i < ${held}u; i++) {
    for (var k = 0u; k < ${k}u; k++) { (*c)[i] += (*a)[i * ${k}u + k] * (*b)[k]; }
  }
}

@compute`,
  );
  return { ...program, text };
}
