/**
 * @file Mistakes with values, gradients, operators of one's own and files.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Tensor,
  autocast,
  grad,
  library,
  loadCheckpoint,
  ones,
  parseSafetensors,
  randn,
  serializeSafetensors,
  tidy,
} from '@tessera/tensor';
import { onTestFinished } from 'vitest';
import type { Mistake } from './mistake.js';

const any = (value: unknown): never => value as never;
const leaf = (): Tensor => ones([2, 3], { requiresGrad: true });
const file = (name: string, bytes: Uint8Array | string): string => {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
};
const saved = (): Uint8Array => serializeSafetensors({ w: ones([2, 2]) });

export const STATE_MISTAKES: readonly Mistake[] = [
  [
    'item() of several elements',
    () => ones([2]).item(),
    'invalid-argument',
    '2',
    'Reduce or index it first',
  ],
  [
    'a tensor used after dispose()',
    () => {
      const x = ones([2]);
      x.dispose();
      return x.add(1);
    },
    'use-after-dispose',
    'dispose()',
    'Dispose after the last use',
  ],
  [
    'copying what does not fit',
    () => ones([2]).copy_(ones([3])),
    'shape-mismatch',
    '[3]',
    'Only dimensions of size 1 can be',
  ],
  [
    'an in-place update of a leaf',
    () => leaf().add_(1),
    'inplace-leaf',
    'leaf',
    'Write in noGrad(() =>',
  ],
  [
    'gradients of integers',
    () => ones([2], { dtype: 'int64' }).requiresGrad_(),
    'dtype-unsupported',
    'int64',
    "Convert first: x.to('float32').",
  ],
  [
    'backward() without anything that requires grad',
    () => ones([]).backward(),
    'no-grad-graph',
    'grad',
    'Call requiresGrad_() on leaves',
  ],
  [
    'backward() of several elements',
    () => leaf().mul(2).backward(),
    'grad-non-scalar',
    '[2, 3]',
    'Reduce to a scalar (loss.mean()),',
  ],
  [
    'backward() twice',
    () => {
      const y = leaf().mul(leaf()).sum();
      y.backward();
      y.backward();
    },
    'backward-twice',
    'second time',
    'Pass retainGraph: true to the',
  ],
  [
    'a seed of another shape',
    () =>
      leaf()
        .mul(2)
        .backward(ones([3])),
    'shape-mismatch',
    '[3]',
    'A gradient has the shape of its',
  ],
  [
    'a gradient of what was not used',
    () => grad([leaf().sum()], [leaf()]),
    'no-grad-graph',
    'input 0',
    'Set allowUnused: true if this is',
  ],
  [
    'autocast to float32',
    () => autocast({ dtype: any('float32') }, () => 0),
    'dtype-unsupported',
    'float32',
    'Use float16 or bfloat16.',
  ],
  [
    'a schema that is none',
    () => library('mistakes').define('scale(Tensor'),
    'schema-parse',
    'scale(Tensor',
    'Write it like',
  ],
  [
    'an implementation of nothing',
    () =>
      library('mistakes').impl(
        'none',
        'cpu',
        any(() => 0),
      ),
    'op-unknown',
    'none',
    'Register it with',
  ],
  [
    'a safetensors file that is cut off',
    () => parseSafetensors(saved().slice(0, 20)),
    'safetensors-invalid',
    'header needs',
    'Check that the file was',
  ],
  [
    'a safetensors file that is empty',
    () => parseSafetensors(new Uint8Array(0)),
    'safetensors-invalid',
    '0',
    'Check that the file was',
  ],
  [
    'a safetensors file without its data',
    () => parseSafetensors(saved().slice(0, -4)),
    'safetensors-invalid',
    'w',
    'Check that the file was',
  ],
  [
    'text instead of a safetensors file',
    () => parseSafetensors(new TextEncoder().encode('this is no checkpoint at all')),
    'safetensors-invalid',
    'header claims',
    'Check that the file was',
  ],
  [
    'a path where bytes belong',
    () => parseSafetensors(any('model.safetensors')),
    'invalid-argument',
    'string',
    'Pass a Uint8Array;',
  ],
  [
    'a file that is missing',
    () => loadCheckpoint('/nowhere/model.safetensors'),
    'source-unreadable',
    '/nowhere/model.safetensors',
    'Check the address or path.',
  ],
  [
    'a checkpoint that is missing',
    () => loadCheckpoint('/nowhere/model.index.json'),
    'source-unreadable',
    '/nowhere',
    'Check the address or path.',
  ],
  [
    'a truncated file',
    () => loadCheckpoint(file('cut.safetensors', saved().slice(0, 30))),
    'safetensors-invalid',
    'header needs',
    'Check that the file was',
  ],
  [
    'negative spread',
    () => randn([2]).normal_(0, -1),
    'invalid-argument',
    '-1',
    'A standard deviation is not',
  ],
  [
    'an asynchronous scope',
    () => tidy(async () => ones([1])),
    'invalid-argument',
    'asynchronous',
    'the synchronous part',
  ],
  [
    'a gradient for no argument',
    () => {
      const twice = library('mistaken')
        .define('twice(Tensor x) -> Tensor')
        .impl('twice', 'cpu', (x: Tensor) => x.mul(2))
        .autograd('twice', {
          vjp: (_: unknown, { grad }: { grad: Tensor }) => ({ y: grad }),
        } as never)
        .fn('twice');
      twice(ones([2], { requiresGrad: true }))
        .sum()
        .backward();
    },
    'schema-arguments',
    "a gradient for 'y'",
    'Its arguments are: x.',
  ],
];
