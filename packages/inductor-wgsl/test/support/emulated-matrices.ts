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
  const place = (offset: string, stride: string): string =>
    `${offset} + (r / ${n}u) * ${stride}u + r % ${n}u`;
  let text = program.text
    .replaceAll(/enable [^;]*;\s*|diagnostic[^;]*;\s*/g, '')
    .replaceAll(/\bvec4h\b/g, 'vec4f')
    .replaceAll(
      LOAD,
      (_, name: string, side: string, order: string, array: string, at: string, stride: string) => {
        const [down, across] = order === 'col_major' ? ['1u', `${stride}u`] : [`${stride}u`, '1u'];
        const values = side === 'left' ? held * k : k;
        const steps = `for (var k = 0u; k < ${k}u; k++)`;
        const load =
          side === 'left'
            ? each(
                `${steps} { ${name}[i * ${k}u + k] = ${array}[${at} + (r / ${n}u) * ${down} + k * ${across}]; }`,
              )
            : `${steps} { ${name}[k] = ${array}[${at} + k * ${down} + (lane % ${n}u) * ${across}]; }`;
        return `var ${name}: array<f32, ${values}>; ${load}`;
      },
    )
    .replaceAll(RELOAD, (_, name: string, array: string, at: string, stride: string) =>
      each(`${name}[i] = ${array}[${place(at, stride)}];`),
    )
    .replaceAll(
      /(\w+) = subgroupMatrixMultiplyAccumulate\((\w+), (\w+), \w+\);/g,
      'multiply_matrices(&$2, &$3, &$1);',
    )
    .replaceAll(STORE, (_, array: string, at: string, name: string, stride: string) =>
      each(`${array}[${place(at, stride)}] = ${name}[i];`),
    )
    .replaceAll(/subgroup_matrix_result<[^>]*>/g, `array<f32, ${held}>`)
    .replaceAll(/\bf16\b/g, 'f32');
  text = text.replace(
    '@compute',
    `fn multiply_matrices(a: ptr<function, array<f32, ${held * k}>>, b: ptr<function, array<f32, ${k}>>, c: ptr<function, array<f32, ${held}>>) {
  for (var i = 0u; i < ${held}u; i++) {
    for (var k = 0u; k < ${k}u; k++) { (*c)[i] += (*a)[i * ${k}u + k] * (*b)[k]; }
  }
}

@compute`,
  );
  return { ...program, text };
}
