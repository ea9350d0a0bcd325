/**
 * @file Extracts the recorded PyTorch runs that tests and the demo compare against.
 *
 *   node scripts/extract-training-data.mjs <folder with models.json and models.safetensors>
 *
 * Writes `packages/nn/test/data/models.{safetensors.gz,json}` and `apps/demo/data/digits.{safetensors.gz,json}`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const folder = process.argv[2];
if (folder === undefined) throw new Error('usage: node scripts/extract-training-data.mjs <folder>');
const root = join(import.meta.dirname, '..');
const file = readFileSync(join(folder, 'models.safetensors'));
const headerBytes = Number(file.readBigUInt64LE(0));
const header = JSON.parse(file.subarray(8, 8 + headerBytes).toString('utf8'));
const { models } = JSON.parse(readFileSync(join(folder, 'models.json'), 'utf8'));

/** Writes the tensors whose new name `rename` gives (null: left out). */
function writeTensors(path, rename) {
  const entries = {};
  const parts = [];
  let at = 0;
  for (const [name, info] of Object.entries(header)) {
    const renamed = name === '__metadata__' ? null : rename(name);
    if (renamed === null) continue;
    const bytes = file.subarray(
      8 + headerBytes + info.data_offsets[0],
      8 + headerBytes + info.data_offsets[1],
    );
    entries[renamed] = {
      dtype: info.dtype,
      shape: info.shape,
      data_offsets: [at, at + bytes.length],
    };
    parts.push(bytes);
    at += bytes.length;
  }
  // Data begins at a multiple of 8, as the format asks.
  const json = JSON.stringify(entries);
  const text = Buffer.from(json.padEnd(Math.ceil(json.length / 8) * 8, ' '));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  writeFileSync(path, gzipSync(Buffer.concat([size, text, ...parts]), { level: 9 }));
}

const digits = (name) =>
  name.startsWith('digits/')
    ? name.slice('digits/'.length)
    : /^digits_(mlp|cnn)\/state\//.test(name)
      ? name
      : null;
const recorded = ({ desc, losses, test_accuracy: testAccuracy }) => ({
  description: desc,
  losses,
  testAccuracy,
});

writeTensors(join(root, 'packages/nn/test/data/models.safetensors.gz'), (name) =>
  name.startsWith('conv_bn_') ? name : digits(name),
);
writeFileSync(
  join(root, 'packages/nn/test/data/models.json'),
  `${JSON.stringify(Object.fromEntries(['conv_bn_eval', 'conv_bn_train', 'digits_mlp', 'digits_cnn'].map((name) => [name, models[name]])), null, 1)}\n`,
);
writeTensors(join(root, 'apps/demo/data/digits.safetensors.gz'), digits);
writeFileSync(
  join(root, 'apps/demo/data/digits.json'),
  `${JSON.stringify({ trainCount: 1500, batchSize: 100, mlp: recorded(models.digits_mlp), cnn: recorded(models.digits_cnn) }, null, 1)}\n`,
);
