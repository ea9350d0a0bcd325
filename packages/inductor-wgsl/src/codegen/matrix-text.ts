/** @file Subgroup matrices as text: names, types, products. */
import type { MatrixShape } from './target.js';

/** Names of matrices: rows of them. */
export type Grid = readonly (readonly string[])[];

export function grid(prefix: string, rows: number, columns: number): Grid {
  return Array.from({ length: rows }, (_, i) =>
    Array.from({ length: columns }, (_, j) => `${prefix}${i}_${j}`),
  );
}

/** Type of a matrix of results. */
export function resultType({ m, n }: MatrixShape): string {
  return `subgroup_matrix_result<f32, ${n}, ${m}>`;
}

export function multiplied(result: string, left: string, right: string): string {
  return `${result} = subgroupMatrixMultiplyAccumulate(${left}, ${right}, ${result});`;
}
