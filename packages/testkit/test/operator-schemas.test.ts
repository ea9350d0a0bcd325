/**
 * @file The types of lowerings know the schemas of the operators that there are (`-u` writes them anew).
 */
import type { OpOverload } from '@tessera/tensor';
import { allOps } from '@tessera/tensor/internal';
import '@tessera/tensor/fft';
import '@tessera/tensor/linalg';
import '@tessera/nn';
import '@tessera/passes';
import { expect, test } from 'vitest';

const FILE = '../../inductor-core/src/lower/generated/operator-schemas.ts';

function fieldsOf(ops: readonly OpOverload[]): string {
  return ops
    .map(({ qualifiedName, schema }) => `  '${qualifiedName}': ${JSON.stringify(schema.text)};\n`)
    .sort()
    .join('');
}

test('lowerings are typed by the schemas of the operators', async () => {
  // Graphs that are lowered have no in-place forms.
  const ops = allOps().filter(({ schema }) => !schema.name.endsWith('_'));
  const isPointwise = (op: OpOverload): boolean => op.hasTag('pointwise');
  const text = `/**
 * @file Schemas of operators, for the type checker only. Written by packages/testkit/test/operator-schemas.test.ts.
 */

/** Pointwise operators, to which a number may be given for a tensor. */
export interface PointwiseSchemas {
${fieldsOf(ops.filter(isPointwise))}}

/** Other operators. */
export interface OperatorSchemas {
${fieldsOf(ops.filter((op) => !isPointwise(op)))}}
`;
  expect(ops.length).toBeGreaterThan(600);
  await expect(text).toMatchFileSnapshot(FILE);
});
