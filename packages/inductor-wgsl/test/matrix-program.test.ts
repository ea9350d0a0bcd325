/**
 * @file WGSL of linear algebra, as files: `npx vitest run -u` rewrites them.
 */
import { describe, expect, it } from 'vitest';
import { CHOLESKY } from '../src/linear-algebra/cholesky.js';
import {
  APPLY_REFLECTIONS,
  REFLECTION,
  REFLECT_COLUMNS,
} from '../src/linear-algebra/householder.js';
import { ROTATE_PAIRS } from '../src/linear-algebra/jacobi.js';
import { LDL, SOLVE_LDL } from '../src/linear-algebra/ldl.js';
import { LU, PERMUTATION, SWAP_ROWS } from '../src/linear-algebra/lu.js';
import { matrixProgramText } from '../src/linear-algebra/matrix-program.js';
import { SOLVE_TRIANGLE } from '../src/linear-algebra/triangular.js';

describe('matrixProgramText', () => {
  it.each([
    CHOLESKY,
    LU,
    SWAP_ROWS,
    PERMUTATION,
    SOLVE_TRIANGLE,
    REFLECTION,
    REFLECT_COLUMNS,
    APPLY_REFLECTIONS,
    ROTATE_PAIRS,
    LDL,
    SOLVE_LDL,
  ])('$name', async (code) => {
    const text = matrixProgramText(code, 256, code.refused !== undefined);
    await expect(text).toMatchFileSnapshot(`golden/linear-algebra-${code.name}.wgsl`);
  });
});
