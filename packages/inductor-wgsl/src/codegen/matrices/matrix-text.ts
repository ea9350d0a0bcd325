/** @file Subgroup matrices as text: names, types, products. */
import type { MatrixShape } from '../target.js';

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

/** Text that loads a matrix from workgroup memory of vectors of four: it begins at one, and its rows so many apart. */
export function loadedMatrix(
  type: string,
  order: 'row_major' | 'col_major',
  array: string,
  at: string,
  stride: number,
): string {
  return `subgroupMatrixLoad<${type}, ${order}>(&${array}, ${at}, ${stride}u)`;
}

/** The statement that stores a matrix there, in rows. */
export function storedMatrix(name: string, array: string, at: string, stride: number): string {
  return `subgroupMatrixStore<row_major>(&${array}, ${at}, ${name}, ${stride}u);`;
}

export function multiplied(result: string, left: string, right: string): string {
  return `${result} = subgroupMatrixMultiplyAccumulate(${left}, ${right}, ${result});`;
}
