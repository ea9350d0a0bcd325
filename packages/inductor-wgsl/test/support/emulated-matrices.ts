/**
 * @file Programs with subgroup matrices, rewritten for adapters that have none: each lane of a subgroup holds some
 * of the results, and reads what it needs of the factors from workgroup memory. Halves become single floats.
 *
 * A rewrite of text, so that all but the multiplication itself is what a device with matrices runs.
 */
import type { MatrixShape } from '../../src/codegen/target.js';
import type { WgslProgram } from '../../src/index.js';

const LOAD =
  /let (\w+) = subgroupMatrixLoad<subgroup_matrix_\w+<[^>]*>, (\w+)>\(&(\w+), (.*), (\d+)u\);/g;

/** See the file header. */
export function emulateMatrices(
  program: WgslProgram,
  { m, n, k }: MatrixShape,
  lanes: number,
): WgslProgram {
  const arrays = new Map<string, string>();
  const held = (m * n) / lanes;
  let text = program.text
    .replaceAll(/enable [^;]*;\s*|diagnostic[^;]*;\s*/g, '')
    .replaceAll(/\bvec4h\b/g, 'vec4f')
    .replaceAll(/subgroup_matrix_result<[^>]*>/g, `array<f32, ${held}>`)
    .replaceAll(
      LOAD,
      (_, name: string, order: string, array: string, offset: string, stride: string) => {
        arrays.set(name[0], array);
        const steps = order === 'col_major' ? `1u, ${stride}u` : `${stride}u, 1u`;
        return `let ${name} = vec3u(${offset}, ${steps});`;
      },
    )
    .replaceAll(
      /(\w+) = subgroupMatrixMultiplyAccumulate\((\w+), (\w+), \w+\);/g,
      `multiply_matrices($2, $3, &$1, lane % ${lanes}u);`,
    )
    .replaceAll(
      /subgroupMatrixStore<row_major>\(&(\w+), (.*), (\w+), (\d+)u\);/g,
      (_, array: string, offset: string, name: string, stride: string) =>
        `for (var i = 0u; i < ${held}u; i++) { let r = i * ${lanes}u + lane % ${lanes}u; ${array}[${offset} + (r / ${n}u) * ${stride}u + r % ${n}u] = ${name}[i]; }`,
    )
    .replaceAll(/\bf16\b/g, 'f32');
  text = text.replace(
    '@compute',
    `fn multiply_matrices(a: vec3u, b: vec3u, c: ptr<function, array<f32, ${held}>>, lane: u32) {
  for (var i = 0u; i < ${held}u; i++) {
    let r = i * ${lanes}u + lane;
    for (var k = 0u; k < ${k}u; k++) {
      (*c)[i] += ${arrays.get('a')}[a.x + (r / ${n}u) * a.y + k * a.z] * ${arrays.get('b')}[b.x + k * b.y + (r % ${n}u) * b.z];
    }
  }
}

@compute`,
  );
  return { ...program, text };
}
